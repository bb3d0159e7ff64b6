// Package warmup limits a rate as Guava's RateLimiter does. It has both of
// Guava's limiters: SmoothWarmingUp is slow after idling and becomes faster under
// load, for a server that must warm up itself; SmoothBursty stores idle time and
// spends it as a burst.
//
//	l := warmup.Limiter{Ramp: warmup.Ramp{Rate: 100, WarmUp: 10 * time.Second}}
//	err := l.Wait(ctx, 1) // until one token is granted
//	ok := l.Allow(1)      // now, or not at all
//
// A [Limiter] makes callers wait. It has a lock, reads the clock and starts
// timers. A [Ramp] is the arithmetic alone: an instant and a number of tokens
// come in, and the instant at which a caller may go comes out.
//
// The package can be used alone: it knows nothing of quotas, of HTTP and of
// servers. It imports the standard library without net/http. A limiter of package
// throttle warms up if its quota has a WarmUp.
//
// # What is different from Guava
//
//   - Times are in nanoseconds. They are rounded up once for each answer, and
//     roundings do not accumulate. Guava truncates to microseconds up to three
//     times a grant: it runs fast by up to 3 µs a grant, and does not throttle
//     above 1e6/s.
//   - A WarmUp of zero means that there is no warm-up. In Guava it leads to NaN
//     after the first idle gap, and nothing is throttled from then on
//     (google/guava#2730).
//   - Tokens that were reserved and not used can be given back.
//   - A Limiter charges a caller when it goes, not when it comes. So a caller
//     that stops waiting costs nothing, and callers that wait notice a change of
//     the rate. Guava has neither.
//   - What is tryAcquire with a timeout in Guava is Wait with the deadline of a
//     context, and what is tryAcquire without one is Allow.
package warmup

import (
	"cmp"
	"fmt"
	"time"
)

// A Ramp says when tokens may go. It is a SmoothWarmingUp if WarmUp is positive,
// and a SmoothBursty if not. A new SmoothWarmingUp is cold, and a new SmoothBursty
// has nothing stored. The first call of Reserve, SetRate or Chill starts its
// clock.
//
// While nothing is asked for, tokens are stored, up to a maximum. A token costs
// time. In SmoothBursty a stored token costs nothing. In SmoothWarmingUp the
// stored tokens measure how cold the limiter is: the more are stored, the more
// the next one costs. With s = 1/Rate, W = WarmUp and C = ColdFactor, it costs
//
//	C·s  if max tokens are stored, where max = threshold + 2·W/(s + C·s)
//	  s  if threshold tokens are stored, where threshold = W/(2·s)
//	  s  if fewer are stored, or none
//
// and between threshold and max the cost is a straight line. Under load it takes
// W until a cold limiter is at the threshold, and then W/2 until nothing is
// stored. Idling, it takes W until an empty store is full. The cost of n tokens is
// the integral of that line over the tokens that the store has, and s for each
// token that it lacks. So it does not matter how n tokens are split into requests.
//
// A request goes when the requests before it are paid. Its own cost is paid by
// the next request. So the first request goes at once, whatever its size, and
// when a request may go does not depend on how much it asks for. The comments in
// Guava's SmoothRateLimiter.java derive the formulas:
// https://github.com/google/guava/blob/v31.1/guava/src/com/google/common/util/concurrent/SmoothRateLimiter.java
//
// The exported fields configure the Ramp and must not be changed after its first
// use; SetRate changes the rate. A copy of a Ramp has its own state from then on.
// A Ramp must not be used by several goroutines at once. Instants may go back: an
// instant before an earlier one is taken as it is, and no idle time counts twice.
type Ramp struct {
	// Rate is how many tokens go in a second when the limiter is warm. If zero,
	// negative or NaN, nothing is granted: every answer is 292 years ahead, and
	// nothing is charged. If it is 1e18 or more, or +Inf, there is no limit.
	Rate float64

	// WarmUp is how long it takes from cold to Rate under load, and from warm to
	// cold while idling. If zero or negative, there is no warm-up.
	WarmUp time.Duration

	// ColdFactor is how many times longer than 1/Rate the interval of a cold
	// limiter is. If zero, 3, the value that is fixed in Guava's public API. Any
	// other value below 1, negative ones included, and NaN count as 1, since a cold
	// limiter is never the faster one; a value above a million counts as a million.
	// Without WarmUp it is ignored.
	ColdFactor float64

	// MaxBurst is the longest idle time that is stored. Rate·MaxBurst tokens may
	// then go at once, and one more request of any size, whose cost the next one
	// pays. If zero, one second, as in RateLimiter.create. If negative, nothing is
	// stored. With WarmUp it is ignored.
	MaxBurst time.Duration

	account
}

// Reserve takes n tokens at now and returns the instant at which the caller may
// go: when the tokens that were reserved before are paid, but not before now. The
// next caller pays for n. Zero n takes nothing; negative n panics.
func (r *Ramp) Reserve(now time.Time, n int) time.Time {
	mustNotBeNegative(n)
	if !(r.Rate > 0) {
		return now.Add(forever)
	}
	c := r.curve()
	return r.take(now, float64(n), &c)
}

