package lease

import (
	"slices"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/slot"
	"github.com/gopacer/pacer/throttle/store"
)

// This file is what goes back to the store: slots that expired, and slots that the line does not
// need.

// giveBack returns an unused part of a slot, which is not in hand, to the store. The store is
// told with the next call, within a Horizon.
func (l *Lease) giveBack(now monotime.Time, s *heldSlot, cost []int64) {
	if s.epoch != l.slots.epoch || slot.Empty(cost) {
		return
	}
	l.wakeBy(now.Add(Horizon))
	l.unsent.giveBack(s.id, cost)
}

// giveBackSoon is giveBack of a part of a claim that cost less: the store is told at once if all of these are
// large, since those who wait may go earlier then.
func (l *Lease) giveBackSoon(now monotime.Time, s *heldSlot, cost []int64) {
	l.giveBack(now, s, cost)
	l.settledLow = now
	if l.unsent.settled += l.work(cost); l.unsent.settled >= large {
		l.mustCall = true
		l.wakeBy(now)
	}
}

// large is how much work is worth a call of the store.
const large = Horizon / 8

// expire gives back the slots in hand that can no longer be used.
func (l *Lease) expire(now monotime.Time) {
	for _, s := range l.slots.expire(now) {
		l.wasted += slot.Total(s.left)
		units := 0.0
		if one := l.work(l.demand.unit); one > 0 {
			units = float64(l.work(s.left)) / float64(one)
		}
		l.demand.expire(now, units)
		l.giveBack(now, s, s.left)
	}
}

// shorten has slots in hand be used no longer than a request tells that is made now: where SlotLife fell, the
// store counts on that. Those of which nobody knows exactly enough when they are go back.
func (l *Lease) shorten(now monotime.Time) {
	if l.slots.slotLife == l.slotLife {
		return
	}
	l.slots.slotLife = l.slotLife
	for _, s := range l.slots.remove(func(s *heldSlot) bool {
		s.until = min(s.until, s.at.Add(l.slotLife))
		l.slots.firstExpiry = min(l.slots.firstExpiry, s.until)
		return s.until < max(s.from, now)
	}) {
		l.giveBack(now, s, s.left)
	}
}

// wakeAtExpiry has Tick called when the last slot in hand has expired: the store may have to be
// told of that alone.
func (l *Lease) wakeAtExpiry(now monotime.Time) {
	if n := len(l.slots.list); n > 0 {
		l.wakeBy(max(l.slots.list[n-1].until, now) + 1)
	}
}

// tidy gives back slots in hand: those that the line no longer needs, and those that are far
// ahead if the store may have earlier ones.
func (l *Lease) tidy(now monotime.Time, head *Waiter, line Line) {
	if l.lineShrunk {
		l.lineShrunk = false
		l.trim(now, line)
	}
	if head != nil && l.earlierRoom {
		l.returnFarSlots(now, head)
	}
}

// trim gives back the last slots in hand, as long as the others suffice for the line and for
// prefetching. It keeps slots that are due before the store could hand them out anew.
func (l *Lease) trim(now monotime.Time, line Line) {
	need, target := l.needed(line), l.prefetchTarget(now)
	h := &l.slots
	for i := len(h.list) - 1; i >= 0 && h.list[i].from > now.Add(l.trips.last()); i-- {
		s := h.list[i]
		slot.Add(h.inHand, s.left, -1)
		if !slot.Suffices(h.inHand, need) || l.work(h.inHand) < target {
			slot.Add(h.inHand, s.left, 1)
			return
		}
		l.giveBack(now, s, s.left)
		h.list, l.mustCall = slices.Delete(h.list, i, i+1), true
	}
}

// returnFarSlots gives back the slots in hand that are far ahead if the head of the line needs one of them: the
// same call asks again, and what it gets is not later. Far is a tenth of the Horizon, and this happens once in
// so long at most; if claims settle low, which brings room all the time, it is what is not near to a store, and
// twice as often. Of many members that hear of the same room few find any: so where they are more than 40, each
// does so that much more seldom, but each second or so: up to a thousand of them together make 1600 such calls
// a second at the most.
func (l *Lease) returnFarSlots(now monotime.Time, head *Waiter) {
	reach := 2 * slot.Near(Horizon)
	if l.settledLow != 0 && now.Sub(l.settledLow) < Horizon {
		reach = slot.Near(Horizon)
	}
	if again := l.farReturned.Add(reach * time.Duration(min(max(l.last.members, 40), 1000)) / 40); again > now && l.farReturned != 0 {
		l.wakeBy(again)
		return
	}
	l.earlierRoom = false
	far := now.Add(reach)
	var buf costs
	if at, ok := l.slots.first(now, now, l.cost(buf[:0], head.Demand, head.Urgent)); !ok || at <= far {
		return
	}
	l.farReturned = now
	for _, s := range l.slots.remove(func(s *heldSlot) bool { return s.from > far }) {
		l.giveBack(now, s, s.left)
	}
}

// known is until when there may be slots, by the latest reply: a Horizon after the last of which the store
// knows, for round trips.
func (l *Lease) known() monotime.Time { return l.last.end.Add(Horizon) }

// returnUnknown gives back the slots in hand that are farther ahead than any of which the store knows: whoever
// waited for what a broken store once said, would go on to wait when that is right again. Where the store has
// lost slots that it is still to be told of, it does not know the last one. What counts is the earliest instant
// that a slot may have: the reply that had it may have taken longer than this one.
func (l *Lease) returnUnknown(now monotime.Time, reply *store.Reply) {
	last := l.known()
	if n := len(l.slots.list); n == 0 || l.slots.list[n-1].from <= last || reply.Lost || len(l.unsent.own) > 0 {
		return
	}
	for _, s := range l.slots.remove(func(s *heldSlot) bool { return s.at > last }) {
		l.giveBack(now, s, s.left)
	}
}
