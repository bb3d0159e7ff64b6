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

// when counts what comes after t too: then each window that t is in holds.
func (w *slotWindow) when(t instant, n int) instant {
	at, _ := w.log.when(max(t, w.order), 0, n)
	return at
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
