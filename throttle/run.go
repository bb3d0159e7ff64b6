package throttle

import (
	"slices"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/adaptive"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// run grants whoever may go now, refuses who can no longer go, and sets the
// timers for the others. It is called with mu held whenever something changed
// in this bucket.
func (l *Limiter) run(now monotime.Time) {
	root := l
	for b := l; b != nil; b = b.Parent {
		b.promote(now)
		root = b
	}
	if root.frozen > 0 && !slices.Contains(root.stalled, l) {
		root.stalled = append(root.stalled, l)
	}
	if len(root.peers) > 0 {
		l.wakePeers(root, now)
	}
	for root.release(now) {
	}
	root.arm(now)
}

// wakePeers looks again at those who wait where what l has learned counts, too.
func (l *Limiter) wakePeers(root *Limiter, now monotime.Time) {
	var few [8]adaptive.ID
	for _, id := range l.server.Sharing(few[:0]) {
		for b := root.peers[id]; b != nil && b != l && b.line.waiting > 0; b = b.Parent {
			b.promote(now)
		}
	}
}

// release lets one go, if one may, or finds out that it waits in a bucket below. It
// reports whether anything changed.
func (l *Limiter) release(now monotime.Time) bool {
	if l.frozen > 0 {
		return false
	}
	var buf [priorities]*waiter
	ordinaryWaits := false // one waits for what is left to those that are not urgent
	for _, w := range l.line.heads(&buf) {
		if ordinaryWaits && !w.urgent() {
			continue
		}
		at, b, d := w.due(now)
		switch {
		case d.Never:
			w.end(w.refusal(now, obstacle{d, b}, ErrTooLarge))
		case d.At <= now:
			w.busy(at)
			w.l.charge(&w.grant, at, now, &w.need, w.place, w.class)
			w.end(nil)
		case b != l:
			w.withdraw(b)
		case d.Unreserved > now:
			return false
		default:
			ordinaryWaits = true
			continue
		}
		for b := w.l; b != l; b = b.Parent {
			b.promote(now)
		}
		return true
	}
	return false
}

// busy tells limits that warm up that w did not idle while it waited, for what else stood
// in its way.
func (w *waiter) busy(until monotime.Time) {
	for b := w.l; b != nil; b = b.Parent {
		for lim := range b.stack.Limits() {
			lim.Busy(w.joined, until)
		}
	}
}

// due returns the instant at which w is granted in every bucket of its path, if
// it may go by now; else the first bucket that blocks it, and until when.
func (w *waiter) due(now monotime.Time) (at monotime.Time, blocks *Limiter, d limit.Due) {
	at = w.from(now)
	for b := w.l; b != nil; b = b.Parent {
		d = b.due(now, at, predecessors{}, &w.need, b == w.l, false)
		if d.Never || d.At > now {
			return at, b, d
		}
		at = d.At
	}
	return at, nil, d
}

// from is the instant from which the release of w may count: not before the latest grant
// of the tree, of which the limits of other buckets may know, too.
func (w *waiter) from(now monotime.Time) monotime.Time {
	root := w.l.root()
	return max(now.Add(-quota.Lag), w.joined, root.changed, root.lastCharged)
}

// change makes a change that may let somebody go, or keep somebody from it, at
// now. Whoever was due before and was not released yet, since a timer is late,
// goes first; what the change lets go counts from the change. It requires that mu
// is held.
func (l *Limiter) change(now monotime.Time, f func()) {
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

// promote moves the first waiters of l into the line of the parent if l would let them
// go, and sets l's timer.
func (l *Limiter) promote(now monotime.Time) {
	if l.Parent == nil {
		return // run sets the timer of the root when all have gone who may
	}
	var buf [priorities]*waiter
	blocked, ordinaryWaits := false, false
	for _, w := range l.line.heads(&buf) {
		ok := !blocked && (!ordinaryWaits || w.urgent())
		if ok {
			d := l.due(now, w.from(now), predecessors{}, &w.need, w.l == l, false)
			ok = d.Never || d.At <= now
			blocked, ordinaryWaits = !ok && d.Unreserved > now, ordinaryWaits || !ok
		}
		switch {
		case !ok:
			w.withdraw(l)
		case w.top() == l:
			w.joinLine(l.Parent, true)
		}
	}
	l.arm(now)
}

// arm sets the timer to when the next waiter is due here, unless it waits at
// the parent, or to when one has waited for as long as it may.
func (l *Limiter) arm(now monotime.Time) {
	var buf [priorities]*waiter
	var at monotime.Time
	sooner := func(t monotime.Time) {
		if t < now.Add(monotime.Longest) && (at == 0 || t < at) { // what only an answer ends needs no timer
			at = t
		}
	}
	blocked, ordinaryWaits := l.root().frozen > 0, false
	for i := range l.line.byPriority {
		if w := l.oldest(i); w != nil && w.expires != 0 {
			sooner(w.expires)
		}
	}
	for _, w := range l.line.heads(&buf) {
		if blocked || ordinaryWaits && !w.urgent() || l.Parent != nil && w.top() != l {
			continue
		}
		d := l.due(now, w.from(now), predecessors{}, &w.need, w.l == l, false)
		if blocked = d.Unreserved > now; blocked {
			sooner(d.Unreserved)
		} else {
			ordinaryWaits = true
			sooner(d.At)
		}
	}
	switch {
	case at == 0:
		if l.line.timer != nil {
			l.line.timer.Stop()
		}
	case l.line.timer == nil:
		l.line.timer = time.AfterFunc(at.Sub(now), l.tick)
	default:
		l.line.timer.Reset(at.Sub(now))
	}
	if l.link != nil {
		l.link.ask(now)
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
func (l *Limiter) expire(now monotime.Time) bool {
	for i := range l.line.byPriority {
		if w := l.oldest(i); w != nil && w.expires != 0 && w.expires <= now {
			w.end(w.refusal(now, w.project(now, true), ErrMaxWait))
			return true
		}
	}
	return false
}

// oldest returns the first of a priority who asked l itself.
func (l *Limiter) oldest(priority int) *waiter {
	for e := l.line.byPriority[priority].Front(); e != nil; e = e.Next() {
		if w := e.Value.(*waiter); w.l == l {
			return w
		}
	}
	return nil
}

// refuseLate refuses those in line who, as it looks now, would wait past their
// bounds. It is called when a hold begins or is extended.
func (l *Limiter) refuseLate(now monotime.Time) {
	var before, urgent predecessors // urgent is what goes before those who may use what is reserved
	for w := range l.line.all() {
		c := &before
		if l.Reserve > 0 && w.urgent() {
			c = &urgent
		}
		d := l.due(now, now, *c, &w.need, w.l == l, true)
		if why := w.late(d.At); why != nil {
			w.end(w.refusal(now, obstacle{Due: d}, why))
			for b := w.l; b != l; b = b.Parent {
				b.promote(now)
			}
			continue
		}
		before.add(&w.Demand, w.priority)
		if w.urgent() {
			urgent.add(&w.Demand, w.priority)
		}
	}
}

// freeze has nobody go from the tree of l, whatever is due, until thaw is called, once: for
// changes of several buckets that belong together. Claims that are made meanwhile line up. It
// requires that mu is held.
func (l *Limiter) freeze() { l.root().frozen++ }

// thaw ends what freeze began.
func (l *Limiter) thaw() {
	root := l.lock()
	defer l.unlock(root)
	now := root.now()
	root.change(now, func() { root.frozen-- })
	if root.frozen == 0 {
		stalled := root.stalled
		root.stalled = nil
		for _, b := range stalled {
			b.run(now)
		}
	}
}

// dismiss ends the waits of all who asked l itself, since their claims belong in other buckets: in the tree of
// to, which is frozen until each has asked again there with its place in line, whatever became of that. So
// they line up in the order in which they first asked before anybody goes. It requires that mu is held of l, in
// a change, and of to.
func (l *Limiter) dismiss(to *Limiter) {
	for w := range l.line.all() {
		if w.l == l {
			to.freeze()
			w.freezes = to
			w.end(errDismissed)
		}
	}
}
