package main

import (
	"time"

	"github.com/gopacer/pacer/pacertest"
)

// newFake returns an API that grants 10 requests in a window, and says so in the headers of the IETF's draft.
func newFake(window time.Duration) *pacertest.Server {
	return pacertest.NewServer(&pacertest.FixedWindow{Limit: 10, Window: window}, pacertest.RateLimitDraft8)
}
