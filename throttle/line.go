package throttle

import (
	"container/list"
	"iter"
	"time"
)

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
