package throttle_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/pacertest"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// rounding is how a simulated server writes a time.
type rounding struct {
	name string
	step time.Duration
	up   bool
}

func (r rounding) of(d time.Duration) time.Duration {
	if r.step == 0 {
		return d
	}
	if r.up {
		d += r.step - 1
	}
	return d.Truncate(r.step)
}

var (
	exact   = rounding{name: "exact"}
	ceiled  = rounding{"ceiled", time.Second, true}
	floored = rounding{"floored", time.Second, false}
)

// simulation is a batch of work against a server that is not there: only its
// algorithm, what it says, and the time that answers take.
type simulation struct {
	algorithm pacertest.Algorithm
	says      rounding
	silent    bool   // no limits are stated, only Retry-After on refusals
	nohint    bool   // nor that
	speech    speech // what is stated, if it is not that
	requests  int
	callers   int // of each process
	processes int // that do not know of each other; zero means one
	phase     time.Duration
	latency   time.Duration
}

// speech is what a server says of a verdict, written at an instant, in answer to a
// request that was sent at another.
type speech func(v pacertest.Verdict, written, sent time.Time) throttle.Answer

// plain is what a server says that states what it knows, rounded.
func (s simulation) plain(v pacertest.Verdict, _, _ time.Time) (a throttle.Answer) {
	if !v.OK && !s.nohint {
		a.Hold = &quota.Hold{For: s.says.of(v.RetryAfter)}
	}
	if !s.silent {
		reset := s.says.of(v.Reset)
		a.Statements = []quota.Statement{{
			Limit: int64(v.Limit), Remaining: int64(v.Remaining),
			Reset: reset, ResetKnown: reset > 0 || v.Remaining == 0, Resolution: s.says.step,
		}}
	}
	return a
}

// result is how it went.
type result struct {
	makespan, least time.Duration
	refused         int
}

func (r result) ratio() float64 { return float64(r.makespan) / float64(r.least) }

func (r result) String() string {
	return fmt.Sprintf("%v of least %v: %.3f; %d refused", r.makespan, r.least, r.ratio(), r.refused)
}

// run does the batch in a bubble.
func (s simulation) run(t *testing.T) result {
	t.Helper()
	speech, processes := s.speech, max(s.processes, 1)
	if speech == nil {
		speech = s.plain
	}
	var res result
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(s.phase)
		alg := s.algorithm.Fresh()
		start := time.Now()
		var mu sync.Mutex
		// ask sends one request, and another until it is admitted.
		ask := func(l *throttle.Limiter) {
			var last *throttle.Grant
			for again := true; again; {
				g, err := l.Acquire(t.Context(), throttle.Claim{After: last})
				if err != nil {
					t.Error(err)
					return
				}
				sent := time.Now()
				time.Sleep(s.latency / 2)
				mu.Lock()
				now := time.Now()
				v := alg.Take(now, 1)
				if !v.OK {
					res.refused++
				}
				mu.Unlock()
				time.Sleep(s.latency - s.latency/2)
				a := speech(v, now, sent)
				a.Refused = !v.OK
				g.Answered(a)
				last, again = g, !v.OK
			}
		}
		var wg sync.WaitGroup
		for i := range processes {
			l := &throttle.Limiter{SlowStart: true, Rand: func() float64 { return float64(i) / float64(processes) }}
			var left atomic.Int64
			left.Store(int64((s.requests + i) / processes))
			for range s.callers {
				wg.Go(func() {
					for left.Add(-1) >= 0 {
						ask(l)
					}
				})
			}
		}
		wg.Wait()
		res.makespan = time.Since(start)
		// A few callers may be slower than the server.
		res.least = max(pacertest.Least(s.algorithm, start, s.requests), time.Duration(s.requests/(s.callers*processes))*s.latency)
	})
	return res
}

