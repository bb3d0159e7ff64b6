package simulation

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/gopacer/pacer/pacertest"
)

// simulation is programs that use pacer, and the server which they use. All of it
// follows from the seed.
type simulation struct {
	seed uint64

	counts string // how the server does
	speaks string // how it does
	voice  voice
	layers []layer // the outer one first
	limit  int     // of the tightest layer, in its window
	window time.Duration
	resets bool // all comes back at once

	workload  workload
	requests  int
	costs     int // of a request at most
	callers   int // of each process
	processes int
	skews     []time.Duration // by which the server's clock is ahead of each process's
	latency   time.Duration   // of a round trip in the mean
	trouble   trouble
}

// layer is one of the server's limits.
type layer struct {
	algorithm pacertest.Algorithm
	dialect   pacertest.Dialect
	status    int
	reset     string // constant, in place of the truth
}

// voice is how much a server says.
type voice string

const (
	headers  voice = "headers"       // limit, remaining, reset
	coarse   voice = "epoch"         // the reset in seconds since 1970
	constant voice = "constant"      // a reset or hint which is a constant
	partial  voice = "partial"       // no reset, or on refusals only
	hint     voice = "hint"          // a Retry-After alone
	silent   voice = "silent"        // nothing
	shut     voice = "silent, a 503" // which is not even a refusal
)

type workload string

const (
	batch   workload = "batch"   // all is there at once
	trickle workload = "trickle" // it comes evenly, a little slower than the limit
	bursts  workload = "bursts"  // it comes in heaps
	leaving workload = "leaving" // a batch, of which some give up after a while
)

type trouble string

const (
	none     trouble = ""
	loss     trouble = "lost answers"
	vanish   trouble = "headers vanish"
	unhinted trouble = "hints vanish"
	late     trouble = "hints too long"
	early    trouble = "hints too short"
	errors5  trouble = "errors 500"
	guest    trouble = "another consumer"
)

// counting is a way to count limit requests in a window.
type counting struct {
	name   string
	resets bool
	of     func(r *rand.Rand, limit int, window time.Duration) pacertest.Algorithm
}

var countings = []counting{
	{"fixed", true, func(_ *rand.Rand, n int, w time.Duration) pacertest.Algorithm {
		return &pacertest.FixedWindow{Limit: n, Window: w}
	}},
	{"clock", true, func(r *rand.Rand, n int, w time.Duration) pacertest.Algorithm {
		a := &pacertest.ClockWindow{Limit: n, Window: w}
		if r.IntN(2) == 0 {
			a.Phase = time.Duration(r.Int64N(int64(w)))
		}
		return a
	}},
	{"estimate", false, func(r *rand.Rand, n int, w time.Duration) pacertest.Algorithm {
		return &pacertest.EstimatedWindow{Limit: n, Window: w, Phase: time.Duration(r.Int64N(int64(w)))}
	}},
	{"log", false, func(_ *rand.Rand, n int, w time.Duration) pacertest.Algorithm {
		return &pacertest.SlidingLog{Limit: n, Window: w}
	}},
	{"cells", false, func(_ *rand.Rand, n int, w time.Duration) pacertest.Algorithm {
		return &pacertest.SlidingWindow{Limit: n, Window: w}
	}},
	{"bucket", false, func(r *rand.Rand, n int, w time.Duration) pacertest.Algorithm {
		return &pacertest.TokenBucket{Rate: float64(n) / w.Seconds(), Burst: burst(r, n)}
	}},
	{"GCRA", false, func(r *rand.Rand, n int, w time.Duration) pacertest.Algorithm {
		return &pacertest.GCRA{Rate: float64(n) / w.Seconds(), Burst: burst(r, n)}
	}},
	{"leaky", false, func(r *rand.Rand, n int, w time.Duration) pacertest.Algorithm {
		return &pacertest.LeakyBucket{Rate: float64(n) / w.Seconds(), Depth: burst(r, n)}
	}},
	{"queue", false, func(r *rand.Rand, n int, w time.Duration) pacertest.Algorithm {
		return &pacertest.LeakyBucket{Rate: float64(n) / w.Seconds(), Depth: burst(r, n), Queue: true}
	}},
}

// burst draws the size of a bucket that is refilled with n in a window.
func burst(r *rand.Rand, n int) int { return max(1, []int{1, n / 4, n / 2, n}[r.IntN(4)]) }

// speaking is a way to speak.
type speaking struct {
	name  string
	voice voice
	layer layer
}

