package pacer

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// draws returns the buckets of a request, the most specific one first.
func draws(t *testing.T, tr *Transport, method, url string) []string {
	t.Helper()
	if err := tr.Validate(); err != nil {
		t.Fatal(err)
	}
	var names []string
	for l := tr.limiter(lab.Request(t, method, url, "")); l != nil; l = l.Parent {
		names = append(names, l.Name+" "+l.Quotas.String())
	}
	return names
}

// forget has tr forget the buckets that are not in use: it asks for those of many other hosts.
func forget(t *testing.T, tr *Transport, old *throttle.Limiter) {
	t.Helper()
	req := lab.Request(t, "GET", "http://a.example/", "")
	for i := 0; !ofThrottle.Forgotten(old); i++ {
		if i == 100_000 {
			t.Fatal("not forgotten")
		}
		req.URL.Host = fmt.Sprintf("h%d.example", i)
		tr.limiter(req)
	}
}

func TestRouteToBuckets(t *testing.T) {
	one, two, three, four := quota.Quotas{{N: 1}}, quota.Quotas{{N: 2}}, quota.Quotas{{N: 3}}, quota.Quotas{{N: 4}}
	tr := &Transport{Quotas: map[string]quota.Quotas{
		"/":                             one,
		"api.example.com/":              two,
		"GET api.example.com/search/":   three,
		"POST api.example.com/c/{id}/m": four,
	}}
	for _, test := range []struct{ method, url, want string }{
		{"GET", "http://api.example.com/", "api.example.com 2/s"},
		{"GET", "http://api.example.com", "api.example.com 2/s"},
		{"GET", "http://API.Example.com:80/x", "api.example.com 2/s"},
		{"GET", "https://api.example.com:443/x", "api.example.com 2/s"},
		{"GET", "https://api.example.com:8443/x", "api.example.com:8443 2/s"},
		{"GET", "http://api.example.com/search/a", "GET api.example.com/search/ 3/s, api.example.com 2/s"},
		{"", "http://api.example.com/search/a", "GET api.example.com/search/ 3/s, api.example.com 2/s"},
		{"HEAD", "http://api.example.com/search/a", "GET api.example.com/search/ 3/s, api.example.com 2/s"},
		{"POST", "http://api.example.com/search/a", "api.example.com 2/s"},
		{"POST", "http://api.example.com/c/7/m", "POST api.example.com/c/7/m 4/s, api.example.com 2/s"},
		{"POST", "http://api.example.com/c/8/m", "POST api.example.com/c/8/m 4/s, api.example.com 2/s"},
		{"GET", "http://other.example/", "other.example 1/s"},
		{"GET", "http://[::1]:80/", "[::1] 1/s"},
	} {
		if got := strings.Join(draws(t, tr, test.method, test.url), ", "); got != test.want {
			t.Errorf("%s %s draws on %s, want %s", test.method, test.url, got, test.want)
		}
	}
	if n := len(tr.State()); n != 7 {
		t.Errorf("%d buckets, want 7", n)
	}
}

func TestRouteKeySplitsBuckets(t *testing.T) {
	tr := &Transport{
		Quotas: map[string]quota.Quotas{"a.example/x": {{N: 1}}},
		Key:    func(r *http.Request) string { return r.URL.Query().Get("tenant") },
	}
	if got, want := fmt.Sprint(draws(t, tr, "GET", "http://a.example/x?tenant=me")), "[a.example/x for 2744ccd10c75 1/s a.example for 2744ccd10c75  a.example overall ]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	draws(t, tr, "GET", "http://a.example/x?tenant=you")
	draws(t, tr, "GET", "http://a.example/x?tenant=me")
	if n := len(tr.State()); n != 5 { // one is of all tenants
		t.Errorf("%d buckets, want 5", n)
	}
}

func TestRouteForgottenWhileLookedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &Transport{Base: &lab.Script{Answers: []func(*http.Request) (*http.Response, error){lab.Status(200, "")}}}
		req := lab.Request(t, "GET", "http://a.example/", "")
		if err := tr.Validate(); err != nil {
			t.Fatal(err)
		}
		old := tr.limiter(req)
		forget(t, tr, old)
		if _, err := tr.RoundTrip(req); err != nil {
			t.Fatal(err)
		}
		if l := tr.limiter(req); l == old {
			t.Error("the forgotten bucket is used again")
		}
	})
}

