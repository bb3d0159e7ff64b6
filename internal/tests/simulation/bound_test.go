package simulation

import (
	"container/heap"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/pacertest"
)

// TestCellBound shows what is left to learn and what nothing that is learned helps: how often processes are
// refused that know all but what the others do. Each is told how the server counts and how many processes there
// are, and keeps to its part of the limit; it knows neither when the others send nor how long a request is on
// its way. Half of them are next to never refused; but where fewer tokens are there at once than processes, one
// of three requests is, and more.
func TestCellBound(t *testing.T) {
	whole.Alone(t)
	for _, column := range whole.Or([]string{"1-long", "3-long"}, []string{"1-long", "3-long", "10-long"}) {
		var all, few []float64
		for seed := range whole.Or[uint64](1, 2) {
			for i := range 48 {
				c, err := drawCell(100+seed, fmt.Sprintf("%s/%s/%d", classExact, column, i))
				if err != nil {
					t.Fatal(err)
				}
				refused := c.bound(time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC), 0, 0, time.Second).Refused
				if all = append(all, refused); c.free < c.processes {
					few = append(few, refused)
				}
			}
		}
		half, three := middle(all)
		t.Logf("%s: %.1f/%.1f refused per 100 that are served, in half and in three of four of the cells", column, half, three)
		if half > 1 {
			t.Errorf("%s: %.1f refused per 100 in half of the cells, want 1 at most", column, half)
		}
		if len(few) == 0 {
			continue
		}
		half, three = middle(few)
		t.Logf("%s: %.1f/%.1f where fewer tokens are there at once than processes", column, half, three)
		if half < 5 {
			t.Errorf("%s: %.1f refused per 100 where there are few tokens, want 5 at least", column, half)
		}
	}
}

// TestCellSearch shows what remains to be searched by those who are told how the server counts, its rate,
// window and burst, and not how many others there are: one alone is next to never refused, and several are,
// since they hear of each other by nothing else.
func TestCellSearch(t *testing.T) {
	whole.Alone(t)
	cells := 48
	if *simulations <= usual {
		cells = 10
	}
	for _, tt := range []struct {
		column                string
		slowest, fewest, most float64 // in half of the cells
	}{{"1-long", 1.03, 0, 0.1}, {"3-long", 1.15, 0.5, 5}, {"10-long", 1.30, 3, 15}} {
		if tt.column == "10-long" && *simulations <= usual {
			continue // it takes as long as the others together
		}
		for member := range members {
			var took, refused []float64
			for i := range cells {
				o := boundOfMember(t, member, fmt.Sprintf("%s/%s/%d", classSilent, tt.column, i))
				took, refused = append(took, o.Just), append(refused, o.Refused)
			}
			half, three := middle(took)
			less, more := middle(refused)
			t.Logf("%s, %s: %.2f/%.2f times the least; %.1f/%.1f refused per 100", member, tt.column, half, three, less, more)
			if half > tt.slowest || less < tt.fewest || less > tt.most {
				t.Errorf("%s, %s: %.2f times the least, %.1f refused in half of the cells, want at most %v, and %v to %v", member, tt.column, half, less, tt.slowest, tt.fewest, tt.most)
			}
		}
	}
}

// TestCellRead shows what is left to those who are told how the server counts, its rate, window and burst, and
// who read what remains, and not how many others there are: how much of the limit their part is, and who goes
// first.
func TestCellRead(t *testing.T) {
	whole.Alone(t)
	for _, tt := range []struct {
		column        string
		slowest, most float64 // in half of the cells
	}{{"1-long", 1.02, 0.1}, {"3-long", 1.02, 1}, {"10-long", 1.05, 10}} {
		if tt.column == "10-long" && !whole.Wanted() {
			continue // it takes as long as the others together
		}
		for _, class := range []string{classExact, classCoarse} {
			for member := range readers {
				var took, refused []float64
				for i := range whole.Or(6, 24) {
					o := boundOfMember(t, member, fmt.Sprintf("%s/%s/%d", class, tt.column, i))
					took, refused = append(took, o.Just), append(refused, o.Refused)
				}
				half, three := middle(took)
				less, more := middle(refused)
				t.Logf("%s, %s/%s: %.3f/%.3f times the least; %.1f/%.1f refused per 100", member, class, tt.column, half, three, less, more)
				if half > tt.slowest || less > tt.most {
					t.Errorf("%s, %s/%s: %.3f times the least, %.1f refused in half of the cells, want at most %v and %v", member, class, tt.column, half, less, tt.slowest, tt.most)
				}
			}
		}
	}
}

