package throttle

import (
	"container/list"
	"iter"
	"time"
)

// lagCredit is how far back a late grant may count. Timers fire about half a
// millisecond late; a waiter that is released late is charged at the instant at
// which it was due, at most this long ago, so that lateness loses no quota. The
// price is a burst of up to lagCredit's worth of tokens. 2 ms makes pacing exact
// at any rate (measured at 10 000/s and 50 000/s).
const lagCredit = 2 * time.Millisecond

// line is who waits in a bucket, by priority, and of each in the order in which they
// first asked.
//
// A waiter stands in the line of the bucket that it asked, and, when it is the
// first there and that bucket would let it go, in the line of the parent too,
// and so on up: only the first of each bucket, and of each priority, competes for
// what the parent grants, by rank again. At the root, whoever is first and may go in
// every bucket of its path is granted, in all of them at one instant.
//
// Nobody overtakes one of a better rank who waits for what both need. Where the
// better one waits only because it must not use what is reserved, others may.
type line struct {
	class   [classes]list.List // of *Waiter
	sum     [classes]demand    // of those who asked this bucket itself
	own     int                // how many they are
	waiting int                // how many wait in this bucket or in one below it
	timer   *time.Timer        // for the next who may go; nil until somebody waits
}

// len is how many stand in this line itself.
func (q *line) len() (n int) {
	for i := range q.class {
		n += q.class[i].Len()
	}
	return n
}

// heads returns the first of each priority, the best rank first.
func (q *line) heads(buf *[classes]*Waiter) []*Waiter {
	heads := buf[:0]
	for i := range q.class {
		e := q.class[i].Front()
		if e == nil {
			continue
		}
		heads = append(heads, e.Value.(*Waiter))
		for j := len(heads) - 1; j > 0 && heads[j].before(heads[j-1]); j-- {
			heads[j], heads[j-1] = heads[j-1], heads[j]
		}
	}
	return heads
}

// latest returns who would go last of those who asked l itself.
func (l *Limiter) latest() (last *Waiter) {
	for i := range l.line.class {
		for e := l.line.class[i].Back(); e != nil; e = e.Prev() {
			if w := e.Value.(*Waiter); w.l == l {
				if last == nil || last.before(w) {
					last = w
				}
				break
			}
		}
	}
	return last
}

// all goes through the line in the order of ranks. Who was passed may leave.
func (q *line) all() iter.Seq[*Waiter] {
	return func(yield func(*Waiter) bool) {
		var at [classes]*list.Element
		for i := range q.class {
			at[i] = q.class[i].Front()
		}
		for {
			var next *Waiter
			for _, e := range at {
				if e == nil {
					continue
				}
				if w := e.Value.(*Waiter); next == nil || w.before(next) {
					next = w
				}
			}
			if next == nil {
				return
			}
			at[next.priority.class()] = at[next.priority.class()].Next()
			if !yield(next) {
				return
			}
		}
	}
}

// others is what goes before a claim.
type others struct {
	all  demand
	kept demand // of that, what must not use what is reserved
}

func (c *others) add(d *demand, p Priority) {
	c.all = c.all.plus(d)
	if p < Urgent {
		c.kept = c.kept.plus(d)
	}
}

// ahead adds what goes before w, which is about to join, in l and in the buckets below it:
// at least that. It is called for w's bucket first, and then for those above it. Of a
// bucket below which has somebody in the line of l all who wait follow, if it would let
// them.
func (l *Limiter) ahead(c *others, w *Waiter, now instant) {
	for i := range l.line.class {
		p := Priority(i) + Background
		lower := p < w.priority
		if lower {
			// Who has waited for long goes first, unless it waits only for what is left to it.
			e := l.line.class[i].Back()
			if e == nil || l.Reserve > 0 && w.urgent() || !e.Value.(*Waiter).before(w) {
				continue
			}
		}
		c.add(&l.line.sum[i], p)
		if l.line.class[i].Len() == l.line.sum[i].claims {
			continue // nobody from below
		}
		for e := l.line.class[i].Front(); e != nil; e = e.Next() {
			guest := e.Value.(*Waiter)
			if guest.l == l || w.passes(guest, l) {
				continue // counted already
			}
			var buf [classes]*Waiter
			switch {
			case !lower && guest.l.Parent == l && guest.l.lets(now):
				c.add(&guest.l.line.sum[i], p)
			case guest.l.line.heads(&buf)[0] == guest:
				c.add(&guest.demand, p) // others may be held back by it
			}
		}
	}
}

