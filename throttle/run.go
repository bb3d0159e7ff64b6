package throttle

import (
	"slices"
	"time"
)

// lagCredit is how far back a late grant may count. Timers fire about half a
// millisecond late; a waiter that is released late is charged at the instant at
// which it was due, at most this long ago, so that lateness loses no quota. The
// price is a burst of up to lagCredit's worth of tokens. 2 ms makes pacing exact
// at any rate (measured at 10 000/s and 50 000/s).
const lagCredit = 2 * time.Millisecond

// run grants whoever may go now, refuses who can no longer go, and sets the
// timers for the others. It is called with mu held whenever something changed
// in this bucket.
func (l *Limiter) run(now instant) {
	root := l
	for b := l; b != nil; b = b.Parent {
		b.rise(now)
		root = b
	}
	if root.frozen > 0 && !slices.Contains(root.stalled, l) {
		root.stalled = append(root.stalled, l)
	}
	for _, w := range l.server.windows {
		for _, u := range w.users { // who waits there may wait for what l has learned
			for b := u; b != nil && u != l && u.line.waiting > 0; b = b.Parent {
				b.rise(now)
			}
		}
	}
	for root.release(now) {
	}
	root.arm(now)
}

// release lets one go, if one may, or finds out that it waits in a bucket below. It
// reports whether anything changed.
func (l *Limiter) release(now instant) bool {
	if l.frozen > 0 {
		return false
	}
	var buf [classes]*Waiter
	kept := false // one waits for what is left to those that are not urgent
	for _, w := range l.line.heads(&buf) {
		if kept && !w.urgent() {
			continue
		}
		at, b, d := w.due(now)
		switch {
		case d.never:
			d.by = b
			w.end(Grant{}, w.refusal(now, d, ErrTooLarge))
		case d.at <= now:
			w.busy(at)
			var g Grant
			w.l.charge(&g, at, now, &w.want, w.place)
			w.end(g, nil)
		case b != l:
			w.sink(b)
		case d.shared > now:
			return false
		default:
			kept = true
			continue
		}
		for b := w.l; b != l; b = b.Parent {
			b.rise(now)
		}
		return true
	}
	return false
}

// busy tells limits that warm up that w did not idle while it waited, for what else stood
// in its way.
func (w *Waiter) busy(until instant) {
	for b := w.l; b != nil; b = b.Parent {
		for _, limits := range [...][]limit{b.limits, b.spare} {
			for _, lim := range limits {
				if warm, ok := lim.(*warm); ok {
					warm.ramp.Busy(w.joined.time(), until.time())
				}
			}
		}
	}
}

// due returns the instant at which w is granted in every bucket of its path, if
// it may go by now; else the first bucket that blocks it, and until when.
func (w *Waiter) due(now instant) (at instant, blocks *Limiter, d due) {
	at = w.from(now)
	for b := w.l; b != nil; b = b.Parent {
		d = b.due(at, others{}, &w.want, b == w.l, false)
		if d.never || d.at > now {
			return at, b, d
		}
		at = d.at
	}
	return at, nil, d
}

// from is the instant from which the release of w may count: not before the latest grant
// of the tree, of which the limits of other buckets may know, too.
func (w *Waiter) from(now instant) instant {
	root := w.l.root()
	return max(now.add(-lagCredit), w.joined, root.changed, root.booked)
}

// change makes a change that may let somebody go, or keep somebody from it, at
// now. Whoever was due before and was not released yet, since a timer is late,
// goes first; what the change lets go counts from the change. It requires that mu
// is held.
func (l *Limiter) change(now instant, f func()) {
	root := l.root()
	waited := root.line.waiting > 0
	if l.line.waiting > 0 {
		l.run(now)
	}
	f()
	root.changed = now
	if waited || root.line.waiting > 0 { // if all have left, their timer stops
		l.run(now)
	}
}

// rise moves the first waiters of l into the line of the parent if l would let them
// go, and sets l's timer.
func (l *Limiter) rise(now instant) {
	if l.Parent == nil {
		return // run sets the timer of the root when all have gone who may
	}
	var buf [classes]*Waiter
	blocked, kept := false, false
	for _, w := range l.line.heads(&buf) {
		ok := !blocked && (!kept || w.urgent())
		if ok {
			d := l.due(w.from(now), others{}, &w.want, w.l == l, false)
			ok = d.never || d.at <= now
			blocked, kept = !ok && d.shared > now, kept || !ok
		}
		switch {
		case !ok:
			w.sink(l)
		case w.top() == l:
			w.stand(l.Parent, true)
		}
	}
	l.arm(now)
}

// arm sets the timer to when the next waiter is due here, unless it waits at
// the parent, or to when one has waited for as long as it may.
func (l *Limiter) arm(now instant) {
	var buf [classes]*Waiter
	var at instant
	sooner := func(t instant) {
		if t < now.add(ages) && (at == 0 || t < at) { // what only an answer ends needs no timer
			at = t
		}
	}
	blocked, kept := l.root().frozen > 0, false
	for i := range l.line.class {
		if w := l.oldest(i); w != nil && w.expires != 0 {
			sooner(w.expires)
		}
	}
	for _, w := range l.line.heads(&buf) {
		if blocked || kept && !w.urgent() || l.Parent != nil && w.top() != l {
			continue
		}
		d := l.due(w.from(now), others{}, &w.want, w.l == l, false)
		if blocked = d.shared > now; blocked {
			sooner(d.shared)
		} else {
			kept = true
			sooner(d.at)
		}
	}
	switch {
	case at == 0:
		if l.line.timer != nil {
			l.line.timer.Stop()
		}
	case l.line.timer == nil:
		l.line.timer = time.AfterFunc(at.sub(now), l.tick)
	default:
		l.line.timer.Reset(at.sub(now))
	}
	if l.lease != nil {
		l.lease.ask(now)
	}
}

// tick runs when the timer fires.
func (l *Limiter) tick() {
	root := l.lock()
	defer l.unlock(root)
	now := root.now()
	l.run(now)
	for l.expire(now) {
		l.run(now)
	}
}

// expire refuses one who has waited for as long as it may, and reports whether there
// was one.
func (l *Limiter) expire(now instant) bool {
	for i := range l.line.class {
		if w := l.oldest(i); w != nil && w.expires != 0 && w.expires <= now {
			w.end(Grant{}, w.refusal(now, w.project(now, true), ErrMaxWait))
			return true
		}
	}
	return false
}

// oldest returns the first of a priority who asked l itself.
func (l *Limiter) oldest(class int) *Waiter {
	for e := l.line.class[class].Front(); e != nil; e = e.Next() {
		if w := e.Value.(*Waiter); w.l == l {
			return w
		}
	}
	return nil
}

// refuseLate refuses those in line who, as it looks now, would wait past their
// bounds. It is called when a hold begins or is extended.
func (l *Limiter) refuseLate(now instant) {
	var before, urgent others // urgent is what goes before those who may use what is reserved
	for w := range l.line.all() {
		c := &before
		if l.Reserve > 0 && w.urgent() {
			c = &urgent
		}
		d := l.due(now, *c, &w.want, w.l == l, true)
		if why := w.late(d.at); why != nil {
			w.end(Grant{}, w.refusal(now, d, why))
			for b := w.l; b != l; b = b.Parent {
				b.rise(now)
			}
			continue
		}
		before.add(&w.demand, w.priority)
		if w.urgent() {
			urgent.add(&w.demand, w.priority)
		}
	}
}
