package limit

import (
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// concurrent is a limit on what is under way at the same time. What was granted comes back
// when its request ends, and nobody knows when that is.
type concurrent struct {
	steady
	kind quota.Kind
	n    int64
	used int64
}

// When implements Limit. What only the end of a request lets go may go after the longest span.
func (c *concurrent) When(t monotime.Time, ahead, n int64) (monotime.Time, bool) {
	if tokens(n) > c.n {
		return t, false
	}
	if c.used+tokens(ahead)+tokens(n) > c.n {
		return t.Add(monotime.Longest), true
	}
	return t, true
}

// Take implements Limit.
func (c *concurrent) Take(_, _ monotime.Time, n int64) { c.used += tokens(n) }

// Give implements Limit.
func (c *concurrent) Give(_, _ monotime.Time, n int64) { c.used = max(c.used-tokens(n), 0) }

// Idle implements Limit.
func (c *concurrent) Idle(monotime.Time) bool { return c.used == 0 }

// Set implements Limit.
func (c *concurrent) Set(_ monotime.Time, q quota.Quota) bool {
	if q.N == 0 || q.Kind != c.kind {
		return false
	}
	c.n = q.N
	return true
}
