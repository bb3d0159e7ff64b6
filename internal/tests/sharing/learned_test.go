package sharing

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/pacertest"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/store"
)

// taught is a server, of which one process has learned when another comes.
type taught struct {
	name    string
	dialect pacertest.Dialect
	of      func() map[string]pacertest.Algorithm // by route
	stays   bool                                  // the first process goes on
	most    int                                   // refused of the first hundred answers of the second process
	least   int                                   // served by that in a minute
}

// process sends requests of two callers for each route, and counts what is refused of its first hundred.
func (w *taught) process(t *testing.T, base http.RoundTripper, shared store.Store, routes []string, span time.Duration, seed uint64) (refused, served int) {
	t.Helper()
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 5))
	answers := 0
	ctx, cancel := context.WithTimeout(t.Context(), span)
	defer cancel()
	wide := lab.All(quota.Quota{N: 10_000, Per: time.Second, Kind: quota.TokenBucket, Burst: 10_000}) // so that the host is shared
	tr := &pacer.Transport{Quotas: wide, Shared: pacer.Shared{Store: shared}, Rand: func() float64 {
		mu.Lock()
		defer mu.Unlock()
		return random.Float64()
	}, Base: lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
		resp, err := base.RoundTrip(req)
		mu.Lock()
		defer mu.Unlock()
		if answers++; resp.StatusCode == http.StatusOK {
			served++
		} else if answers <= 100 {
			refused++
		}
		return resp, err
	})}
	var wg sync.WaitGroup
	for i := range 2 * len(routes) {
		wg.Go(func() {
			for k := 0; ctx.Err() == nil; k++ {
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://api.test"+routes[i/2]+"/"+strconv.Itoa(1000+k), http.NoBody)
				if err != nil {
					t.Error(err)
					return
				}
				resp, err := tr.RoundTrip(req)
				if err != nil { // it would wait beyond the end
					time.Sleep(100 * time.Millisecond)
					continue
				}
				resp.Body.Close()
			}
		})
	}
	wg.Wait()
	if err := tr.Close(); err != nil {
		t.Error(err)
	}
	return refused, served
}

// run has a second process come when a first one has learned. It returns how many of the first hundred answers
// of each are refusals.
func (w *taught) run(t *testing.T, shared store.Store) (first, second, served int) {
	t.Helper()
	var mu sync.Mutex
	counters := w.of()
	base := lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
		time.Sleep(5 * time.Millisecond)
		mu.Lock()
		var v pacertest.Verdict
		for route, c := range counters {
			if len(req.URL.Path) > len(route) && req.URL.Path[:len(route)] == route {
				v = c.Take(time.Now(), 1)
			}
		}
		mu.Unlock()
		resp := lab.Answer(req, http.StatusOK, "", "Date", time.Now().UTC().Format(http.TimeFormat))
		if !v.OK {
			resp.StatusCode = http.StatusTooManyRequests
		}
		w.dialect.Set(resp.Header, v, time.Now())
		time.Sleep(5 * time.Millisecond)
		return resp, nil
	})
	var routes []string
	for _, r := range []string{"/a", "/b", "/c"} {
		if counters[r] != nil {
			routes = append(routes, r)
		}
	}
	span := 2 * time.Minute
	if w.stays {
		span = 4 * time.Minute
	}
	var wg sync.WaitGroup
	wg.Go(func() { first, _ = w.process(t, base, shared, routes, span, 1) })
	time.Sleep(2*time.Minute + 5*time.Second)
	second, served = w.process(t, base, shared, routes, time.Minute, 2)
	wg.Wait()
	return first, second, served
}

var xSeconds = pacertest.Dialect{Layout: pacertest.LayoutTrio, Prefix: "X-RateLimit-", Reset: pacertest.ResetEpoch, RetryAfter: pacertest.RetryAfterSeconds}

func one(a pacertest.Algorithm) func() map[string]pacertest.Algorithm {
	return func() map[string]pacertest.Algorithm { return map[string]pacertest.Algorithm{"/a": a.Fresh()} }
}

