package pacer

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/throttle"
)

// draws returns the buckets of a request, the most specific one first.
func draws(t *testing.T, tr *Transport, method, url string) []string {
	t.Helper()
	if err := tr.Validate(); err != nil {
		t.Fatal(err)
	}
	var names []string
	for b := lookup(tr, request(t, method, url, "")); b != nil; b = b.parent {
		names = append(names, b.Name+" "+b.Quotas.String())
	}
	return names
}

func TestRouteToBuckets(t *testing.T) {
	one, two, three, four := throttle.Quotas{{N: 1}}, throttle.Quotas{{N: 2}}, throttle.Quotas{{N: 3}}, throttle.Quotas{{N: 4}}
	tr := &Transport{Quotas: map[string]throttle.Quotas{
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
	if n := len(tr.router.buckets); n != 7 {
		t.Errorf("%d buckets, want 7", n)
	}
}

func TestRouteKeySplitsBuckets(t *testing.T) {
	tr := &Transport{
		Quotas: map[string]throttle.Quotas{"a.example/x": {{N: 1}}},
		Key:    func(r *http.Request) string { return r.URL.Query().Get("tenant") },
	}
	if got, want := fmt.Sprint(draws(t, tr, "GET", "http://a.example/x?tenant=me")), "[a.example/x for me 1/s a.example for me ]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	draws(t, tr, "GET", "http://a.example/x?tenant=you")
	draws(t, tr, "GET", "http://a.example/x?tenant=me")
	if n := len(tr.router.buckets); n != 4 {
		t.Errorf("%d buckets, want 4", n)
	}
}

func TestRouteValidate(t *testing.T) {
	for want, tr := range map[string]*Transport{
		`Quotas["a.example"]: want a pattern of http.ServeMux`: {Quotas: map[string]throttle.Quotas{"a.example": {{N: 1}}}},
		`Quotas["GET a.example/{"]`:                            {Quotas: map[string]throttle.Quotas{"GET a.example/{": {{N: 1}}}},
		`Quotas["a.example/{y}/b"]: want a pattern of http.ServeMux: pattern "a.example/{y}/b"`: {Quotas: map[string]throttle.Quotas{
			"a.example/a/{x}": {{N: 1}}, "a.example/{y}/b": {{N: 1}},
		}},
		`Quotas["/"]: throttle: quota "-5/s": N is -5, want at least 0`: {Quotas: map[string]throttle.Quotas{"/": {{N: 1}, {N: -5}}}},
		`Quotas["https://a.example/"]: want a pattern without a scheme`: {Quotas: map[string]throttle.Quotas{"https://a.example/": nil}},
		`Quotas["a.example:8080/x"]: want the host without a port`:      {Quotas: map[string]throttle.Quotas{"a.example:8080/x": nil}},
		`Quotas["GET A.example/"]: want the host in lower case`:         {Quotas: map[string]throttle.Quotas{"GET A.example/": nil}},
		`Mode is 9, want Wait`:                      {Mode: 9},
		`Fallback is nil, want a RoundTripper`:      {Mode: Degrade},
		`ColdFactor is 0.5, want at least 1, or 0`:  {Quotas: map[string]throttle.Quotas{"/": {{N: 1, WarmUp: time.Second, ColdFactor: .5}}}},
		`Burst is 5, want 0 beside a WarmUp`:        {Quotas: map[string]throttle.Quotas{"/": {{N: 1, WarmUp: time.Second, Burst: 5}}}},
		`N is 0, want a positive number beside a B`: {Quotas: map[string]throttle.Quotas{"/": {{Burst: 5}}}},
	} {
		err := tr.Validate()
		if err == nil || !strings.HasPrefix(err.Error(), "pacer: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
		if _, again := tr.RoundTrip(request(t, "GET", "http://a.example/", "")); again != err { //nolint:errorlint // the same
			t.Errorf("RoundTrip returned %v, Validate %v", again, err)
		}
	}
	if err := (&Transport{}).Validate(); err != nil {
		t.Error(err)
	}
}

func TestRouteRedirectsPayAtTheHostTheyGoTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &script{answers: []func(*http.Request) (*http.Response, error){
			status(302, "", "Location", "http://b.example/"), status(200, ""),
		}}
		tr := &Transport{Base: base, Quotas: map[string]throttle.Quotas{"/": {{N: 1}}}}
		start := time.Now()
		for range 2 {
			resp, err := (&http.Client{Transport: tr}).Do(request(t, "GET", "http://a.example/", ""))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("took %v, want 1s: a second request to a.example, after one to each", took)
		}
	})
}

