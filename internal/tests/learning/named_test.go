package learning

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/quota"
)

// resources is a server that counts requests by the first part of their path, each in
// windows of a minute, as GitHub does, and says which one an answer is about.
type resources struct {
	mu     sync.Mutex
	limits map[string]int // by resource; "" for what is not among them
	names  map[string]string
	used   map[string]int
	from   map[string]time.Time
	lag    time.Duration // until an answer is back
	got    []string      // paths, with the second at which they came and "refused"
}

// RoundTrip implements http.RoundTripper.
func (s *resources) RoundTrip(req *http.Request) (*http.Response, error) {
	resp := s.answer(req)
	s.mu.Lock()
	lag := s.lag
	s.mu.Unlock()
	time.Sleep(lag)
	return resp, nil
}

func (s *resources) answer(req *http.Request) *http.Response {
	s.mu.Lock()
	defer s.mu.Unlock()
	part, _, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/"), "/")
	if _, ok := s.limits[part]; !ok {
		part = ""
	}
	if s.used == nil {
		s.used, s.from = map[string]int{}, map[string]time.Time{}
	}
	if time.Since(s.from[part]) >= time.Minute {
		s.from[part], s.used[part] = time.Now(), 0
	}
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: req}
	status := ""
	if s.used[part]++; s.used[part] > s.limits[part] {
		resp.StatusCode, status = http.StatusForbidden, " refused"
	}
	resp.Header.Set("X-RateLimit-Limit", strconv.Itoa(s.limits[part]))
	resp.Header.Set("X-RateLimit-Remaining", strconv.Itoa(max(s.limits[part]-s.used[part], 0)))
	resp.Header.Set("X-RateLimit-Reset-After", fmt.Sprintf("%.3f", (time.Minute-time.Since(s.from[part])).Seconds()))
	resp.Header.Set("X-RateLimit-Resource", s.names[part])
	s.got = append(s.got, fmt.Sprintf("%s %v%s", req.URL.Path, time.Since(lab.Epoch).Round(time.Second), status))
	return resp
}

func github() *resources {
	return &resources{
		limits: map[string]int{"": 100, "search": 3, "graphql": 1},
		names:  map[string]string{"": "core", "search": "search", "graphql": "graphql"},
	}
}

// TestNamedSplit uses up what the server counts beside the rest: the rest goes on.
func TestNamedSplit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := github()
		c := &http.Client{Transport: &pacer.Transport{Base: server, Rand: lab.Zero}}
		for _, path := range []string{
			"/repos/1", "/search/a", "/search/b", "/search/c", "/repos/2", "/users/3", "/graphql", "/repos/4",
			"/search/d", "/repos/5",
		} {
			lab.Get(t, c, "http://api.test"+path)
		}
		want := []string{
			"/repos/1 0s", "/search/a 0s", "/search/b 0s", "/search/c 0s", "/repos/2 0s", "/users/3 0s", "/graphql 0s", "/repos/4 0s",
			"/search/d 1m0s", "/repos/5 1m0s",
		}
		if got := strings.Join(server.got, "\n"); got != strings.Join(want, "\n") {
			t.Errorf("the server saw\n%s\nwant\n%s", got, strings.Join(want, "\n"))
		}
	})
}

// TestNamedWaitersMove has requests wait for what they turn out not to draw on: they go
// when that is known.
func TestNamedWaitersMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := github()
		server.lag = time.Second
		c := &http.Client{Transport: &pacer.Transport{Base: server, Rand: lab.Zero}}
		lab.Get(t, c, "http://api.test/repos/1")
		lab.Get(t, c, "http://api.test/search/a")
		var all sync.WaitGroup
		for _, path := range []string{"/search/b", "/search/c", "/search/d", "/repos/2", "/users/3"} {
			all.Go(func() { lab.Get(t, c, "http://api.test"+path) })
			synctest.Wait()
		}
		all.Wait()
		// The window of the searches ends at 1m1s, but an answer takes a second, and nobody
		// says on which part of its way.
		want := []string{"/repos/1 0s", "/search/a 1s", "/search/b 2s", "/search/c 2s", "/repos/2 3s", "/users/3 3s", "/search/d 1m2s"}
		slices.Sort(server.got)
		slices.Sort(want)
		if got := strings.Join(server.got, "\n"); got != strings.Join(want, "\n") {
			t.Errorf("the server saw\n%s\nwant\n%s", got, strings.Join(want, "\n"))
		}
	})
}

// TestNamedSharedByPatterns has two patterns draw on one limit of the server.
func TestNamedSharedByPatterns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := github()
		server.limits[""] = 40
		server.lag = 10 * time.Millisecond
		tr := &pacer.Transport{Base: server, Rand: lab.Zero, Quotas: pacer.Table{
			"GET api.test/repos/":  {{N: 1000, Burst: 1000}},
			"POST api.test/repos/": {{N: 1000, Burst: 1000}},
		}}
		c := &http.Client{Transport: tr}
		var all sync.WaitGroup
		for i := range 80 {
			all.Go(func() {
				method := [...]string{http.MethodGet, http.MethodPost}[i%2]
				resp, err := c.Do(lab.Request(t, method, fmt.Sprintf("http://api.test/repos/%d", i), ""))
				if err != nil {
					t.Error(err)
					return
				}
				resp.Body.Close()
			})
		}
		all.Wait()
		refused := 0
		for _, got := range server.got {
			if strings.HasSuffix(got, "refused") {
				refused++
			}
		}
		if took := time.Since(lab.Epoch); refused > 2 || took > 62*time.Second {
			t.Errorf("%d of %d were refused in %v, want 2 at most in a minute\n%s", refused, len(server.got), took, strings.Join(server.got, "\n"))
		}
	})
}

