package throttle

import "time"

// slotGrid is a window of the clock, in the last Late of which there are no slots.
type slotGrid struct {
	limit
	early limit   // what was before the slots of a later window
	until instant // the end of the window of early

	wall      int64
	per, late time.Duration
	quota     Quota
}

func (g *slotGrid) set(q Quota, late, _ time.Duration) {
	g.quota, g.per, g.late = q, q.per(), late
	for _, l := range []limit{g.limit, g.early} {
		switch w := l.(type) {
		case *fixed:
			w.n = int64(q.N)
		case *estimated:
			w.n = int64(q.N)
		}
	}
}

func (g *slotGrid) when(t instant, n int) instant {
	if t < g.until {
		s, _ := g.early.when(t, 0, n)
		if s = max(s, lastOf(g.early)); s.add(g.late) < g.until && g.bears(n) {
			return s
		}
	}
	for t = max(t, lastOf(g.limit)); ; {
		t, _ = g.limit.when(t, 0, n)
		end := tick(t, g.per, g.wall).add(g.per)
		if t.add(g.late) < end {
			return t
		}
		t = end
	}
}

// bears reports whether what was handed out after until remains right if n are added before it:
// surely if what is in both windows is no more than N.
func (g *slotGrid) bears(n int) bool {
	w, ok := g.limit.(*estimated)
	if !ok {
		return true
	}
	next := w.current // of the window that begins at until
	switch w.start {
	case g.until:
	case g.until.add(g.per):
		next = w.previous
	default:
		return false // it is not known
	}
	return g.early.(*estimated).current+next+cost(n) <= w.n
}

func (g *slotGrid) take(now, slot instant, n int) {
	if slot < g.until {
		g.early.take(slot, slot, n)
		if w, ok := g.limit.(*estimated); ok && w.start == g.until {
			w.previous += cost(n)
		}
		return
	}
	if end := tick(now, g.per, g.wall).add(g.per); slot >= end && g.until <= now {
		g.early, g.until = copyWindow(g.limit), end
	}
	g.limit.take(slot, slot, n)
}

func (g *slotGrid) owe(now instant, n int) {
	last := lastOf(g.limit)
	if now < g.until {
		last = lastOf(g.early)
	}
	g.take(now, max(now, last), n)
}

func (g *slotGrid) give(now, slot instant, n int) {
	if slot < g.until {
		g.early.give(now, slot, n)
	}
	g.limit.give(now, slot, n)
}

func (g *slotGrid) drain(t instant) {
	start := tick(t, g.per, g.wall)
	n := int64(g.quota.N)
	used := int64(scale(time.Duration(n), int64(t.sub(start)), int64(g.per)))
	switch w := g.limit.(type) {
	case *fixed:
		w.start, w.used, w.last = start, used, t
	case *estimated:
		w.start, w.current, w.previous, w.last = start, used, n, t
	}
}

// lastOf is when something went last.
func lastOf(l limit) instant {
	if w, ok := l.(*fixed); ok {
		return w.last
	}
	return l.(*estimated).last
}

// copyWindow copies a window.
func copyWindow(l limit) limit {
	if w, ok := l.(*fixed); ok {
		c := *w
		return &c
	}
	c := *l.(*estimated)
	return &c
}
