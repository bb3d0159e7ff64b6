package lease

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/slot"
)

// heldSlots is the slots in hand, in the order in which they may be used.
type heldSlots struct {
	list        []*heldSlot
	inHand      []int64       // what is left of all slots together, of each quota
	firstExpiry monotime.Time // no slot expires before
	epoch       int           // the store takes back nothing of slots of an older epoch
	slotLife    time.Duration // how long after its instant a slot is used at the most
}

// heldSlot is the right to send what is left of it, from an instant until another, both included.
type heldSlot struct {
	id          int64 // what the store calls the slot
	from, until monotime.Time
	at          monotime.Time // its instant, at the earliest
	asked       monotime.Time // when the request was sent
	left        []int64       // of each quota
	debt        []int64       // of it, what is above the burst of each quota; nil if nothing is
	epoch       int
}

// aboveBurst is what a cost is above the bursts of quotas with Debt; nil if it is above none.
func aboveBurst(qs quota.Quotas, cost []int64) (debt []int64) {
	for i := range qs {
		if n := cost[i] - qs[i].Burst; qs[i].Debt && n > 0 {
			if debt == nil {
				debt = make([]int64, len(cost))
			}
			debt[i] = n
		}
	}
	return debt
}

// dropDebt takes out of hand the debt of a slot of which something is left, and returns it. A slot above a
// burst was handed out when the burst was there. So only a claim that takes all of it may get into debt: others
// find no more than the burst.
func (h *heldSlots) dropDebt(s *heldSlot) (dropped []int64) {
	if s.debt == nil {
		return nil
	}
	dropped = make([]int64, len(s.left))
	for i := range dropped {
		dropped[i] = min(s.left[i], s.debt[i])
	}
	slot.Add(s.debt, dropped, -1)
	slot.Add(s.left, dropped, -1)
	slot.Add(h.inHand, dropped, -1)
	return dropped
}

// reset forgets all slots. From now on there are so many quotas.
func (h *heldSlots) reset(quotas int) {
	h.list, h.inHand = nil, make([]int64, quotas)
	h.epoch++
}

// put puts a slot in hand.
func (h *heldSlots) put(s *heldSlot) {
	i, _ := slices.BinarySearchFunc(h.list, s, func(a, b *heldSlot) int { return cmp.Compare(a.from, b.from) })
	h.list = slices.Insert(h.list, i, s)
	slot.Add(h.inHand, s.left, 1)
	h.firstExpiry = min(h.firstExpiry, s.until)
}

// restore puts back what was taken of a slot. A slot of which nothing was left is no longer in
// the list. Any other still is: a slot of which something was taken has begun, so that only expiry,
// after which nothing is restored, or Farewell has removed it.
func (h *heldSlots) restore(s *heldSlot, cost []int64) {
	if slot.Empty(cost) {
		return // else an empty slot would be put in the list, and again when something of it comes back
	}
	if slot.Empty(s.left) {
		slot.Add(s.left, cost, 1)
		h.put(s)
		return
	}
	slot.Add(s.left, cost, 1)
	slot.Add(h.inHand, cost, 1)
}

// remove takes those slots out of hand for which which is true, and returns them.
func (h *heldSlots) remove(which func(*heldSlot) bool) (removed []*heldSlot) {
	h.list = slices.DeleteFunc(h.list, func(s *heldSlot) bool {
		if !which(s) {
			return false
		}
		slot.Add(h.inHand, s.left, -1)
		removed = append(removed, s)
		return true
	})
	return removed
}

// expire takes out of hand the slots that can no longer be used, and returns them.
func (h *heldSlots) expire(now monotime.Time) (expired []*heldSlot) {
	if now <= h.firstExpiry {
		return nil
	}
	h.firstExpiry = monotime.Time(math.MaxInt64)
	return h.remove(func(s *heldSlot) bool {
		if s.until >= now {
			h.firstExpiry = min(h.firstExpiry, s.until)
			return false
		}
		return true
	})
}

// take takes as much of n as may be used now, and subtracts it from n. It calls took for each
// slot, with what was taken of the slot.
func (h *heldSlots) take(now monotime.Time, n []int64, took func(*heldSlot, []int64)) {
	for _, s := range h.list {
		if s.from > now || slot.Empty(n) {
			break
		}
		if s.until < now {
			continue
		}
		cost := make([]int64, len(n))
		for i := range n {
			cost[i] = min(n[i], s.left[i])
		}
		if !slot.Empty(cost) {
			slot.Add(n, cost, -1)
			slot.Add(s.left, cost, -1)
			slot.Add(h.inHand, cost, -1)
			took(s, cost)
		}
	}
	h.list = slices.DeleteFunc(h.list, func(s *heldSlot) bool { return slot.Empty(s.left) })
}

// first returns the first instant, not before at, at which the slots suffice for n; ok is
// false if they never do. Slots that have expired by now do not count.
func (h *heldSlots) first(at, now monotime.Time, n []int64) (first monotime.Time, ok bool) {
	if !slot.Suffices(h.inHand, n) {
		return 0, false
	}
	var buf costs
	sum := buf[:0]
	for k, last := range h.list {
		t := max(at, last.from)
		sum = append(sum[:0], last.left...)
		if last.until < max(t, now) {
			continue
		}
		for _, s := range h.list[:k] {
			if !slot.Suffices(sum, n) && s.until >= max(t, now) {
				slot.Add(sum, s.left, 1)
			}
		}
		if slot.Suffices(sum, n) {
			return t, true
		}
	}
	return 0, false
}

// usable is what may be used now, of all slots together.
func (h *heldSlots) usable(now monotime.Time) []int64 {
	sum := make([]int64, len(h.inHand))
	for _, s := range h.list {
		if s.from <= now && now <= s.until {
			slot.Add(sum, s.left, 1)
		}
	}
	return sum
}

// costs is a buffer for a cost, so that the cost need not be allocated.
type costs [8]int64
