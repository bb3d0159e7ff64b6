package store

import (
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/slot"
)

// This file is about members that may have sent without the store, and are to tell it before others are served.
// Of a bucket for which nobody asks, the store does not know whether all idle, or none can reach it.

// wake has the first that asks in a while, and those after it for a Horizon, get no more than what is spare if
// all others that send their parts without the store could not reach it: see Request.GoesOn.
func (l *Ledger) wake(r *Request, m *member, now monotime.Time) {
	if now < l.learnsUntil {
		l.hear(r, m, now)
		return
	}
	if len(r.Asks) == 0 || now <= max(l.silent().Add(r.Horizon), l.lastSlot, l.heldUntil).Add(r.SlotLife) {
		return
	}
	since := l.served.Add(-SharingFor)
	others := l.othersShare(r, since)
	if others == 0 {
		return
	}
	for p := range l.places {
		o := &l.places[p]
		o.spare, o.part = l.spare(o, now, int64(others), int64(l.activeAfter(since)))
	}
	l.learnsUntil, l.unheard, l.cut = now.Add(r.Horizon), others, false
}

// silent is since when nobody has asked for anything, as far as that matters: of a bucket that was lost, since
// when nobody has called, though nothing was to be handed out until later.
func (l *Ledger) silent() monotime.Time { return min(l.served, l.lastUsed) }

// othersShare is how many members beside the one that asks send their parts without the store, of those that
// were active after an instant.
func (l *Ledger) othersShare(r *Request, since monotime.Time) (n int) {
	for name, m := range l.members {
		if m.goesOn && m.activeTill > since && name != r.Member {
			n++
		}
	}
	return n
}

// hear has the part of a member be there, too, which asks and had the store all the time. When all were heard,
// all is there.
func (l *Ledger) hear(r *Request, m *member, now monotime.Time) {
	woke := l.learnsUntil.Add(-r.Horizon)
	if l.unheard == 0 || r.Outage || !m.goesOn || m.at >= woke || m.activeTill <= woke.Add(-SharingFor) {
		return // it is none of the others, or was heard
	}
	for p := range l.places {
		l.places[p].spare += l.places[p].part
	}
	if l.unheard--; l.unheard == 0 {
		l.learnsUntil, l.served = now, now
	}
}

// spare is what others leave of a quota of which each has its part, if so many members share the bucket; and
// that part. It is negative if their parts are more than what is left. See unsure: then it is no more than what
// was spare, and came since.
func (l *Ledger) spare(o *place, now monotime.Time, others, among int64) (spare, part int64) {
	if b, ok := o.ledger.(*slot.Bucket); ok {
		// They had nothing when this one was served last, and got 9/10 of their shares of what came since, but
		// for what is beyond their parts of the burst.
		burst, since := max(partOf(o.quota.Burst, among), 1), now.Sub(l.served)
		leave := func(others int64) int64 {
			taken := monotime.Scale(since, 9*others, 10*among)
			return min(b.Room(now.Add(-taken)), o.quota.Burst-others*burst)
		}
		spare = leave(others)
		if o.quota.Burst <= others { // which cannot be divided
			spare = max(spare, 1)
		}
		part = max(leave(1)-spare, 0) / max(others-1, 1) // of the last one it does not matter
		if came := int64(monotime.Scale(since, o.quota.N, int64(o.quota.Per))); came <= o.quota.Burst {
			if n := b.Room(now) - others*partOf(came, among); n > spare { // these shares are no whole tokens
				spare, part = n, partOf(came, among)
			}
		}
		if l.unsure() {
			came := monotime.Scale(since-monotime.Scale(since, 9*others, 10*among), o.quota.N, int64(o.quota.Per))
			spare = min(spare, max(o.spare, 0)+int64(came))
		}
		return spare, part
	}
	// Whatever they used before, each sends no more than its part of N in any Per without the store. Until Per
	// has passed, that is no more than it used before, and its part of what was left.
	part = partOf(o.quota.N, among)
	spare = o.ledger.Left(now) - others*part
	if now.Sub(l.served) <= o.quota.Per {
		left := o.ledger.Left(l.lastUsed)
		n := left - others*partOf(left, among)
		if l.unsure() {
			n = min(n, o.spare)
		}
		if n > spare {
			spare, part = n, partOf(left, among)
		}
	}
	return spare, part
}

// unsure reports whether the others may not have told what they sent before the silence: those that were to
// wait did not come back when their time was over, so nobody may have been able to.
func (l *Ledger) unsure() bool { return l.cut && l.served < l.learnsUntil }

// partOf is 9/10 of one of so many parts, rounded down.
func partOf(n, among int64) int64 {
	return n - int64(monotime.Scale(time.Duration(n), 10*among-9, 10*among))
}

// hearOutage has nothing be handed out for a Horizon, if a member sent without the store, and nobody was served
// for so long.
func (l *Ledger) hearOutage(r *Request, now monotime.Time) {
	switch {
	case !r.Outage:
		return
	case now.Sub(l.silent()) > r.Horizon/2: // which is how long a member tries, before it sends without the store
		l.learnsUntil, l.served = now.Add(r.Horizon), max(l.served, now)
	case now < l.learnsUntil && l.unheard > 0: // as was guessed
	default:
		return
	}
	l.unheard, l.fresh, l.cut = 0, false, true
	for p := range l.places {
		l.places[p].spare = 0
	}
	// What a bucket had when nobody could ask is unknown. What goes from now on is told, and charged.
	l.startAfter(min(max(now, l.lastSlot), l.learnsUntil), monotime.Longest)
}

// spares reports whether a cost may be handed out, although others may have something to tell.
func (l *Ledger) spares(cost []int64, now monotime.Time) bool {
	if now >= l.learnsUntil {
		return true
	}
	for p, n := range cost {
		if n > 0 && l.places[p].binds && n > l.places[p].spare {
			return false
		}
	}
	return l.unheard > 0
}

// hearLost notes that a member which asks had the bucket when it was lost. One that has asked for nothing in
// SharingFor is not among those which it, and others, counted.
func (l *Ledger) hearLost(r *Request, m *member) {
	switch {
	case !l.otherLife(r) || r.Sharing > 0 && r.Since > SharingFor:
	case r.Sharing <= 0:
		l.loss.had = tooMany
	default:
		l.loss.had, m.had = max(l.loss.had, min(r.Sharing, tooMany)), true
	}
}

// tell notes that a member has told all of before the loss.
func (l *Ledger) tell(r *Request, m *member) {
	if m.had && !l.otherLife(r) {
		m.had = false
		l.loss.told++
	}
}

// trust has nothing be assumed of windows of which all have told that were counted. One that came just before
// the loss, and of which not all others had heard, has a quarter of the Horizon to say so. Of buckets nobody
// tells: they remain empty until the Horizon is over.
func (l *Ledger) trust(r *Request, now monotime.Time) {
	if !l.loss.all() || now < l.born.Add(r.Horizon/4) {
		return
	}
	if l.parted == l.born { // nobody has left since
		l.parted = 0
	}
	for p := range l.places {
		o := &l.places[p]
		counts := o.quota.Per
		if o.quota.Kind == quota.EstimatedWindow {
			counts = monotime.Scale(counts, 2, 1)
		}
		if o.quota.Kind != quota.TokenBucket && counts <= SharingFor {
			o.ledger.Trust(now, o.noneBefore)
			o.noneBefore = min(o.noneBefore, now)
		}
	}
	if l.learnsUntil == l.born.Add(r.Horizon) { // else it waits for something else
		l.learnsUntil, l.served = min(l.learnsUntil, now), min(l.served, now)
	}
}
