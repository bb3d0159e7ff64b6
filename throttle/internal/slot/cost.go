package slot

import (
	"math"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// What a store reckons with is a cost: how much of each of the quotas.

// Most returns the largest cost for which q ever has a slot: N, or of a TokenBucket its Burst, or
// with Debt math.MaxInt64.
func Most(q *quota.Quota) int64 {
	switch {
	case q.Kind != quota.TokenBucket:
		return q.N
	case q.Debt:
		return math.MaxInt64
	}
	return max(q.Burst, 1)
}

// Add adds o to c, sign times.
func Add(c, o []int64, sign int) {
	for i := range o {
		c[i] += int64(sign) * o[i]
	}
}

// Suffices reports whether c is enough for o.
func Suffices(c, o []int64) bool {
	for i := range o {
		if c[i] < o[i] {
			return false
		}
	}
	return true
}

// Empty reports whether nothing costs anything.
func Empty[N int | int64](c []N) bool {
	for _, n := range c {
		if n > 0 {
			return false
		}
	}
	return true
}

// Total is the sum of a cost.
func Total(c []int64) (n int64) {
	for i := range c {
		n += c[i]
	}
	return n
}

// Work is the time in which a cost comes back: the longest of all quotas.
func Work(qs quota.Quotas, cost []int64) (d time.Duration) {
	for i, n := range cost {
		if n > 0 && i < len(qs) {
			d = max(d, monotime.Scale(qs[i].Per, n, qs[i].N))
		}
	}
	return d
}
