package learning

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
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
// that, they look one after the other for ever. At windows that do not begin anew nothing changes.
func TestRefusedRequestsBeginTheWindowAnew(t *testing.T) {
	exact := pacertest.Dialect{Layout: pacertest.LayoutTrio, Prefix: "X-RateLimit-", Reset: pacertest.ResetDecimal, RetryAfter: pacertest.RetryAfterDecimal}
	const s, ms = time.Second, time.Millisecond
	for _, test := range []struct {
		name                         string
		algorithm                    pacertest.Algorithm
		dialect                      pacertest.Dialect
		processes, callers, requests int
		trip                         time.Duration
		least, most                  time.Duration
	}{
		{"whole seconds", &renewed{limit: 50, window: 2 * s}, pacertest.XRateLimitDelta, 3, 16, 300, 5 * ms, 10 * s, 13100 * ms},
		{"decimals", &renewed{limit: 50, window: 2 * s}, exact, 3, 16, 300, 5 * ms, 10 * s, 13100 * ms},
		{"ten processes", &renewed{limit: 100, window: 10 * s}, pacertest.XRateLimitDelta, 10, 16, 600, 50 * ms, 50 * s, 66 * s},
		{"slow", &renewed{limit: 100, window: 10 * s}, pacertest.XRateLimitDelta, 3, 4, 600, 300 * ms, 50 * s, 90 * s},
		{"refusals fill it", &pacertest.EstimatedWindow{Limit: 200, Window: 2 * s, CountRefused: true}, exact, 10, 16, 1000, 5 * ms, 8 * s, 12 * s},
		{"alone", &renewed{limit: 50, window: 2 * s}, pacertest.XRateLimitDelta, 1, 16, 300, 5 * ms, 10 * s, 10200 * ms},
		{"honest", &pacertest.FixedWindow{Limit: 50, Window: 2 * s}, pacertest.XRateLimitDelta, 3, 16, 300, 5 * ms, 10 * s, 11 * s},
		{"honest, decimals", &pacertest.FixedWindow{Limit: 50, Window: 2 * s}, exact, 3, 16, 300, 5 * ms, 10 * s, 10200 * ms},
		{"honest, ten processes", &pacertest.FixedWindow{Limit: 100, Window: 10 * s}, pacertest.XRateLimitDelta, 10, 16, 600, 50 * ms, 50 * s, 53100 * ms},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lab.UntilToday()
				server := pacertest.NewServer(test.algorithm, test.dialect)
				defer server.Close()
				start := time.Now()
				var wg sync.WaitGroup
				for p := range test.processes {
					share := float64(p) / float64(test.processes)
					tr := &pacer.Transport{Base: delayed(lab.Direct(server), test.trip+time.Duration(p)*ms/3), Rand: func() float64 { return share }}
					time.Sleep(ms / 2)
					for c := range test.callers {
						wg.Go(func() {
							for i := c; i < test.requests/test.processes; i += test.callers {
								lab.Get(t, &http.Client{Transport: tr}, "http://a.example/")
							}
						})
					}
				}
				wg.Wait()
				if took := time.Since(start); took < test.least || took > test.most {
					t.Errorf("took %v, want %v at most; %d refused", took, test.most, server.Stats().Refused)
				}
			})
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
