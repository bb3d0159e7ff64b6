package warmup

import (
	"math"
	"time"
)

const (
	// forever is the longest wait that a time.Duration can hold, 292 years. Longer
	// debts are cut to it.
	forever = time.Duration(math.MaxInt64)

	// fullAccount is how many tokens an account takes in more than one piece.
	// Below it a float64 can still tell a token more or less, with some bits to
	// spare.
	fullAccount = 1 << 50
)

// account adds up the tokens that were reserved since it was opened. It keeps
// neither a level of stored tokens nor an instant at which the next caller may
// go: both follow from the sum and the curve. So rounding errors do not
// accumulate, and tokens are given back by no longer counting them. After idle
// time a new account is opened.
type account struct {
	used  bool      // the Ramp was used
	since time.Time // when the account was opened; nothing goes earlier
	fill  float64   // how full the store was then, from 0 to 1
	taken float64   // tokens reserved since then
	owed  debt      // reservations of closed accounts, which are paid at since and not before
}

// debt is what is kept of closed accounts, so that their tokens can be given
// back.
type debt struct {
	tokens float64   // tokens reserved; if zero, the other fields are zero too
	began  time.Time // when the account would be opened if all tokens were given back
	fill   float64   // how much of the store the tokens took, as a part of 1
}

// cost returns what the tokens of the account cost, in nanoseconds.
func (a *account) cost(c *curve) float64 { return c.cost(a.fill*c.max, a.taken) }

// due returns the instant at which all tokens of the account are paid. That is
// not before now, and at most forever from now.
func (a *account) due(now time.Time, c *curve) time.Time {
	wait := a.since.Add(duration(a.cost(c))).Sub(now) // Sub cuts it to forever
	return now.Add(max(wait, 0))
}

// left returns how full the store is after the tokens of the account, from 0 to
// 1.
func (a *account) left(c *curve) float64 {
	if a.taken == 0 || c.max == 0 {
		return a.fill
	}
	return max(a.fill-a.taken/c.max, 0)
}

// advance brings the account to now: it opens the first account, or a new one
// after idle time, which fills the store. It returns the instant at which all
// tokens are paid. That is now if there was idle time, and not before now.
//
// A caller that comes exactly at the instant that it was told did not idle,
// although that instant was rounded up. Otherwise each rounding would be lost
// for good.
func (a *account) advance(now time.Time, c *curve) time.Time {
	if !a.used {
		a.used, a.since, a.fill = true, now, c.initial
		return now
	}
	cost := a.cost(c)
	if !now.After(a.since.Add(duration(cost))) {
		return a.due(now, c)
	}
	fill := a.left(c)
	if idle := float64(now.Sub(a.since)) - cost; idle > 0 && c.span > 0 {
		fill = min(fill+idle/c.span, 1)
	}
	a.open(now, fill)
	return now
}

// take reserves n tokens, and returns the instant at which all tokens before
// them are paid, which is when they may go.
func (a *account) take(now time.Time, n float64, c *curve) time.Time {
	at := a.advance(now, c)
	if a.taken > 0 && a.taken+n >= fullAccount {
		a.carryOver(now, c)
	}
	a.taken += n
	return at
}

// open opens a new account. It forgets the tokens of the old one, which are
// paid.
func (a *account) open(now time.Time, fill float64) {
	a.since, a.fill, a.taken, a.owed = now, fill, 0, debt{}
}

// carryOver opens a new account at the instant at which all tokens are paid, and
// keeps them as a debt.
func (a *account) carryOver(now time.Time, c *curve) {
	paid := a.advance(now, c)
	left := a.left(c)
	if a.taken > 0 {
		if a.owed.tokens == 0 {
			a.owed.began = a.since
		}
		a.owed.tokens += a.taken
		a.owed.fill += a.fill - left
	}
	a.since, a.fill, a.taken = paid, left, 0
}

// giveBack takes back n tokens: those of the account first, then those of the
// debt, at their average price.
func (a *account) giveBack(n float64) {
	back := min(n, a.taken)
	a.taken -= back
	back = min(n-back, a.owed.tokens)
	if back == 0 {
		return
	}
	// The account has no tokens now. So it may be opened earlier, before the debt
	// or within it, and the store be as full as it was then.
	share := back / a.owed.tokens
	nanos := a.since.Sub(a.owed.began)
	a.since = a.since.Add(-min(duration(math.Floor(share*float64(nanos))), nanos))
	a.fill = min(a.fill+share*a.owed.fill, 1)
	a.owed.tokens -= back
	a.owed.fill -= share * a.owed.fill
	if a.owed.tokens == 0 {
		a.since, a.owed = a.owed.began, debt{}
	}
}

// duration converts a number of nanoseconds. It rounds up, so that the wait is
// really over at the end of the duration.
func duration(ns float64) time.Duration {
	ns = math.Ceil(ns - noise)
	if ns >= math.MaxInt64 {
		return forever
	}
	return time.Duration(ns)
}