// TestCellUntold shows what the numbers of a limit cost those who have to read them in what is stated: how
// often three of them are refused.
func TestCellUntold(t *testing.T) {
	whole.Alone(t)
	for _, class := range []string{classExact, classCoarse} {
		var took, refused []float64
		for i := range whole.Or(12, 24) {
			o := boundOfMember(t, memberUntold, fmt.Sprintf("%s/3-long/%d", class, i))
			took, refused = append(took, o.Just), append(refused, o.Refused)
		}
		half, three := middle(took)
		less, more := middle(refused)
		t.Logf("%s: %.3f/%.3f times the least; %.1f/%.1f refused per 100", class, half, three, less, more)
		if half > 1.03 || less > 1 {
			t.Errorf("%s: %.3f times the least, %.1f refused in half of the cells, want at most 1.03 and 1", class, half, less)
		}
	}
}

// TestCellGuess shows that one process that has to guess the numbers of a server, or how it counts as well,
// never takes the truth for impossible, and how many of its requests were on their way when it heard the first
// refusal.
func TestCellGuess(t *testing.T) {
	whole.Alone(t)
	for _, class := range []string{classHint, classSilent} {
		for _, member := range []string{memberUntold, "untold-any"} {
			var refused, first []float64
			for i := range whole.Or(6, 48) {
				c, err := drawCell(100, fmt.Sprintf("%s/1-short/%d", class, i))
				if err != nil {
					t.Fatal(err)
				}
				if c.requests > 1000 && !whole.Wanted() {
					continue // each request of thousands makes every guess look at all that were before it
				}
				s := &seekers{cell: &c, start: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC), server: c.algorithm(), attempts: map[int]int{}}
				s.hunt(member)
				hammers := s.play()
				if p := s.all[0].hunter.(*guesser); hammers || !slices.ContainsFunc(p.all, p.true) {
					t.Errorf("%s, %v: of %d guesses none is true, or it hammers: %v", member, c, len(p.all), hammers)
				}
				var o outcome
				o.count(s.answers)
				if o.Served != c.requests {
					t.Errorf("%s, %v: %d served", member, c, o.Served)
				}
				refused, first = append(refused, o.Refused), append(first, firstFlight(s.answers))
			}
			half, three := middle(refused)
			one, more := middle(first)
			t.Logf("%s, %s: %.1f/%.1f refused per 100, of which %.1f/%.1f were on their way when the first refusal was heard", member, class, half, three, one, more)
			if half > 10 || one > half {
				t.Errorf("%s, %s: %.1f refused per 100 in half of the cells, %.1f of them on their way at the first refusal, want at most 10, and no more than that", member, class, half, one)
			}
		}
	}
}

