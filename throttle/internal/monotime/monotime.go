// Package monotime has the instants and spans that throttle reckons with. All that decides
// when something may go takes instants as numbers; only a [Clock] reads the clock.
//
// It knows nothing of limits, buckets or servers.
package monotime

import (
	"math"
	"math/bits"
	"time"
)

// Time is an instant: nanoseconds since a Clock was started, plus one. Zero is no instant. It
// is a number, and not a time.Time, since a grant that need not wait consists of little
// else than looking at instants.
type Time int64

// Add returns the instant d after t.
func (t Time) Add(d time.Duration) Time { return t + Time(d) }

// Sub returns how long after u t is.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t - u) }

// Std returns t for code that reckons in time.Time. Only differences mean anything.
func (t Time) Std() time.Time { return epoch.Add(time.Duration(t)) }

// epoch has a reading of the monotonic clock, and so has what is added to it: two such
// times are subtracted in a fraction of the time that others take.
var epoch = time.Now()

// Tick returns the start of the window of the wall clock in which t is, where windows of
// that length follow one another from 1970 on. The wall clock was at wall, in nanoseconds
// since 1970, at instant 0.
func (t Time) Tick(per time.Duration, wall int64) Time {
	in := (wall + int64(t)) % int64(per)
	if in < 0 {
		in += int64(per)
	}
	return t - Time(in)
}

// Longest is the longest span. What servers say and what rates amount to is cut to it, so
// that no sum of an instant and a few spans can overflow.
const Longest = 50 * 365 * 24 * time.Hour

// Seconds converts s to a duration, rounded to the nanosecond: what is due at an instant
// must be due at that instant from wherever it is computed, and rounding up would turn the
// dust of a subtraction into a nanosecond. The half nanosecond that is granted too early
// stays in the ledger as debt.
func Seconds(s float64) time.Duration {
	if !(s > 0) {
		return 0
	}
	ns := math.Round(s * 1e9)
	if ns >= float64(Longest) {
		return Longest
	}
	return time.Duration(ns)
}

// Times returns n·d, at most Longest.
func Times(n int64, d time.Duration) time.Duration {
	if n > 0 && d > Longest/time.Duration(n) {
		return Longest
	}
	return time.Duration(n) * d
}

// Scale returns d·a/b rounded up, at most Longest. B must be positive, a must not be negative.
func Scale(d time.Duration, a, b int64) time.Duration {
	hi, lo := bits.Mul64(uint64(d), uint64(a))
	if hi >= uint64(b) {
		return Longest
	}
	q, r := bits.Div64(hi, lo, uint64(b))
	if r > 0 {
		q++
	}
	return time.Duration(min(q, uint64(Longest)))
}

// Unbounded is longer than any span.
const Unbounded = time.Duration(math.MaxInt64)
