package warmup

import (
	"math"
	"time"
)

const (
	// limitless is the lowest rate that means no limit: a billion tokens in a
	// nanosecond. Below it no product of a rate and a duration overflows.
	limitless = 1e18

	// defaultColdFactor is the value that RateLimiter.create(permitsPerSecond,
	// warmupPeriod) passes on.
	defaultColdFactor = 3

	// maxColdFactor bounds ColdFactor. Above it the slope is so steep that float64
	// cannot tell max from threshold.
	maxColdFactor = 1e6

	// noise is the part of a nanosecond that is taken for a rounding error of
	// float64, so that 200 ms do not become 200.000001 ms.
	noise = 1e-3
)

// curve says what tokens cost, depending on how many are stored, and how the
// store fills. Times are in nanoseconds.
type curve struct {
	interval  float64 // cost of a token that is not stored, or stored below threshold
	max       float64 // how many tokens can be stored
	threshold float64 // stored tokens above it cost more than interval
	surcharge float64 // cost of all tokens above threshold together, less interval for each
	free      bool    // stored tokens cost nothing: SmoothBursty
	span      float64 // idle time in which an empty store fills
	initial   float64 // how full the store of a new Ramp is, from 0 to 1
}

// newCurve returns the curve of the fields of a Ramp.
func newCurve(rate float64, warmUp time.Duration, coldFactor float64, maxBurst time.Duration) curve {
	c := curve{}
	if warmUp > 0 {
		c.initial = 1
	}
	rate = max(rate, 0)
	switch {
	case math.IsNaN(rate):
		rate = 0
	case rate >= limitless:
		c.free = true
		return c
	}
	c.interval = float64(time.Second) / rate
	if warmUp <= 0 {
		if maxBurst == 0 {
			maxBurst = time.Second
		}
		c.free, c.span = true, float64(max(maxBurst, 0))
		c.max = c.span / float64(time.Second) * rate
		return c
	}
	cold := coldFactorOf(coldFactor)
	c.span = float64(warmUp)
	c.threshold = c.span / c.interval / 2
	c.max = c.threshold + 2*c.span/(c.interval*(1+cold))
	// The area of the triangle above interval, (cold-1)·interval high and
	// max-threshold wide.
	c.surcharge = c.span * (cold - 1) / (cold + 1)
	return c
}

// coldFactorOf returns the factor that a value of the field ColdFactor means.
func coldFactorOf(f float64) float64 {
	switch {
	case f == 0:
		return defaultColdFactor
	case f >= 1:
		return min(f, maxColdFactor)
	default:
		return 1
	}
}

// cost returns the cost of n tokens if there are so many stored.
func (c *curve) cost(stored, n float64) float64 {
	if c.free {
		n = max(n-stored, 0)
	}
	if n == 0 {
		return 0 // even if interval is infinite
	}
	ns := n * c.interval
	if stored > c.threshold {
		// On the way from threshold to max, the surcharge up to a share of the way
		// is the square of the share. The difference of two squares is computed as
		// a product, whose factors are exact.
		width := c.max - c.threshold
		left := max(stored-n, c.threshold)
		ns += c.surcharge * ((stored - left) / width) * ((stored - c.threshold + left - c.threshold) / width)
	}
	return ns
}
