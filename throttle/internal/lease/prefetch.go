package lease

import (
	"slices"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/store"
)

// This file is about slots for claims that may come. How many is measured as work: the time in
// which what the slots cost comes back.

// share returns what each member may have in hand, as work: the Horizon is shared evenly.
func (l *Lease) share() time.Duration { return Horizon / time.Duration(max(l.last.members, 1)) }

// prefetchTarget returns how much to have in hand for claims that may come, as work. If demand is
// steady, all members want their share, whatever they send: see store.Ask. Else half of what will
// be used while slots can be used, grants per second · (SlotLife − round trip): the other half
// might expire.
func (l *Lease) prefetchTarget(now monotime.Time) time.Duration {
	one := l.work(l.demand.unit)
	if one == 0 || l.outage.since != 0 || now < l.noPrefetch {
		return 0
	}
	scale := l.demand.prefetchShare(now)
	if l.demand.backlog.steady() {
		return time.Duration(float64(l.share()) * scale)
	}
	n := l.demand.grants.now(now, time.Second) * (l.slotLife - l.trips.last()).Seconds()
	if burst := l.demand.burst.now(now, moment); burst >= many {
		n = max(n, 2*burst) // of which half is the burst once more
	}
	switch {
	case n >= 2:
		return time.Duration(n / 2 * scale * float64(one))
	case n*scale*scale >= 1 && one <= l.share() && l.last.next.Sub(l.last.at) <= 2*one:
		// One slot will likely be used, the store would hand it out ahead, and nobody waits for
		// it: the last reply had the next slot at once or nearly. Where claims come at random, so
		// few slots expire in part by luck. The square keeps that under a tenth of what is used;
		// it would be an eighth by scale alone, and up to 0.3 without it.
		return one
	}
	return 0
}

// low reports whether so little is in hand that more should be asked for: a quarter of the target,
// and this member's part of two round trips, since as much is used until a reply is here; but never
// more than half of the target, target/4 + 2·trip/members ≤ target/2.
func (l *Lease) low(inHand, target time.Duration) bool {
	return inHand <= min(target/4+2*l.trips.last()/time.Duration(max(l.last.members, 1)), target/2)
}

// prefetchNow reports whether to make a call for prefetching alone. If many claims went just now,
// they may be back at once: then the call waits for a round trip, a millisecond at most, so that
// one call is for both.
func (l *Lease) prefetchNow(now monotime.Time) bool {
	if l.demand.burst.now(now, moment) < many {
		return true
	}
	if l.prefetchAlone == 0 {
		l.prefetchAlone = now
	}
	until := l.prefetchAlone.Add(min(l.trips.last(), time.Millisecond))
	if until > now {
		l.wakeBy(until)
	}
	return until <= now
}

// prefetchAsk asks for what is missing from the target, if anything is. A slot that is so far
// ahead that the demand may be over is of no use.
func (l *Lease) prefetchAsk(inHand, target time.Duration) (ask store.Ask, ok bool) {
	one := l.work(l.demand.unit)
	if one <= 0 || inHand >= target {
		return ask, false
	}
	within := l.slotLife
	if l.demand.backlog.steady() {
		within = 2 * Horizon
	}
	count := (target - inHand + one - 1) / one
	return store.Ask{Cost: slices.Clone(l.demand.unit), Count: int(count), Within: within}, true
}