// TestRouteAllocatesNothing: of three pairs of hosts one at least is not in one slot of those that are
// remembered, as one of 256 is.
func TestRouteAllocatesNothing(t *testing.T) {
	tr := &Transport{}
	if err := tr.Validate(); err != nil {
		t.Fatal(err)
	}
	least := math.Inf(1)
	for i := range 3 {
		a, b := lab.Request(t, "GET", fmt.Sprintf("http://a%d.example/", i), ""), lab.Request(t, "GET", fmt.Sprintf("http://b%d.example/", i), "")
		least = min(least, testing.AllocsPerRun(100, func() {
			tr.limiter(a)
			tr.limiter(b)
			tr.limiter(b)
		}))
	}
	if least != 0 {
		t.Errorf("%v allocations, want none", least)
	}
}

func TestRouteForgottenBetweenAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &Transport{Retry: Retry{Backoff: lab.Steady{}}}
		var old *throttle.Limiter
		tr.Base = &lab.Script{Answers: []func(*http.Request) (*http.Response, error){
			func(r *http.Request) (*http.Response, error) {
				time.AfterFunc(100*time.Millisecond, func() { forget(t, tr, old) }) // while the backoff lasts
				return lab.Answer(r, 503, ""), nil
			},
			lab.Status(200, ""),
		}}
		req := lab.Request(t, "GET", "http://a.example/", "")
		if err := tr.Validate(); err != nil {
			t.Fatal(err)
		}
		old = tr.limiter(req)
		if _, err := tr.RoundTrip(req); err != nil {
			t.Fatal(err)
		}
		if l := tr.limiter(req); !ofThrottle.Forgotten(old) || l == old || l.State().InFlight != 0 {
			t.Errorf("bucket %p, was %p; state %+v", l, old, l.State())
		}
	})
}

// Answers that repeat one are counted where a bucket has no Parent. Of others nothing is remembered for that:
// it would be made anew every 10 ms, for nothing.
func TestRepeatsOfBucketsBelowOthers(t *testing.T) {
	for pattern, want := range map[string]bool{"a.example/": true, "a.example/{x}": false} {
		synctest.Test(t, func(t *testing.T) {
			left := 10_000
			tr := &Transport{Quotas: Table{"a.example/": {{N: 1 << 30}}, pattern: {{N: 1 << 30}}}, Base: lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
				left--
				resp := lab.Answer(req, http.StatusOK, "")
				resp.Header.Set("X-Ratelimit-Limit", "10000")
				resp.Header.Set("X-Ratelimit-Remaining", strconv.Itoa(left))
				resp.Header.Set("X-Ratelimit-Reset", "3600")
				return resp, nil
			})}
			c := &http.Client{Transport: tr}
			for range 500 {
				lab.Get(t, c, "http://a.example/b")
				time.Sleep(100 * time.Microsecond)
			}
			for l := tr.limiter(lab.Request(t, "GET", "http://a.example/b", "")); l != nil; l = l.Parent {
				if got := bucketOf(l).repeats.Latest() != nil; got != want {
					t.Errorf("%s with %s: an answer that others repeat is remembered: %v", l.Name, pattern, got)
				}
			}
		})
	}
}

// "/tree" is not "/tree/", and the redirect of ServeMux leads nobody out of what else matches.
func TestConnectEscapes(t *testing.T) {
	tr := &Transport{Quotas: map[string]quota.Quotas{"CONNECT a.example/tree/": {{N: 1}}, "CONNECT a.example/": {{N: 2}}}}
	req := lab.Request(t, "CONNECT", "http://a.example/tree", "")
	if got := fmt.Sprint(draws(t, tr, "CONNECT", "http://a.example/tree")); !strings.Contains(got, "2/s") {
		t.Errorf("%s draws on %s, want 2/s", req.URL, got)
	}
}
