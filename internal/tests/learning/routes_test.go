package learning

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/pacertest"
)

// routes is a server that counts each route by itself, and gives all of these limits the same header names.
type routes struct {
	pacertest.Dialect

	mu       sync.Mutex
	counters map[string]pacertest.Algorithm // by what a path begins with
	all      pacertest.Algorithm            // counts all requests, too, and speaks only when it refuses; may be nil
	lag      time.Duration
	random   *rand.Rand
	begin    time.Time // what came before does not count
	answers  int
	served   map[string]int
	refused  int
	failed   int
}

// RoundTrip implements http.RoundTripper.
func (s *routes) RoundTrip(req *http.Request) (*http.Response, error) {
	s.mu.Lock()
	lag := time.Duration((0.5 + s.random.Float64()) * float64(s.lag) / 2)
	s.mu.Unlock()
	time.Sleep(lag)
	resp := s.answer(req)
	time.Sleep(lag)
	return resp, nil
}

func (s *routes) answer(req *http.Request) *http.Response {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: req, Body: http.NoBody}
	route := s.routeOf(req.URL.Path)
	c := s.counters[route]
	v := pacertest.Verdict{OK: true}
	if s.all != nil {
		v = s.all.Take(now, 1)
	}
	if v.OK {
		v = c.Take(now, 1)
	}
	s.Set(resp.Header, v, now)
	resp.Header.Set("Date", now.UTC().Format(http.TimeFormat))
	counts := s.begin.IsZero() || now.After(s.begin)
	s.answers++
	switch {
	case !v.OK:
		resp.StatusCode = http.StatusTooManyRequests
		if counts {
			s.refused++
		}
	case counts:
		s.served[route]++
	}
	return resp
}

func (s *routes) routeOf(path string) string {
	for r := range s.counters {
		if path == r || strings.HasPrefix(path, r+"/") {
			return r
		}
	}
	panic(path)
}

// routesWorld is how a server of routes is met.
type routesWorld struct {
	name     string
	counters func() map[string]pacertest.Algorithm
	all      pacertest.Algorithm
	busy     map[string]int // callers of each route; nil: two of each
	lone     bool           // eight callers of the first route, one slow caller of each other
	epoch    bool           // resets are stated as instants: of a server that refills, nothing else proves their unit
	time     time.Duration
	limits   map[string]int // of the routes that count: how much of it is served
	window   time.Duration
	share    float64 // of what could be served, at least
	most     float64 // refused per 100 served
}

// run returns the share of what could be served, and refusals per 100.
func (w *routesWorld) run(t *testing.T, seed uint64) (share, refused float64, failed int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 21, 8, 0, 0, int(seed*123456789%1e9), time.UTC)))
		dialect := []pacertest.Dialect{xRate, pacertest.XRateLimitDelta, pacertest.RateLimitDraft7}[seed/3%3]
		if w.epoch {
			dialect = xRate
		}
		lag := []time.Duration{20 * time.Millisecond, time.Millisecond, 200 * time.Millisecond}[seed%3]
		s := &routes{Dialect: dialect, counters: w.counters(), lag: lag, random: rand.New(rand.NewPCG(seed, 1)), served: map[string]int{}}
		if w.all != nil {
			s.all = w.all.Fresh()
		}
		var rmu sync.Mutex
		random := rand.New(rand.NewPCG(seed, 2))
		tr := &pacer.Transport{Base: s, Rand: func() float64 {
			rmu.Lock()
			defer rmu.Unlock()
			return random.Float64()
		}}
		c := &http.Client{Transport: tr}
		begin := time.Now()
		span := w.time
		if *routeSeeds == 1 && len(s.counters) >= 10 {
			span /= 2 // these send most
		}
		end := begin.Add(span)
		var wg sync.WaitGroup
		for route := range s.counters {
			callers, pause := 2, time.Duration(0)
			switch {
			case w.busy != nil:
				callers = w.busy[route]
			case w.lone && route == "/u":
				callers = 8
			case w.lone:
				callers, pause = 1, 3*time.Second
			}
			for i := range callers {
				wg.Go(func() {
					for k := 0; time.Now().Before(end); k++ {
						path := route
						if k > 0 {
							path += "/" + strconv.Itoa(1000+i*100000+k)
						}
						if !get(t, c, "http://api.test"+path) {
							s.mu.Lock()
							s.failed++
							s.mu.Unlock()
							time.Sleep(time.Second)
						}
						time.Sleep(pause)
					}
				})
			}
		}
		wg.Wait()
		served, ideal, all := 0, 0.0, 0
		for route, n := range s.served {
			if all += n; w.limits[route] > 0 || w.all != nil {
				served += n
			}
		}
		for _, n := range w.limits {
			ideal += float64(n) * float64(span) / float64(w.window)
		}
		if w.all == nil {
			for route, n := range w.limits {
				if got := float64(s.served[route]) / (float64(n) * float64(span) / float64(w.window)); got < 0.9 {
					t.Logf("seed %d: %s has %.3f of what it might", seed, route, got)
				}
			}
		}
		share, refused, failed = float64(served)/ideal, 100*float64(s.refused)/float64(max(all, 1)), s.failed
	})
	return share, refused, failed
}

