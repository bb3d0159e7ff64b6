// Package warmup has the smooth limiters of Guava's RateLimiter:
// SmoothWarmingUp, which is slow after idling and becomes faster under load,
// and SmoothBursty, which stores idle time as a burst.
//
// [Ramp] is the arithmetic alone: it has no clock, lock or timer, and every
// method is told the instant. [Limiter] waits:
//
//	l := warmup.Limiter{Ramp: warmup.Ramp{Rate: 100, WarmUp: 10 * time.Second}}
//	err := l.Wait(ctx, 1)
//
// # The model
//
// While nothing is asked for, tokens are stored. In SmoothWarmingUp they
// measure how cold the limiter is, and the more are stored the dearer each is.
// With s = 1/Rate, W = WarmUp and C = ColdFactor, a token costs
//
//	C·s     at max       = threshold + 2·W/(s + C·s)
//	  s     at threshold = W/(2·s)
//	  s     below it, and when none is stored
//
// and between max and threshold a straight line. Under load it takes W from
// cold to the threshold, and W/2 from there until nothing is stored; idling
// takes W from nothing to cold. In SmoothBursty stored tokens cost nothing.
// The cost of n tokens is the integral over the n taken from the store and of
// what the store lacks, so that it does not matter how n is split into
// requests.
//
// A request goes when the debt of those before it is paid, and its own cost is
// paid by the next one: the first request of any size goes at once, and when a
// request may go does not depend on how much it asks for.
//
// See the comments in Guava's SmoothRateLimiter.java for the derivation:
// https://github.com/google/guava/blob/v31.1/guava/src/com/google/common/util/concurrent/SmoothRateLimiter.java
//
// # What is different from Guava
//
//   - Times are in nanoseconds, rounded up once for each answer and never
//     accumulated. Guava truncates to microseconds up to three times a grant: it
//     runs fast by up to 3 µs a grant and does not throttle above 1e6/s.
//   - A WarmUp of zero means none. In Guava it becomes NaN after the first idle
//     gap, and nothing is throttled again (google/guava#2730).
//   - What was reserved and not used can be given back.
//   - A Limiter charges a caller when it goes, not when it comes. Guava has
//     neither cancellation nor sleepers that notice a change of the rate.
package warmup

import (
	"fmt"
	"math"
	"time"
)

// A Ramp says when tokens may go: SmoothWarmingUp if WarmUp is positive, else
// SmoothBursty. A new one is cold, or has nothing stored; the first call of
// Reserve, SetRate or Chill starts its clock.
//
// The exported fields configure it and must not be changed once it is used;
// SetRate changes the rate. A Ramp may be copied, which copies its state, and
// must not be used by several goroutines at once. An instant that is earlier
// than one before it is taken as it is, and credits no idle time twice.
type Ramp struct {
	// Rate is how many tokens go in a second once warm. If it is not positive,
	// or NaN, nothing is granted: every answer is 292 years ahead and nothing is
	// charged. At +Inf, as at anything from 1e18, there is no limit.
	Rate float64

	// WarmUp is how long it takes, under load, from cold to Rate, and idle,
	// from warm to cold. Zero or negative means that there is no warm-up.
	WarmUp time.Duration

	// ColdFactor is how many times longer than 1/Rate the interval of a cold
	// limiter is. Zero means 3, the value that is fixed in Guava's public API.
	// Anything else below 1, or NaN, counts as 1 (a cold limiter is never the
	// faster one), and above a million as a million. It is ignored without
	// WarmUp.
	ColdFactor float64

	// MaxBurst is how much idle time is stored at most: Rate·MaxBurst tokens
	// may then go at once, and one more request of any size, whose cost the next
	// one pays. Zero means one second, as in RateLimiter.create; negative means
	// that nothing is stored. It is ignored with WarmUp.
	MaxBurst time.Duration

	// The state is what was reserved since an instant, not what is stored and
	// when the next may go: these follow, without accumulating errors, and what
	// is given back is simply not reserved any more. Idle time starts new books.

	used  bool
	since time.Time // when these books begin; nothing goes earlier
	fill  float64   // how much of the store was full then, from 0 to 1
	taken float64   // tokens reserved since
	owed  debt      // what was reserved earlier and is paid at since, not before
}

// debt is what is kept of closed books, so that it can be given back.
type debt struct {
	tokens float64   // reserved; if zero, so is the rest
	began  time.Time // when the books would begin if all were given back
	fill   float64   // how much of the store they took, of 1
}

const (
	// forever is the longest wait that a time.Duration can say, 292 years. Debts
	// beyond it end with it.
	forever = time.Duration(math.MaxInt64)

	// fullBooks is how many tokens are taken, other than in one piece, before new
	// books begin: below it a float64 can still tell a token more or less, with
	// some bits to spare.
	fullBooks = 1 << 50
)

