package order

import (
	"container/heap"
	"math"
)

// spareMost bounds how many more entries a row keeps for later than waiters stand in it: one that never gets
// empty, or a few that come and go, make none anew, and a long line leaves nothing behind.
const spareMost = 4

// row is the waiters of one priority. A nil row is empty.
type row[W Waiter[W]] struct {
	now    float64             // the virtual time
	served int                 // since the tags were last counted from zero
	n      int                 // how many wait
	plain  flow[W]             // the flow without a name
	named  map[string]*flow[W] // the other flows of which somebody waits, or that are ahead
	active byTag[W]            // the flows of which somebody waits
	spare  *Entry[W]           // of waiters that were removed, for the next ones: a list
	spares int                 // how many these are
	ahead  byTag[W]            // those of which nobody waits, but whose tags are later than now
}

func newRow[W Waiter[W]]() *row[W] {
	r := new(row[W])
	r.plain.in = r
	return r
}

func (r *row[W]) len() int {
	if r == nil {
		return 0
	}
	return r.n
}

// first is where the first waiter stands; nil if nobody waits.
func (r *row[W]) first() *Entry[W] {
	if r == nil || len(r.active) == 0 {
		return nil
	}
	return r.active[0].first
}

// flows returns the flows of which somebody waits.
func (r *row[W]) flows() []*flow[W] {
	if r == nil {
		return nil
	}
	return r.active
}

// tagOf returns the start tag of the waiter that would join a flow at its end.
func (r *row[W]) tagOf(name string) float64 {
	f := &r.plain
	if name != "" {
		f = r.named[name]
	}
	if f == nil {
		return r.now
	}
	return max(f.start, r.now) + f.total
}

// lastWhere is where the last of those who match stands, nil if none does.
func (r *row[W]) lastWhere(matches func(W) bool) (last *Entry[W]) {
	for _, f := range r.flows() {
		e := f.last
		for e != nil && !matches(e.w) {
			e = e.prev
		}
		switch {
		case e == nil:
		case last == nil:
			last = e
		default:
			if mine, its := e.tag(), last.tag(); mine > its || mine == its && last.w.Before(e.w) {
				last = e
			}
		}
	}
	return last
}

// flowOf returns the flow of w, a new one if there is none.
func (r *row[W]) flowOf(w W) *flow[W] {
	name := w.Flow()
	if name == "" {
		return &r.plain
	}
	f := r.named[name]
	if f == nil {
		if r.named == nil {
			r.named = map[string]*flow[W]{}
		}
		f = &flow[W]{name: name, in: r}
		r.named[name] = f
	}
	return f
}

func (r *row[W]) insert(w W, charge float64) *Entry[W] {
	f := r.flowOf(w)
	e := r.spare
	if e != nil {
		r.spare, r.spares = e.next, r.spares-1
	} else {
		e = new(Entry[W])
	}
	e.w, e.charge, e.of = w, charge, f
	f.insert(e)
	r.n++
	switch {
	case f.first != e: // its turn stays
	case f.n > 1:
		r.fix(f)
	default:
		if f.start > r.now {
			heap.Remove(&r.ahead, f.index)
		}
		f.start = max(f.start, r.now)
		heap.Push(&r.active, f)
	}
	return e
}

// fix has a flow, of which somebody waits and whose turn has changed, take its place among the others.
func (r *row[W]) fix(f *flow[W]) {
	if len(r.active) > 1 {
		heap.Fix(&r.active, f.index)
	}
}

func (r *row[W]) serve(e *Entry[W]) {
	f := e.of
	r.advance(f.start)
	f.start = after(f.start, e.charge)
	r.fix(f)
	if r.served++; r.served > max(Remembered, len(r.active)+len(r.ahead)) {
		r.rebase()
	}
}

// after is the tag of a flow that had this one, when a waiter was served. It is a later one even where the
// charge is lost in rounding, beside huge tags.
func after(tag, charge float64) float64 {
	if sum := tag + charge; sum > tag {
		return sum
	}
	return math.Nextafter(tag, math.Inf(1))
}

// advance moves the virtual time forward, and forgets the flows that are not ahead of it any more. Somebody
// waits. The time does not pass the tags of those who do: else one that comes would wait until all of them had
// caught up.
func (r *row[W]) advance(to float64) {
	r.now = max(r.now, to)
	for len(r.ahead) > 0 && (r.ahead[0].start <= r.now || len(r.ahead) > Remembered) {
		f := heap.Pop(&r.ahead).(*flow[W])
		r.now = max(r.now, min(f.start, r.active[0].start))
		r.forget(f)
	}
}

// forget forgets a flow of which nobody waits.
func (r *row[W]) forget(f *flow[W]) {
	f.start = 0
	delete(r.named, f.name)
}

// rebase counts all tags from the virtual time, so that they stay small and keep their precision.
func (r *row[W]) rebase() {
	for _, flows := range []byTag[W]{r.active, r.ahead} {
		for _, f := range flows {
			f.start -= r.now
		}
		heap.Init(&flows) // rounding may have made tags equal
	}
	r.now, r.served = 0, 0
}

func (r *row[W]) remove(e *Entry[W]) {
	f := e.of
	first := e == f.first
	f.remove(e)
	var none W // so that it can be collected
	e.w, e.next, r.spare, r.spares = none, r.spare, e, r.spares+1
	for r.n--; r.spares > r.n+spareMost; r.spares-- {
		r.spare = r.spare.next
	}
	if f.n > 0 {
		if first { // else its turn stays
			r.fix(f)
		}
		return
	}
	heap.Remove(&r.active, f.index)
	switch {
	case len(r.active) == 0:
		r.forgetAll()
	case f.start > r.now:
		heap.Push(&r.ahead, f)
		r.advance(r.now)
	default:
		r.forget(f)
	}
}

// forgetAll forgets what the flows got. Nobody waits.
func (r *row[W]) forgetAll() {
	r.now, r.served, r.plain.start, r.named, r.ahead = 0, 0, 0, nil, nil
	if cap(r.active) > Remembered {
		r.active = nil
	}
}

func (r *row[W]) recharge(charge func(W) float64) {
	if r == nil {
		return
	}
	for _, f := range r.flows() {
		f.start, f.total = 0, 0
		for e := f.first; e != nil; e = e.next {
			e.charge = charge(e.w)
			f.total += e.charge
		}
	}
	for _, f := range r.ahead {
		r.forget(f)
	}
	r.now, r.served, r.ahead = 0, 0, nil
	heap.Init(&r.active)
}

// byTag implements heap.Interface, by the tags of flows; among equals, by the ranks of their first waiters.
type byTag[W Waiter[W]] []*flow[W]

func (h byTag[W]) Len() int { return len(h) }

func (h byTag[W]) Less(i, j int) bool {
	a, b := h[i], h[j]
	if a.start != b.start || a.first == nil || b.first == nil {
		return a.start < b.start
	}
	return a.first.w.Before(b.first.w)
}

func (h byTag[W]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push implements heap.Interface.
func (h *byTag[W]) Push(x any) {
	f := x.(*flow[W])
	f.index = len(*h)
	*h = append(*h, f)
}

// Pop implements heap.Interface.
func (h *byTag[W]) Pop() any {
	last := len(*h) - 1
	f := (*h)[last]
	(*h)[last] = nil // so that it can be collected
	*h = (*h)[:last]
	return f
}
