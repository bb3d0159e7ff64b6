// Package limit is the arithmetic of quotas. A limit has no clock, lock, timer or goroutine:
// given an instant it says when n tokens may go, is told what went, and takes back what did
// not go.
//
// In come quotas with all defaults written out (quota.Quotas.Explicit), instants, and what
// claims ask for; out come instants, and why nothing goes before ([Due]). A [Stack] has the
// limits of all quotas of a bucket. The package knows nothing of the line of claims, of what a server
// says, and of stores.
//
// A new kind of quota is a [Limit], and a line in New.
package limit

import (
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Lag is how far back a late grant may count. Timers fire about half a millisecond late. A waiter
// that is released late is charged at the instant at which it was due, at most Lag ago, so that
// lateness loses no quota. The price is a burst of up to as many tokens as the quota grants in Lag.
// With 2 ms, pacing is exact at any rate (measured at 10 000/s and 50 000/s).
//
// quota.Quotas.Redundant reckons with it too.
const Lag = 2 * time.Millisecond

// A Limit is the arithmetic of one quota. Its methods are called with instants that never go
// back.
type Limit interface {
	// When returns the earliest instant, not before t, at which n tokens may go if ahead
	// others go before them, each as early as it may. It changes nothing. With nothing
	// ahead the answer is exact: at that instant Take holds. Ok is false if n may never go.
	When(t monotime.Time, ahead, n int64) (at monotime.Time, ok bool)

	// Take charges n tokens, which were due at an instant that When returned or at a later
	// one, and go now. A late timer must not cost the tokens of a bucket, so that they count
	// from when they were due; a window counts from when they go.
	Take(due, now monotime.Time, n int64)

	// Give takes back n tokens which were charged with that now, and did not go.
	Give(now, went monotime.Time, n int64)

	// Idle reports whether forgetting the limit would lose nothing: it is as it was when it
	// was new.
	Idle(now monotime.Time) bool

	// Set changes the quota in place, if it is of the same kind, and reports whether it was.
	Set(now monotime.Time, q quota.Quota) bool

	// Cool tells the limit that the server pushed back.
	Cool(now monotime.Time)

	// Busy tells the limit that somebody waited for something else from one instant to
	// another, so that it did not idle meanwhile.
	Busy(from, until monotime.Time)
}

// New returns the limit of q, nil if q is none. The wall clock was at wall, in nanoseconds
// since 1970, at instant 0.
func New(q quota.Quota, wall int64) Limit {
	switch {
	case q.N == 0:
		return nil
	case q.Kind == quota.TokenBucket && q.WarmUp > 0:
		return newWarm(q)
	}
	switch q.Kind {
	case quota.TokenBucket:
		return newBucket(q)
	case quota.Plain:
		if q.Months > 0 {
			return NewGrid(q, wall)
		}
		return newSliding(q)
	case quota.FixedWindow:
		return &fixed{n: q.N, per: q.Per}
	case quota.ClockWindow, quota.EstimatedWindow:
		return NewGrid(q, wall)
	case quota.InFlight, quota.Unanswered:
		return &concurrent{kind: q.Kind, n: q.N}
	default:
		return newSliding(q)
	}
}

// steady is what a limit embeds to which it makes no difference that a server pushed back or
// that somebody waited.
type steady struct{}

// Cool implements Limit.
func (steady) Cool(monotime.Time) {}

// Busy implements Limit.
func (steady) Busy(_, _ monotime.Time) {}

// tokens is n where tokens are counted: quota.MaxN at most, so that no sum of them overflows.
func tokens(n int64) int64 { return min(n, quota.MaxN) }

// perSecond is the rate of q in tokens per second.
func perSecond(q quota.Quota) float64 { return float64(q.N) / q.Per.Seconds() }

// seconds is the time that a limit of that rate takes for so many tokens.
func seconds(tokens, perSecond float64) time.Duration { return monotime.Seconds(tokens / perSecond) }
