package simulation

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/pacertest"
)

// Where the limit changes, it does so after a time in which it can be learned; what follows is
// watched for long enough to see the slowest goal missed.
const (
	before = time.Minute
	after  = 200 * time.Second
)

// endless is after how many times the least a run is ended.
const endless = 1000

// outcome is how a cell went. Times are in seconds. What is of the first part of the column idle
// is not in it.
type outcome struct {
	Name    string
	Cell    string  // in words
	Took    float64 // from the first request to the last answer
	Least   float64 // for callers who know the server's algorithm and state, and the way to it
	Forced  float64 // what these lose if they obey what is stated beyond the truth (closed)
	Just    float64 // (Took - Forced) / Least
	Refused float64 // per 100 that were served
	Served  int
	Failed  int      // how often a caller got a refusal or an error
	Adapted float64  // after the limit changed; the whole time if it did not
	Settled bool     // whether it had adapted to the limit before
	Ended   string   // why it was ended: Just is then what a run is ended at
	Problem string   // what is wrong with the matrix
	Bound   *outcome `json:",omitempty"` // how it goes for processes that know all but what the others do
}

// court is the server of a cell. It remembers what it answered.
type court struct {
	*cell
	world *world

	mu        sync.Mutex // protects the fields below
	algorithm pacertest.Algorithm
	answers   []answer
}

// answer is what became of one attempt. Instants count from the start of the world.
type answer struct {
	process        int
	sent, at, back time.Duration // when it was sent, came to the server, and was answered
	ok             bool
	next           time.Duration // when the server admits one more
	beyond         time.Duration // by how much later than that it says to come
}

// ServeHTTP implements http.Handler.
func (c *court) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t := r.Context().Value(tryKey{}).(*try)
	now := time.Now()
	c.mu.Lock()
	v := c.algorithm.Take(now, 1)
	at := now.Sub(c.world.start)
	clock := now.Add(c.skews[t.process])
	c.answers = append(c.answers, answer{
		process: t.process, sent: t.sent.Sub(c.world.start), at: at, back: at + v.Delay + c.way(t.id, t.attempts, "back"),
		ok: v.OK, next: at + v.RetryAfter, beyond: c.beyond(v, clock),
	})
	c.mu.Unlock()
	w.Header().Set("Date", clock.UTC().Format(http.TimeFormat))
	c.layers[0].dialect.Set(w.Header(), v, clock)
	switch {
	case v.OK:
		if sleep(r.Context(), v.Delay) == nil {
			w.WriteHeader(http.StatusOK)
		}
	case c.layers[0].status != 0:
		w.WriteHeader(c.layers[0].status)
	default:
		w.WriteHeader(http.StatusTooManyRequests)
	}
}

// beyond is by how much later than the truth a client comes who does as the answer says, since
// what is said was rounded up: the hint of a refusal, or the reset where nothing is left and all
// comes back at once. Where both are said, a client can do as the nearer one. The exact ones are
// near everywhere.
func (c *cell) beyond(v pacertest.Verdict, clock time.Time) time.Duration {
	d := c.layers[0].dialect
	least := time.Duration(math.MaxInt64)
	if d.RetryAfter != "" && !v.OK {
		switch in := v.RetryAfter; d.RetryAfter {
		case pacertest.RetryAfterSeconds:
			least = roundedUp(in, time.Second, d.RetryAfterFloor)
		case pacertest.RetryAfterDate:
			least = roundedUp(time.Duration(clock.Add(in).Nanosecond()), time.Second, d.RetryAfterFloor)
		default:
			least = 0 // to the millisecond
		}
	}
	if d.Layout != "" && d.Reset != pacertest.ResetOmitted && (!v.OK || v.Remaining == 0) {
		switch in := v.Reset; {
		case c.class == classExact:
			least = 0
		case !c.resets:
		case d.Layout == pacertest.LayoutTrio && (d.Reset == pacertest.ResetEpoch || d.Reset == pacertest.ResetRFC3339):
			least = min(least, roundedUp(time.Duration(clock.Add(in).Nanosecond()), time.Second, d.ResetFloor))
		default:
			least = min(least, roundedUp(in, time.Second, d.ResetFloor))
		}
	}
	if least == math.MaxInt64 {
		return 0
	}
	return least
}

// roundedUp is how much is added to d if it is rounded up to a multiple of unit.
func roundedUp(d, unit time.Duration, floor bool) time.Duration {
	if floor || d%unit == 0 {
		return 0
	}
	return unit - d%unit
}

