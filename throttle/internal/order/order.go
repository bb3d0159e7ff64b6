// Package order keeps waiters in the order in which they are to go: by rank, in one row for each priority; and
// within a row the flows in turns.
//
// In come waiters, which know their row, their flow, and who of two goes first ([Waiter]), and what each is
// charged; out come the first of each row, and all in order. Some stand beside the line for a while ([Aside]),
// until instants that come in. The package knows nothing of what they wait for. [Pass] says who of them are to
// stand elsewhere to show whether the first ones are refused whatever happens.
//
// # Turns of flows
//
// The flows of a row go by start-time fair queueing (Goyal, Vin and Cheng, "Start-time Fair Queuing", SIGCOMM
// 1996), after the fair queueing of Demers, Keshav and Shenker (SIGCOMM 1989). A flow has a start tag. That of
// the waiter that was served last is the virtual time of the row. With each waiter that is served, the tag of
// its flow grows by its charge: its cost ÷ the weight of the flow. A flow that comes begins at the virtual
// time, or where it was, if that is later. The flow with the least tag goes next, and of equals the one whose
// first waiter has the better rank.
//
//   - Of two flows of which some wait all the time, neither gets ahead by more than one charge of each.
//   - A flow that comes goes after one waiter at most of each other flow.
//   - A waiter that leaves unserved is not charged: those behind it move up.
//
// A flow is kept while somebody of it waits, and after that until the others have caught up with what it got.
// Of the latter no more than [Remembered] are kept: beyond that the virtual time goes on to the least of their
// tags, or of those who wait. So flows of which each comes once cannot keep others waiting for ever. When
// nobody waits, all is forgotten.
package order

import (
	"iter"
	"slices"
)

// Rows is how many rows a Queue has.
const Rows = 3

// Remembered bounds how many flows of a row are remembered of which nobody waits.
const Remembered = 1024

// Waiter is what stands in a Queue. The order of two waiters of one flow never changes.
type Waiter[W any] interface {
	Before(other W) bool // has the better rank
	Row() int            // from 0 to Rows−1

	Flow() string
}

// Queue is waiters in order. The zero Queue is empty.
type Queue[W Waiter[W]] struct{ rows [Rows]*row[W] }

// Len is the number of waiters.
func (q *Queue[W]) Len() (n int) {
	for _, r := range q.rows {
		n += r.len()
	}
	return n
}

// LenOf is the number of waiters in a row.
func (q *Queue[W]) LenOf(row int) int { return q.rows[row].len() }

// Heads returns the first waiter of each row, best rank first. It uses buf for the result.
func (q *Queue[W]) Heads(buf *[Rows]W) []W {
	heads := buf[:0]
	for _, r := range q.rows {
		e := r.first()
		if e == nil {
			continue
		}
		heads = append(heads, e.w)
		for j := len(heads) - 1; j > 0 && heads[j].Before(heads[j-1]); j-- {
			heads[j], heads[j-1] = heads[j-1], heads[j]
		}
	}
	return heads
}

// Row goes through a row, the first waiter first. The row must not be changed meanwhile.
func (q *Queue[W]) Row(row int) iter.Seq[W] {
	return func(yield func(W) bool) {
		for at := newWalk(q.rows[row], false); at.next() != nil && yield(at.take()); {
		}
	}
}

// InOrder goes through all waiters, in the order in which they go if nobody joins. Nobody may be removed
// meanwhile.
func (q *Queue[W]) InOrder() iter.Seq[W] { return q.inOrder(false) }

// Nth returns the waiter that goes after n−1 others. Ok is false if fewer wait.
func (q *Queue[W]) Nth(n int) (w W, ok bool) {
	for w := range q.InOrder() {
		if n--; n == 0 {
			return w, true
		}
	}
	return w, false
}

// Leaving is InOrder where waiters that were yielded may be removed: they are not charged, so those behind them
// move up.
func (q *Queue[W]) Leaving() iter.Seq[W] { return q.inOrder(true) }

func (q *Queue[W]) inOrder(leaving bool) iter.Seq[W] {
	return func(yield func(W) bool) {
		var at [Rows]walk[W]
		for i, r := range q.rows {
			at[i] = newWalk(r, leaving)
		}
		for {
			var first *Entry[W]
			from := 0
			for i := range at {
				if e := at[i].next(); e != nil && (first == nil || e.w.Before(first.w)) {
					first, from = e, i
				}
			}
			if first == nil || !yield(at[from].take()) {
				return
			}
		}
	}
}