// true reports whether a guess is.
func (p *guesser) true(g guess) bool {
	rate, phase, counts := p.rate, time.Duration(0), p.counts
	switch a := p.layers[0].algorithm.(type) {
	case *pacertest.GCRA:
		rate, counts = 1e9/math.Floor(1e9/rate), "bucket"
	case *pacertest.LeakyBucket:
		if !a.Queue {
			counts = "bucket"
		}
	case *pacertest.ClockWindow:
		phase = a.Phase
	case *pacertest.EstimatedWindow:
		phase = a.Phase
	}
	if g.counts != counts || g.window != p.window {
		return false
	}
	if (p.refused || p.told != "") && g.all != p.refusedCount || p.floors() && p.refused && g.floored != (p.speaks == "hint floored") {
		return false
	}
	switch counts {
	case "bucket", "queue":
		if rate < g.rate[1] || rate > g.rate[0] {
			return false
		}
	case "clock", "estimate":
		span := float64(g.phase[1] - g.phase[0])
		if way := float64(phase - g.phase[0]); way < g.left[0]*span || way > g.left[1]*span {
			return false
		}
	}
	return g.sure.low <= p.free && p.free <= g.sure.high
}

// firstFlight is how many were refused, per 100 that were served, that were on their way when the first refusal
// was heard.
func firstFlight(answers []answer) float64 {
	heard, served, refused := never, 0, 0
	for _, a := range answers {
		if !a.ok {
			heard = min(heard, a.back)
		} else {
			served++
		}
	}
	for _, a := range answers {
		if !a.ok && a.sent < heard {
			refused++
		}
	}
	return 100 * float64(refused) / float64(max(served, 1))
}

// leastOf is the least time of a cell, which is the same for all members.
var leastOf = map[string]time.Duration{}

// boundOfMember is how a cell goes for processes that search, or read what remains.
func boundOfMember(t *testing.T, member, name string) *outcome {
	t.Helper()
	c, err := drawCell(100, name)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	if leastOf[name] == 0 {
		w := &world{simulation: c.simulation, start: start}
		leastOf[name] = lasted(w.ideal(0, c.requests, 0, nil), 0)
	}
	o := c.boundOfSearch(member, start, leastOf[name])
	if o.Ended == "" && (o.Served != c.requests || o.Just < 1-c.slack(0)/o.Least) {
		t.Errorf("%s, %s: %d of %d served, %.2f times the least: %v", member, c.name, o.Served, c.requests, o.Just, c)
	}
	return o
}

// middle returns the value of the middle one, and of the one at three quarters.
func middle(values []float64) (half, three float64) {
	slices.Sort(values)
	return values[len(values)/2], values[3*len(values)/4]
}

// bound is how a cell goes for processes that keep to their parts: what nobody who knows all but what the
// others do can be blamed for. It is about the requests from first on. These begin at an instant, and take the
// least time that is given, in which callers who know what the others do are done.
func (c *cell) bound(start time.Time, first int, begin, least time.Duration) *outcome {
	o := &outcome{Name: c.name}
	answers, hammers := c.shared(start, first, begin)
	if c.factor != 0 {
		c.scoreChange(answers, o)
		return o
	}
	var took time.Duration
	for _, a := range answers {
		took = max(took, a.back-begin)
	}
	o.score(took, least, least)
	if o.count(answers); hammers {
		o.Ended, o.Just = errHammers.Error(), endless
	}
	return o
}

// part is the algorithm of which a process keeps its part, one of so many. Where fewer requests are admitted at
// once than there are processes, each of them sends one in several windows.
func part(a pacertest.Algorithm, of int) pacertest.Algorithm {
	each := func(n int) int { return max(1, n/of) }
	window := func(limit int, d time.Duration) time.Duration {
		return d * time.Duration(max(of, limit)) / time.Duration(limit)
	}
	switch a := a.Fresh().(type) {
	case *pacertest.TokenBucket:
		return &pacertest.TokenBucket{Rate: a.Rate / float64(of), Burst: each(a.Burst)}
	case *pacertest.GCRA:
		return &pacertest.GCRA{Rate: a.Rate / float64(of), Burst: each(a.Burst)}
	case *pacertest.LeakyBucket:
		return &pacertest.LeakyBucket{Rate: a.Rate / float64(of), Depth: each(a.Depth)}
	case *pacertest.FixedWindow:
		a.Limit, a.Window = each(a.Limit), window(a.Limit, a.Window)
		return a
	case *pacertest.ClockWindow:
		a.Limit, a.Window = each(a.Limit), window(a.Limit, a.Window)
		return a
	case *pacertest.SlidingLog:
		a.Limit, a.Window = each(a.Limit), window(a.Limit, a.Window)
		return a
	case *pacertest.SlidingWindow:
		a.Limit, a.Window = each(a.Limit), window(a.Limit, a.Window)
		return a
	case *pacertest.EstimatedWindow:
		a.Limit, a.Window = each(a.Limit), window(a.Limit, a.Window)
		return a
	}
	panic("an algorithm that has no parts")
}