// Reserve takes n tokens at now and returns the instant at which the caller may
// go, now or later: when what was reserved before is paid for. The cost of n is
// paid by the next caller. n may be zero, which takes nothing; negative panics.
func (r *Ramp) Reserve(now time.Time, n int) time.Time {
	mustNotBeNegative(n)
	if !(r.Rate > 0) {
		return now.Add(forever)
	}
	at := r.sync(now)
	if r.taken > 0 && r.taken+float64(n) >= fullBooks {
		r.fold(now)
	}
	r.taken += float64(n)
	return at
}

// Next returns the instant at which a caller could go, now or later. It changes
// nothing.
func (r *Ramp) Next(now time.Time) time.Time {
	if !(r.Rate > 0) {
		return now.Add(forever)
	}
	if !r.used {
		return now
	}
	c := r.curve()
	return later(now, r.next(&c))
}

// After returns the instant at which a caller could go if n tokens, those of
// the callers ahead of it, were reserved at now. It changes nothing. Negative n
// panics.
func (r *Ramp) After(now time.Time, n int) time.Time {
	mustNotBeNegative(n)
	return r.after(now, float64(n))
}

// Return gives back n tokens which were reserved and not used: as if they had
// not been reserved. Negative n panics. Like the other methods it is told the
// instant, which this arithmetic does not need.
//
// It exactly undoes the latest Reserve, whole or in part, however much later.
// Of earlier ones it exactly undoes the cost, in any order, as long as the debt
// that they were part of has not been paid and followed by new reservations.
// After that, the tokens given back count as those of the latest reservations,
// and what exceeds these is lost: a Ramp never has more to grant than at the
// end of its last idle time. Callers keep the instants which Reserve told them;
// the time that is won goes to those who come next.
//
// Where SetRate or Chill came in between, tokens reserved before it are given
// back at their average price, and after Chill the store stays as it is.
func (r *Ramp) Return(_ time.Time, n int) {
	mustNotBeNegative(n)
	back := min(float64(n), r.taken)
	r.taken -= back
	back = min(float64(n)-back, r.owed.tokens)
	if back == 0 {
		return
	}
	// The new books are empty now, so their beginning may move back to before
	// the debt, and the store with it.
	share := back / r.owed.tokens
	nanos := r.since.Sub(r.owed.began)
	r.since = r.since.Add(-min(duration(math.Floor(share*float64(nanos))), nanos))
	r.fill = min(r.fill+share*r.owed.fill, 1)
	r.owed.tokens -= back
	r.owed.fill -= share * r.owed.fill
	if r.owed.tokens == 0 {
		r.since, r.owed = r.owed.began, debt{}
	}
}

// SetRate changes the rate at now, as Guava's setRate: what was reserved keeps
// its price, and the store keeps the share that is full, so that a cold limiter
// stays cold. Only when there was no limit it comes back warm, or with a full
// burst. The values of rate mean the same as in the field Rate.
func (r *Ramp) SetRate(now time.Time, rate float64) {
	if r.used && rate == r.Rate {
		return
	}
	unlimited := r.Rate >= limitless
	r.fold(now)
	r.Rate = rate
	switch {
	case !unlimited:
	case r.WarmUp > 0:
		r.fill = 0
	default:
		r.fill = 1
	}
}

// Chill makes the Ramp as it was when new, cold or with nothing stored, but for
// the debt that it has. That is for a server which pushed back.
func (r *Ramp) Chill(now time.Time) {
	r.fold(now)
	r.fill, r.owed.fill = r.initial(), 0
}

// Busy says that from an instant on until now somebody waited, for something else: that is
// no idle time, and nothing is stored in it.
func (r *Ramp) Busy(from, now time.Time) {
	if !r.used {
		return
	}
	if next := r.sync(from); now.After(next) {
		c := r.curve()
		r.since, r.fill, r.taken, r.owed = now, r.left(&c), 0, debt{}
	}
}

// Stored returns how many tokens are stored at now: how cold it is, or how many
// may go at once. It is zero if there is no limit.
func (r *Ramp) Stored(now time.Time) float64 {
	s := *r
	s.sync(now)
	c := s.curve()
	return s.left(&c) * c.max
}

// Idle reports whether the state may be forgotten: there is no debt and the
// store is as full as it gets. A new Ramp is then the same, or has less to grant
// if it is one without WarmUp, which starts with nothing stored.
func (r *Ramp) Idle(now time.Time) bool {
	if !r.used {
		return true
	}
	s := *r
	next := s.sync(now)
	c := s.curve()
	return !next.After(now) && (c.max == 0 || s.left(&c) >= 1)
}

// Validate reports a field whose value is probably a mistake, although each has
// a meaning: which, its value and what was expected.
func (r *Ramp) Validate() error {
	if !(r.Rate > 0) {
		return fmt.Errorf("warmup: Rate is %v, want a positive number of tokens per second", r.Rate)
	}
	if f := r.ColdFactor; f != 0 && !(f >= 1 && f <= maxColdFactor) {
		return fmt.Errorf("warmup: ColdFactor is %v, want 1 to 1e6, or 0 for 3", f)
	}
	return nil
}

func mustNotBeNegative(n int) {
	if n < 0 {
		panic("warmup: negative number of tokens")
	}
}