// get reports whether a request was served.
func get(t *testing.T, c *http.Client, url string) bool {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Error(err)
		return false
	}
	resp, err := c.Do(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return true
}

var xRate = pacertest.Dialect{Layout: pacertest.LayoutTrio, Prefix: "X-RateLimit-", Reset: pacertest.ResetEpoch, RetryAfter: pacertest.RetryAfterSeconds}

func fixed(limits map[string]int, window time.Duration) func() map[string]pacertest.Algorithm {
	return func() map[string]pacertest.Algorithm {
		all := map[string]pacertest.Algorithm{}
		for r, n := range limits {
			all[r] = &pacertest.FixedWindow{Limit: n, Window: window}
		}
		return all
	}
}

func gcra(perMinute map[string]int, burst int) func() map[string]pacertest.Algorithm {
	return func() map[string]pacertest.Algorithm {
		all := map[string]pacertest.Algorithm{}
		for r, n := range perMinute {
			all[r] = &pacertest.GCRA{Rate: float64(n) / 60, Burst: burst}
		}
		return all
	}
}

func grid(limits map[string]int, window time.Duration) func() map[string]pacertest.Algorithm {
	return func() map[string]pacertest.Algorithm {
		all := map[string]pacertest.Algorithm{}
		for r, n := range limits {
			all[r] = &pacertest.ClockWindow{Limit: n, Window: window}
		}
		return all
	}
}

// several returns limits from low to high for so many routes.
func several(n, low, high int) map[string]int {
	limits := map[string]int{}
	for i := range n {
		limits[fmt.Sprintf("/r%c", 'a'+i)] = low + (high-low)*i/max(n-1, 1)
	}
	return limits
}

