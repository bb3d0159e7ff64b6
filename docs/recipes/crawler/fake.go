package main

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gopacer/pacer/pacertest"
)

// fake is all hosts, in memory. None of them states limits, but each counts who comes too fast.
type fake struct {
	*pacertest.Server

	mu      sync.Mutex // protects the fields below
	last    map[string]time.Time
	tooFast int
	asked   map[string]int
}

func newFake() *fake {
	f := &fake{last: map[string]time.Time{}, asked: map[string]int{}}
	f.Server = &pacertest.Server{Handler: http.HandlerFunc(f.serve), Latency: 50 * time.Millisecond}
	return f
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); now.Sub(f.last[r.Host]) < 490*time.Millisecond {
		f.tooFast++
	} else {
		f.last[r.Host] = now
	}
	f.asked[r.Host]++
	if r.Host == "host13.example.com" { // down for maintenance
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	fmt.Fprint(w, "<p>Hello")
}
