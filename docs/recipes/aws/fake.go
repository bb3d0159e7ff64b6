package main

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gopacer/pacer/pacertest"
)

// fake answers as kms.eu-central-1.amazonaws.com does, in memory: it states no limits, and refuses with a 400.
type fake struct {
	*pacertest.Server

	mu      sync.Mutex // protects the fields below
	limits  map[string]pacertest.Algorithm
	calls   map[string]int
	refused map[string]int
	failing int // so many calls of TagResource fail
}

func newFake() *fake {
	bucket := func(n int) pacertest.Algorithm { return &pacertest.TokenBucket{Rate: float64(n), Burst: n} }
	f := &fake{
		limits: map[string]pacertest.Algorithm{"TagResource": bucket(10), "DescribeKey": bucket(2000)},
		calls:  map[string]int{}, refused: map[string]int{},
	}
	f.Server = &pacertest.Server{Handler: http.HandlerFunc(f.serve), Latency: 10 * time.Millisecond}
	return f
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	operation := operation(r)
	switch {
	case f.failing > 0 && operation == "TagResource":
		f.failing--
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(w, `{"__type":"KMSInternalException","message":"Internal error"}`)
	case !f.limits[operation].Take(time.Now(), 1).OK:
		f.refused[operation]++
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"__type":"ThrottlingException","message":"You have exceeded the rate at which you may call KMS. Reduce the frequency of your calls."}`)
	default:
		f.calls[operation]++
		fmt.Fprint(w, `{}`)
	}
}
