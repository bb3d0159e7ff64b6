package main

import (
	"time"

	"github.com/gopacer/pacer/pacertest"
)

// kind is a kind of server.
type kind struct {
	name, quota, headers string // in words

	algorithm pacertest.Algorithm
	dialect   pacertest.Dialect
}

const window = 2 * time.Second

// kinds returns the servers: what they admit, and the headers in which they say so. The program
// begins at the instant now.
//
// The windows of the estimated window begin with whole seconds, such that now is in the first half of
// one. Otherwise chance would say where in a window of the clock a run begins, and runs would differ.
// Near the end of a window, the first 50 requests are followed by a refusal at the beginning of the next
// one, and this server's Retry-After then says two seconds, a whole window, in which nothing is used.
// After it, 50 requests go at once, and the server makes its client wait for as long again. pacer
// takes up to 1.34 times the least then.
func kinds(now time.Time) []kind {
	return []kind{
		{
			name:      "fixed window",
			quota:     "50 in 2 s",
			headers:   "X-RateLimit-*",
			algorithm: &pacertest.FixedWindow{Limit: 50, Window: window},
			dialect:   pacertest.XRateLimit, // as GitHub
		},
		{
			name:      "estimated window",
			quota:     "50 in 2 s",
			headers:   "X-RateLimit-*, Retry-After",
			algorithm: &pacertest.EstimatedWindow{Limit: 50, Window: window, Phase: time.Duration(now.Unix()%2) * time.Second},
			dialect: pacertest.Dialect{ // as go-chi/httprate
				Layout: pacertest.LayoutTrio, Prefix: "X-RateLimit-", Reset: pacertest.ResetEpoch, ResetFloor: true,
				RetryAfter: pacertest.RetryAfterWindow,
			},
		},
		{
			name:      "token bucket",
			quota:     "25/s, burst 25",
			headers:   "RateLimit, Retry-After",
			algorithm: &pacertest.TokenBucket{Rate: 25, Burst: 25},
			dialect:   pacertest.RateLimitDraft8, // as the IETF draft
		},
	}
}
