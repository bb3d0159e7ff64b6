package backoff

import (
	"math"
	"time"
)

// defaultInitial is the first delay of a Backoff whose delays grow. It lies between the first delays
// of others for transient failures: Envoy 25 ms, the AWS SDKs 50 ms (1 s when throttled), ky 300 ms,
// the SDKs of OpenAI and Anthropic 500 ms. Full jitter makes it 50 ms on average.
const defaultInitial = 100 * time.Millisecond

// Exponential multiplies the delay by Factor from retry to retry. The delay before retry n is
//
//	min(Max, Initial·Factor^(n−1)), and then jitter
//
// Exponential suits a server whose state is unknown, and is the default of [Retry]. The zero value
// begins with 100 ms and doubles up to 20 s, with full jitter. The cap comes before the jitter, as in
// the article that [Jitter] cites and in the AWS SDKs: so capped delays stay spread, and no delay is
// above the cap.
type Exponential struct {
	// Initial is the delay before the first retry, before jitter. If zero, 100 ms. If negative, all
	// delays are zero. A number without a unit is in nanoseconds, and is not refused: 5 is no delay,
	// 5 * time.Second is one.
	Initial time.Duration
	// Max is the longest delay. If zero, 20 s, as in the AWS SDKs. If negative, all delays are zero. If
	// Forever, delays are not capped.
	Max time.Duration
	// Factor is the growth per retry. If zero, 2. Any other value below 1, and NaN, count as 1:
	// delays never shrink.
	Factor float64
	// Jitter is how delays are spread. Zero, the empty text, is FullJitter.
	Jitter Jitter
	// Rand returns a number in [0, 1) and is safe for concurrent use. If nil, it is the source of
	// math/rand/v2. A number below 0 counts as 0, a number above 1 and NaN count as 1.
	Rand func() float64
}

// Delay returns the delay before retry n. It does not depend on prev.
func (e Exponential) Delay(n int, _ time.Duration) time.Duration {
	return e.Jitter.spread(e.longest(n), e.Rand)
}

// longest returns the delay before jitter.
func (e Exponential) longest(n int) time.Duration {
	initial, limit := orElse(e.Initial, defaultInitial), ceiling(e.Max)
	if n <= 1 || initial == 0 {
		return min(initial, limit)
	}
	// math.Pow takes longer than all the rest, and the factor is nearly always 2. If n is large, the
	// shift to the right leaves zero of limit.
	if e.Factor == 0 || e.Factor == 2 {
		if initial <= limit>>(n-1) {
			return initial << (n - 1)
		}
		return limit
	}
	if !(e.Factor > 1) {
		return min(initial, limit)
	}
	// The comparison is one of floats, since f may not fit into a Duration; such an f, infinity
	// included, is not below limit. The half rounds: in floats, 100 ms times 1.15 is a little less
	// than 115 ms.
	if f := float64(initial)*math.Pow(e.Factor, float64(n-1)) + 0.5; f < float64(limit) {
		return time.Duration(f)
	}
	return limit
}

// Decorrelated draws each delay from a range that depends on the delay before, prev:
//
//	min(Max, uniform(Initial, 3·prev))
//
// It is the "decorrelated jitter" of the article that [Jitter] cites. In the article's simulation of
// a hundred clients it is a little faster than full jitter, and a little more work for the server.
// The zero value has an Initial of 100 ms and a Max of 20 s.
//
// The formula applies the cap after the jitter. So in a long outage three in ten delays are exactly
// Max.
type Decorrelated struct {
	// Initial is the shortest delay. Before the first retry it takes the place of prev. If zero,
	// 100 ms. If negative, it is zero, and so are all delays of an operation. A number without a unit
	// is in nanoseconds, and is not refused.
	Initial time.Duration
	// Max is the longest delay. If zero, 20 s, as in the AWS SDKs. If negative, all delays are zero. If
	// Forever, delays are not capped.
	Max time.Duration
	// Rand returns a number in [0, 1) and is safe for concurrent use. If nil, it is the source of
	// math/rand/v2. A number below 0 counts as 0, a number above 1 and NaN count as 1.
	Rand func() float64
}

// Delay returns the delay that follows prev. It does not depend on n.
func (d Decorrelated) Delay(_ int, prev time.Duration) time.Duration {
	limit := ceiling(d.Max)
	initial := min(orElse(d.Initial, defaultInitial), limit)
	// In floats, three times the longest Duration does not overflow.
	low, high := float64(initial), 3*float64(max(prev, initial))
	if f := low + uniform(d.Rand)*(high-low); f < float64(limit) {
		return max(time.Duration(f), initial)
	}
	return limit
}
