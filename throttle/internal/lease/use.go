package lease

import (
	"slices"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/slot"
	"github.com/gopacer/pacer/throttle/store"
)

// Use is what of a slot a grant took.
type Use struct {
	of   *Lease
	slot *heldSlot
	cost []int
}

// Take charges a claim, which was due at an instant and goes now, to the slots in hand, and
// what these do not suffice for to what goes without. It appends what it took to uses. So
// many others wait.
func (s *Lease) Take(uses []Use, due, now monotime.Time, d *limit.Demand, urgent bool, waiting int) []Use {
	var buf costs
	n := s.cost(buf[:0], d, !urgent)
	s.demand.grant(now, waiting)
	if slot.Empty(n) {
		return uses
	}
	if s.own == len(s.quotas) || !urgent { // what is reserved is not got ahead
		s.demand.unit = append(s.demand.unit[:0], n...)
	}
	s.hand.take(now, n, func(h *heldSlot, cost []int) { uses = append(uses, Use{s, h, cost}) })
	if !slot.Empty(n) {
		s.excess(due, n)
	}
	return uses
}

// Return takes back what was taken, of those uses that are of this Lease.
func (s *Lease) Return(now monotime.Time, uses []Use) {
	for _, u := range uses {
		if u.of == s {
			s.unuse(now, u.slot, u.cost)
		}
	}
}

// Settle charges more to what goes without slots, and takes back less of what was taken.
func (s *Lease) Settle(now monotime.Time, uses []Use, more quota.Costs, less []limit.Part, urgent bool) {
	charge := make([]int, len(s.quotas))
	for i := range s.quotas {
		if i >= s.own && urgent {
			break
		}
		unit := limit.UnitName(&s.quotas[i])
		charge[i] = max(more[unit], 0)
		n := 0
		for _, p := range less {
			n += p.Cost[unit]
		}
		s.takeBack(now, uses, i, n)
	}
	if !slot.Empty(charge) {
		s.excess(now, charge)
	}
}

// takeBack takes back n of what was taken of a quota, the latest first.
func (s *Lease) takeBack(now monotime.Time, uses []Use, of, n int) {
	for j := len(uses) - 1; j >= 0 && n > 0; j-- {
		u := &uses[j]
		if u.of != s || u.slot.epoch != s.hand.epoch {
			continue
		}
		part := make([]int, len(s.quotas))
		part[of] = min(n, u.cost[of])
		if n -= part[of]; part[of] > 0 {
			u.cost[of] -= part[of]
			s.unuse(now, u.slot, part)
		}
	}
}

// unuse takes back what was taken of a slot: it can be used again here while it is good.
func (s *Lease) unuse(now monotime.Time, h *heldSlot, cost []int) {
	switch {
	case h.epoch != s.hand.epoch:
	case h.until < now:
		s.giveBack(now, h, cost)
	default:
		s.hand.restore(h, cost)
		s.lookAgain(now)
	}
}

// giveBack returns what was not used of a slot, which is not in hand, to the store.
func (s *Lease) giveBack(now monotime.Time, h *heldSlot, cost []int) {
	if h.epoch != s.hand.epoch || slot.Empty(cost) {
		return
	}
	if n := len(s.back); n > 0 && s.back[n-1].Slot == h.id {
		slot.Add(s.back[n-1].Cost, cost, 1)
	} else {
		s.back = append(s.back, store.Part{Slot: h.id, Cost: slices.Clone(cost)})
	}
	s.later(now.Add(Horizon))
}

// excess charges what goes beyond what was in hand.
func (s *Lease) excess(at monotime.Time, n []int) {
	if s.outage.took != nil {
		s.outage.take(at, n)
		return
	}
	if s.more == nil {
		s.more = make([]int, len(n))
	}
	slot.Add(s.more, n, 1)
	s.later(at.Add(Horizon))
}

// expire takes out of hand what is too old to be used.
func (s *Lease) expire(now monotime.Time) {
	for _, h := range s.hand.expire(now) {
		s.wasted += slot.Total(h.left)
		s.demand.line.count(now, 0) // nobody was there
		if one := s.work(s.demand.unit); one > 0 {
			s.demand.expired.count(now, float64(s.work(h.left))/float64(one), time.Second)
		}
		s.giveBack(now, h, h.left)
	}
}

// lookAgain has what is in hand looked at when the last of it is too old: it may be all
// that there is to tell.
func (s *Lease) lookAgain(now monotime.Time) {
	if n := len(s.hand.slots); n > 0 {
		s.later(max(s.hand.slots[n-1].until, now) + 1)
	}
}