// lets reports whether l would let all go at once who asked it.
func (l *Limiter) lets(now instant) bool {
	var all want
	for i := range l.line.sum {
		all.demand = all.plus(&l.line.sum[i])
	}
	if l.hold > now || !l.server.open(now, &all, l.Reserve) {
		return false
	}
	for _, limits := range [...][]limit{l.limits, l.spare} {
		for i, lim := range limits {
			n := all.in(&l.quotas[i])
			if lim == nil || n == 0 {
				continue
			}
			if at, _ := lim.when(now, n-1, 1); at > now {
				return false
			}
		}
	}
	return true
}

// passes reports whether w comes to l through the same bucket below it as guest.
func (w *Waiter) passes(guest *Waiter, l *Limiter) bool { return w.l.below(l) == guest.l.below(l) }

// below returns the bucket next to above on the way from l to it, nil if l is it.
func (l *Limiter) below(above *Limiter) (next *Limiter) {
	for b := l; b != above; b = b.Parent {
		next = b
	}
	return next
}

// insert puts w behind all of its priority who asked before it. Newcomers look from
// the back; those who were in line before, and so belong near the front, from there.
func (q *line) insert(w *Waiter, fromFront bool) *list.Element {
	waiters := &q.class[w.priority.class()]
	if fromFront {
		for e := waiters.Front(); e != nil; e = e.Next() {
			if w.before(e.Value.(*Waiter)) {
				return waiters.InsertBefore(w, e)
			}
		}
		return waiters.PushBack(w)
	}
	for e := waiters.Back(); e != nil; e = e.Prev() {
		if e.Value.(*Waiter).before(w) {
			return waiters.InsertAfter(w, e)
		}
	}
	return waiters.PushFront(w)
}

// remove takes out of line who stands at e.
func (q *line) remove(w *Waiter, e *list.Element) { q.class[w.priority.class()].Remove(e) }

// enter puts w in line. It requires that mu is held.
func (w *Waiter) enter(again bool) {
	w.stand(w.l, again)
	w.count(1)
}

// leave takes w out of all lines. It requires that mu is held.
func (w *Waiter) leave() {
	w.sink(w.l)
	w.l.line.remove(w, w.places[0])
	w.places = nil
	w.count(-1)
}

// count adds what w asks for, sign times.
func (w *Waiter) count(sign int) {
	w.l.line.own += sign
	w.l.line.sum[w.priority.class()].add(&w.demand, sign)
	for b := w.l; b != nil; b = b.Parent {
		b.line.waiting += sign
	}
}

// sink takes w out of the lines above b, where it would block others.
func (w *Waiter) sink(b *Limiter) {
	for top := w.top(); top != b; top = w.top() {
		last := len(w.places) - 1
		top.line.remove(w, w.places[last])
		w.places = w.places[:last]
	}
}

// stand puts w in the line of b. Whoever was the first of its priority there until now
// no longer competes above.
func (w *Waiter) stand(b *Limiter, fromFront bool) {
	e := b.line.insert(w, fromFront)
	if next := e.Next(); next != nil {
		next.Value.(*Waiter).sink(b)
	}
	w.places = append(w.places, e)
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
			w.end(w.l.charge(at, now, &w.want, w.place), nil)
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

// due returns the instant at which w is granted in every bucket of its path, if
// it may go by now; else the first bucket that blocks it, and until when.
func (w *Waiter) due(now instant) (at instant, blocks *Limiter, d due) {
	at = w.earliest(now)
	for b := w.l; b != nil; b = b.Parent {
		at = max(at, b.booked)
	}
	for b := w.l; b != nil; b = b.Parent {
		d = b.due(at, others{}, &w.want, b == w.l, false)
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
			d := l.due(max(w.earliest(now), l.booked), others{}, &w.want, w.l == l, false)
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
		d := l.due(max(w.earliest(now), l.booked), others{}, &w.want, w.l == l, false)
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
