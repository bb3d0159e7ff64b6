package backoff

import "time"

// defaultInterval is the delay of Constant: the base of the AWS SDKs for a caller that was throttled, and of gax.
const defaultInterval = time.Second

// Constant has the same delay before every retry. It suits polling for something that will be there soon.
// The zero value is one second with full jitter, half a second on average.
type Constant struct {
	// Interval is the longest delay. If zero, 1 s. If negative, all delays are zero.
	Interval time.Duration
	// Jitter is how delays are spread. The zero value is FullJitter.
	Jitter Jitter
	// Rand returns a number in [0, 1] and is safe for concurrent use. If nil, the source of math/rand/v2 is used.
	// A smaller number counts as 0, a larger one and NaN as 1.
	Rand func() float64
}

// Delay returns the delay before any retry. It looks neither at n nor at prev.
func (c Constant) Delay(int, time.Duration) time.Duration {
	return c.Jitter.spread(orElse(c.Interval, defaultInterval), c.Rand)
}

// Linear adds Increment to the delay from retry to retry: min(Max, Initial + (n−1)·Increment), then jitter.
// The zero value is 100 ms, 200 ms, 300 ms and so on up to 20 s, with full jitter.
type Linear struct {
	// Initial is the longest delay before the first retry. If zero, 100 ms. If negative, zero.
	Initial time.Duration
	// Increment is the growth per retry. If zero, 100 ms. If negative, delays do not grow.
	Increment time.Duration
	// Max is the longest delay. If zero, 20 s. If negative, delays are not capped.
	Max time.Duration
	// Jitter is how delays are spread. The zero value is FullJitter.
	Jitter Jitter
	// Rand returns a number in [0, 1] and is safe for concurrent use. If nil, the source of math/rand/v2 is used.
	// A smaller number counts as 0, a larger one and NaN as 1.
	Rand func() float64
}

// Delay returns the delay before retry n. It does not look at prev.
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
	// Divided before it is multiplied, which might overflow.
	if steps := int64(n - 1); steps <= int64((limit-initial)/step) {
		return initial + time.Duration(steps*int64(step))
	}
	return limit
}
