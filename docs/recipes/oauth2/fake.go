package main

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/gopacer/pacer/pacertest"
)

// fake is two hosts in memory: one gives tokens, the other one takes them.
type fake struct {
	*pacertest.Server

	mu      sync.Mutex // protects the fields below
	limit   pacertest.Algorithm
	life    time.Duration        // of a token
	expires map[string]time.Time // of tokens that were given
	invalid bool                 // the client's secret is wrong
	asked   int                  // for tokens
	read    int
	refused int
	expired int // requests with a token that was too old
}

// newFake returns an API that grants 10 requests in a window.
func newFake(window, life time.Duration) *fake {
	f := &fake{limit: &pacertest.FixedWindow{Limit: 10, Window: window}, life: life, expires: map[string]time.Time{}}
	f.Server = &pacertest.Server{Handler: http.HandlerFunc(f.serve)}
	return f
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	w.Header().Set("Content-Type", "application/json")
	if r.Host == "auth.example.com" {
		f.asked++
		if f.invalid {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error":"invalid_client"}`)
			return
		}
		token := strconv.Itoa(f.asked)
		f.expires["Bearer "+token] = now.Add(f.life)
		fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":%d}`, token, f.life/time.Second)
		return
	}
	if !now.Before(f.expires[r.Header.Get("Authorization")]) {
		f.expired++
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	verdict := f.limit.Take(now, 1)
	pacertest.RateLimitDraft6.Set(w.Header(), verdict, now)
	if !verdict.OK {
		f.refused++
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	f.read++
	fmt.Fprint(w, `{}`)
}
