package throttle

import "time"

// unsaidReset is when to look again at a limit that is used up and whose server
// does not say when it will be restored.
const unsaidReset = time.Second

// restate narrows down when the limit will be restored. Every statement is an
// interval: nobody says whether it was rounded up or down, and the answer was on
// its way for a while. The truth is in all of them, so they are intersected; as
// most servers round up, all are taken to, until one says that nothing remains
// and that the reset is now, or is seen not to hold its word. A statement that
// does not meet what was known speaks of another reset and takes its place. It
// reports whether the reset moved on before it came.
func (w *window) restate(g *Grant, now instant, st *Statement) (moved bool) {
	if !st.ResetKnown {
		if w.late <= now {
			w.early, w.late = 0, 0
		}
		return false
	}
	w.step = min(max(st.Resolution, 0), ages)
	if !w.floors && st.Reset <= 0 && st.Remaining <= 0 && w.step > 0 {
		w.floor()
	}
	early, late := w.interval(g, now, st)
	passed := st.Reset > 0 && g.sent >= w.late
	if w.late == 0 || passed || early > w.late || late < w.early {
		// By less than half of what one token amounts to, clocks drift apart.
		moved = now < w.late && float64(early-w.late)*2*float64(w.limit) > float64(w.late-now)
		w.early, w.late, w.unsure = early, late, now.sub(g.sent)/2
		w.opened = now.add(-w.unsure)
		w.spans++
		w.saidTo = nil
		return moved
	}
	w.early = max(w.early, early)
	if late < w.late {
		w.late = late
	}
	return false
}

// interval returns before and after which the reset is not that a statement speaks of.
func (w *window) interval(g *Grant, now instant, st *Statement) (early, late instant) {
	in, step := min(max(st.Reset, 0), ages), min(max(st.Resolution, 0), ages)
	early, late = g.sent.add(in-step), now.add(in)
	switch {
	case !st.Absolute:
	case -now.sub(g.sent) <= st.Skew && st.Skew <= time.Second:
		late = g.sent.add(in - st.Skew)
		early = late.add(-step)
	default:
		early = early.add(-time.Second)
	}
	if w.floors {
		early, late = early.add(step), late.add(step)
	}
	return early, late
}

// missed notes whether a request that went to look after the reset came too
// early. Then resets are rounded down here, and come up to a step later than
// stated; if that is known already, the next request goes after a while.
func (w *window) missed(o *outcome) {
	switch {
	case !o.probe:
	case !o.refused:
		w.misses = 0
		if w.trying == tryWhole {
			w.whole = right
		}
	case w.trying == tryWhole:
		w.whole = wrong
	case o.sent < o.late:
	case o.floored:
	case !w.floors && w.step > 0 && w.late <= o.now:
		w.floor()
	case w.late > o.now && !w.suspect:
		// The reset came and brought nothing, and the next one is announced: either
		// somebody else took all of it, or it comes back bit by bit from now on.
		w.suspect, w.tried.left, w.spent = true, 0, o.now
	default:
		w.misses++
	}
}

// floor notes that resets are rounded down.
func (w *window) floor() {
	w.floors = true
	w.whole = open // what was tried was meant for a reset that is rounded up
	if w.late != 0 {
		w.early, w.late = w.early.add(w.step), w.late.add(w.step)
	}
}

// look sets when one request may go and look, should nothing remain.
func (w *window) look(now instant, l *Limiter) {
	until := w.late
	w.trying = noTrial
	switch {
	case w.late == 0:
		until = now.add(unsaidReset)
	case w.misses == 0 && w.spent != 0:
		until, w.trying = w.try()
	}
	if w.misses > 0 {
		until = max(until, now.add(doubled(firstHold, w.misses)))
	}
	hold := max(until.sub(now), 0)
	if longest := l.maxHold(); hold > longest {
		hold, w.trying = longest, noTrial
	}
	if w.spent != 0 {
		hold += l.jitter(hold)
	}
	w.until = now.add(hold)
}
