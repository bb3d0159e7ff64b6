package learning

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/pacertest"
	"github.com/gopacer/pacer/quota"
)

// TestDearRequestsAreServed: of 1000 tokens one request of 160 costs 400, the others one. The server says what
// remains, and no reset. A dear request that is refused keeps its place: the others wait behind it, as too
// little would remain for it for ever if they took what comes back. So all are served, and no dear one waits
// for more than three minutes. When others went first, 2586 of 3200 failed at a log, as a pace had been learned
// from the refusals, and a dear one got a 429.
func TestDearRequestsAreServed(t *testing.T) {
	for name, algorithm := range map[string]pacertest.Algorithm{
		"bucket": &pacertest.TokenBucket{Rate: 10, Burst: 1000}, "window": &pacertest.FixedWindow{Limit: 1000, Window: time.Minute},
		"log": &pacertest.SlidingLog{Limit: 1000, Window: time.Minute}, "sliding": &pacertest.SlidingWindow{Limit: 1000, Window: time.Minute},
	} {
		for unit, suffix := range map[string]string{quota.Requests: "", "tokens": "-Tokens"} {
			t.Run(name+"/"+unit, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					cost := func(r *http.Request) int { n, _ := strconv.Atoi(r.URL.RawQuery); return n }
					server := lab.Direct(&pacertest.Server{
						Algorithm: algorithm, Cost: cost, Latency: 80 * time.Millisecond,
						Dialect: pacertest.Dialect{Layout: pacertest.LayoutTrio, Prefix: "X-RateLimit-", Suffix: suffix, Reset: pacertest.ResetOmitted},
					})
					c := &http.Client{Transport: &pacer.Transport{Base: server, Rand: lab.Zero, Cost: func(r *http.Request) quota.Costs {
						return quota.Costs{unit: int64(cost(r))}
					}}}
					var callers sync.WaitGroup
					for i := range 8 {
						callers.Go(func() {
							time.Sleep(time.Duration(i) * time.Millisecond)
							for n := range 400 {
								cost, start := 1, time.Now()
								if n%160 == 20*i {
									cost = 400
								}
								if got := lab.Get(t, c, fmt.Sprint("http://a.example/?", cost)); got != http.StatusOK {
									t.Errorf("cost %d: status %d", cost, got)
								}
								if took := time.Since(start); took > 3*time.Minute {
									t.Errorf("cost %d: took %v", cost, took)
								}
							}
						})
					}
					callers.Wait()
				})
			})
		}
	}
}

// TestDearRequestsThatNeverFit: of 300 that there ever are, whatever the server states, some requests want 400.
// The others wait behind the first of these for two minutes, and for a look, and behind no later one. All had
// waited for up to 2h45m behind each.
func TestDearRequestsThatNeverFit(t *testing.T) {
	for name, algorithm := range map[string]pacertest.Algorithm{
		"bucket": &pacertest.TokenBucket{Rate: 10, Burst: 300}, "window": &pacertest.FixedWindow{Limit: 300, Window: time.Minute}, "log": &pacertest.SlidingLog{Limit: 300, Window: time.Minute},
	} {
		for _, reset := range []pacertest.ResetForm{pacertest.ResetOmitted, pacertest.ResetDelta} {
			t.Run(fmt.Sprint(name, reset), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					cost := func(r *http.Request) int { n, _ := strconv.Atoi(r.URL.RawQuery); return n }
					server := lab.Direct(&pacertest.Server{
						Algorithm: algorithm, Cost: cost, Latency: 80 * time.Millisecond,
						Dialect: pacertest.Dialect{Layout: pacertest.LayoutTrio, Prefix: "X-RateLimit-", Reset: reset},
					})
					base := lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
						resp, err := server.RoundTrip(r)
						if err == nil {
							resp.Header.Set("X-RateLimit-Limit", "1000")
						}
						return resp, err
					})
					c := &http.Client{Transport: &pacer.Transport{Base: base, Rand: lab.Zero, Cost: func(r *http.Request) quota.Costs {
						return quota.Costs{quota.Requests: int64(cost(r))}
					}}}
					var callers sync.WaitGroup
					for i := range 8 {
						callers.Go(func() {
							time.Sleep(time.Duration(i) * time.Millisecond)
							for n := range 100 {
								cost, want, start := 1, http.StatusOK, time.Now()
								if n%50 == 5*i {
									cost, want = 400, http.StatusTooManyRequests
								}
								if got := lab.Get(t, c, fmt.Sprint("http://a.example/?", cost)); got != want {
									t.Errorf("cost %d: status %d", cost, got)
								}
								if took := time.Since(start); took > 4*time.Minute {
									t.Errorf("cost %d: took %v", cost, took)
								}
							}
						})
					}
					callers.Wait()
				})
			})
		}
	}
}