// play runs a cell in a bubble.
func (c cell) play(t *testing.T, trace func(string, ...any)) (o outcome) {
	t.Helper()
	o.Name, o.Cell = c.name, c.String()
	spins := time.AfterFunc(10*time.Minute, func() { panic(fmt.Sprintf("%s takes ten minutes: %v", c.name, c)) })
	defer spins.Stop()
	synctest.Test(t, func(t *testing.T) {
		// A bubble begins in the year 2000, where seconds since 1970 have nine digits only.
		time.Sleep(time.Until(time.Date(2026, 11, 21, 8, 0, 0, c.rnd(-1, 0, "start").IntN(1e9), time.UTC)))
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		w := newWorld(c.simulation, func() { cancel(errHammers) })
		court := &court{cell: &c, world: w, algorithm: c.algorithm()}
		w.handler, w.trace = court, trace
		transports := make([]*pacer.Transport, c.processes)
		for p := range transports {
			transports[p] = &pacer.Transport{Base: network{w}, Rand: c.jitter(p)}
		}
		if trace != nil {
			w.trace = func(format string, args ...any) { trace(format+" %s", append(args, believed(transports))...) }
		}
		b := batchOf{world: w, ctx: ctx, transports: transports}
		if c.factor != 0 {
			time.AfterFunc(before, func() {
				court.mu.Lock()
				defer court.mu.Unlock()
				court.algorithm = changed(court.algorithm, c.factor, time.Now())
				if trace != nil {
					trace("%12.6f the limit is multiplied by %g", time.Since(w.start).Seconds(), c.factor)
				}
			})
			time.AfterFunc(before+after, func() { cancel(nil) })
			b.run(0, math.MaxInt)
			c.scoreChange(court.answers, &o)
			o.Bound = c.bound(w.start, 0, 0, 0)
			return
		}
		first, begin := 0, time.Duration(0)
		if c.idle != 0 {
			first = c.requests / 2
			b.run(0, first)
			time.Sleep(c.idle)
			begin, court.answers, _ = time.Since(w.start), nil, b.failed.Swap(0)
		}
		least := lasted(w.ideal(first, c.requests, begin, nil), begin)
		stall := time.AfterFunc(endless*least+time.Hour, func() { cancel(errStalls) })
		defer stall.Stop()
		b.run(first, c.requests)
		took := time.Since(w.start) - begin
		o.score(took, least, lasted(w.ideal(first, c.requests, begin, closed(court.answers, c.processes)), begin))
		o.Failed = int(b.failed.Load())
		o.count(court.answers)
		if o.Bound = c.bound(w.start, first, begin, least); *cellBound != "" && c.searches(*cellBound) {
			o.Bound = c.boundOfSearch(*cellBound, w.start, least)
		} else if guessers[*cellBound].weight > 0 {
			o.Bound = nil
		}
		if cause := context.Cause(ctx); cause != nil {
			o.Ended, o.Just = cause.Error(), endless
		} else if o.Took < o.Least+o.Forced-c.slack(first) {
			o.Problem = "faster than the ideal"
		}
	})
	return o
}

// score notes how long a run took, and how long ideal callers take: free ones, and those who obey.
func (o *outcome) score(took, least, obeying time.Duration) {
	forced := max(0, obeying-least)
	o.Took, o.Least, o.Forced = took.Seconds(), least.Seconds(), forced.Seconds()
	o.Just = (took - forced).Seconds() / o.Least
}

// slack is by how much callers may be faster than the ideal ones, in seconds: these send the
// requests in their order, and which request is last, and how long it is on its way, differs.
func (c *cell) slack(first int) float64 {
	var longest time.Duration
	for id := first; id < c.requests; id++ {
		longest = max(longest, c.way(id, 1, "there")+c.way(id, 1, "back"))
	}
	return longest.Seconds()
}

// batchOf lets the callers of all processes send requests.
type batchOf struct {
	*world
	ctx        context.Context //nolint:containedctx // it is of one run
	transports []*pacer.Transport
	failed     atomic.Int64
}

// run sends the requests from first up to last, and returns when all are answered.
func (b *batchOf) run(first, last int) {
	var wg sync.WaitGroup
	begin := time.Now()
	for p, tr := range b.transports {
		var taken atomic.Int64
		for range b.callers {
			wg.Go(func() {
				for b.ctx.Err() == nil {
					id := first + (int(taken.Add(1))-1)*b.processes + p
					if id >= last {
						return
					}
					time.Sleep(time.Until(begin.Add(b.arrival(id))))
					_, failed := b.ask(b.ctx, tr, &try{id: id, process: p})
					b.failed.Add(int64(failed))
				}
			})
		}
	}
	wg.Wait()
}

// believed is what the processes believe of the server, for a trace.
func believed(transports []*pacer.Transport) (text string) {
	for p, tr := range transports {
		for _, s := range tr.State() {
			text += fmt.Sprintf(" [%d: %d wait, %d in flight, held %v, slow start %d, next %v %s", p, s.Waiting, s.InFlight, s.Held, s.SlowStart, s.Next.Wait, s.Next.Cause)
			for _, l := range s.Limits {
				text += fmt.Sprintf("; %d of %d, reset %v, rate %.4g", l.Available, l.Limit, l.Reset, l.Rate)
			}
			text += "]"
		}
	}
	return text
}

// lasted is how long after begin the last answer is back.
func lasted(visits []visit, begin time.Duration) (d time.Duration) {
	for _, v := range visits {
		d = max(d, v.end-begin)
	}
	return d
}

// count counts what was answered.
func (o *outcome) count(answers []answer) {
	refused := 0
	for _, a := range answers {
		if a.ok {
			o.Served++
		} else {
			refused++
		}
	}
	o.Refused = 100 * float64(refused) / float64(max(o.Served, 1))
}

