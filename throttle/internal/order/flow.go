package order

// flow is the waiters of one flow in a row, best rank first.
type flow[W Waiter[W]] struct {
	name        string
	in          *row[W]
	first, last *Entry[W]
	n           int     // how many wait
	start       float64 // start tag of the first waiter; if nobody waits, of the next one, if that is later than now
	total       float64 // what those who wait are charged together
	index       int     // in the heap of the row
}

// Entry is where a waiter stands in a Queue.
type Entry[W Waiter[W]] struct {
	w          W
	charge     float64
	of         *flow[W] // nil when the waiter was removed
	prev, next *Entry[W]
}

// Serve charges the flow of a waiter, which is the first of it, and is about to be removed.
func (e *Entry[W]) Serve() { e.of.in.serve(e) }

// Remove takes the waiter out of its Queue.
func (e *Entry[W]) Remove() { e.of.in.remove(e) }

// IsFirst reports whether the waiter is the first of its row.
func (e *Entry[W]) IsFirst() bool { return e.of.in.first() == e }

// Follows reports whether n others of its flow, or more, stand before the waiter.
func (e *Entry[W]) Follows(n int) bool {
	for e = e.prev; e != nil && n > 1; e = e.prev {
		n--
	}
	return e != nil
}

// Ahead calls f for those who go before the waiter at e, but for no more than most, and reports whether there
// are more. If there are more of its flow, f is called for those next before it, which takes no look at other
// flows and rows; else for the first of all.
func (q *Queue[W]) Ahead(e *Entry[W], most int, f func(W)) (more bool) {
	n, o := 0, e.prev
	for o != nil && n < most {
		n, o = n+1, o.prev
	}
	if o != nil {
		for o = e.prev; n > 0; n, o = n-1, o.prev {
			f(o.w)
		}
		return true
	}
	n = 0
	for w := range q.InOrder() {
		switch n++; {
		case any(w) == any(e.w):
			return false
		case n > most:
			return true
		}
		f(w)
	}
	return false
}

// tag is the start tag of the waiter at e: exact for the first of its flow, else a sum that may be rounded. It
// searches from the end of the flow.
func (e *Entry[W]) tag() float64 {
	if e == e.of.first {
		return e.of.start
	}
	tag := e.of.start + e.of.total
	for o := e.of.last; o != e; o = o.prev {
		tag -= o.charge
	}
	return tag - e.charge
}

// insert puts e in its order, behind its equals. It searches from both ends at once: new claims belong near the
// back, and those that have an old place near the front.
func (f *flow[W]) insert(e *Entry[W]) *Entry[W] {
	ahead := func(o *Entry[W]) bool { return !e.w.Before(o.w) } // goes before e
	f.n++
	f.total += e.charge
	for first, last := f.first, f.last; last != nil; first, last = first.next, last.prev {
		switch {
		case ahead(last):
			return f.link(e, last)
		case !ahead(first):
			return f.link(e, first.prev)
		}
	}
	return f.link(e, nil)
}

// link puts e behind prev; to the front if prev is nil.
func (f *flow[W]) link(e, prev *Entry[W]) *Entry[W] {
	e.prev, e.next = prev, f.first
	if prev != nil {
		e.next = prev.next
	}
	f.join(prev, e)
	f.join(e, e.next)
	return e
}

// join makes b the next of a. Either may be nil: an end of the flow.
func (f *flow[W]) join(a, b *Entry[W]) {
	if a == nil {
		f.first = b
	} else {
		a.next = b
	}
	if b == nil {
		f.last = a
	} else {
		b.prev = a
	}
}

func (f *flow[W]) remove(e *Entry[W]) {
	f.join(e.prev, e.next)
	e.of, e.prev, e.next = nil, nil, nil
	f.n--
	if f.total -= e.charge; f.n == 0 {
		f.total = 0
	}
}
