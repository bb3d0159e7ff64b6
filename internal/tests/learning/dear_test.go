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
	"github.com/gopacer/pacer/throttle/store"
)

// TestDearRequestsAreServed: of 1000 tokens one request of 160 costs 400, the others one. The server says what
// remains, and no reset. A dear request that is refused keeps its place: the others wait behind it, as too
// little would remain for it for ever if they took what comes back. So all are served, and no dear one waits
// for more than three minutes, and of a bucket none is refused more than once in the mean: two refusals say how
// fast it comes back, for those that follow, too. Each was refused seven times. When others went first, 2586 of
// 3200 failed at a log, as a pace had been learned from the refusals, and a dear one got a 429.
func TestDearRequestsAreServed(t *testing.T) {
	for name, algorithm := range map[string]pacertest.Algorithm{
		"bucket": &pacertest.TokenBucket{Rate: 10, Burst: 1000}, "window": &pacertest.FixedWindow{Limit: 1000, Window: time.Minute},
		"log": &pacertest.SlidingLog{Limit: 1000, Window: time.Minute}, "sliding": &pacertest.SlidingWindow{Limit: 1000, Window: time.Minute},
	} {
		for unit, suffix := range map[string]string{quota.Requests: "", "tokens": "-Tokens"} {
			t.Run(name+"/"+unit, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					server := &pacertest.Server{
						Algorithm: algorithm, Cost: queryCost, Latency: 80 * time.Millisecond,
						Dialect: pacertest.Dialect{Layout: pacertest.LayoutTrio, Prefix: "X-RateLimit-", Suffix: suffix, Reset: pacertest.ResetOmitted},
					}
					c := &http.Client{Transport: &pacer.Transport{Base: lab.Direct(server), Rand: lab.Zero, Cost: func(r *http.Request) quota.Costs {
						return quota.Costs{unit: int64(queryCost(r))}
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
					if refused := server.Stats().Refused; name == "bucket" && refused > 20 {
						t.Errorf("%d requests were refused, want 20 at most", refused)
					}
				})
			})
		}
	}
}

// TestDearRequestsOfSeveralProcesses: three processes share a bucket, and all have dear requests and cheap
// ones. Without a Store, the others take what comes back while one waits for enough, until they wait for a dear
// one themselves. So a dear request waits for long, and keeps its place for as long as what remains changes.
// When it was given up on after two minutes, about 20 of 60 got a 429, after 370 refusals. With a Store, none
// is refused.
func TestDearRequestsOfSeveralProcesses(t *testing.T) {
	quotas := pacer.Table{"a.example/": quota.MustParse("1000/m burst 1000")}
	for name, test := range map[string]struct {
		shared  pacer.Shared
		quotas  pacer.Table
		silent  bool // the server states nothing
		runs    int  // of which the numbers below are the sum: who is first at an instant is chance
		served  int  // dear requests, at least
		refused int  // requests, at most
		longest time.Duration
	}{
		"without a Store": {runs: 6, served: 6 * 54, refused: 6 * 180, longest: 30 * time.Minute},
		"with a Store": {
			shared: pacer.Shared{Store: new(store.Memory), Fresh: true}, quotas: quotas,
			runs: 1, served: 60, longest: 30 * time.Minute,
		},
		"with a Store, at a server that states nothing": {
			shared: pacer.Shared{Store: new(store.Memory), Fresh: true}, quotas: quotas, silent: true,
			runs: 1, served: 60, longest: 80 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			cheap, dear, refused, longest := 0, 0, 0, time.Duration(0)
			for range test.runs {
				synctest.Test(t, func(t *testing.T) {
					server := &pacertest.Server{
						Algorithm: &pacertest.TokenBucket{Rate: 1000.0 / 60, Burst: 1000}, Cost: queryCost, Latency: 80 * time.Millisecond,
					}
					if !test.silent {
						server.Dialect = pacertest.Dialect{Layout: pacertest.LayoutTrio, Prefix: "X-RateLimit-"}
					}
					served, waited := dearOfThree(t, server, test.shared, test.quotas)
					cheap, dear, longest = cheap+served[1], dear+served[400], max(longest, waited)
					refused += server.Stats().Refused
				})
			}
			if cheap != test.runs*9540 || dear < test.served || longest > test.longest {
				t.Errorf("%d of %d cheap requests were served, and %d of %d dear ones, in %v at most, want all, and %d, in %v",
					cheap, test.runs*9540, dear, test.runs*60, longest, test.served, test.longest)
			}
			if refused > test.refused {
				t.Errorf("%d requests were refused, want at most %d", refused, test.refused)
			}
		})
	}
}