// sharers are processes that keep to their parts, and the server that they share.
type sharers struct {
	*cell
	start    time.Time // of the world
	first    int       // of the requests
	server   pacertest.Algorithm
	changed  bool // the limit of the server has changed
	parts    []sharer
	attempts map[int]int
	queue    oracle
}

// sharer is one of them.
type sharer struct {
	part    pacertest.Algorithm
	changed bool
	sent    time.Duration // when the latest request was sent
	next    int           // how many requests its callers have taken
}

// shared plays a cell with processes that keep to their parts, from an instant on and with the requests from
// first on; where the limit changes, with as many as there is time for. It returns what was answered, in its
// order, and whether that was too often for the requests.
func (c *cell) shared(start time.Time, first int, begin time.Duration) (answers []answer, hammers bool) {
	s := &sharers{cell: c, start: start, first: first, server: c.algorithm(), parts: make([]sharer, c.processes), attempts: map[int]int{}}
	for p := range s.parts {
		s.parts[p] = sharer{part: part(c.layers[0].algorithm, c.processes), sent: begin}
		if c.free < c.processes { // else all would come at one instant, again and again
			s.parts[p].sent += time.Duration(c.rnd(-1, p, "phase").Float64() * float64(c.processes) / c.rate * 1e9)
		}
	}
	for range c.callers {
		for p := range c.processes {
			s.ask(p, begin)
		}
	}
	for len(s.queue) > 0 {
		a := heap.Pop(&s.queue).(asked)
		if c.factor != 0 && a.at >= before+after {
			break
		}
		if len(answers) == c.hammering()*(c.requests+100) {
			return answers, true
		}
		s.server = s.change(s.server, &s.changed, a.at)
		v := s.server.Take(start.Add(a.at), 1)
		back := a.at + v.Delay + c.way(a.id, s.attempts[a.id], "back")
		if answers = append(answers, answer{process: a.process, at: a.at, back: back, ok: v.OK}); v.OK {
			s.ask(a.process, back)
		} else {
			s.send(a.process, a.id, back+v.RetryAfter)
		}
	}
	return answers, false
}

// ask lets a caller of a process take its next request at t.
func (s *sharers) ask(process int, t time.Duration) {
	p := &s.parts[process]
	if id := s.first + p.next*s.processes + process; id < s.requests || s.factor != 0 {
		p.next++
		s.send(process, id, t)
	}
}

// send lets a process send a request at t, or when its part of the limit admits it.
func (s *sharers) send(process, id int, t time.Duration) {
	p := &s.parts[process]
	t = max(t, p.sent)
	for {
		p.part = s.change(p.part, &p.changed, t)
		v := p.part.Take(s.start.Add(t), 1)
		if v.OK {
			break
		}
		next := t + max(v.RetryAfter, 1)
		if s.factor != 0 && t < before {
			next = min(next, before) // it is told of the change
		}
		t = next
	}
	p.sent = t
	s.attempts[id]++
	heap.Push(&s.queue, asked{id, process, t + s.way(id, s.attempts[id], "there")})
}

// change has an algorithm change when the limit does.
func (s *sharers) change(a pacertest.Algorithm, done *bool, t time.Duration) pacertest.Algorithm {
	if *done || s.factor == 0 || t < before {
		return a
	}
	*done = true
	return changed(a, s.factor, s.start.Add(t))
}