func TestRouteForgetsIdleBuckets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &script{answers: []func(*http.Request) (*http.Response, error){status(200, "")}}
		tr := &Transport{Base: base, Quotas: map[string]throttle.Quotas{
			"held.example/": nil, "short.example/": {{N: 1, Per: time.Hour}}, "child.example/x": {{N: 1, Per: time.Hour}},
		}}
		send := func(url string) {
			t.Helper()
			resp, err := tr.RoundTrip(request(t, "GET", url, ""))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
		base.answers = []func(*http.Request) (*http.Response, error){status(429, "", "Retry-After", "600"), status(200, "")}
		send("http://held.example/")
		send("http://short.example/")
		send("http://child.example/x") // its host has no limit, but is its parent
		for i := range 50_000 {
			send(fmt.Sprintf("http://h%d.example/", i))
		}
		if n := len(tr.router.buckets); n > 2*fewBuckets+8 {
			t.Errorf("%d buckets after 50 000 hosts", n)
		}
		for _, url := range []string{"http://held.example/", "http://short.example/", "http://child.example/x"} {
			b := lookup(tr, request(t, "GET", url, ""))
			if f := b.Forecast(throttle.Claim{}); f.Wait < 10*time.Minute {
				t.Errorf("%s was forgotten: next may go in %v", b.Name, f.Wait)
			}
		}
	})
}

func TestRouteForgottenWhileLookedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &Transport{Base: &script{answers: []func(*http.Request) (*http.Response, error){status(200, "")}}}
		req := request(t, "GET", "http://a.example/", "")
		if err := tr.Validate(); err != nil {
			t.Fatal(err)
		}
		old := lookup(tr, req)
		tr.router.mu.Lock()
		tr.router.sweep()
		tr.router.sweep()
		tr.router.mu.Unlock()
		if !old.gone.Load() {
			t.Fatal("not forgotten")
		}
		if _, err := tr.RoundTrip(req); err != nil {
			t.Fatal(err)
		}
		if b := lookup(tr, req); b == old {
			t.Error("the forgotten bucket is used again")
		}
	})
}

func TestRouteAllocatesNothing(t *testing.T) {
	tr := &Transport{}
	if err := tr.Validate(); err != nil {
		t.Fatal(err)
	}
	a, b := request(t, "GET", "http://a.example/", ""), request(t, "GET", "http://b.example/", "")
	if n := testing.AllocsPerRun(100, func() {
		lookup(tr, a)
		lookup(tr, b)
		lookup(tr, b)
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func TestStateOfBuckets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &script{answers: []func(*http.Request) (*http.Response, error){status(200, "", "X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "7", "X-RateLimit-Reset", "60")}}
		tr := &Transport{Base: base}
		if len(tr.State()) != 0 {
			t.Error("buckets before the first request")
		}
		if _, err := tr.RoundTrip(request(t, "GET", "http://a.example/", "")); err != nil {
			t.Fatal(err)
		}
		s := tr.State()
		if len(s) != 1 || s[0].Bucket != "a.example" || len(s[0].Windows) != 1 || s[0].Windows[0].Available != 7 || s[0].Windows[0].Reset != time.Minute {
			t.Errorf("state %+v", s)
		}
	})
}

func TestRouteForgottenBetweenAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &Transport{Backoff: steady{}}
		var old *bucket
		tr.Base = &script{answers: []func(*http.Request) (*http.Response, error){
			func(r *http.Request) (*http.Response, error) {
				time.AfterFunc(100*time.Millisecond, func() { // while the backoff lasts
					tr.router.mu.Lock()
					defer tr.router.mu.Unlock()
					tr.router.sweep()
					tr.router.sweep()
				})
				return answer(r, 503, ""), nil
			},
			status(200, ""),
		}}
		req := request(t, "GET", "http://a.example/", "")
		if err := tr.Validate(); err != nil {
			t.Fatal(err)
		}
		old = lookup(tr, req)
		if _, err := tr.RoundTrip(req); err != nil {
			t.Fatal(err)
		}
		if b := lookup(tr, req); !old.gone.Load() || b == old || b.State().InFlight != 0 {
			t.Errorf("bucket %p, was %p; state %+v", b, old, b.State())
		}
	})
}
