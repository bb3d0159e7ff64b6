package main

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gopacer/pacer/pacertest"
)

// fake answers as api.openai.com does, in memory: 500 requests and 30000 tokens a minute, refilled token by
// token.
type fake struct {
	*pacertest.Server

	mu               sync.Mutex // protects the fields below
	requests, tokens pacertest.Algorithm
	answered         int
	refused          int
	failures         int // how many requests are still to fail
}

func newFake() *fake {
	f := &fake{
		requests: &pacertest.TokenBucket{Rate: 500. / 60, Burst: 500},
		tokens:   &pacertest.TokenBucket{Rate: 30000. / 60, Burst: 30000},
	}
	f.Server = &pacertest.Server{Handler: http.HandlerFunc(f.serve), Latency: 50 * time.Millisecond}
	return f
}

// usage is what each answer costs.
const usage = 450

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if f.failures > 0 {
		f.failures--
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(w, `{"error":{"message":"The server had an error while processing your request.","type":"server_error","param":null,"code":null}}`)
		return
	}
	now := time.Now()
	requests, tokens := f.requests.Take(now, 1), f.tokens.Take(now, usage)
	dialect := pacertest.OpenAI // x-ratelimit-limit-requests: 500, x-ratelimit-reset-requests: 120ms
	dialect.Set(w.Header(), requests, now)
	dialect.Suffix = "-Tokens"
	dialect.Set(w.Header(), tokens, now)
	if !requests.OK || !tokens.OK {
		f.refused++
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprint(w, `{"error":{"message":"Rate limit reached for gpt-5.4-mini on tokens per min (TPM).","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`)
		return
	}
	f.answered++
	fmt.Fprintf(w, `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"gpt-5.4-mini",`+
		`"choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}],`+
		`"usage":{"prompt_tokens":50,"completion_tokens":%d,"total_tokens":%d}}`, usage-50, usage)
}