var routesWorlds = func() []*routesWorld {
	two := map[string]int{"/a": 10, "/b": 1000}
	four := map[string]int{"/2/tweets": 900, "/2/users/me": 75, "/2/lists": 15, "/2/search": 450}
	same := map[string]int{"/u": 300, "/v": 300, "/w": 300, "/x": 300}
	twenty := map[string]int{"/u": 20, "/v": 20, "/w": 20, "/x": 20}
	stacked := map[string]int{"/a": 20, "/b": 100, "/c": 500}
	worlds := []*routesWorld{
		{name: "10 and 1000 a minute", counters: fixed(two, time.Minute), limits: two, window: time.Minute, busy: map[string]int{"/a": 4, "/b": 8}, time: 10 * time.Minute, share: 0.97, most: 1},
		{name: "4 routes, quarters of an hour", counters: fixed(four, 15*time.Minute), limits: four, window: 15 * time.Minute, time: time.Hour, share: 0.95, most: 1},
		{name: "4 equal routes, one busy", counters: fixed(same, 15*time.Minute), limits: map[string]int{"/u": 300}, window: 15 * time.Minute, time: time.Hour, lone: true, share: 0.95, most: 3},
		{name: "4 routes, GCRA, one busy", counters: gcra(twenty, 20), limits: map[string]int{"/u": 20}, window: time.Minute, time: 20 * time.Minute, lone: true, epoch: true, share: 0.95, most: 5},
		{name: "8 equal routes", counters: fixed(several(8, 100, 100), time.Minute), limits: several(8, 100, 100), window: time.Minute, time: 10 * time.Minute, share: 0.9, most: 1},
		{name: "8 routes on a grid", counters: grid(several(8, 50, 400), time.Minute), limits: several(8, 50, 400), window: time.Minute, time: 10 * time.Minute, share: 0.9, most: 1},
		{name: "3 routes and a limit of all", counters: fixed(stacked, time.Minute), all: &pacertest.FixedWindow{Limit: 400, Window: time.Minute}, limits: map[string]int{"/a": 400}, busy: map[string]int{"/a": 2, "/b": 4, "/c": 4}, window: time.Minute, time: 10 * time.Minute, share: 0.95, most: 3},
	}
	for _, n := range whole.Or([]int{2, 20}, []int{2, 5, 10, 20}) {
		l := several(n, 20, 600)
		worlds = append(worlds, &routesWorld{name: fmt.Sprintf("%d routes", n), counters: fixed(l, time.Minute), limits: l, window: time.Minute, time: 10 * time.Minute, share: 0.95, most: 1})
	}
	return worlds
}()

// TestRoutes has servers count each route by itself and call all of these limits by one name.
func TestRoutes(t *testing.T) {
	for _, w := range routesWorlds {
		if !whole.Part(3, w.name) {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			var shares, refusals []float64
			failed := 0
			for seed := range uint64(*routeSeeds) {
				share, refused, f := w.run(t, seed)
				shares, refusals, failed = append(shares, share), append(refusals, refused), failed+f
			}
			slices.Sort(shares)
			slices.Sort(refusals)
			least, most := shares[0], refusals[len(refusals)-1]
			t.Logf("%.3f of the ideal (%.3f at least), %.1f refused per 100 (%.1f at most), %d failed", shares[len(shares)/2], least, refusals[len(refusals)/2], most, failed)
			if least < w.share || most > w.most {
				t.Errorf("%.3f of the ideal, %.1f refused per 100, want %.2f at least and %.0f at most", least, most, w.share, w.most)
			}
		})
	}
}

// TestShortRoutes: two routes whose windows are as short as two of the steps in which resets are stated are
// told apart within the first window, and what was found out of resets until then holds for both: so a program
// uses each window from its beginning.
func TestShortRoutes(t *testing.T) {
	const window, windows = 2 * time.Second, 5
	limits := map[string]int{"/a": 50, "/b": 10}
	floored := pacertest.XRateLimit
	floored.ResetFloor = true
	var all []time.Duration
	for seed := range uint64(5) {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Duration(seed) * 190 * time.Millisecond) // seconds of the clock begin anywhere in the windows
			s := &routes{Dialect: floored, counters: fixed(limits, window)(), lag: 5 * time.Millisecond, random: rand.New(rand.NewPCG(seed, 1)), served: map[string]int{}}
			c := &http.Client{Transport: &pacer.Transport{Base: s, Rand: lab.Zero}}
			var sent atomic.Int64
			begin := time.Now()
			var wg sync.WaitGroup
			for range 16 {
				wg.Go(func() {
					for i := sent.Add(1); i <= 60*windows; i = sent.Add(1) {
						path := "/a"
						if i%6 == 0 {
							path = "/b"
						}
						get(t, c, "http://api.test"+path)
					}
				})
			}
			wg.Wait()
			all = append(all, time.Since(begin))
		})
	}
	slices.Sort(all)
	if got, least := all[len(all)/2], (windows-1)*window; got > least*103/100 {
		t.Errorf("%v, want hardly more than %v: %v", got, least, all)
	}
}

