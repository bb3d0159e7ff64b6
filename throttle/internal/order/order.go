// Package order keeps waiters in the order in which they are to go: by rank, in one row for each priority.
//
// In come waiters, which know their row and who of two goes first ([Waiter]); out come the first of each row,
// and all in order. The package knows nothing of what they wait for, and of time.
package order

import (
	"container/list"
	"iter"
)

// Rows is how many rows a Queue has.
const Rows = 3

// Waiter is what stands in a Queue. The order of two waiters of one Queue never changes.
type Waiter[W any] interface {
	Before(other W) bool // goes before the other
	Row() int            // from 0 to Rows−1
}

// Queue is waiters in order. The zero Queue is empty.
type Queue[W Waiter[W]] struct{ rows [Rows]list.List }

// Entry is where a waiter stands in a Queue. The values of a list are of type W.
type Entry = *list.Element

// Len is the number of waiters.
func (q *Queue[W]) Len() (n int) {
	for i := range q.rows {
		n += q.rows[i].Len()
	}
	return n
}

// LenOf is the number of waiters in a row.
func (q *Queue[W]) LenOf(row int) int { return q.rows[row].Len() }

// Heads returns the first waiter of each row, best rank first. It uses buf for the result.
func (q *Queue[W]) Heads(buf *[Rows]W) []W {
	heads := buf[:0]
	for i := range q.rows {
		e := q.rows[i].Front()
		if e == nil {
			continue
		}
		heads = append(heads, e.Value.(W))
		for j := len(heads) - 1; j > 0 && heads[j].Before(heads[j-1]); j-- {
			heads[j], heads[j-1] = heads[j-1], heads[j]
		}
	}
	return heads
}

// Row goes through a row, the first waiter first. The row must not be changed meanwhile.
func (q *Queue[W]) Row(row int) iter.Seq[W] {
	return func(yield func(W) bool) {
		for e := q.rows[row].Front(); e != nil && yield(e.Value.(W)); e = e.Next() {
		}
	}
}

// Last returns the last waiter of a row, the zero W if there is none.
func (q *Queue[W]) Last(row int) (last W) {
	if e := q.rows[row].Back(); e != nil {
		last = e.Value.(W)
	}
	return last
}

// LastWhere returns the waiter that goes last among those that match, the zero W if none does.
func (q *Queue[W]) LastWhere(matches func(W) bool) (last W) {
	found := false
	for i := range q.rows {
		for e := q.rows[i].Back(); e != nil; e = e.Prev() {
			if w := e.Value.(W); matches(w) {
				if !found || last.Before(w) {
					last, found = w, true
				}
				break
			}
		}
	}
	return last
}

// InOrder goes through all waiters, best rank first. A waiter that was yielded may be removed.
func (q *Queue[W]) InOrder() iter.Seq[W] {
	return func(yield func(W) bool) {
		var at [Rows]Entry
		for i := range q.rows {
			at[i] = q.rows[i].Front()
		}
		for {
			first := -1
			for i, e := range at {
				if e != nil && (first < 0 || e.Value.(W).Before(at[first].Value.(W))) {
					first = i
				}
			}
			if first < 0 {
				return
			}
			next := at[first].Value.(W)
			at[first] = at[first].Next()
			if !yield(next) {
				return
			}
		}
	}
}

// Any reports whether some waiter matches.
func (q *Queue[W]) Any(matches func(W) bool) bool {
	for i := range q.rows {
		for e := q.rows[i].Front(); e != nil; e = e.Next() {
			if matches(e.Value.(W)) {
				return true
			}
		}
	}
	return false
}

// Insert puts w in its order into its row, among equals to the front or to the back. It searches from both ends at once:
// new claims belong near the back, and those that have an old place near the front. Behind is the waiter of its row that is
// next; ok is false if w is the last one.
func (q *Queue[W]) Insert(w W, fromFront bool) (e Entry, behind W, ok bool) {
	e = q.insert(&q.rows[w.Row()], w, fromFront)
	if next := e.Next(); next != nil {
		return e, next.Value.(W), true
	}
	return e, behind, false
}

func (q *Queue[W]) insert(row *list.List, w W, fromFront bool) Entry {
	ahead := func(e Entry) bool { // goes before w
		if fromFront {
			return !w.Before(e.Value.(W))
		}
		return e.Value.(W).Before(w)
	}
	for first, last := row.Front(), row.Back(); last != nil; first, last = first.Next(), last.Prev() {
		switch {
		case ahead(last):
			return row.InsertAfter(w, last)
		case !ahead(first):
			return row.InsertBefore(w, first)
		}
	}
	return row.PushFront(w)
}

// Remove takes out a waiter of a row, which stands at e.
func (q *Queue[W]) Remove(row int, e Entry) { q.rows[row].Remove(e) }
