package warmup

import (
	"math"
	"time"
)

const (
	// limitless is the rate from which on there is no limit: a billion tokens in
	// a nanosecond. Below it no product of a rate and a duration overflows.
	limitless = 1e18

	// defaultColdFactor is what RateLimiter.create(permitsPerSecond, warmupPeriod)
	// passes on.
	defaultColdFactor = 3

	// maxColdFactor bounds ColdFactor, above which the ramp would be a step that
	// float64 cannot tell from the threshold.
	maxColdFactor = 1e6

	// noise is the part of a nanosecond that is taken for a rounding error of
	// float64, so that 200 ms do not become 200.000001 ms.
	noise = 1e-3
)

// curve is what tokens cost, by how many are stored. Times are in nanoseconds.
type curve struct {
	interval  float64 // cost of a token that is not stored, or stored below threshold
	max       float64 // how many tokens can be stored
	threshold float64 // stored tokens above it cost more than interval
	surcharge float64 // what all tokens above threshold cost together, beyond interval each
	free      bool    // stored tokens cost nothing: SmoothBursty
	span      float64 // idle time in which an empty store fills
}

func (r *Ramp) curve() curve {
	rate := max(r.Rate, 0)
	switch {
	case !(rate >= 0): // NaN
		rate = 0
	case rate >= limitless:
		return curve{free: true}
	}
	c := curve{interval: float64(time.Second) / rate}
	if r.WarmUp <= 0 {
		burst := r.MaxBurst
		if burst == 0 {
			burst = time.Second
		}
		c.free, c.span = true, float64(max(burst, 0))
		c.max = c.span / float64(time.Second) * rate
		return c
	}
	cold := r.coldFactor()
	c.span = float64(r.WarmUp)
	c.threshold = c.span / c.interval / 2
	c.max = c.threshold + 2*c.span/(c.interval*(1+cold))
	// The area of the triangle above interval: (cold-1)·interval high and
	// max-threshold wide.
	c.surcharge = c.span * (cold - 1) / (cold + 1)
	return c
}

func (r *Ramp) coldFactor() float64 {
	switch f := r.ColdFactor; {
	case f == 0:
		return defaultColdFactor
	case f >= 1:
		return min(f, maxColdFactor)
	default:
		return 1
	}
}

// cost returns what n tokens cost if stored are in the store.
func (c *curve) cost(stored, n float64) float64 {
	if c.free {
		n = max(n-stored, 0)
	}
	if n == 0 {
		return 0 // also where interval is infinite
	}
	ns := n * c.interval
	if stored > c.threshold {
		// The surcharge up to a share of the way to cold is the square of the
		// share, and the difference of squares is a product of exact factors.
		width := c.max - c.threshold
		left := max(stored-n, c.threshold)
		ns += c.surcharge * ((stored - left) / width) * ((stored - c.threshold + left - c.threshold) / width)
	}
	return ns
}

// initial is how full the store of a new Ramp is: cold, or no burst yet.
func (r *Ramp) initial() float64 {
	if r.WarmUp > 0 {
		return 1
	}
	return 0
}

// cost returns what was taken from these books costs.
func (r *Ramp) cost(c *curve) float64 { return c.cost(r.fill*c.max, r.taken) }

// next returns the instant at which all that was taken is paid.
func (r *Ramp) next(c *curve) time.Time { return r.since.Add(duration(r.cost(c))) }

// left returns how much of the store is full after what was taken, from 0 to 1.
func (r *Ramp) left(c *curve) float64 {
	if r.taken == 0 || c.max == 0 {
		return r.fill
	}
	return max(r.fill-r.taken/c.max, 0)
}

// sync starts the clock of a new Ramp, and new books after idle time, which is
// then in the store. It returns the instant at which all that was taken is
// paid, which is not before now if it had idled.
//
// Whoever comes exactly at the instant that it was told, which was rounded up,
// did not idle: otherwise each rounding would be lost for good.
func (r *Ramp) sync(now time.Time) time.Time {
	if !r.used {
		r.used, r.since, r.fill = true, now, r.initial()
		return now
	}
	c := r.curve()
	cost := r.cost(&c)
	next := r.since.Add(duration(cost))
	if !now.After(next) {
		return next
	}
	r.fill = r.left(&c)
	if idle := float64(now.Sub(r.since)) - cost; idle > 0 && c.span > 0 {
		r.fill = min(r.fill+idle/c.span, 1)
	}
	r.since, r.taken, r.owed = now, 0, debt{}
	return now
}

// fold starts new books at the instant at which all that was taken is paid.
func (r *Ramp) fold(now time.Time) {
	next := r.sync(now)
	if next.After(now) {
		next = now.Add(next.Sub(now)) // at most forever from now
	}
	c := r.curve()
	left := r.left(&c)
	if r.taken > 0 {
		if r.owed.tokens == 0 {
			r.owed.began = r.since
		}
		r.owed.tokens += r.taken
		r.owed.fill += r.fill - left
	}
	r.since, r.fill, r.taken = next, left, 0
}

// after is After for a number that need not fit an int.
func (r *Ramp) after(now time.Time, n float64) time.Time {
	if n == 0 || !(r.Rate > 0) {
		return r.Next(now)
	}
	s := *r
	s.sync(now)
	s.taken += n
	c := s.curve()
	return later(now, s.next(&c))
}

// duration converts a number of nanoseconds, rounded up so that at the end of it
// the wait is really over.
func duration(ns float64) time.Duration {
	ns = math.Ceil(ns - noise)
	if ns >= math.MaxInt64 {
		return forever
	}
	return time.Duration(ns)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
