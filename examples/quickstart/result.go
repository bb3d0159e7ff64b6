package main

import (
	"net/http"
	"time"

	"github.com/gopacer/pacer/pacertest"
)

// result is what a server has seen of its client.
type result struct {
	kind   kind
	client string // its name
	short  string // its name at the head of a narrow column

	wanted int // requests of the batch
	stats  pacertest.Stats
}

// took returns the time from the first request that was admitted to the last one.
func (r *result) took() time.Duration { return r.stats.Last.Sub(r.stats.First) }

// least returns the time of a client that knows the server's algorithm and state, for as many
// requests from the same instant on. (The instant matters for an estimated window, which counts in
// windows of the clock.)
func (r *result) least() time.Duration {
	return pacertest.Least(r.kind.algorithm, r.stats.First, r.stats.Admitted)
}

// refusedPer100 returns the number of refusals per hundred requests that were admitted.
func (r *result) refusedPer100() float64 {
	return 100 * float64(r.stats.Refused) / float64(max(r.stats.Admitted, 1))
}

// rate returns how many requests were admitted in the second before now.
func (r *result) rate(now time.Time) int {
	n := 0
	for _, e := range r.stats.Events {
		if e.Status == http.StatusOK && now.Sub(e.Time) <= time.Second {
			n++
		}
	}
	return n
}
