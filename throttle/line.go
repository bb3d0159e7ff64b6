package throttle

import (
	"container/list"
	"time"
)

// lagCredit is how far back a late grant may count. Timers fire about half a
// millisecond late; a waiter that is released late is charged at the instant at
// which it was due, at most this long ago, so that lateness loses no quota. The
// price is a burst of up to lagCredit's worth of tokens. 2 ms makes pacing exact
// at any rate (measured at 10 000/s and 50 000/s).
const lagCredit = 2 * time.Millisecond

// line is who waits in a bucket, in the order in which they first asked.
//
// A waiter stands in the line of the bucket that it asked, and, when it is the
// first there and that bucket would let it go, in the line of the parent too,
// and so on up: only the first of each bucket competes for what the parent
// grants, in order of arrival again. At the root, whoever is first and may go in
// every bucket of its path is granted, in all of them at one instant.
type line struct {
	waiters list.List   // of *Waiter
	cost    int         // of everybody who waits in this bucket or in one below it
	timer   *time.Timer // for the first waiter; nil until somebody waits
}

// first returns the waiter at the head, or nil.
func (q *line) first() *Waiter {
	if e := q.waiters.Front(); e != nil {
		return e.Value.(*Waiter)
	}
	return nil
}

// insert puts w behind all who asked before it. Newcomers look from the back;
// those who were in line before, and so belong near the front, from there.
func (q *line) insert(w *Waiter, fromFront bool) *list.Element {
	if fromFront {
		for e := q.waiters.Front(); e != nil; e = e.Next() {
			if w.place.before(e.Value.(*Waiter).place) {
				return q.waiters.InsertBefore(w, e)
			}
		}
		return q.waiters.PushBack(w)
	}
	for e := q.waiters.Back(); e != nil; e = e.Prev() {
		if e.Value.(*Waiter).place.before(w.place) {
			return q.waiters.InsertAfter(w, e)
		}
	}
	return q.waiters.PushFront(w)
}

// enter puts w in line. It requires that mu is held.
func (w *Waiter) enter(again bool) {
	w.places = append(w.places, w.l.line.insert(w, again))
	for b := w.l; b != nil; b = b.Parent {
		b.line.cost += w.n
	}
}

// leave takes w out of all lines. It requires that mu is held.
func (w *Waiter) leave() {
	b := w.l
	for _, e := range w.places {
		b.line.waiters.Remove(e)
		b = b.Parent
	}
	w.places = nil
	for b := w.l; b != nil; b = b.Parent {
		b.line.cost -= w.n
	}
}

// sink takes w out of the lines above b, where it would block others.
func (w *Waiter) sink(b *Limiter) {
	keep := 1
	for c := w.l; c != b; c = c.Parent {
		keep++
	}
	for up := b.Parent; len(w.places) > keep; up = up.Parent {
		up.line.waiters.Remove(w.places[keep])
		w.places = append(w.places[:keep], w.places[keep+1:]...)
	}
}

// top is the highest bucket in whose line w stands.
func (w *Waiter) top() *Limiter {
	b := w.l
	for range w.places[1:] {
		b = b.Parent
	}
	return b
}

// run grants whoever may go now, refuses who can no longer go, and sets the
// timers for the others. It is called with mu held whenever something changed
// in this bucket.
func (l *Limiter) run(now instant) {
	root := l
	for b := l; b != nil; b = b.Parent {
		b.rise(now)
		root = b
	}
	for w := root.line.first(); w != nil; w = root.line.first() {
		at, b, d := w.due(now)
		switch {
		case d.never:
			d.by = b
			w.end(Grant{}, w.refusal(now, d, ErrTooLarge))
		case d.at <= now:
			w.end(w.l.charge(at, now, w.n, w.place), nil)
		case b == root:
			root.arm(now)
			return
		default:
			w.sink(b)
		}
		for b := w.l; b != root; b = b.Parent {
			b.rise(now)
		}
	}
	root.arm(now)
}

// due returns the instant at which w is granted in every bucket of its path, if
// it may go by now; else the first bucket that blocks it, and until when.
func (w *Waiter) due(now instant) (at instant, blocks *Limiter, d due) {
	at = w.earliest(now)
	for b := w.l; b != nil; b = b.Parent {
		at = max(at, b.booked)
	}
	for b := w.l; b != nil; b = b.Parent {
		d = b.due(at, 0, w.n, b == w.l, false)
		if d.never || d.at > now {
			return at, b, d
		}
		at = d.at
	}
	return at, nil, d
}

// earliest is the instant from which the release of w may count.
func (w *Waiter) earliest(now instant) instant {
	return max(max(now.add(-lagCredit), w.joined), w.l.root().changed)
}

// change makes a change that may let somebody go, or keep somebody from it, at
// now. Whoever was due before and was not released yet, since a timer is late,
// goes first; what the change lets go counts from the change. It requires that mu
// is held.
func (l *Limiter) change(now instant, f func()) {
	if l.line.cost > 0 {
		l.run(now)
	}
	f()
	root := l.root()
	root.changed = now
	if root.line.cost > 0 {
		l.run(now)
	}
}

// rise moves the first waiter of l into the line of the parent if l would let it
// go, and sets l's timer.
func (l *Limiter) rise(now instant) {
	if w := l.line.first(); w != nil && l.Parent != nil && w.top() == l {
		d := l.due(max(w.earliest(now), l.booked), 0, w.n, w.l == l, false)
		if d.never || d.at <= now {
			w.places = append(w.places, l.Parent.line.insert(w, true))
		}
	}
	l.arm(now)
}

// arm sets the timer to when the first waiter is due here, unless it waits at
// the parent, or to when it has waited for as long as it may.
func (l *Limiter) arm(now instant) {
	w := l.line.first()
	if w == nil {
		if l.line.timer != nil {
			l.line.timer.Stop()
		}
		return
	}
	var at instant
	if l.Parent == nil || w.top() == l {
		at = l.due(max(w.earliest(now), l.booked), 0, w.n, w.l == l, false).at
	}
	if w.l == l && w.expires != 0 && (at == 0 || w.expires < at) {
		at = w.expires
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
}

// tick runs when the timer fires.
func (l *Limiter) tick() {
	root := l.lock()
	defer l.unlock(root)
	now := root.now()
	l.run(now)
	for w := l.line.first(); w != nil && w.l == l && w.expires != 0 && w.expires <= now; w = l.line.first() {
		w.end(Grant{}, w.refusal(now, l.project(now, w.n, true), ErrMaxWait))
		l.run(now)
	}
}

// refuseLate refuses those in line who, as it looks now, would wait past their
// bounds. It is called when a hold begins or is extended.
func (l *Limiter) refuseLate(now instant) {
	ahead := 0
	for e := l.line.waiters.Front(); e != nil; {
		w := e.Value.(*Waiter)
		e = e.Next()
		d := l.due(now, ahead, w.n, w.l == l, true)
		if why := w.late(d.at); why != nil {
			w.end(Grant{}, w.refusal(now, d, why))
		} else {
			ahead += w.n
		}
	}
}