var speakings = func() []speaking {
	with := func(d pacertest.Dialect, f func(d *pacertest.Dialect)) layer {
		f(&d)
		return layer{dialect: d}
	}
	floor := func(d *pacertest.Dialect) { d.ResetFloor = true }
	return []speaking{
		{"X delta", headers, layer{dialect: pacertest.XRateLimitDelta}},
		{"X delta, floored", headers, with(pacertest.XRateLimitDelta, floor)},
		{"X delta, hint floored", headers, with(pacertest.XRateLimitDelta, func(d *pacertest.Dialect) { d.RetryAfterFloor = true })},
		{"draft 6", headers, layer{dialect: pacertest.RateLimitDraft6}},
		{"draft 7", headers, layer{dialect: pacertest.RateLimitDraft7}},
		{"draft 8", headers, layer{dialect: pacertest.RateLimitDraft8}},
		{"draft 8, no hint", headers, with(pacertest.RateLimitDraft8, func(d *pacertest.Dialect) { d.RetryAfter = "" })},
		{"duration", headers, layer{dialect: pacertest.OpenAI}},
		{"epoch", coarse, layer{dialect: pacertest.XRateLimit}},
		{"epoch, floored", coarse, with(pacertest.XRateLimit, floor)},
		{"epoch, hint", coarse, with(pacertest.XRateLimit, func(d *pacertest.Dialect) { d.RetryAfter = pacertest.RetryAfterSeconds })},
		{"RFC 3339", coarse, layer{dialect: pacertest.Anthropic}},
		{"epoch ms", headers, with(pacertest.XRateLimit, func(d *pacertest.Dialect) { d.Reset = pacertest.ResetEpochMillis })},
		{"epoch, hint window", constant, with(pacertest.XRateLimit, func(d *pacertest.Dialect) { d.ResetFloor, d.RetryAfter = true, pacertest.RetryAfterWindow })},
		{"constant reset", constant, layer{dialect: pacertest.Dialect{Layout: pacertest.LayoutTrio}, reset: "1"}},
		{"no reset", partial, with(pacertest.XRateLimitDelta, func(d *pacertest.Dialect) { d.Reset = pacertest.ResetOmitted })},
		{"refusals only", partial, with(pacertest.XRateLimitDelta, func(d *pacertest.Dialect) { d.RefusalsOnly = true })},
		{"hint", hint, layer{dialect: pacertest.RetryAfterOnly}},
		{"hint floored", hint, layer{dialect: pacertest.Dialect{RetryAfter: pacertest.RetryAfterSeconds, RetryAfterFloor: true}}},
		{"hint ms", hint, layer{dialect: pacertest.Dialect{RetryAfter: pacertest.RetryAfterMillis}}},
		{"hint date", hint, layer{dialect: pacertest.Dialect{RetryAfter: pacertest.RetryAfterDate}}},
		{"hint window", constant, layer{dialect: pacertest.Dialect{RetryAfter: pacertest.RetryAfterWindow}}},
		{"silent", silent, layer{}},
		{"silent 503", shut, layer{status: 503}},
	}
}()

// draw makes the simulation of a seed.
func draw(seed uint64) simulation {
	r := rand.New(rand.NewPCG(seed, 0))
	s := simulation{seed: seed, costs: 1}
	quota := pick(r, []weighted[grant]{
		{3, grant{3, time.Second}},
		{3, grant{10, time.Second}},
		{4, grant{50, 2 * time.Second}},
		{4, grant{100, 10 * time.Second}},
		{4, grant{60, time.Minute}},
		{2, grant{300, 15 * time.Minute}},
		{1, grant{900, time.Hour}},
	})
	if r.IntN(200) == 0 {
		quota.n, quota.per = 5000, time.Hour
	}
	s.limit, s.window = quota.n, quota.per
	counting := countings[r.IntN(len(countings))]
	speaking := speakings[r.IntN(len(speakings))]
	inner := speaking.layer
	inner.algorithm = counting.of(r, s.limit, s.window)
	s.counts, s.resets, s.speaks, s.voice = counting.name, counting.resets, speaking.name, speaking.voice
	s.layers = []layer{inner}
	if r.IntN(10) == 0 {
		// A second limit around it, which seldom binds.
		outer := counting.of(r, s.limit*8, s.window*10)
		s.layers = append([]layer{{algorithm: outer, dialect: pacertest.Dialect{
			Layout: pacertest.LayoutList, Prefix: "X-Outer-", RetryAfter: pacertest.RetryAfterSeconds,
		}, status: inner.status}}, s.layers...)
		s.counts += "+"
	}

	s.callers = int(math.Exp2(r.Float64() * 6.2))
	s.processes = pick(r, []weighted[int]{{6, 1}, {1, 2}, {2, 3}, {1, 5}})
	for range s.processes {
		skew := time.Duration(0)
		if r.IntN(2) == 0 {
			skew = time.Duration(r.NormFloat64() * float64(pick(r, []weighted[time.Duration]{{2, time.Second}, {1, time.Hour}})))
		}
		s.skews = append(s.skews, skew)
	}
	s.latency = time.Duration(float64(100*time.Microsecond) * math.Pow(2e4, r.Float64()*r.Float64()))
	s.workload = pick(r, []weighted[workload]{{6, batch}, {1, trickle}, {2, bursts}, {1, leaving}})
	s.trouble = pick(r, []weighted[trouble]{
		{14, none}, {1, loss}, {1, vanish}, {1, unhinted}, {1, late}, {1, early}, {1, errors5}, {1, guest},
	})
	if r.IntN(10) == 0 {
		s.costs = 3 // unless that can never go
		for _, l := range s.layers {
			if !l.algorithm.Fresh().Take(time.Time{}, s.costs).OK {
				s.costs = 1
			}
		}
	}
	s.requests = max(300, int(float64(s.limit)*(1.2+2.5*r.Float64())))
	return s
}