// TestNamedForEachPattern has the server count two patterns apart, under one name: each
// uses up its own.
func TestNamedForEachPattern(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := github()
		server.limits = map[string]int{"a": 20, "b": 20}
		server.names = map[string]string{"a": "default", "b": "default"}
		server.lag = 10 * time.Millisecond
		c := &http.Client{Transport: &pacer.Transport{Base: server, Rand: lab.Zero, Quotas: pacer.Table{
			"api.test/a/": {{N: 1000, Burst: 1000}},
			"api.test/b/": {{N: 1000, Burst: 1000}},
		}}}
		var all sync.WaitGroup
		for i := range 40 {
			all.Go(func() { lab.Get(t, c, fmt.Sprintf("http://api.test/%c/%d", "ab"[i%2], i)) })
		}
		all.Wait()
		if took := time.Since(lab.Epoch); took > time.Second || len(server.got) != 40 {
			t.Errorf("%d requests took %v, want 40 within a second", len(server.got), took)
		}
	})
}

// TestNamedRotation has a server give a new name with each answer. What it makes a
// Transport remember is bounded, and it is not hammered.
func TestNamedRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		tr := &pacer.Transport{Rand: lab.Zero, Base: lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
			n++
			return lab.Answer(req, http.StatusOK, "", "X-RateLimit-Bucket", strconv.Itoa(n), "X-RateLimit-Limit", "5",
				"X-RateLimit-Remaining", "0", "X-RateLimit-Reset-After", "1"), nil
		})}
		for i := range 300 {
			lab.Get(t, &http.Client{Transport: tr}, fmt.Sprintf("http://api.test/%d/x", i%3))
		}
		const most = 64 + 1 // names, and the host
		if got := len(tr.State()); got > most {
			t.Errorf("there are %d buckets, want %d at most", got, most)
		}
		if took := time.Since(lab.Epoch); took < time.Minute {
			t.Errorf("300 requests took %v, want a minute at least: each used up what the server named", took)
		}
	})
}

// TestNamedSecondaryLimit has a server refuse for a reason that is not what it names: all
// of the host waits.
func TestNamedSecondaryLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := github()
		server.limits["search"] = 10
		refuse := false
		tr := &pacer.Transport{Rand: lab.Zero, Base: lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
			resp, err := server.RoundTrip(req)
			if refuse {
				refuse = false
				resp.StatusCode = http.StatusForbidden
				resp.Header.Set("Retry-After", "30")
			}
			return resp, err
		})}
		c := &http.Client{Transport: tr}
		for _, path := range []string{"/repos/1", "/search/a", "/search/b"} {
			lab.Get(t, c, "http://api.test"+path)
		}
		refuse = true
		var search sync.WaitGroup
		search.Go(func() { lab.Get(t, c, "http://api.test/search/c") })
		synctest.Wait()
		lab.Get(t, c, "http://api.test/repos/2")
		if took := time.Since(lab.Epoch); took != 30*time.Second {
			t.Errorf("the rest of the host went after %v, want 30s", took)
		}
		search.Wait()
	})
}

// TestNamedTooDear: a limit that the server names refuses a request that costs more than what remains of it.
// That is no matter of what others draw on: these do not wait, be it that the server asks for a while of its
// own, or that it names the limit for the first time.
func TestNamedTooDear(t *testing.T) {
	for name, before := range map[string][]string{
		"of a limit that has a bucket": {"/repos/1", "/search/a", "/search/b"}, "of a limit that is named first": {"/repos/1"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				base := lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
					status, resource, remaining, more := http.StatusOK, "core", "999", []string{}
					if strings.HasPrefix(req.URL.Path, "/search/") {
						resource, remaining = "search", "500"
					}
					if req.URL.Path == "/search/dear" && time.Since(start) < 30*time.Second { // another client has taken some
						status, remaining, more = http.StatusTooManyRequests, "361", []string{"Retry-After", "30"}
					}
					return lab.Answer(req, status, "", append(more, "X-RateLimit-Limit", "1000", "X-RateLimit-Remaining", remaining,
						"X-RateLimit-Reset-After", "30", "X-RateLimit-Resource", resource)...), nil
				})
				c := &http.Client{Transport: &pacer.Transport{Base: base, Rand: lab.Zero, Cost: func(req *http.Request) quota.Costs {
					if req.URL.Path == "/search/dear" {
						return quota.Costs{quota.Requests: 400}
					}
					return quota.Costs{quota.Requests: 1}
				}}}
				for _, path := range before {
					lab.Get(t, c, "http://api.test"+path)
				}
				var dear sync.WaitGroup
				dear.Go(func() { lab.Get(t, c, "http://api.test/search/dear") })
				synctest.Wait()
				if lab.Get(t, c, "http://api.test/repos/2"); time.Since(start) != 0 {
					t.Errorf("a request for another limit waited for %v, want 0s", time.Since(start))
				}
				if dear.Wait(); time.Since(start) != 30*time.Second {
					t.Errorf("the dear request was served after %v, want 30s", time.Since(start))
				}
			})
		})
	}
}

