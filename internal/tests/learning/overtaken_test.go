package learning

import (
	"context"
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

// TestJoinsUsedUpWindow: a process begins when another one has used up a window of 20 in 4 s, and has learned
// when the next one begins. Resets are in whole seconds. The one that joins is served its part, a tenth of all
// at least, and most of what there is is served: it is no longer told the same second again each time, and
// looks after the other one has taken all. With two that join, none of them starves.
func TestJoinsUsedUpWindow(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	floored := pacertest.Dialect{Layout: pacertest.LayoutTrio, Prefix: "X-RateLimit-", ResetFloor: true}
	for _, test := range []struct {
		name      string
		algorithm pacertest.Algorithm
		dialect   pacertest.Dialect
		trip      time.Duration
		join      []int // for each process that joins, how much remains then
		least     int   // of 100 that are served, so many are of each process at least
	}{
		{"draft 7", &pacertest.FixedWindow{Limit: 20, Window: 4 * s}, pacertest.RateLimitDraft7, 20 * ms, []int{0}, 10},
		{"some left", &pacertest.FixedWindow{Limit: 20, Window: 4 * s}, pacertest.RateLimitDraft7, 20 * ms, []int{7}, 10},
		{"no span is stated", &pacertest.FixedWindow{Limit: 20, Window: 4 * s}, pacertest.XRateLimitDelta, 20 * ms, []int{0}, 10},
		{"instants", &pacertest.FixedWindow{Limit: 20, Window: 4 * s}, pacertest.XRateLimit, 20 * ms, []int{0}, 10},
		{"floored", &pacertest.FixedWindow{Limit: 20, Window: 4 * s}, floored, 20 * ms, []int{0}, 10},
		{"by the clock", &pacertest.ClockWindow{Limit: 20, Window: 4 * s}, pacertest.RateLimitDraft7, 20 * ms, []int{0}, 10},
		{"a longer window", &pacertest.FixedWindow{Limit: 50, Window: 10 * s}, pacertest.RateLimitDraft7, 20 * ms, []int{0}, 10},
		{"long round trips", &pacertest.FixedWindow{Limit: 20, Window: 4 * s}, pacertest.RateLimitDraft7, 200 * ms, []int{0}, 10},
		{"short round trips", &pacertest.FixedWindow{Limit: 20, Window: 4 * s}, pacertest.RateLimitDraft7, 4 * ms, []int{0}, 10},
		{"two join", &pacertest.FixedWindow{Limit: 20, Window: 4 * s}, pacertest.RateLimitDraft7, 20 * ms, []int{0, 0}, 5},
	} {
		if !whole.Part(2, test.name) {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lab.UntilToday()
				served, refused := joined(t, test.algorithm.Fresh(), test.dialect, test.trip, test.join)
				all, least := 0, served[0]
				for _, n := range served {
					all, least = all+n, min(least, n)
				}
				t.Log(served, refused)
				if 100*least < test.least*all {
					t.Errorf("%d were served, want %d of 100 of each process at least", served, test.least)
				}
				if want := pacertest.Least(test.algorithm, time.Now(), all*100/80); want < 10*time.Minute {
					t.Errorf("%d were served in ten minutes, and less than 80 of 100 of what there is", all)
				}
				if 100*refused > 15*all {
					t.Errorf("%d were served, and %d refused", all, refused)
				}
			})
		})
	}
}

// joined has one process with four callers use a server, and others as many once so much remains after 100
// requests. It returns how many of each were served in ten minutes since the last of them has begun, and how
// many were refused.
func joined(t *testing.T, a pacertest.Algorithm, d pacertest.Dialect, trip time.Duration, join []int) (served []int, refused int) {
	t.Helper()
	var mu sync.Mutex // protects the variables below, a and random
	random := rand.New(rand.NewPCG(1, 3))
	served = make([]int, len(join)+1)
	begun, answered := 1, 0
	next := make(chan struct{}, len(join))
	away := func() {
		mu.Lock()
		way := trip/4 + time.Duration(random.Int64N(int64(trip/2)))
		mu.Unlock()
		time.Sleep(way)
	}
	var wg sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	run := func(process int) {
		tr := &pacer.Transport{
			Rand: func() float64 { mu.Lock(); defer mu.Unlock(); return random.Float64() },
			Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
				away()
				mu.Lock()
				now, resp := time.Now(), lab.Answer(r, http.StatusOK, "")
				v := a.Take(now, 1)
				resp.Header.Set("Date", now.UTC().Format(http.TimeFormat))
				d.Set(resp.Header, v, now)
				if v.OK {
					served[process]++
				} else {
					refused++
					resp.StatusCode = http.StatusTooManyRequests
				}
				if answered++; begun <= len(join) && answered > 100*begun && v.Remaining <= join[begun-1] {
					begun++
					next <- struct{}{}
				}
				mu.Unlock()
				away()
				return resp, nil
			}),
		}
		for range 4 {
			wg.Go(func() {
				for ctx.Err() == nil {
					r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://a.example/", nil)
					if err != nil {
						t.Error(err)
						return
					}
					resp, err := tr.RoundTrip(r)
					switch {
					case err == nil:
						resp.Body.Close()
					case ctx.Err() == nil:
						t.Error(err)
						return
					}
				}
			})
		}
	}
	run(0)
	for i := range join {
		<-next
		run(i + 1)
	}
	mu.Lock()
	refused = 0
	clear(served)
	mu.Unlock()
	time.Sleep(10 * time.Minute)
	stop()
	wg.Wait()
	return served, refused
}
