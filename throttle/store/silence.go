package store

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/slot"
)

// This file is about members that may have sent without the store, and are to tell it before others are served. Of a bucket for
// which nobody asks, the store does not know whether all idle, or none can reach it.

// wake has the first that asks in a while, and those after it for a Horizon, get no more than what is spare if all others that send their
// parts without the store could not reach it: see Request.Shares.
func (l *Ledger) wake(r *Request, now monotime.Time) {
	if len(r.Asks) == 0 || now < l.learnsUntil || now <= max(l.served.Add(r.Horizon), l.lastSlot, l.heldUntil).Add(r.Late) {
		return
	}
	since := l.served.Add(-SharesFor)
	others := 0
	for name, m := range l.members {
		if m.shares && m.activeTill > since && name != r.Member {
			others++
		}
	}
	if others == 0 {
		return
	}
	for p := range l.places {
		l.places[p].spare = l.spare(&l.places[p], now, others, l.activeAfter(since))
	}
	l.learnsUntil, l.sparing = now.Add(r.Horizon), true
	l.served = l.learnsUntil
}

// spare is what others leave of a quota of which each has its part, if so many members share the bucket.
func (l *Ledger) spare(o *place, now monotime.Time, others, among int) int {
	if b, ok := o.ledger.(*slot.Bucket); ok {
		// They had nothing when this one was served last, and got 9/10 of their shares of what came since, but for what is beyond their
		// parts of the burst.
		taken := monotime.Scale(now.Sub(l.served), 9*int64(others), 10*int64(among))
		part := max(9*o.quota.Burst/(10*among), 1)
		left := max(min(b.Room(now.Add(-taken)), o.quota.Burst-others*part), 0)
		if o.quota.Burst <= others { // which cannot be divided
			left = max(left, 1)
		}
		return left
	}
	// Whatever they used before, each sends no more than its part of N in any Per without the store. Until Per has passed, that is no more than
	// it used before, and its part of what was left.
	spare := o.ledger.Left(now) - others*partOf(o.quota.N, among)
	if now.Sub(l.served) <= o.quota.Per {
		left := o.ledger.Left(l.lastUsed)
		spare = max(spare, left-others*partOf(left, among))
	}
	return max(spare, 0)
}

// partOf is 9/10 of one of so many parts, rounded down.
func partOf(n, among int) int {
	return n - int(monotime.Scale(time.Duration(n), 10*int64(among)-9, 10*int64(among)))
}

// hearAlone has nothing be handed out for a Horizon, if a member sent without the store, and nobody was served for so long.
func (l *Ledger) hearAlone(r *Request, now monotime.Time) {
	switch {
	case !r.Alone:
		return
	case now < l.learnsUntil && l.sparing: // as was guessed
	case now >= l.learnsUntil && now.Sub(l.served) > r.Horizon:
		l.learnsUntil = now.Add(r.Horizon)
		l.served = l.learnsUntil
	default:
		return
	}
	l.sparing, l.fresh = false, false
	l.startAfter(l.learnsUntil, monotime.Longest)
}

// spares reports whether a cost may be handed out, although others may have something to tell.
func (l *Ledger) spares(cost []int, now monotime.Time) bool {
	if now >= l.learnsUntil {
		return true
	}
	for p, n := range cost {
		if n > 0 && l.places[p].binds && n > l.places[p].spare {
			return false
		}
	}
	return l.sparing
}