// grant is so many in a time.
type grant struct {
	n   int
	per time.Duration
}

// weighted is a choice that is made with a weight.
type weighted[T any] struct {
	weight int
	value  T
}

func pick[T any](r *rand.Rand, choices []weighted[T]) T {
	sum := 0
	for _, c := range choices {
		sum += c.weight
	}
	n := r.IntN(sum)
	for _, c := range choices {
		if n -= c.weight; n < 0 {
			return c.value
		}
	}
	panic("unreachable")
}

// String describes the simulation.
func (s simulation) String() string {
	text := fmt.Sprintf("%d in %v, %s, %s; %d requests in a %s from %d callers", s.limit, s.window, s.counts, s.speaks, s.requests, s.workload, s.callers)
	if s.processes > 1 {
		text += fmt.Sprintf(" in each of %d processes", s.processes)
	}
	text += fmt.Sprintf(", latency %v", s.latency.Round(10*time.Microsecond))
	if s.costs > 1 {
		text += fmt.Sprintf(", cost 1 to %d", s.costs)
	}
	if s.trouble != none {
		text += ", " + string(s.trouble)
	}
	return text
}

// rnd returns numbers that depend on the seed, a request and what they are for, but
// not on the order in which goroutines run.
func (s simulation) rnd(id, attempt int, purpose string) *rand.Rand {
	h := uint64(id)<<20 ^ uint64(attempt)<<8
	for _, c := range purpose {
		h = h*31 + uint64(c)
	}
	return rand.New(rand.NewPCG(s.seed, h|1<<63))
}

// way is how long a request or its answer is on the way: mostly about half the
// latency, and sometimes much longer. No two of requests that go at one instant arrive at
// one, since then it would be left to chance who is first.
func (s simulation) way(id, attempt int, which string) time.Duration {
	const ids = 512
	r := s.rnd(id, attempt, which)
	d := float64(s.latency) / 2 * (0.5 + r.Float64())
	if r.IntN(100) == 0 {
		d *= 4
	}
	way := time.Duration(d)/ids*ids + ids
	if which == "there" {
		way += time.Duration(id % ids)
	}
	return way
}

// cost is that of a request.
func (s simulation) cost(id int) int {
	if s.costs == 1 {
		return 1
	}
	return 1 + s.rnd(id, 0, "cost").IntN(s.costs)
}

// heaps is how many bursts there are.
const heaps = 4

// heap is which burst a request belongs to.
func (s simulation) heap(id int) int {
	if s.workload != bursts {
		return 0
	}
	return id * heaps / s.requests
}

// begin is when a heap is there, from the start on.
func (s simulation) begin(heap int) time.Duration {
	if s.workload != bursts {
		return 0
	}
	idle := 1 + 4*s.rnd(-1, 0, "idle").Float64()
	per := float64(s.requests*(1+s.costs)) / 2 / heaps / float64(s.limit)
	return time.Duration(float64(heap) * (per + idle) * float64(s.window))
}

// arrival is when a request is there to be sent, from the start on.
func (s simulation) arrival(id int) time.Duration {
	if s.workload != trickle {
		return s.begin(s.heap(id)) + time.Duration(id) // in a known order
	}
	share := 0.5 + 0.45*s.rnd(-1, 0, "trickle").Float64()
	each := s.window.Seconds() / float64(s.limit) / share * float64(1+s.costs) / 2
	return time.Duration(each * 1e9 * (float64(id) + s.rnd(id, 0, "arrival").Float64()))
}

// patience is for how long the caller of a request waits, zero if for ever.
func (s simulation) patience(id int) time.Duration {
	if r := s.rnd(id, 0, "patience"); s.workload == leaving && r.IntN(4) == 0 {
		return time.Duration(r.Float64() * 3 * float64(s.window))
	}
	return 0
}