var taughtWorlds = []*taught{
	{name: "silent, alone", of: one(&pacertest.TokenBucket{Rate: 10, Burst: 5}), most: 2},
	{name: "silent, beside", of: one(&pacertest.TokenBucket{Rate: 10, Burst: 5}), stays: true, most: 5},
	{name: "GCRA, alone", dialect: pacertest.XRateLimitDelta, of: one(&pacertest.GCRA{Rate: 5, Burst: 3}), most: 2},
	{name: "routes", dialect: xSeconds, of: func() map[string]pacertest.Algorithm {
		return map[string]pacertest.Algorithm{"/a": &pacertest.FixedWindow{Limit: 40, Window: 15 * time.Minute}, "/b": &pacertest.FixedWindow{Limit: 100_000, Window: 15 * time.Minute}}
	}, most: 1, least: 1000}, // one that knows nothing takes the narrow route, which is used up, for all; of a limit of 10, a refusal often comes before the routes are told apart
}

// TestOthersStartFromWhatOneHasLearned: a process that comes when another one has learned what a server allows
// is refused less than that was.
func TestOthersStartFromWhatOneHasLearned(t *testing.T) {
	for _, w := range taughtWorlds {
		t.Run(w.name, func(t *testing.T) {
			var refused, serves [2]int
			for i, told := range whole.Or([]bool{true}, []bool{true, false}) {
				synctest.Test(t, func(t *testing.T) {
					lab.UntilToday()
					var shared store.Store = &store.Memory{}
					if !told {
						shared = untold{shared}
					}
					first, second, served := w.run(t, shared)
					t.Logf("told %v: %d of the first hundred refused, and then %d; %d served", told, first, second, served)
					refused[i], serves[i] = second, served
				})
			}
			if refused[0] > w.most || serves[0] < w.least {
				t.Errorf("%d of the first hundred are refused, %d served; want at most %d, and at least %d; with PACER_WHOLE=1, %d and %d if nothing is told", refused[0], serves[0], w.most, w.least, refused[1], serves[1])
			}
		})
	}
}

// untold is a store that knows nothing of what was learned.
type untold struct{ store.Store }

// Exchange implements store.Store.
func (s untold) Exchange(ctx context.Context, r *store.Request) (*store.Reply, error) {
	o := *r
	o.Learned = ""
	reply, err := s.Store.Exchange(ctx, &o)
	if err != nil {
		return nil, fmt.Errorf("untold: %w", err)
	}
	return reply, nil
}

// TestAStoreCostsNoShortWindow: a window of the server's that is shorter than clocks may differ is used as
// without a Store, by one process. What the store was told of the window before is about to end, not about the
// next.
func TestAStoreCostsNoShortWindow(t *testing.T) {
	for _, span := range []time.Duration{2 * time.Second, 3 * time.Second, 5 * time.Second} {
		took := func(shares bool) time.Duration {
			var took time.Duration
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(300 * time.Millisecond) // resets are rounded up by 0.7 s
				server := pacertest.NewServer(&pacertest.FixedWindow{Limit: 10, Window: span}, pacertest.XRateLimit)
				server.Latency = 20 * time.Millisecond
				defer server.Close()
				tr := &pacer.Transport{Base: lab.Direct(server), Quotas: pacer.Table{"/": {{N: 10, Per: span}}}}
				if shares {
					tr.Shared.Store = new(store.Memory)
				}
				defer tr.Close()
				client, start := &http.Client{Transport: tr}, time.Now()
				for range 50 {
					lab.Get(t, client, "https://api.example.com/items")
				}
				took = time.Since(start)
				if refused := server.Stats().Refused; refused > 0 {
					t.Errorf("a window of %v: %d were refused", span, refused)
				}
			})
			return took
		}
		alone, shared := took(false), took(true)
		if shared > alone+span/10 {
			t.Errorf("five windows of %v take %v, and %v without a Store", span, shared, alone)
		}
	}
}
