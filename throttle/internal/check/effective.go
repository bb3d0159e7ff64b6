package check

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Of a field that bounds something, zero stands for a default or for no bound, the largest value for no bound,
// and what is negative for a bound of zero.

// Bound returns the effective value of a field that bounds a duration, if zero stands for no bound.
func Bound(d time.Duration) time.Duration {
	if d == 0 || d == math.MaxInt64 {
		return monotime.Unbounded
	}
	return min(max(d, 0), monotime.Longest)
}

// MaxWait returns for how long a claim may wait: zero if there is no bound, negative if it must not wait. A
// negative MaxQueue says so too.
func MaxWait(ofClaim, ofLimiter time.Duration, maxQueue int) time.Duration {
	if maxQueue < 0 {
		return -1
	}
	return ClaimsOr(ofClaim, ofLimiter)
}

// ClaimsOr returns the MaxWait of a claim; if that is not set, that of the Limiter. It costs a fifth of cmp.Or.
func ClaimsOr(ofClaim, ofLimiter time.Duration) time.Duration {
	if ofClaim != 0 {
		return ofClaim
	}
	return ofLimiter
}

// N returns what a claim costs in requests, of which its N is n: one at least, and quota.MaxN at most, so that
// no sum of costs overflows. It panics if n is negative.
func N(n int) int {
	if n < 0 {
		panicNegative(n)
	}
	return int(min(int64(max(n, 1)), quota.MaxN))
}

// panicNegative is not a part of N, so that N is inlined.
func panicNegative(n int) { panic(fmt.Sprintf("throttle: Claim.N is %d, want 0 or more", n)) }

// Bounds are what bounds the wait of a claim. Its instants are of the clock that stands still while the machine
// sleeps: see [monotime.Clock.Awake].
type Bounds struct {
	MaxWait  time.Duration // of the claim, else of the bucket; zero if there is no bound
	AtOnce   bool          // it must not wait, but for a store's next reply
	Expires  monotime.Time // when it was first made + MaxWait; zero if there is no bound
	Deadline monotime.Time // of its context, less Answer; zero if there is none
	Answer   time.Duration // how long the answer is expected to take, if the context bounds it, too
}

// Ends is when a claim that waits ends by itself, zero if never: at Expires; and where time is kept for its
// answer, when no more than that is left. Else its context ends it.
func (b *Bounds) Ends() monotime.Time {
	if b.Answer == 0 {
		return b.Expires
	}
	return cmp.Or(min(b.Expires, b.Deadline), b.Deadline)
}

// Wakes is for how long a claim waits until it ends by itself; or until it is hasty, if it waits for a slow
// start and comes to be that. Unbounded if neither happens; zero if it is over.
func (b *Bounds) Wakes(now monotime.Time, hasty time.Duration, starts bool) time.Duration {
	left := monotime.Unbounded
	if end := b.Ends(); end != 0 {
		left = max(end.Sub(now), 0)
	}
	if starts && hasty > 0 {
		left = min(left, hasty)
	}
	return left
}

// Ended returns which bound has ended a claim at Ends: of MaxWait, expired, else late.
func (b *Bounds) Ended(now monotime.Time, expired, late error) error {
	if b.InVain(now) {
		return late
	}
	return expired
}

// InVain reports whether a claim that goes now is expected to get its answer too late.
func (b *Bounds) InVain(now monotime.Time) bool { return b.Answer > 0 && now >= b.Deadline }

// Patience is for how long a claim may wait from now on: zero if there is no bound, negative if it must not
// wait.
func (b *Bounds) Patience(now monotime.Time) time.Duration {
	end := cmp.Or(min(b.Expires, b.Deadline), b.Expires, b.Deadline)
	switch {
	case b.AtOnce || end != 0 && end <= now:
		return -1
	case end != 0:
		return end.Sub(now)
	}
	return 0
}

// Left is for how long a claim can still wait, until it expires, and until before its deadline; negative if
// there is no bound.
func (b *Bounds) Left(now monotime.Time) time.Duration {
	end := b.Expires
	switch {
	case b.AtOnce:
		return 0
	case b.Expires == 0 && b.Deadline == 0:
		return -1
	case b.Expires == 0 || b.Deadline != 0 && b.Deadline-1 < b.Expires:
		end = b.Deadline - 1
	}
	return max(end.Sub(now), 0)
}

// Expires returns until when a claim may wait that was first made at from; zero if there is no bound, or if it
// must not wait.
func Expires(from monotime.Time, maxWait time.Duration) monotime.Time {
	if d := Bound(maxWait); d > 0 && d != monotime.Unbounded {
		return from.Add(d)
	}
	return 0
}

// MaxHold returns the effective MaxHold; zero if a server cannot hold the bucket.
func MaxHold(d time.Duration) time.Duration {
	return min(Bound(cmp.Or(d, 15*time.Minute)), monotime.Longest)
}

// MaxReset returns how far away a reset is that may be waited for, within MaxStandstill and MaxWait; zero if
// there is no bound, or if nobody waits.
func MaxReset(maxStandstill, maxWait time.Duration) time.Duration {
	if d := min(Bound(maxStandstill), Bound(maxWait)); d != monotime.Unbounded {
		return d
	}
	return 0
}

// Spacing returns how long one token of qs takes where requests are to come evenly spaced; zero if no quota
// says that, or only one of another unit does.
func Spacing(qs quota.Quotas) (most time.Duration) {
	for _, q := range qs {
		if q.Burst == 1 && q.N > 0 && (q.Unit == "" || q.Unit == quota.Requests) {
			most = max(most, q.Per/time.Duration(q.N))
		}
	}
	return most
}

// MaxBuckets returns the effective MaxBuckets.
func MaxBuckets(n int) int { return max(cmp.Or(n, 100_000), 0) }

// IdleAfter is after how long without a grant a bucket has idled.
func IdleAfter(d time.Duration) time.Duration {
	if d < 0 {
		return monotime.Unbounded
	}
	return cmp.Or(d, time.Minute)
}

// Aging is the effective Aging. If it is the longest, a more urgent claim always goes first.
func Aging(d time.Duration) time.Duration {
	if d < 0 {
		return monotime.Longest
	}
	return min(cmp.Or(d, 10*time.Second), monotime.Longest)
}

// Draw returns a number of Rand, of a Limiter, which is the caller's and not called with a lock held; zero if
// it is nil.
func Draw(of func() float64) (luck float64) {
	if of != nil {
		luck = of()
	}
	return luck
}