var routeSeeds = flag.Int("routes", 1, "how many seeds of each world of routes are tried")

// TestRoutesOneCounter has servers count all requests together: eight paths are served exactly as one is.
func TestRoutesOneCounter(t *testing.T) {
	minute := time.Minute
	for name, a := range map[string]pacertest.Algorithm{
		"fixed":     &pacertest.FixedWindow{Limit: 40, Window: minute},
		"grid":      &pacertest.ClockWindow{Limit: 40, Window: minute},
		"sliding":   &pacertest.SlidingWindow{Limit: 40, Window: minute},
		"log":       &pacertest.SlidingLog{Limit: 40, Window: minute},
		"estimated": &pacertest.EstimatedWindow{Limit: 40, Window: minute},
		"bucket":    &pacertest.TokenBucket{Rate: 2, Burst: 20},
		"GCRA":      &pacertest.GCRA{Rate: 2, Burst: 20},
		"leaky":     &pacertest.LeakyBucket{Rate: 2, Depth: 20},
	} {
		for reset, dialect := range map[string]pacertest.Dialect{"epoch": xRate, "delta": pacertest.XRateLimitDelta, "draft": pacertest.RateLimitDraft7} {
			for trouble := range 4 {
				name := fmt.Sprintf("%s, %s, %d", name, reset, trouble)
				if !whole.Part(3, name) {
					continue
				}
				t.Run(name, func(t *testing.T) {
					one := sentLog(t, a, dialect, trouble, 1)
					if eight := sentLog(t, a, dialect, trouble, 8); !slices.Equal(one, eight) {
						i := 0
						for i < min(len(one), len(eight)) && one[i] == eight[i] {
							i++
						}
						t.Errorf("of %d and %d requests, the first %d come at the same instants", len(one), len(eight), i)
					}
				})
			}
		}
	}
}

// sentLog returns when requests to so many paths come to a server that counts all together. The trouble is that
// others use the limit, too; that the limit is halved; or that the server is restarted.
func sentLog(t *testing.T, a pacertest.Algorithm, dialect pacertest.Dialect, trouble, paths int) (log []time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 21, 8, 0, 0, 123456789, time.UTC)))
		begin := time.Now()
		var mu sync.Mutex
		counter := a.Fresh()
		base := lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
			n, err := strconv.Atoi(req.URL.RawQuery)
			if err != nil {
				t.Error(err)
			}
			way := 5*time.Millisecond + time.Duration(n*n%10007)*time.Microsecond // no two events in one instant
			time.Sleep(way)
			mu.Lock()
			now := time.Now()
			log = append(log, now.Sub(begin))
			switch {
			case trouble == 1 && len(log)%3 == 0:
				counter.Take(now, 1)
			case trouble > 1 && len(log) == 100:
				counter = a.Fresh()
				if f, ok := a.(*pacertest.FixedWindow); ok && trouble == 2 {
					counter = &pacertest.FixedWindow{Limit: f.Limit / 2, Window: f.Window}
				}
			}
			v := counter.Take(now, 1)
			resp := lab.Answer(req, http.StatusOK, "")
			if !v.OK {
				resp.StatusCode = http.StatusTooManyRequests
			}
			dialect.Set(resp.Header, v, now)
			resp.Header.Set("Date", now.UTC().Format(http.TimeFormat))
			mu.Unlock()
			time.Sleep(way)
			return resp, nil
		})
		tr := &pacer.Transport{Base: base, Rand: lab.Zero, MaxWait: time.Hour}
		c := &http.Client{Transport: tr}
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				for k := range 75 {
					get(t, c, fmt.Sprintf("http://api.test/%c/%d?%d", 'a'+(4*k+i)%paths, k, 17+4*k+i))
				}
			})
		}
		wg.Wait()
		if n := len(tr.State()); n != 1 {
			t.Errorf("%d buckets, want 1", n)
		}
	})
	return log
}