// closed are the times in which no process came that still had something to send, since each was
// told to come later than the server would have admitted it. Ideal callers who may not come
// then are never slower than those who did not: so they tell what was forced upon these.
func closed(answers []answer, processes int) (all []span) {
	var end time.Duration // when the last request came
	for _, a := range answers {
		end = max(end, a.at)
	}
	for p := range processes {
		var mine []answer
		for _, a := range answers {
			if a.process == p {
				mine = append(mine, a)
			}
		}
		if spans := closedTo(mine, end); p == 0 {
			all = spans
		} else {
			all = both(all, spans)
		}
	}
	return all
}

// closedTo are those of one process, and the time after its last request.
func closedTo(mine []answer, end time.Duration) (spans []span) {
	slices.SortFunc(mine, func(a, b answer) int { return cmp.Compare(a.sent, b.sent) })
	came := make([]time.Duration, len(mine)+1) // the latest that came of the first so many
	comes := make([]time.Duration, len(mine)+1)
	comes[len(mine)] = math.MaxInt64 // the earliest that comes of those from there on
	for i, a := range mine {
		came[i+1] = max(came[i], a.at)
	}
	for i, a := range slices.Backward(mine) {
		comes[i] = min(comes[i+1], a.at)
	}
	for _, a := range mine {
		if a.beyond > 0 {
			// What was sent before it was told cannot have been held back.
			n, _ := slices.BinarySearchFunc(mine, a.back, func(a answer, t time.Duration) int { return cmp.Compare(a.sent, t) })
			// Nor may anybody come at next itself, when all of a window is back: ideal callers come after from.
			spans = append(spans, span{max(a.next-1, came[n]), min(a.next+a.beyond, comes[n])})
		}
	}
	spans = append(spans, span{came[len(mine)], end})
	return union(spans)
}

// union joins spans that overlap.
func union(spans []span) (joined []span) {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for _, s := range spans {
		if last := len(joined) - 1; s.from >= s.to {
			continue
		} else if last >= 0 && s.from <= joined[last].to {
			joined[last].to = max(joined[last].to, s.to)
		} else {
			joined = append(joined, s)
		}
	}
	return joined
}

// both is the time that is in both.
func both(a, b []span) (common []span) {
	for len(a) > 0 && len(b) > 0 {
		if s := (span{max(a[0].from, b[0].from), min(a[0].to, b[0].to)}); s.from < s.to {
			common = append(common, s)
		}
		if a[0].to < b[0].to {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return common
}

// scoreChange tells how long it took to adapt to the limit after its change: until the last
// span begins that is not good. Settled is whether the last span before the change was.
func (c *cell) scoreChange(answers []answer, o *outcome) {
	late := answers[cameBefore(answers, before):cameBefore(answers, before+after)]
	o.count(late)
	served := make([]int, len(answers)+1) // of the first so many
	for i, a := range answers {
		if served[i+1] = served[i]; a.ok {
			served[i+1]++
		}
	}
	good := func(m measure, begin time.Duration) bool {
		from, to := cameBefore(answers, begin), cameBefore(answers, begin+m.long)
		return m.good(served[to]-served[from], to-from)
	}
	old, now := c.measure(1), c.measure(c.factor)
	o.Settled = good(old, before-old.long)
	// Of all spans, those are the worst which begin after an answer, or end before one.
	begins := []time.Duration{before}
	for _, a := range late {
		begins = append(begins, a.at+1, a.at-now.long)
	}
	var last time.Duration
	adapted := true
	for _, begin := range begins {
		if end := begin + now.long; begin >= before+last && end <= before+after && !good(now, begin) {
			last = begin - before
			adapted = end+now.long < before+after
		}
	}
	if o.Adapted = last.Seconds(); !adapted || len(late) == 0 {
		o.Adapted = after.Seconds()
	}
}

// cameBefore is how many of the answers, which are in their order, came before an instant.
func cameBefore(answers []answer, t time.Duration) int {
	i, _ := slices.BinarySearchFunc(answers, t, func(a answer, t time.Duration) int { return cmp.Compare(a.at, t) })
	return i
}

// measure is what makes a span good: at least nine tenths of what the limit gives are served, and
// no more than 10 of 100, and two, refused. A span is ten seconds; of a window as many whole windows,
// and one more, of which one may be lost at its ends.
type measure struct {
	long   time.Duration
	served float64
}

// measure is that of a multiple of the limit.
func (c *cell) measure(factor float64) measure {
	const long = 10 * time.Second
	if c.window == 0 {
		return measure{long, 0.9 * c.rate * factor * long.Seconds()}
	}
	windows := int((long + c.window - 1) / c.window)
	limit := math.Max(1, math.Round(float64(c.limit)*factor))
	return measure{time.Duration(windows+1) * c.window, 0.9 * limit * float64(windows)}
}

// good reports whether a span is, of whose answers so many were served.
func (m measure) good(served, answers int) bool {
	return float64(served) >= m.served && float64(answers-served) <= 2+0.1*float64(served)
}
