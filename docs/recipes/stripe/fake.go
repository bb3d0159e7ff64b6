package main

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gopacer/pacer/pacertest"
)

// fake answers as api.stripe.com does, in memory.
type fake struct {
	*pacertest.Server

	mu       sync.Mutex // protects the fields below
	limit    pacertest.Algorithm
	payments map[string]int // how often each key was sent; one payment each
	refused  int
	lose     int // so many payments are made whose answers get lost
	locked   int // so many requests find their object locked
}

func newFake() *fake {
	f := &fake{limit: &pacertest.TokenBucket{Rate: 25, Burst: 25}, payments: map[string]int{}}
	f.Server = &pacertest.Server{Handler: http.HandlerFunc(f.serve), Latency: 20 * time.Millisecond}
	return f
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if !f.limit.Take(time.Now(), 1).OK {
		f.refused++
		w.Header().Set("Stripe-Rate-Limited-Reason", "global-rate")
		f.refuse(w, "rate_limit", "Request rate limit exceeded.")
		return
	}
	if f.locked > 0 {
		f.locked--
		f.refuse(w, "lock_timeout", "This object cannot be accessed right now because another API request is accessing it.")
		return
	}
	f.payments[r.Header.Get("Idempotency-Key")]++
	if f.lose > 0 {
		f.lose--
		panic(http.ErrAbortHandler) // the payment is made, and the connection breaks
	}
	fmt.Fprint(w, `{"id":"pi_1","object":"payment_intent"}`)
}

func (f *fake) refuse(w http.ResponseWriter, code, message string) {
	w.WriteHeader(http.StatusTooManyRequests)
	fmt.Fprintf(w, `{"error":{"type":"invalid_request_error","code":%q,"message":%q}}`, code, message)
}
