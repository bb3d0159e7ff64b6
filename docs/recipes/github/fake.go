package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gopacer/pacer/pacertest"
)

// fake answers as api.github.com does, in memory.
type fake struct {
	*pacertest.Server

	mu      sync.Mutex // protects the fields below
	limits  map[string]pacertest.Algorithm
	refused map[string]int // by X-RateLimit-Resource; "secondary" for the limit that no header states
	changes []time.Time

	unchanged int // how many requests were answered with a 304
}

// newFake returns a GitHub at which others have used most of what the token may do in this hour: 60 requests
// are left. The hour is as long as reset says.
func newFake(reset time.Duration) *fake {
	core := &pacertest.FixedWindow{Limit: 5000, Window: reset}
	core.Take(time.Now(), 5000-60)
	f := &fake{
		limits:  map[string]pacertest.Algorithm{"core": core, "search": &pacertest.FixedWindow{Limit: 30, Window: time.Minute}},
		refused: map[string]int{},
	}
	f.Server = &pacertest.Server{Handler: http.HandlerFunc(f.serve), Latency: 10 * time.Millisecond}
	return f
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now, resource := time.Now(), "core"
	if strings.HasPrefix(r.URL.Path, "/search/") {
		resource = "search"
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	cost, etag := 1, `W/"1"`
	if r.Header.Get("If-None-Match") == etag {
		cost = 0
		f.unchanged++
	}
	verdict := f.limits[resource].Take(now, cost)
	pacertest.XRateLimit.Set(w.Header(), verdict, now)
	w.Header().Set("X-RateLimit-Used", fmt.Sprint(verdict.Limit-verdict.Remaining))
	w.Header().Set("X-RateLimit-Resource", resource)
	if !verdict.OK {
		f.refuse(w, resource, "API rate limit exceeded for user ID 1.")
		return
	}
	if r.Method != http.MethodGet { // GitHub refuses changes that come much faster than a second apart
		if n := len(f.changes); n > 0 && now.Sub(f.changes[n-1]) < 900*time.Millisecond {
			f.refuse(w, "secondary", "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.")
			return
		}
		f.changes = append(f.changes, now)
	}
	if r.Method == http.MethodGet {
		w.Header().Set("ETag", etag)
	}
	if cost == 0 {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	fmt.Fprint(w, `{}`)
}

// refuse writes GitHub's refusal, which is a 403. That of the secondary limit has a Retry-After sometimes; here
// it has none.
func (f *fake) refuse(w http.ResponseWriter, what, message string) {
	f.refused[what]++
	section := ""
	if what == "secondary" {
		section = "#about-secondary-rate-limits"
	}
	w.WriteHeader(http.StatusForbidden)
	fmt.Fprintf(w, `{"message":%q,"documentation_url":"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api%s"}`, message, section)
}
