package learning

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/pacertest"
)

// renewed is a window that a refused request begins anew, as @fastify/rate-limit does with continueExceeding.
type renewed struct {
	limit  int
	window time.Duration
	start  time.Time
	used   int
}

// Fresh implements pacertest.Algorithm.
func (r *renewed) Fresh() pacertest.Algorithm { return &renewed{limit: r.limit, window: r.window} }

// Take implements pacertest.Algorithm.
func (r *renewed) Take(now time.Time, n int) pacertest.Verdict {
	if now.Sub(r.start) >= r.window {
		r.start, r.used = now, 0
	}
	ok := r.used+n <= r.limit
	if r.used += n; !ok {
		r.start = now
	}
	v := pacertest.Verdict{OK: ok, Limit: r.limit, Remaining: max(r.limit-r.used, 0), Reset: r.start.Add(r.window).Sub(now), Window: r.window}
	if v.Remaining < n {
		v.RetryAfter = v.Reset
	}
	return v
}

// TestRefusedRequestsBeginTheWindowAnew: several processes that do not know of each other find a gap of a whole
// window at a server where each refused request begins the window anew, or fills a window that slides. Without
// that, they look one after the other for ever. At windows that do not begin anew nothing changes. Round trips,
// starts and jitters are drawn, since chance says in one run how often each is refused: the mean is what
// counts.
func TestRefusedRequestsBeginTheWindowAnew(t *testing.T) {
	exact := pacertest.Dialect{Layout: pacertest.LayoutTrio, Prefix: "X-RateLimit-", Reset: pacertest.ResetDecimal, RetryAfter: pacertest.RetryAfterDecimal}
	const s, ms = time.Second, time.Millisecond
	draws := whole.Or(20, 40)
	for _, test := range []struct {
		name                         string
		algorithm                    pacertest.Algorithm
		dialect                      pacertest.Dialect
		processes, callers, requests int
		trip                         time.Duration
		least, most                  time.Duration
	}{
		{"whole seconds", &renewed{limit: 50, window: 2 * s}, pacertest.XRateLimitDelta, 3, 16, 300, 5 * ms, 10 * s, 24 * s},
		{"decimals", &renewed{limit: 50, window: 2 * s}, exact, 3, 16, 300, 5 * ms, 10 * s, 24 * s},
		{"ten processes", &renewed{limit: 100, window: 10 * s}, pacertest.XRateLimitDelta, 10, 16, 600, 50 * ms, 50 * s, 75 * s},
		{"slow", &renewed{limit: 100, window: 10 * s}, pacertest.XRateLimitDelta, 3, 4, 600, 300 * ms, 50 * s, 110 * s},
		{"refusals fill it", &pacertest.EstimatedWindow{Limit: 200, Window: 2 * s, CountRefused: true}, exact, 10, 16, 1000, 5 * ms, 8 * s, 12 * s},
		{"alone", &renewed{limit: 50, window: 2 * s}, pacertest.XRateLimitDelta, 1, 16, 300, 5 * ms, 10 * s, 10200 * ms},
		{"honest", &pacertest.FixedWindow{Limit: 50, Window: 2 * s}, pacertest.XRateLimitDelta, 3, 16, 300, 5 * ms, 10 * s, 11500 * ms},
		{"honest, decimals", &pacertest.FixedWindow{Limit: 50, Window: 2 * s}, exact, 3, 16, 300, 5 * ms, 10 * s, 11 * s},
		{"honest, ten processes", &pacertest.FixedWindow{Limit: 100, Window: 10 * s}, pacertest.XRateLimitDelta, 10, 16, 590, 50 * ms, 50 * s, 55 * s}, // of 600, one token left over in six windows costs a seventh
	} {
		if !whole.Part(2, test.name) {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			var sum time.Duration
			var refused int
			for draw := range draws {
				r := rand.New(rand.NewPCG(uint64(draw), 7))
				synctest.Test(t, func(t *testing.T) {
					lab.UntilToday()
					server := pacertest.NewServer(test.algorithm.Fresh(), test.dialect)
					defer server.Close()
					start := time.Now()
					var wg sync.WaitGroup
					for p := range test.processes {
						trip := time.Duration((0.5 + 1.5*r.Float64()) * float64(test.trip))
						q, mu := rand.New(rand.NewPCG(uint64(draw), uint64(100+p))), sync.Mutex{}
						tr := &pacer.Transport{Base: delayed(lab.Direct(server), trip), Rand: func() float64 {
							mu.Lock()
							defer mu.Unlock()
							return q.Float64()
						}}
						time.Sleep(time.Duration(r.Float64() * float64(ms)))
						for c := range test.callers {
							wg.Go(func() {
								for i := c; i < test.requests/test.processes; i += test.callers {
									lab.Get(t, &http.Client{Transport: tr}, "http://a.example/")
								}
							})
						}
					}
					wg.Wait()
					took := time.Since(start)
					if sum += took; took < test.least {
						t.Errorf("draw %d took %v, want %v at least", draw, took, test.least)
					}
					refused += server.Stats().Refused
				})
			}
			mean := sum / time.Duration(draws)
			t.Logf("takes %v, %d refused", mean.Round(10*ms), refused/draws)
			if mean > test.most {
				t.Errorf("takes %v in the mean, want %v at most; %d refused", mean, test.most, refused/draws)
			}
		})
	}
}

// delayed has each request and each answer take half of a round trip.
func delayed(base http.RoundTripper, trip time.Duration) http.RoundTripper {
	return lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
		time.Sleep(trip / 2)
		resp, err := base.RoundTrip(req)
		time.Sleep(trip / 2)
		return resp, err
	})
}