// TestNamesOfOneAnswer: an answer that names two counters does not say which of them its request drew on alone;
// of two counts under one name, the lower one holds.
func TestNamesOfOneAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			other := map[string]string{"/b": "Yg==", "/c": "Yw=="}[r.URL.Path]
			limits := fmt.Sprintf(`"all";r=50;t=60;pk=:YQ==:, "own";r=50;t=60;pk=:%s:`, other)
			return lab.Answer(r, 200, "", "RateLimit", limits), nil
		})
		tr := &pacer.Transport{Base: base, Rand: lab.Zero}
		for _, path := range []string{"/b", "/c", "/b", "/c", "/b", "/c"} {
			lab.Get(t, &http.Client{Transport: tr}, "http://api.test"+path)
		}
		if s := tr.State(); len(s) != 1 {
			t.Errorf("%d buckets, want one: %+v", len(s), s)
		}

		base = func(r *http.Request) (*http.Response, error) {
			return lab.Answer(r, 200, "", "X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "4", "RateLimit-Limit", "10", "RateLimit-Remaining", "2"), nil
		}
		tr = &pacer.Transport{Base: base, Rand: lab.Zero}
		lab.Get(t, &http.Client{Transport: tr}, "http://api.test/")
		if s := tr.State(); len(s) != 1 || len(s[0].Limits) != 1 || s[0].Limits[0].Available != 2 {
			t.Errorf("%+v, want one bucket of which 2 are left", s)
		}
	})
}

// slowRepos answers requests for repositories after a second.
type slowRepos struct{ *resources }

// RoundTrip implements http.RoundTripper.
func (s slowRepos) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := s.resources.RoundTrip(req)
	if strings.HasPrefix(req.URL.Path, "/repos/") {
		time.Sleep(time.Second)
	}
	return resp, err
}

// TestNamedSplitInFlight has many requests be under way when the server is found to count some on their own:
// these get all that is theirs, and do not wait for the reset because of what drew on the wider limit.
func TestNamedSplitInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := github()
		server.limits["search"] = 30
		c := &http.Client{Transport: &pacer.Transport{Base: slowRepos{server}, Rand: lab.Zero}}
		var wg sync.WaitGroup
		get := func(path string, n int) {
			for range n {
				wg.Go(func() { lab.Get(t, c, "http://api.test"+path) })
			}
		}
		lab.Get(t, c, "http://api.test/repos/1") // says how much there is in all
		get("/repos/2", 50)
		synctest.Wait()
		get("/search/a", 5) // says that it is counted on its own
		wg.Wait()
		get("/search/b", 25)
		wg.Wait()
		got := map[string]int{}
		for _, line := range server.got {
			got[line]++
		}
		want := map[string]int{"/repos/1 0s": 1, "/repos/2 1s": 33, "/repos/2 2s": 17, "/search/a 2s": 5, "/search/b 3s": 25} // a third of 99 goes first
		if !maps.Equal(got, want) {
			t.Errorf("the server saw %v, want %v", got, want)
		}
	})
}

// TestNamedSplitBeforeWaiters has more requests be under way than the narrower limit has left, when the server
// is found to count some on their own. What is under way may draw on that limit, so that those that come then
// wait; but no longer than until it is answered, which the bucket that has sent it hears, and not they.
func TestNamedSplitBeforeWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := github()
		server.limits[""], server.limits["search"] = 5000, 60
		c := &http.Client{Transport: &pacer.Transport{Base: slowRepos{server}, Rand: lab.Zero, Learn: pacer.Learn{IdleAfter: -1}}}
		var wg sync.WaitGroup
		get := func(path string, n int) {
			for range n {
				wg.Go(func() { lab.Get(t, c, "http://api.test"+path) })
			}
		}
		for range 10 { // until the slow start is over
			get("/repos/1", 20)
			wg.Wait()
		}
		get("/repos/2", 50) // answered in a second
		time.Sleep(100 * time.Millisecond)
		server.mu.Lock()
		server.lag = 100 * time.Millisecond
		server.mu.Unlock()
		get("/search/a", 11) // say that they are counted on their own
		time.Sleep(200 * time.Millisecond)
		get("/search/b", 59)
		wg.Wait()
		got := map[string]int{}
		for _, line := range server.got {
			if strings.HasPrefix(line, "/search/") {
				got[line]++
			}
		}
		want := map[string]int{"/search/a 11s": 11, "/search/b 12s": 49, "/search/b 1m11s": 10} // 60 in a minute
		if !maps.Equal(got, want) {
			t.Errorf("the server saw %v, want %v", got, want)
		}
	})
}