// Next returns the instant at which the next caller could go if ahead tokens were
// reserved at now before it. That instant is not before now. Next changes nothing.
// Negative ahead panics.
func (r *Ramp) Next(now time.Time, ahead int) time.Time {
	mustNotBeNegative(ahead)
	return r.next(now, float64(ahead))
}

// next is Next for a number that need not fit an int.
func (r *Ramp) next(now time.Time, ahead float64) time.Time {
	switch {
	case !(r.Rate > 0):
		return now.Add(forever)
	case !r.used && ahead == 0:
		return now
	}
	a, c := r.account, r.curve()
	if ahead > 0 {
		a.take(now, ahead, &c)
	}
	return a.due(now, &c)
}

// Return gives back n tokens that were reserved and not used, as if they had
// never been reserved. Zero n gives back nothing; negative n panics.
//
// Return exactly undoes the latest Reserve, in whole or in part, however much
// later. Of an earlier Reserve it exactly undoes the cost, in any order, until
// the debt of which that was a part is paid and tokens are reserved again. After
// that, the tokens that are given back count as those of the latest reservations,
// and what exceeds these is lost: a Ramp never has more to grant than at the end
// of its last idle time. The instants that Reserve returned stay as they are: the
// time that is won goes to later callers.
//
// If SetRate or Chill was called in between, tokens that were reserved before it
// are given back at their average price. After Chill the store stays as it is.
func (r *Ramp) Return(n int) {
	mustNotBeNegative(n)
	r.giveBack(float64(n))
}

// SetRate changes the rate at now, as Guava's setRate does. Tokens that are
// reserved keep their price. The store keeps the share that is full, so that a
// cold limiter stays cold. Only after a rate without limit the limiter is warm,
// or has a full burst. The values of rate mean the same as those of the field
// Rate.
func (r *Ramp) SetRate(now time.Time, rate float64) {
	if r.used && rate == r.Rate {
		return
	}
	unlimited := r.Rate >= limitless
	c := r.curve()
	r.carryOver(now, &c)
	r.Rate = rate
	switch {
	case !unlimited:
	case r.WarmUp > 0:
		r.fill = 0
	default:
		r.fill = 1
	}
}

// Chill makes the Ramp as cold as a new one, or takes away the stored burst; the
// debt stays. It is for a server that pushed back.
func (r *Ramp) Chill(now time.Time) {
	c := r.curve()
	r.carryOver(now, &c)
	r.fill, r.owed.fill = c.initial, 0
}

// Busy says that from an instant until now a caller waited for something else.
// That is no idle time, and nothing is stored in it.
func (r *Ramp) Busy(from, now time.Time) {
	if !r.used {
		return
	}
	c := r.curve()
	if paid := r.advance(from, &c); now.After(paid) {
		r.open(now, r.left(&c))
	}
}

// Idle reports whether the state may be forgotten: there is no debt, and the
// store is as full as it gets. A new Ramp with a WarmUp is then the same. A new
// Ramp without one has less to grant, since it has nothing stored.
func (r *Ramp) Idle(now time.Time) bool {
	if !r.used {
		return true
	}
	a, c := r.account, r.curve()
	paid := a.advance(now, &c)
	return !paid.After(now) && (c.max == 0 || a.left(&c) >= 1)
}

// Validate returns an error if the value of a field is probably a mistake,
// although every value has a meaning: a Rate that grants nothing, a ColdFactor
// that counts as another one, or a duration below 1 µs, which is a number without
// a unit.
func (r *Ramp) Validate() error {
	if !(r.Rate > 0) {
		return fmt.Errorf("warmup: Rate is %v, want a positive number of tokens per second", r.Rate)
	}
	if f := r.ColdFactor; f != 0 && !(f >= 1 && f <= maxColdFactor) {
		return fmt.Errorf("warmup: ColdFactor is %v, want 1 to 1e6, or 0 for 3", f)
	}
	return cmp.Or(hasUnit("WarmUp", r.WarmUp), hasUnit("MaxBurst", r.MaxBurst))
}

// hasUnit returns an error if a field is so short that it is a number to which somebody forgot the unit.
func hasUnit(field string, d time.Duration) error {
	if 0 < d && d < time.Microsecond {
		return fmt.Errorf("warmup: %s is %v, want 1µs or more: a number alone is in nanoseconds, %d * time.Second in seconds", field, d, int64(d))
	}
	return nil
}

// curve returns what tokens cost at the present rate.
func (r *Ramp) curve() curve { return newCurve(r.Rate, r.WarmUp, r.ColdFactor, r.MaxBurst) }

func mustNotBeNegative(n int) {
	if n < 0 {
		panic(fmt.Sprintf("warmup: %d tokens, want 0 or more", n))
	}
}
