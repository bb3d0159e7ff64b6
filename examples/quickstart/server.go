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

// kinds are the servers: what they admit, and the headers in which they say so.
var kinds = []kind{
	{
		name:      "fixed window",
		quota:     "50 in 2 s",
		headers:   "X-RateLimit-* as GitHub",
		algorithm: &pacertest.FixedWindow{Limit: 50, Window: 2 * time.Second},
		dialect:   pacertest.XRateLimit,
	},
	{
		name:      "estimated window",
		quota:     "50 in 2 s",
		headers:   "X-RateLimit-*, Retry-After as httprate",
		algorithm: &pacertest.EstimatedWindow{Limit: 50, Window: 2 * time.Second},
		dialect: pacertest.Dialect{
			Layout: pacertest.LayoutTrio, Prefix: "X-RateLimit-", Reset: pacertest.ResetEpoch, ResetFloor: true,
			RetryAfter: pacertest.RetryAfterWindow,
		},
	},
	{
		name:      "token bucket",
		quota:     "25/s, burst 25",
		headers:   "RateLimit, Retry-After as the IETF draft",
		algorithm: &pacertest.TokenBucket{Rate: 25, Burst: 25},
		dialect:   pacertest.RateLimitDraft8,
	},
}
