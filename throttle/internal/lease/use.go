package lease

import (
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/slot"
)

// Use is what a grant took of a slot.
type Use struct {
	of   *Lease
	slot *heldSlot
	cost []int64
}

// Take charges a claim, which was due at an instant and goes now, to the slots in hand. If these
// do not suffice, the store is told of the rest. Take appends to uses what it took of slots. So
// many other claims wait.
func (l *Lease) Take(uses []Use, due, now monotime.Time, d *limit.Demand, urgent bool, waiting int) []Use {
	var buf costs
	n := l.cost(buf[:0], d, urgent)
	l.demand.grant(now, waiting)
	if slot.Empty(n) {
		return uses
	}
	l.went(now, n, 1)
	if l.forAll == len(l.quotas) || !urgent { // what is reserved is not prefetched
		l.demand.unit = append(l.demand.unit[:0], n...)
	}
	l.slots.take(now, n, func(s *heldSlot, cost []int64) {
		uses = append(uses, Use{l, s, cost})
		l.giveBack(now, s, l.slots.dropDebt(s))
	})
	if !slot.Empty(n) {
		l.takeWithoutSlot(due, n)
	}
	return uses
}

// takeWithoutSlot charges what goes without a slot: to this process's part while the store cannot
// be reached, else to the next call, within a Horizon.
func (l *Lease) takeWithoutSlot(at monotime.Time, n []int64) {
	if l.outage.went != nil {
		l.outage.take(at, n)
		return
	}
	l.unsent.overdraw(n)
	l.wakeBy(at.Add(Horizon))
}

// Return takes back all that a claim took, as far as its uses are of this Lease.
func (l *Lease) Return(now monotime.Time, uses []Use) {
	for _, u := range uses {
		if u.of == l {
			l.takeBack(now, u.slot, u.cost)
		}
	}
}

// Settle charges what a claim cost more than its uses, and takes back what it cost less.
func (l *Lease) Settle(now monotime.Time, uses []Use, more quota.Costs, less []limit.Part, urgent bool) {
	charge := make([]int64, len(l.quotas))
	for i := range l.quotas {
		if l.none || i >= l.forAll && urgent {
			break
		}
		unit := limit.UnitName(&l.quotas[i])
		charge[i] = max(more[unit], 0)
		var n int64
		for _, p := range less {
			n += p.Cost[unit]
		}
		l.takeBackOf(now, uses, i, n)
	}
	if !slot.Empty(charge) {
		l.went(now, charge, 1)
		l.takeWithoutSlot(now, charge)
	}
}

// takeBackOf takes back n of what uses took of the i-th quota, the latest use first.
func (l *Lease) takeBackOf(now monotime.Time, uses []Use, i int, n int64) {
	for j := len(uses) - 1; j >= 0 && n > 0; j-- {
		u := &uses[j]
		if u.of != l || u.slot.epoch != l.slots.epoch {
			continue
		}
		part := make([]int64, len(l.quotas))
		part[i] = min(n, u.cost[i])
		if n -= part[i]; part[i] > 0 {
			u.cost[i] -= part[i]
			l.takeBack(now, u.slot, part)
		}
	}
}

// takeBack takes back what was taken of a slot: into the hand if the slot can still be used, and is
// of use, else for the store.
func (l *Lease) takeBack(now monotime.Time, s *heldSlot, cost []int64) {
	if s.epoch != l.slots.epoch {
		return // the store has lost the slot, or the quotas were replaced
	}
	l.went(now, cost, -1)
	s.until = min(s.until, s.at.Add(l.slots.slotLife)) // see shorten
	switch {
	case s.until < now:
		l.giveBackSoon(now, s, cost)
	default:
		l.slots.restore(s, cost)
		l.giveBack(now, s, l.slots.dropDebt(s))
		if l.work(s.left) >= large && !l.usable(now) {
			l.slots.remove(func(o *heldSlot) bool { return o == s })
			l.giveBackSoon(now, s, s.left)
			clear(s.left)
		}
		l.wakeAtExpiry(now)
	}
}

// usable reports whether what may be used now suffices for a claim like the last one.
func (l *Lease) usable(now monotime.Time) bool {
	if len(l.demand.unit) != len(l.quotas) {
		return true
	}
	at, ok := l.slots.first(now, now, l.demand.unit)
	return ok && at <= now
}
