package main

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gopacer/pacer/pacertest"
)

// fake answers as api.anthropic.com does, in memory. Its buckets are refilled token by token.
type fake struct {
	*pacertest.Server

	mu              sync.Mutex // protects the fields below
	limits          map[string]pacertest.Algorithm
	answered        int
	refused         int
	overloadedUntil int // so many requests are answered with 529
}

func newFake() *fake {
	minute := func(n int) pacertest.Algorithm { return &pacertest.TokenBucket{Rate: float64(n) / 60, Burst: n} }
	f := &fake{limits: map[string]pacertest.Algorithm{"Requests": minute(50), "Input-Tokens": minute(30000), "Output-Tokens": minute(8000)}}
	f.Server = &pacertest.Server{Handler: http.HandlerFunc(f.serve), Latency: 50 * time.Millisecond}
	return f
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if f.overloadedUntil > 0 {
		f.overloadedUntil--
		f.fail(w, 529, "overloaded_error", "Overloaded")
		return
	}
	now, ok := time.Now(), true
	for name, cost := range map[string]int{"Requests": 1, "Input-Tokens": 200, "Output-Tokens": 100} {
		verdict := f.limits[name].Take(now, cost)
		dialect := pacertest.Anthropic // anthropic-ratelimit-requests-reset: 2026-11-23T09:35:46Z
		dialect.Prefix = "Anthropic-RateLimit-" + name + "-"
		dialect.Set(w.Header(), verdict, now)
		ok = ok && verdict.OK
	}
	if !ok {
		f.refused++
		f.fail(w, http.StatusTooManyRequests, "rate_limit_error", "This request would exceed your organization's rate limit.")
		return
	}
	f.answered++
	fmt.Fprint(w, `{"id":"msg_1","type":"message","role":"assistant","model":"claude-haiku-4-5","stop_reason":"end_turn",`+
		`"content":[{"type":"text","text":"Hello"}],"usage":{"input_tokens":200,"output_tokens":100}}`)
}

func (f *fake) fail(w http.ResponseWriter, status int, what, message string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"type":"error","error":{"type":%q,"message":%q},"request_id":"req_1"}`, what, message)
}
