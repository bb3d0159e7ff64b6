package lease

import (
	"cmp"
	"math"
	"slices"

	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/slot"
)

// hand is the slots in hand.
type hand struct {
	slots       []*heldSlot   // in the order in which they may be used
	sum         []int         // what is left of them together
	firstExpiry monotime.Time // when the first of them expires; not before that
	epoch       int           // slots of an older one cannot come back
}

// heldSlot is a slot in hand.
type heldSlot struct {
	id          int64
	from, until monotime.Time
	left        []int
	epoch       int
}

// reset forgets all slots, whose costs were of other quotas than there are now.
func (h *hand) reset(quotas int) {
	h.slots, h.sum = nil, make([]int, quotas)
	h.epoch++
}

// put puts a slot in hand.
func (h *hand) put(s *heldSlot) {
	i, _ := slices.BinarySearchFunc(h.slots, s, func(a, b *heldSlot) int { return cmp.Compare(a.from, b.from) })
	h.slots = slices.Insert(h.slots, i, s)
	slot.Add(h.sum, s.left, 1)
	h.firstExpiry = min(h.firstExpiry, s.until)
}

// restore puts back what was taken of a slot.
func (h *hand) restore(s *heldSlot, cost []int) {
	if slot.Empty(s.left) {
		slot.Add(s.left, cost, 1)
		h.put(s)
		return
	}
	slot.Add(s.left, cost, 1)
	slot.Add(h.sum, cost, 1)
}

// remove takes the slots out of hand for which that is true, and returns them.
func (h *hand) remove(which func(*heldSlot) bool) (removed []*heldSlot) {
	h.slots = slices.DeleteFunc(h.slots, func(s *heldSlot) bool {
		if !which(s) {
			return false
		}
		slot.Add(h.sum, s.left, -1)
		removed = append(removed, s)
		return true
	})
	return removed
}

// expire takes out of hand the slots that are too old to be used, and returns them.
func (h *hand) expire(now monotime.Time) (expired []*heldSlot) {
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

// take takes as much of n as may be used now, subtracts that from n, and reports of which
// slot how much.
func (h *hand) take(now monotime.Time, n []int, took func(*heldSlot, []int)) {
	for _, s := range h.slots {
		if s.from > now || slot.Empty(n) {
			break
		}
		if s.until < now {
			continue
		}
		cost := make([]int, len(n))
		for i := range n {
			cost[i] = min(n[i], s.left[i])
		}
		if !slot.Empty(cost) {
			slot.Add(n, cost, -1)
			slot.Add(s.left, cost, -1)
			slot.Add(h.sum, cost, -1)
			took(s, cost)
		}
	}
	h.slots = slices.DeleteFunc(h.slots, func(s *heldSlot) bool { return slot.Empty(s.left) })
}

// first returns the first instant, not before at, at which the slots suffice for n; ok is
// false if they never do.
func (h *hand) first(at, now monotime.Time, n []int) (first monotime.Time, ok bool) {
	if !slot.Suffices(h.sum, n) {
		return 0, false
	}
	var buf costs
	sum := buf[:0]
	for k, last := range h.slots {
		t := max(at, last.from)
		sum = append(sum[:0], last.left...)
		if last.until < max(t, now) {
			continue
		}
		for _, s := range h.slots[:k] {
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

// costs is room for a cost which need not be allocated.
type costs [8]int
