package throttle

import (
	"math/bits"
	"time"
)

// ledger is the arithmetic of one quota in a store: a limit for instants that are still to
// come. Its methods are those of limit; slots take the place of what went.
//
// A slot may be far ahead, of another quota or since it is large. What is there until
// then is not lost: later slots may come before it, where all that was handed out remains
// right.
type ledger interface {
	// when returns the earliest instant, not before t, for a slot of n.
	when(t instant, n int) instant
	// take charges a slot that when returned at now.
	take(now, slot instant, n int)
	// owe charges what goes at now, whatever is there.
	owe(now instant, n int)
	give(now, slot instant, n int)
	// set changes the numbers of the quota.
	set(q Quota, late, horizon time.Duration)
	// drain makes it one that was used evenly up to t.
	drain(t instant)
}

// newLedger returns that of q, new.
func newLedger(q Quota, late, horizon time.Duration, wall int64) ledger {
	var l ledger
	switch q.Kind {
	case TokenBucket:
		l = &slotBucket{}
	case ClockWindow, EstimatedWindow:
		l = &slotGrid{limit: newWindow(q, wall), wall: wall}
	default:
		l = &slotWindow{}
	}
	l.set(q, late, horizon)
	return l
}

// alikeLedger reports whether two quotas can have the same ledger, one after the other.
func alikeLedger(p, q *Quota) bool {
	return p.Kind == q.Kind && p.unit() == q.unit() && (!p.onClock() || p.per() == q.per())
}

// scale returns d·a/b rounded up, at most ages; b is positive, a not negative.
func scale(d time.Duration, a, b int64) time.Duration {
	hi, lo := bits.Mul64(uint64(d), uint64(a))
	if hi >= uint64(b) {
		return ages
	}
	q, r := bits.Div64(hi, lo, uint64(b))
	if r > 0 {
		q++
	}
	return time.Duration(min(q, uint64(ages)))
}
