package learning

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/pacertest"
)

// instancesWorld is a server of several processes behind a balancer, each with a counter of its own.
type instancesWorld struct {
	n      int
	how    string  // in which order requests go to them: "turn", "random", "sticky"
	share  float64 // of what all grant, at least
	limits []int   // of each route; with several, each is counted by itself
}

func (w *instancesWorld) run(t *testing.T, seed uint64) (share, refused float64, failed int) {
	t.Helper()
	const window = time.Minute
	last, windows := time.Hour, 60.0
	if *instanceSeeds == 1 { // an hour of all of them takes seconds
		last, windows = 30*time.Minute, 30.5 // the one that is there at the beginning is a larger part of these
	}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 21, 8, 0, 0, int(seed*123456789%1e9), time.UTC)))
		random := rand.New(rand.NewPCG(seed, 3))
		var counters []pacertest.Algorithm
		all := 0
		for range w.n {
			phase := time.Duration(random.Float64() * float64(window))
			for _, limit := range w.limits {
				all += limit
				counters = append(counters, &pacertest.ClockWindow{Limit: limit, Window: window, Phase: phase})
			}
		}
		var mu sync.Mutex
		turn, served, refusals := 0, 0, 0
		base := lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
			mu.Lock()
			way := time.Duration((0.5 + random.Float64()) * float64(10*time.Millisecond))
			mu.Unlock()
			time.Sleep(way)
			mu.Lock()
			i := turn % w.n
			switch w.how {
			case "random":
				i = random.IntN(w.n)
			case "sticky": // by caller
				i = int(req.URL.RawQuery[0]-'0') % w.n
			}
			turn++
			now := time.Now()
			v := counters[i*len(w.limits)+int(req.URL.Path[1]-'a')%len(w.limits)].Take(now, 1)
			resp := lab.Answer(req, http.StatusOK, "")
			if served++; !v.OK {
				resp.StatusCode, served, refusals = http.StatusTooManyRequests, served-1, refusals+1
			}
			xRate.Set(resp.Header, v, now)
			resp.Header.Set("Date", now.UTC().Format(http.TimeFormat))
			mu.Unlock()
			time.Sleep(way)
			return resp, nil
		})
		jitter := rand.New(rand.NewPCG(seed, 2))
		var jmu sync.Mutex
		tr := &pacer.Transport{Base: base, Rand: func() float64 {
			jmu.Lock()
			defer jmu.Unlock()
			return jitter.Float64()
		}}
		c := &http.Client{Transport: tr}
		end := time.Now().Add(last)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for k := 0; time.Now().Before(end); k++ {
					path := 'a' + k%3
					if len(w.limits) > 1 {
						path = 'a' + i%len(w.limits)
					}
					if !get(t, c, fmt.Sprintf("http://api.test/%c/%d?%d", path, k, i)) {
						mu.Lock()
						failed++
						mu.Unlock()
						time.Sleep(time.Second)
					}
				}
			})
		}
		wg.Wait()
		share = float64(served) / (float64(all) * windows)
		refused = 100 * float64(refusals) / float64(served)
	})
	return share, refused, failed
}

// TestInstances has several instances of a server behind a balancer count each on its own.
func TestInstances(t *testing.T) {
	one := []int{50}
	for _, w := range []*instancesWorld{
		{2, "turn", 0.97, one},
		{3, "turn", 0.97, one},
		{5, "turn", 0.97, one},
		{2, "random", 0.9, one},
		{3, "random", 0.9, one},
		{5, "random", 0.88, one}, // 1 - 1/sqrt(pi*limit) = 0.92 for two
		{2, "sticky", 0.9, one},
		{3, "sticky", 0.85, one},
		{5, "sticky", 0.75, one}, // what others hold is out of reach
		{2, "random", 0.9, []int{20, 100, 500}},
	} {
		name := fmt.Sprintf("%d, %s, %d", w.n, w.how, w.limits)
		if !whole.Part(3, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			var shares, refusals []float64
			failed := 0
			for seed := range uint64(*instanceSeeds) {
				share, refused, f := w.run(t, seed)
				shares, refusals, failed = append(shares, share), append(refusals, refused), failed+f
			}
			slices.Sort(shares)
			slices.Sort(refusals)
			t.Logf("%.3f of what all grant (%.3f at least), %.1f refused per 100 (%.1f at most), %d failed", shares[len(shares)/2], shares[0], refusals[len(refusals)/2], refusals[len(refusals)-1], failed)
			if shares[0] < w.share || refusals[len(refusals)-1] > 2 || failed > 0 {
				t.Errorf("want %.2f of what all grant at least, two refused per 100 at most, and no local error", w.share)
			}
		})
	}
}

var instanceSeeds = flag.Int("instances", 1, "how many seeds of each world of instances are tried")

// TestTwoInstances has two instances of ulule/limiter, with windows of 2 s that begin with their first request
// and resets in whole seconds, rounded down, serve requests in turn. The balancer has asked one of them up to a
// second before whether it lives. However their windows lie in the second, 300 requests take 6.2 s in the mean,
// and 150 after idling take one window. Where one instance states a reset that seems to be less than a second
// after the window began, no window is taken to last for no time at all.
func TestTwoInstances(t *testing.T) {
	sum, n := time.Duration(0), 0
	for begin := 0; begin < 1000; begin += 100 {
		for probed := 50; probed < 1000; probed += 200 {
			sum, n = sum+twoInstances(t, begin, probed, 0, 300), n+1
			if took := twoInstances(t, begin, probed, 100, 150); took > 2100*time.Millisecond {
				t.Errorf("begun at %d ms of a second, the other instance asked %d ms before, 150 requests after idling took %v, and not 2.1 s", begin+probed, probed, took)
			}
		}
	}
	t.Logf("300 requests took %v in the mean", sum/time.Duration(n))
	if sum > time.Duration(n)*6200*time.Millisecond {
		t.Errorf("300 requests took %v in the mean, and not 6.2 s", sum/time.Duration(n))
	}
}

// twoInstances returns how long so many requests of 16 callers took, after so many others and 3 s of idling if
// those are any.
func twoInstances(t *testing.T, begin, probed, before, requests int) (took time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 21, 8, 0, 0, begin*int(time.Millisecond), time.UTC)))
		server := &instances{Dialect: pacertest.XRateLimit, inTurn: true, trip: 5 * time.Millisecond}
		server.ResetFloor = true
		for range 2 {
			server.counters = append(server.counters, &pacertest.FixedWindow{Limit: 50, Window: 2 * time.Second})
		}
		server.counters[1].Take(time.Now(), 1)
		time.Sleep(time.Duration(probed) * time.Millisecond)
		c := &http.Client{Transport: &pacer.Transport{Base: server, Rand: lab.Zero}}
		if before > 0 {
			sixteen(t, c, before)
			time.Sleep(3 * time.Second)
		}
		start := time.Now()
		sixteen(t, c, requests)
		took = time.Since(start)
	})
	return took
}

// sixteen has 16 callers send so many requests.
func sixteen(t *testing.T, c *http.Client, requests int) {
	t.Helper()
	work := make(chan int, requests)
	for i := range requests {
		work <- i
	}
	close(work)
	var callers sync.WaitGroup
	for range 16 {
		callers.Go(func() {
			for range work {
				lab.Get(t, c, "http://a.example/")
			}
		})
	}
	callers.Wait()
}