// TestSimulatedServers holds the promise of the whole quota and no more: against
// every algorithm, however the times in its headers are rounded, a client that
// is told nothing finishes within 5 % of the least time and is refused at most
// twice per 100 requests.
//
// Two things cost more, and are allowed for. A round trip is a round trip: the
// slow start takes a few, and after each reset one request goes first. And where
// times are rounded down, so that a server refuses at the instant that it named,
// this has to be found out.
func TestSimulatedServers(t *testing.T) {
	for _, server := range []struct {
		name      string
		algorithm pacertest.Algorithm
		window    time.Duration
	}{
		{"fixed 50/2s", &pacertest.FixedWindow{Limit: 50, Window: 2 * time.Second}, 2 * time.Second},
		{"clock 50/2s", &pacertest.ClockWindow{Limit: 50, Window: 2 * time.Second}, 2 * time.Second},
		{"clock 50/10s", &pacertest.ClockWindow{Limit: 50, Window: 10 * time.Second}, 10 * time.Second},
		{"fixed 10/s", &pacertest.FixedWindow{Limit: 10, Window: time.Second}, time.Second},
		{"sliding log 50/2s", &pacertest.SlidingLog{Limit: 50, Window: 2 * time.Second}, time.Second},
		{"estimated window 50/2s", &pacertest.EstimatedWindow{Limit: 50, Window: 2 * time.Second}, 2 * time.Second},
		{"token bucket 25/s of 25", &pacertest.TokenBucket{Rate: 25, Burst: 25}, time.Hour},
		{"token bucket 20/s of 10", &pacertest.TokenBucket{Rate: 20, Burst: 10}, time.Hour},
		{"token bucket 1/s of 60", &pacertest.TokenBucket{Rate: 1, Burst: 60}, time.Hour},
		{"GCRA 20/s of 10", &pacertest.GCRA{Rate: 20, Burst: 10}, time.Hour},
		{"leaky bucket 20/s of 10", &pacertest.LeakyBucket{Rate: 20, Depth: 10}, time.Hour},
	} {
		for _, says := range []rounding{exact, ceiled, floored} {
			for _, latency := range []time.Duration{5 * time.Millisecond, 60 * time.Millisecond} {
				for _, callers := range []int{1, 16, 100} {
					if callers == 1 && latency > 5*time.Millisecond {
						continue // the caller is slower than the server
					}
					s := simulation{algorithm: server.algorithm, says: says, requests: 200, callers: callers, latency: latency}
					name := fmt.Sprintf("%s, %s, %d callers, %v", server.name, says.name, callers, latency)
					if !whole.Part(2, name) {
						continue
					}
					t.Run(name, func(t *testing.T) {
						missed := 0
						for range 3 {
							r := s.run(t)
							most, refused := r.least*106/100, s.requests*2/100
							if says == floored {
								most, refused = r.least*118/100, s.requests*4/100
							}
							if server.name == "sliding log 50/2s" && says != exact {
								// Quota comes back as it went. Whole seconds do not tell when. At four of 100,
								// two of three runs were refused more in one of 150.
								most, refused = r.least*126/100, s.requests*6/100
							}
							most += latency * time.Duration(6+int(r.least/server.window))
							if r.makespan <= most && r.refused <= refused {
								if missed == 0 {
									return
								}
								continue
							}
							// Chance has a part in it: a log took 1.2 times the least in one run of sixty.
							if missed++; missed == 2 {
								t.Errorf("%v, and another run like it; want at most %v and %d", r, most, refused)
								return
							}
						}
					})
				}
			}
		}
	}
}

// TestSimulatedSilentServers holds what is promised of servers that refuse and say
// nothing of limits, or only for how long to wait: the rate that they deliver is
// found out, and then few requests are refused. Without that, a bucket of one
// token would refuse two of three, and one in two of a bucket of 25.
//
// The order in which goroutines run makes a difference. Of 300 runs (100 with each of GOMAXPROCS=1, 2, and 4,
// on two cores), the median, the 99th percentile and the worst were:
//
//	                                  ratio              refused of 1000
//	fixed 50/2s                   1.003 1.003 1.003         22 24 24
//	fixed 50/2s, hint             1.006 1.006 1.006         19 24 24
//	estimated window 50/2s        1.088 1.100 1.100         31 38 41
//	estimated window 50/2s, hint  1.322 1.394 1.394         21 24 24
//	token bucket 25/s of 25       1.007 1.014 1.014         19 24 26
//	token bucket 25/s of 25, hint 1.032 1.033 1.033         20 27 29
//	token bucket 20/s of 1        1.081 1.081 1.081         12 12 12
//	token bucket 200/s of 10      1.176 1.513 1.513         13 23 25
//
// A bound is the worst of these, and the median of five runs is compared with it. If one
// run of 1000 is above a bound, three of five are in 10/1000³ = 10⁻⁸.
func TestSimulatedSilentServers(t *testing.T) {
	for _, server := range []struct {
		name      string
		algorithm pacertest.Algorithm
		hint      bool
		ratio     float64
		refused   int // of 1000
	}{
		{"fixed 50/2s", &pacertest.FixedWindow{Limit: 50, Window: 2 * time.Second}, false, 1.004, 24},
		{"fixed 50/2s, hint", &pacertest.FixedWindow{Limit: 50, Window: 2 * time.Second}, true, 1.008, 24},
		{"estimated window 50/2s", &pacertest.EstimatedWindow{Limit: 50, Window: 2 * time.Second}, false, 1.101, 41},
		{"estimated window 50/2s, hint", &pacertest.EstimatedWindow{Limit: 50, Window: 2 * time.Second}, true, 1.395, 24},
		{"token bucket 25/s of 25", &pacertest.TokenBucket{Rate: 25, Burst: 25}, false, 1.015, 29},
		{"token bucket 25/s of 25, hint", &pacertest.TokenBucket{Rate: 25, Burst: 25}, true, 1.034, 32},
		{"token bucket 20/s of 1", &pacertest.TokenBucket{Rate: 20, Burst: 1}, false, 1.082, 12},
		{"token bucket 200/s of 10", &pacertest.TokenBucket{Rate: 200, Burst: 10}, false, 1.514, 28},
	} {
		t.Run(server.name, func(t *testing.T) {
			const runs = 5
			var ratios []float64
			var refused []int
			for len(ratios) < runs {
				r := simulation{
					algorithm: server.algorithm, says: ceiled, silent: true, nohint: !server.hint,
					requests: 1000, callers: 16, latency: 5 * time.Millisecond,
				}.run(t)
				t.Log(r)
				ratios, refused = append(ratios, r.ratio()), append(refused, r.refused)
				if len(ratios) == runs/2+1 && slices.Max(ratios) <= server.ratio && slices.Max(refused) <= server.refused {
					return // and so is the median, whatever the others would be
				}
			}
			slices.Sort(ratios)
			slices.Sort(refused)
			if ratio, n := ratios[runs/2], refused[runs/2]; ratio > server.ratio || n > server.refused {
				t.Errorf("median %.3f and %d refused; want at most %v and %d", ratio, n, server.ratio, server.refused)
			}
		})
	}
}
