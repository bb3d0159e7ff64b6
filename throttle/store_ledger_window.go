package throttle

import (
	"slices"
	"sort"
	"time"
)

// slotWindow is a window of what went in the last Per and Late. Slots that are soon are in order, so
// that it need not remember what has left when they come.
type slotWindow struct {
	log   sliding
	quota Quota
	soon  time.Duration
	order instant // no slot is before
}

func (w *slotWindow) set(q Quota, late, horizon time.Duration) {
	w.quota, w.soon = q, 2*horizon
	w.log.n, w.log.per, w.log.cell = int64(q.N), q.per()+late, late
	if q.Kind == SlidingWindow {
		w.log.cell = q.per() / time.Duration(q.cells())
	}
}

func (w *slotWindow) when(t instant, n int) instant {
	live := w.log.entries[w.log.head:]
	t = max(t, w.order)
	for {
		later := sort.Search(len(live), func(i int) bool { return live[i].first > t })
		if s := w.leaves(t, later, n); s > t {
			t = s // some that are later may not be then
		} else if t = w.bears(t, later, n); t == s {
			return t
		}
	}
}

// leaves returns when, at t or later, so much has left of all up to the later ones that there is room for n.
func (w *slotWindow) leaves(t instant, later, n int) instant {
	live := w.log.entries[w.log.head : w.log.head+later]
	before := w.log.left
	if later > 0 {
		before = live[later-1].number
	}
	before += cost(n) - w.log.n
	if before <= w.log.left {
		return t
	}
	i := sort.Search(later, func(i int) bool { return live[i].number >= before })
	return max(t, live[i].last.add(w.log.per))
}

// bears returns t if all later ones remain right with n at t, or the first for which it is too much.
func (w *slotWindow) bears(t instant, later, n int) instant {
	live := w.log.entries[w.log.head:]
	for _, e := range live[later:] {
		if e.first >= t.add(w.log.per) {
			break
		}
		left := w.log.left
		if i := sort.Search(later, func(i int) bool { return live[i].last.add(w.log.per) > e.first }); i > 0 {
			left = live[i-1].number
		}
		if e.number-left+cost(n) > w.log.n {
			return e.last
		}
	}
	return t
}

func (w *slotWindow) take(now, slot instant, n int) {
	s := &w.log
	if slot.sub(now) > w.soon {
		s.purge(now)
	} else {
		s.purge(slot)
		w.order = max(w.order, slot)
	}
	live := s.entries[s.head:]
	i := sort.Search(len(live), func(i int) bool { return live[i].last >= slot })
	if i == len(live) {
		s.add(slot, n)
		return
	}
	switch {
	case live[i].first <= slot:
	case i > 0 && slot.sub(live[i-1].first) <= s.cell:
		i--
		live[i].last = slot
	default:
		before := s.left
		if i > 0 {
			before = live[i-1].number
		}
		s.entries = slices.Insert(s.entries, s.head+i, entry{slot, slot, before})
	}
	for j := s.head + i; j < len(s.entries); j++ {
		s.entries[j].number += cost(n)
	}
}

func (w *slotWindow) owe(now instant, n int)        { w.take(now, max(now, w.order), n) }
func (w *slotWindow) give(now, slot instant, n int) { w.log.give(now, slot, n) }

func (w *slotWindow) drain(t instant) {
	const parts = 10
	n := int64(w.quota.N)
	for k := int64(1); k <= parts; k++ {
		if number := n * k / parts; number > w.log.number() {
			at := t.add(-w.log.per).add(w.quota.per() * time.Duration(k) / parts)
			w.log.entries = append(w.log.entries, entry{at, at, number})
		}
	}
}
