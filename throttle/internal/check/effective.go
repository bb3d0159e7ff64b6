package check

import (
	"cmp"
	"math"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Of a field that bounds something, zero stands for a default or for no bound, the largest int for no bound, and what is
// negative for a bound of zero.

// Bound returns the effective value of a field that bounds a duration, if zero stands for no bound.
func Bound(d time.Duration) time.Duration {
	if d == 0 || d == math.MaxInt {
		return monotime.Unbounded
	}
	return min(max(d, 0), monotime.Longest)
}

// MaxHold returns the effective MaxHold; zero if a server cannot hold the bucket.
func MaxHold(d time.Duration) time.Duration {
	return min(Bound(cmp.Or(d, 15*time.Minute)), monotime.Longest)
}

// MaxReset returns how far away a reset is that may be waited for, within MaxStandstill and MaxWait; zero if there is no
// bound, or if nobody waits.
func MaxReset(maxStandstill, maxWait time.Duration) time.Duration {
	if d := min(Bound(maxStandstill), Bound(maxWait)); d != monotime.Unbounded {
		return d
	}
	return 0
}

// MaxBuckets returns the effective MaxBuckets.
func MaxBuckets(n int) int { return max(cmp.Or(n, 100_000), 0) }

// IdleAfter is after how long without a grant a bucket has idled.
func IdleAfter(d time.Duration) time.Duration {
	if d < 0 {
		return monotime.Unbounded
	}
	return cmp.Or(d, time.Minute)
}
