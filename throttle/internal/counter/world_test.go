package counter

import (
	"container/heap"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/pacertest"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

var (
	worlds = flag.Int("worlds", whole.Or(50, 100), "how many worlds of each class are tried")
	first  = flag.Uint64("first", 0, "the seed of the first one")
)

// seeds are those of the worlds of a class.
func seeds(yield func(uint64) bool) {
	for i := range uint64(*worlds) {
		if !yield(*first + i) {
			return
		}
	}
}

// world is a server with one counter for each route, and callers who know how much is left, drawn from a seed.
// Their answers overtake each other.
type world struct {
	*rand.Rand
	routes  []*counted
	paths   []path
	form    int // how the reset is stated
	callers int
	latency time.Duration
	others  float64 // requests of others for each of ours
	free    bool    // some requests cost nothing
	skew    time.Duration
	change  int     // after how many answers the server restarts, again and again; zero: never
	factor  float64 // of the limit from the first time on
	deal    int     // how requests come to instances of the server, which the routes are then: in turn or at random; zero: they are none

	now       time.Duration
	events    events
	sequence  uint64
	heard     int
	algorithm func(limit int) pacertest.Algorithm
	limit     int
	window    time.Duration
}

type counted struct {
	pacertest.Algorithm
	inFlight int
}

type path struct {
	text  string
	route int
}

type event struct {
	at   time.Duration
	kind int // 0: send, 1: arrive, 2: answer
	req  *request
}

type request struct {
	path    path
	id      int
	n       int
	sent    time.Duration
	granted uint64
	v       pacertest.Verdict
	written time.Duration
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// The forms of a reset.
const (
	deltaCeil = iota
	deltaFloor
	deltaRound
	millis     // "1500", read as seconds where it is small
	millisWell // "1500ms"
	decimal
	epoch
	epochFloor
	epochMillis // beside a Date in whole seconds
	omitted
	forms
)

func log(r *rand.Rand, from, to float64) float64 {
	return from * math.Pow(to/from, r.Float64())
}

// newWorld draws what all worlds have.
func newWorld(seed uint64, n int) *world {
	w := &world{Rand: rand.New(rand.NewPCG(seed, 7))}
	w.limit = int(log(w.Rand, 4, 2000))
	w.window = time.Duration(log(w.Rand, 1e9, 900e9)).Round(time.Millisecond)
	kind := w.IntN(10)
	w.algorithm = func(limit int) pacertest.Algorithm {
		rate := float64(limit) / w.window.Seconds()
		switch kind {
		case 0:
			return &pacertest.FixedWindow{Limit: limit, Window: w.window}
		case 1:
			return &pacertest.ClockWindow{Limit: limit, Window: w.window}
		case 2:
			return &pacertest.SlidingWindow{Limit: limit, Window: w.window}
		case 3:
			return &pacertest.SlidingLog{Limit: limit, Window: w.window}
		case 4:
			return &pacertest.SlidingLog{Limit: limit, Window: w.window, CountRefused: true}
		case 5:
			return &pacertest.EstimatedWindow{Limit: limit, Window: w.window}
		case 6:
			return &pacertest.TokenBucket{Rate: rate, Burst: limit}
		case 7:
			return &pacertest.GCRA{Rate: rate, Burst: limit}
		case 8:
			return &pacertest.LeakyBucket{Rate: rate, Depth: limit}
		}
		return &pacertest.SlidingWindow{Limit: limit, Window: w.window, Cells: 3}
	}
	w.form = w.IntN(forms)
	w.callers = int(log(w.Rand, 1, 33))
	w.latency = time.Duration(log(w.Rand, 1e6, 300e6))
	for i := range n {
		w.paths = append(w.paths, path{text: fmt.Sprintf("/v1/%s/%%d", []string{"users", "teams", "repos", "search", "lists", "media", "likes", "posts"}[i%8]), route: i})
	}
	return w
}

// ordinary draws a server with one counter, in whatever trouble.
func ordinary(seed uint64) *world {
	w := newWorld(seed, 0)
	n := 1 + w.IntN(8)
	w.paths = newWorld(seed, n).paths
	for i := range w.paths {
		w.paths[i].route = 0
	}
	w.routes = []*counted{{Algorithm: w.algorithm(w.limit)}}
	switch w.IntN(10) {
	case 0:
		w.others = log(w.Rand, 1, 4)
	case 1:
		w.change, w.factor = 200+w.IntN(400), log(w.Rand, 0.1, 10)
	case 2:
		w.change, w.factor = 200+w.IntN(400), 1
	case 3:
		w.free = true
	case 4:
		w.skew = time.Duration(log(w.Rand, 1e8, 1e11))
	}
	return w
}

// routed draws a server with a counter for each of 2 to 8 routes.
func routed(seed uint64, differ bool) *world {
	n := 2 + int(seed%7)
	w := newWorld(seed, n)
	for w.form = w.IntN(forms); w.form == millis || w.form == omitted; w.form = w.IntN(forms) {
	}
	w.window = max(w.window, 5*time.Second)
	for range n {
		limit := w.limit
		if differ {
			limit = int(log(w.Rand, 4, 2000))
		}
		w.routes = append(w.routes, &counted{Algorithm: w.algorithm(limit)})
	}
	return w
}

// The ways in which requests come to instances.
const (
	inTurn = 1 + iota
	atRandom
)

// instanced draws a server of 2 to 5 instances, each with a window of its own that does not begin with those of
// others.
func instanced(seed uint64, deal int) *world {
	w := routed(seed, false)
	w.paths, w.routes, w.deal = w.paths[:1+int(seed%2)], nil, deal
	w.window = max(w.window, 10*time.Second)
	for range 2 + seed/2%4 {
		phase := time.Duration(w.Float64() * float64(w.window))
		w.routes = append(w.routes, &counted{Algorithm: &pacertest.ClockWindow{Limit: w.limit, Window: w.window, Phase: phase}})
	}
	return w
}

var start = time.Date(2026, 11, 21, 8, 0, 0, 123456789, time.UTC)

func (w *world) at(d time.Duration, kind int, r *request) { heap.Push(&w.events, event{d, kind, r}) }

// run passes so many answers to hear.
func (w *world) run(answers int, hear func(string, *Answer, *request)) {
	for range w.callers {
		w.at(time.Duration(w.Float64()*float64(w.latency)), 0, nil)
	}
	for steps := 0; w.heard < answers && steps < 60*answers; steps++ {
		e := heap.Pop(&w.events).(event)
		w.now = e.at
		at := start.Add(w.now)
		switch r := e.req; e.kind {
		case 0:
			r = &request{path: w.paths[w.IntN(len(w.paths))], id: w.IntN(100) + 100, n: 1, sent: w.now}
			switch w.deal {
			case inTurn:
				r.path.route = int(w.sequence/2) % len(w.routes)
			case atRandom:
				r.path.route = w.IntN(len(w.routes))
			}
			c := w.routes[r.path.route]
			if v := c.Take(at, 0); v.Remaining <= c.inFlight {
				w.at(w.now+time.Duration(w.Float64()*float64(w.window)/8)+time.Millisecond, 0, nil)
				continue
			}
			if w.free && w.IntN(4) == 0 {
				r.n = 0
			}
			c.inFlight++
			w.sequence++
			r.granted = w.sequence
			w.at(w.now+time.Duration((0.5+w.Float64())*float64(w.latency)/2), 1, r)
		case 1:
			c := w.routes[r.path.route]
			r.v, r.written = c.Take(at, r.n), w.now
			for n := w.others; n > 0; n-- {
				if w.Float64() < n {
					c.Take(at, 1)
				}
			}
			c.inFlight--
			w.at(w.now+time.Duration((0.5+w.Float64())*float64(w.latency)/2), 2, r)
		case 2:
			w.sequence++
			w.heard++
			if w.change > 0 && w.heard%w.change == 0 {
				for _, c := range w.routes {
					c.Algorithm = w.algorithm(max(int(float64(w.limit)*w.factor), 2))
				}
			}
			st := quota.Statement{Limit: int64(r.v.Limit), Remaining: int64(r.v.Remaining)}
			w.reset(&st, r)
			const began = 1e9
			hear(fmt.Sprintf(r.path.text, r.id), &Answer{
				Granted: r.granted, Heard: w.sequence, Refused: !r.v.OK,
				Sent: monotime.Time(began + r.sent), Now: monotime.Time(began + w.now), N: 1, Statements: []quota.Statement{st},
			}, r)
			w.at(w.now, 0, nil)
		}
	}
}

// reset writes the reset as package headers would read it.
func (w *world) reset(st *quota.Statement, r *request) {
	in := r.v.Reset
	st.ResetKnown, st.Resolution = true, time.Second
	ceil := func(d, unit time.Duration) time.Duration { return (d + unit - 1).Truncate(unit) }
	switch w.form {
	case deltaCeil:
		st.Reset = ceil(in, time.Second)
	case deltaFloor:
		st.Reset = in.Truncate(time.Second)
	case deltaRound:
		st.Reset = in.Round(time.Second)
	case millis:
		n := ceil(in, time.Millisecond).Milliseconds()
		st.Reset = time.Duration(n * 1e9) // as seconds
	case millisWell, decimal:
		st.Reset, st.Resolution = ceil(in, time.Millisecond), time.Millisecond
	case epoch, epochFloor, epochMillis:
		clock := start.Add(r.written + w.skew)
		t := clock.Add(in).Truncate(time.Second)
		switch w.form {
		case epoch:
			t = t.Add(time.Second)
		case epochMillis:
			t, st.Resolution = clock.Add(in).Truncate(time.Millisecond), time.Millisecond
		}
		date := clock.Truncate(time.Second)
		st.Reset, st.Absolute, st.Skew = t.Sub(date), true, start.Add(r.sent).Sub(date)
	case omitted:
		st.ResetKnown, st.Resolution = false, 0
	}
	if st.Reset < 0 {
		st.Reset = 0
	}
}

// TestOrdinary runs servers with one counter for all: they are never split.
func TestOrdinary(t *testing.T) {
	split, instances := 0, 0
	for seed := range seeds {
		w := ordinary(seed)
		var r Router
		seen := 0
		w.run(1000, func(path string, a *Answer, _ *request) {
			if r.Hear("GET", path, a).Instances != nil {
				seen++
			}
		})
		if seen > 0 {
			instances++
			t.Logf("seed %d is taken for instances %d times: %T of %d in %v, form %d, %d callers, latency %v, others %.1f, free %v, skew %v, change %d by %.1f",
				seed, seen, w.routes[0].Algorithm, w.limit, w.window, w.form, w.callers, w.latency, w.others, w.free, w.skew, w.change, w.factor)
		}
		if r.Split() {
			split++
			if split < 20 {
				t.Errorf("seed %d is split: %T of %d in %v, form %d, %d paths, %d callers, latency %v, others %.1f, free %v, skew %v, change %d by %.1f; %d counters",
					seed, w.routes[0].Algorithm, w.limit, w.window, w.form, len(w.paths), w.callers, w.latency, w.others, w.free, w.skew, w.change, w.factor, len(r.counters))
			}
		}
	}
	t.Logf("%d of %d are split, %d are taken for instances", split, *worlds, instances)
	if 1000*instances > *worlds {
		t.Errorf("%d of %d are taken for instances", instances, *worlds)
	}
}

// stacked is two limits that hold for each request, of which the server states the one that is nearer to its
// end.
type stacked struct{ a, b pacertest.Algorithm }

func (s *stacked) Take(now time.Time, n int) pacertest.Verdict {
	v, w := s.a.Take(now, 0), s.b.Take(now, 0)
	if n > 0 && v.Remaining >= n && w.Remaining >= n {
		v, w = s.a.Take(now, n), s.b.Take(now, n)
	}
	if v.OK = v.Remaining >= 0; w.Remaining < v.Remaining {
		v = w
	}
	return v
}

func (s *stacked) Fresh() pacertest.Algorithm { return &stacked{s.a.Fresh(), s.b.Fresh()} }

// TestStacked runs servers with two limits for all paths: leaves are moved to and fro a few times, and then
// taken for what they are.
func TestStacked(t *testing.T) {
	apart, moved := 0, 0
	for seed := range seeds {
		w := routed(seed, false)
		for i := range w.paths {
			w.paths[i].route = 0
		}
		narrow := w.algorithm(w.limit)
		w.window *= time.Duration(2 + seed%10)
		w.routes = []*counted{{Algorithm: &stacked{narrow, w.algorithm(w.limit*int(1+seed%10) + 1)}}}
		var r Router
		w.run(1500, func(path string, a *Answer, _ *request) { moved += len(r.Hear("GET", path, a).Left) })
		if len(r.counters) > 1 {
			apart++
		}
	}
	t.Logf("%d of %d are split in the end, %.1f leaves have moved in each", apart, *worlds, float64(moved)/float64(*worlds))
	if 50*apart > *worlds || moved > 4**worlds {
		t.Error("want 1 of 50 split in the end at most, and 4 that moved in each")
	}
}

// TestChanged runs servers with one counter for all, whose limits change or which restart often: hardly any is
// split, in whatever order answers come, and few are taken for instances. Three of 6200 are split, which
// restart every 96 to 129 answers.
func TestChanged(t *testing.T) {
	instances, split := 0, 0
	for seed := range seeds {
		changes, restarts := ordinary(seed), ordinary(seed)
		changes.change, changes.factor = 200+changes.IntN(400), log(changes.Rand, 0.1, 10)
		restarts.change, restarts.factor = 50+restarts.IntN(100), 1
		for _, w := range []*world{changes, restarts} {
			var r Router
			seen := false
			w.run(1000, func(path string, a *Answer, _ *request) { seen = r.Hear("GET", path, a).Instances != nil || seen })
			if r.Split() {
				split++
				t.Logf("seed %d is split: %T, form %d, %d callers, latency %v, change %d by %.1f", seed, w.routes[0].Algorithm, w.form, w.callers, w.latency, w.change, w.factor)
			}
			if seen {
				instances++
			}
		}
	}
	t.Logf("%d of %d are split, %d taken for instances", split, 2**worlds, instances)
	if 1000*split > 2**worlds {
		t.Error("want 1 of 1000 split at most")
	}
	if 25*instances > *worlds {
		t.Error("want 1 of 50 at most")
	}
}

// score is how well a class of worlds was sorted.
type score struct {
	worlds, found int
	after         []int
	wrong, pairs  int
	split         int // of instances, that were taken for routes at the end
}

// tryInstances hears the answers of instances, which may be taken for routes for a while.
func (s *score) tryInstances(w *world) {
	s.worlds++
	var r Router
	heard, found := 0, 0
	w.run(1500, func(path string, a *Answer, _ *request) {
		if heard++; r.Hear("GET", path, a).Instances != nil && found == 0 {
			found = heard
		}
	})
	if found > 0 {
		s.found++
		s.after = append(s.after, found)
	}
	if len(r.counters) > 1 {
		s.split++
	}
}

// TestInstancesAreFound runs servers of several instances.
func TestInstancesAreFound(t *testing.T) {
	var turn, random score
	for seed := range seeds {
		turn.tryInstances(instanced(seed, inTurn))
		random.tryInstances(instanced(seed, atRandom))
	}
	t.Logf("in turn:   %v; %d are split", &turn, turn.split)
	t.Logf("at random: %v; %d are split", &random, random.split)
	if turn.share() < 50 || random.share() < 55 || 100*(turn.split+random.split) > *worlds {
		t.Error("want half of them found, and 1 of 100 split in the end")
	}
}

// try sorts a world of routes.
func (s *score) try(w *world) {
	s.worlds++
	var r Router
	heard, found := 0, 0
	type sorted struct {
		route   int
		counter string
	}
	var last []sorted
	w.run(1500, func(path string, a *Answer, req *request) {
		c := r.Hear("GET", path, a)
		if heard++; r.Split() && found == 0 {
			found = heard
		}
		if heard > 1300 {
			last = append(last, sorted{req.path.route, c.Counter})
		}
	})
	if found > 0 {
		s.found++
		s.after = append(s.after, found)
		for i := range last {
			for j := range i {
				s.pairs++
				if (last[i].route == last[j].route) != (last[i].counter == last[j].counter) {
					s.wrong++
				}
			}
		}
	}
}

func (s *score) String() string {
	slices.Sort(s.after)
	at := func(q float64) int {
		if len(s.after) == 0 {
			return 0
		}
		return s.after[int(q*float64(len(s.after)-1))]
	}
	return fmt.Sprintf("%d worlds, found %.1f %%, after %d answers, 9 of 10 after %d; %.1f %% of pairs wrong",
		s.worlds, s.share(), at(0.5), at(0.9), 100*float64(s.wrong)/float64(max(s.pairs, 1)))
}

func (s *score) share() float64 { return 100 * float64(s.found) / float64(s.worlds) }

// TestRoutes runs servers with a counter for each route.
func TestRoutes(t *testing.T) {
	var differ, same score
	for seed := range seeds {
		differ.try(routed(seed, true))
		same.try(routed(seed, false))
	}
	t.Logf("limits differ: %v", &differ)
	t.Logf("one limit:     %v", &same)
	if differ.share() < 95 || differ.wrong*100 > 5*differ.pairs || same.share() < 45 || same.wrong*100 > 20*same.pairs {
		t.Error("want 95 % found where limits differ and 5 % wrong at most, and 45 % and 20 % where they do not")
	}
}