// dearOfThree has three processes of eight callers send 9600 requests, of which 60 cost 400. It returns how
// many were served of each cost, and the longest time that one took.
func dearOfThree(
	t *testing.T, server *pacertest.Server, shared pacer.Shared, quotas pacer.Table,
) (map[int]int, time.Duration) {
	t.Helper()
	var mu sync.Mutex // protects what follows
	served, longest := map[int]int{}, time.Duration(0)
	var callers sync.WaitGroup
	for p := range 3 {
		tr := &pacer.Transport{
			Base: lab.Direct(server), Rand: lab.Random(1, uint64(p)), Shared: shared, Quotas: quotas,
			Cost: func(r *http.Request) quota.Costs { return quota.Costs{quota.Requests: int64(queryCost(r))} },
		}
		defer tr.Close()
		for i := range 8 {
			callers.Go(func() {
				time.Sleep(time.Duration(i)*time.Millisecond + time.Duration(p)*333*time.Microsecond)
				for n := range 400 {
					cost, start := 1, time.Now()
					if n%160 == 20*i {
						cost = 400
					}
					status := lab.Get(t, &http.Client{Transport: tr}, fmt.Sprint("http://a.example/?", cost))
					mu.Lock()
					if longest = max(longest, time.Since(start)); status == http.StatusOK {
						served[cost]++
					}
					mu.Unlock()
				}
			})
		}
	}
	callers.Wait()
	return served, longest
}

// queryCost is what the query of a request says that it costs.
func queryCost(r *http.Request) int {
	n, _ := strconv.Atoi(r.URL.RawQuery)
	return n
}

// TestDearRequestsThatNeverFit: of 300 that there ever are, whatever the server states, some requests want 400.
// The others wait behind the first of these until the same remains for two minutes, and behind no later one.
// All had waited for up to 2h45m behind each. A dear one is told after ten refusals.
func TestDearRequestsThatNeverFit(t *testing.T) {
	for name, algorithm := range map[string]pacertest.Algorithm{
		"bucket": &pacertest.TokenBucket{Rate: 10, Burst: 300}, "window": &pacertest.FixedWindow{Limit: 300, Window: time.Minute}, "log": &pacertest.SlidingLog{Limit: 300, Window: time.Minute},
	} {
		for _, reset := range []pacertest.ResetForm{pacertest.ResetOmitted, pacertest.ResetDelta} {
			t.Run(fmt.Sprint(name, reset), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					server := lab.Direct(&pacertest.Server{
						Algorithm: algorithm, Cost: queryCost, Latency: 80 * time.Millisecond,
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
						return quota.Costs{quota.Requests: int64(queryCost(r))}
					}}}
					var callers sync.WaitGroup
					for i := range 8 {
						callers.Go(func() {
							time.Sleep(time.Duration(i) * time.Millisecond)
							for n := range 100 {
								cost, want, most, start := 1, http.StatusOK, 4*time.Minute, time.Now()
								if n%50 == 5*i {
									cost, want, most = 400, http.StatusTooManyRequests, 9*time.Minute
								}
								if got := lab.Get(t, c, fmt.Sprint("http://a.example/?", cost)); got != want {
									t.Errorf("cost %d: status %d", cost, got)
								}
								if took := time.Since(start); took > most {
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