// TestRoutesSeen has the buckets of routes named after what they count. What is saved of them does no harm in
// the next run.
func TestRoutesSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)))
		s := &routes{Dialect: xRate, counters: fixed(map[string]int{"/a": 5, "/b": 50}, time.Minute)(), random: rand.New(rand.NewPCG(1, 1)), served: map[string]int{}}
		tr := &pacer.Transport{Base: s, Rand: lab.Zero}
		c := &http.Client{Transport: tr}
		for range 4 {
			lab.Get(t, c, "http://api.test/a/1")
			lab.Get(t, c, "http://api.test/b/2")
		}
		var names []string
		for _, b := range tr.State() {
			names = append(names, b.Bucket)
		}
		if got, want := strings.Join(names, ", "), "api.test, api.test (GET /a/*), api.test (GET /b/*)"; got != want {
			t.Errorf("buckets %q, want %q", got, want)
		}
		lab.Get(t, c, "http://api.test/a/1") // the last one of its window
		var saved strings.Builder
		if err := tr.Save(&saved); err != nil {
			t.Fatal(err)
		}
		next := &pacer.Transport{Base: s, Rand: lab.Zero}
		if err := next.Load(strings.NewReader(saved.String())); err != nil {
			t.Fatal(err)
		}
		c = &http.Client{Transport: next}
		begin := time.Now()
		for range 20 {
			lab.Get(t, c, "http://api.test/b/3")
		}
		if took := time.Since(begin); took > 0 || s.refused > 0 {
			t.Errorf("the next run took %v for what remains, %d refused", took, s.refused)
		}
	})
}

// TestRoutesWaitersMove has callers of two routes wait for the tight one, as long as nobody knows that there
// are two. Those of the wide one go as soon as that is known, in their order; and a limit that is configured
// for the host holds all the time.
func TestRoutesWaitersMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)))
		s := &routes{Dialect: xRate, counters: fixed(map[string]int{"/a": 3, "/b": 500}, time.Minute)(), random: rand.New(rand.NewPCG(1, 1)), served: map[string]int{}}
		tr := &pacer.Transport{Base: s, Rand: lab.Zero, MaxStandstill: time.Hour, Quotas: pacer.Table{"api.test/": {{N: 10, Burst: 10}}}}
		c := &http.Client{Transport: tr}
		begin := time.Now()
		var wg sync.WaitGroup
		var mu sync.Mutex
		var order []int // of those of /b
		last := map[byte]time.Duration{}
		for i := range 60 {
			wg.Go(func() {
				path := fmt.Sprintf("/b/%d", i)
				if i%10 == 0 {
					path = fmt.Sprintf("/a/%d", i)
				}
				if !get(t, c, "http://api.test"+path) {
					t.Errorf("%s was not served", path)
				}
				mu.Lock()
				defer mu.Unlock()
				if last[path[1]] = time.Since(begin); path[1] == 'b' {
					order = append(order, i)
				}
			})
			synctest.Wait()
		}
		wg.Wait()
		if s.served["/a"] != 6 || s.served["/b"] != 54 || s.refused > 1 || last['a'] < time.Minute || last['a'] > 62*time.Second || last['b'] < 4*time.Second || last['b'] > 6*time.Second {
			t.Errorf("served %v, the last after %v, %d refused; want 6 after a minute, 54 after 5 s, and 1 at most, before it is known", s.served, last, s.refused)
		}
		if !slices.IsSorted(order) {
			t.Errorf("those of /b were served in the order %v", order)
		}
	})
}