// Any reports whether some waiter matches.
func (q *Queue[W]) Any(matches func(W) bool) bool {
	for _, r := range q.rows {
		for _, f := range r.flows() {
			for e := f.first; e != nil; e = e.next {
				if matches(e.w) {
					return true
				}
			}
		}
	}
	return false
}

// AllBefore reports whether somebody waits in a row, and all have a better rank than some waiter: before says
// so of one. It says no if there are more flows than it looks at.
func (q *Queue[W]) AllBefore(row int, before func(W) bool) bool {
	const most = 64
	n := 0
	for _, f := range q.rows[row].flows() {
		if n++; n > most || !before(f.last.w) {
			return false
		}
	}
	return q.LenOf(row) > 0
}

// LastWhere returns the waiter that goes last among those that match, the zero W if none does.
func (q *Queue[W]) LastWhere(matches func(W) bool) (last W) {
	found := false
	for _, r := range q.rows {
		if e := r.lastWhere(matches); e != nil && (!found || last.Before(e.w)) {
			last, found = e.w, true
		}
	}
	return last
}

// Precedes reports whether w, which is not in the Queue and would join its flow at the end, goes before the
// waiter at e.
func (q *Queue[W]) Precedes(w W, e *Entry[W]) bool {
	r := q.rows[e.w.Row()]
	if name := w.Flow(); w.Row() == e.w.Row() && name != e.of.name {
		if mine, its := r.tagOf(name), e.tag(); mine != its {
			return mine < its
		}
	}
	return w.Before(e.w)
}

// Before leaves of heads, the first waiters of the rows, those that must go before w, which is not in the
// Queue: the first of its row, unless w would be that, and of the others those with a better rank than the
// first of its row would have then.
func (q *Queue[W]) Before(w W, heads []W) []W {
	first := w
	e := q.rows[w.Row()].first()
	behind := e != nil && !q.Precedes(w, e)
	if behind {
		first = e.w
	}
	return slices.DeleteFunc(heads, func(h W) bool {
		if h.Row() == w.Row() {
			return !behind
		}
		return first.Before(h)
	})
}

// InTurns reports whether some in a row are of another flow than this one.
func (q *Queue[W]) InTurns(row int, flow string) bool {
	r := q.rows[row]
	return r != nil && (len(r.active) > 1 || len(r.active) == 1 && r.active[0].name != flow)
}

// Others calls f for waiters of other flows in a row that surely go before one that would join this flow at its
// end: for no more than most. Before says who has a better rank than that one, which counts where tags are
// equal and not rounded.
func (q *Queue[W]) Others(row int, flow string, most int, before func(W) bool, f func(W)) {
	r := q.rows[row]
	const rounding = 1 - 1e-9 // tags are sums, of which the order of the terms may differ
	tag := r.tagOf(flow)
	for _, o := range r.active {
		if o.name == flow {
			continue
		}
		start := o.start
		for e := o.first; e != nil; e = e.next {
			if first := start == tag && tag == r.now && before(e.w); !first && start >= tag*rounding {
				break
			}
			if most--; most < 0 {
				return
			}
			f(e.w)
			start = after(start, e.charge)
		}
	}
}

// Insert puts w into its row, in its order within its flow, behind its equals. It is charged what charge says
// when it is served: a positive number. Displaced is the waiter that was the first of the row, if w is that
// now.
func (q *Queue[W]) Insert(w W, charge float64) (e *Entry[W], displaced W, ok bool) {
	if q.rows[w.Row()] == nil {
		q.rows[w.Row()] = newRow[W]()
	}
	r := q.rows[w.Row()]
	before := r.first()
	e = r.insert(w, charge)
	if before != nil && r.first() == e {
		return e, before.w, true
	}
	return e, displaced, false
}

// Recharge sets anew what each waiter is charged, where the measure of it has changed. What the flows got
// before is forgotten.
func (q *Queue[W]) Recharge(charge func(W) float64) {
	for _, r := range q.rows {
		r.recharge(charge)
	}
}
