package main

import (
	"fmt"
	"net/http"
	"path"
	"strconv"
	"sync"
	"time"

	"github.com/gopacer/pacer/pacertest"
)

// fake answers as slack.com/api does, in memory: each method has a limit of its own, and a 429 says when to
// come back.
type fake struct {
	*pacertest.Server

	mu      sync.Mutex // protects the fields below
	limits  map[string]pacertest.Algorithm
	calls   map[string]int
	refused map[string]int
	busy    bool // the first call of users.info is refused, as if another program had used up the minute
}

func newFake() *fake {
	f := &fake{limits: map[string]pacertest.Algorithm{}, calls: map[string]int{}, refused: map[string]int{}}
	f.Server = &pacertest.Server{Handler: http.HandlerFunc(f.serve), Latency: 20 * time.Millisecond}
	return f
}

// tiers are what Slack grants for a method: at least so many calls a minute.
var tiers = map[string]int{"conversations.history": 50, "users.info": 100}

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	method := path.Base(r.URL.Path)
	counter, limit := method, pacertest.Algorithm(&pacertest.SlidingLog{Limit: tiers[method], Window: time.Minute})
	if method == "chat.postMessage" { // one a second for each channel, where a short burst is tolerated
		counter, limit = method+" "+r.FormValue("channel"), &pacertest.TokenBucket{Rate: 1, Burst: 1}
	}
	if f.limits[counter] == nil {
		f.limits[counter] = limit
	}
	w.Header().Set("Content-Type", "application/json")
	verdict := f.limits[counter].Take(time.Now(), 1)
	if f.busy && method == "users.info" {
		f.busy, verdict.OK, verdict.RetryAfter = false, false, 30*time.Second
	}
	if !verdict.OK {
		f.refused[method]++
		w.Header().Set("Retry-After", strconv.Itoa(int((verdict.RetryAfter+time.Second-1)/time.Second)))
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprint(w, `{"ok":false,"error":"ratelimited"}`)
		return
	}
	f.calls[method]++
	fmt.Fprint(w, `{"ok":true,"user":{},"messages":[]}`)
}
