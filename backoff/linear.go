package backoff

import "time"

// defaultInterval is the delay of Constant. It is the first delay of the AWS SDKs after throttling, and
// of gax.
const defaultInterval = time.Second

// Constant has the same delay before every retry, and then jitter. It suits polling for something
// that will be there soon. The zero value is one second with full jitter, half a second on average.
type Constant struct {
	// Interval is the delay before jitter. If zero, 1 s, with which the AWS SDKs begin after throttling.
	// If negative, all delays are zero. A number without a unit is in nanoseconds, and is not refused.
	Interval time.Duration
	// Jitter is how delays are spread. Zero, the empty text, is FullJitter.
	Jitter Jitter
	// Rand returns a number in [0, 1) and is safe for concurrent use. If nil, it is the source of
	// math/rand/v2. A number below 0 counts as 0, a number above 1 and NaN count as 1.
	Rand func() float64
}

// Delay returns the delay before any retry. It depends neither on n nor on prev.
func (c Constant) Delay(int, time.Duration) time.Duration {
	return c.Jitter.spread(orElse(c.Interval, defaultInterval), c.Rand)
}

// Linear adds Increment to the delay from retry to retry. The delay before retry n is
//
//	min(Max, Initial + (n−1)·Increment), and then jitter
//
// The zero value is 100 ms, 200 ms, 300 ms and so on up to 20 s, with full jitter.
type Linear struct {
	// Initial is the delay before the first retry, before jitter. If zero, 100 ms. If negative, there
	// is no delay before the first retry. A number without a unit is in nanoseconds, and is not refused.
	Initial time.Duration
	// Increment is the growth per retry. If zero, 100 ms. If negative, delays do not grow.
	Increment time.Duration
	// Max is the longest delay. If zero, 20 s, as in the AWS SDKs. If negative, all delays are zero. If
	// Forever, delays are not capped.
	Max time.Duration
	// Jitter is how delays are spread. Zero, the empty text, is FullJitter.
	Jitter Jitter
	// Rand returns a number in [0, 1) and is safe for concurrent use. If nil, it is the source of
	// math/rand/v2. A number below 0 counts as 0, a number above 1 and NaN count as 1.
	Rand func() float64
}

// Delay returns the delay before retry n. It does not depend on prev.
func (l Linear) Delay(n int, _ time.Duration) time.Duration {
	return l.Jitter.spread(l.longest(n), l.Rand)
}

// longest returns the delay before jitter.
func (l Linear) longest(n int) time.Duration {
	limit := ceiling(l.Max)
	initial, step := min(orElse(l.Initial, defaultInitial), limit), orElse(l.Increment, defaultInitial)
	if n <= 1 || step == 0 {
		return initial
	}
	// The product of steps and step might overflow; the division cannot.
	if steps := int64(n - 1); steps <= int64((limit-initial)/step) {
		return initial + time.Duration(steps*int64(step))
	}
	return limit
}
