package order

import (
	"iter"
	"slices"

	"github.com/gopacer/pacer/throttle/internal/agenda"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Aside is waiters that stand beside a line, while others go. The zero Aside is empty. Those of one kind and
// row that wait for the same thing are a group, whose flows go in turns as those of a row of a Queue.
//
// Until says of a waiter until when it stands aside; an instant that has passed is not at all, and zero is not
// at all whatever others of its group do. It may change: then Await is to be called. Of a group one comes back
// at a time, since those that go change what the others wait for.
type Aside[K comparable, W Waiter[W]] struct {
	groups map[K][]*group[K, W]
	due    agenda.Agenda[*group[K, W]] // when the first of a group is to come back; of none if that is back already
	n      int
}

// group is never empty.
type group[K comparable, W Waiter[W]] struct {
	*row[W]
	kind  K
	index int // of the row
	thing string
}

// Beside is where a waiter stands aside.
type Beside[K comparable, W Waiter[W]] struct {
	in    *group[K, W]
	entry *Entry[W]
}

// Len is the number of waiters.
func (a *Aside[K, W]) Len() int { return a.n }

// Has reports whether some of a kind stand aside.
func (a *Aside[K, W]) Has(kind K) bool { return len(a.groups[kind]) > 0 }

// Add has w stand aside, which waits for a thing. When it comes back, its flow is charged in the group.
func (a *Aside[K, W]) Add(kind K, thing string, w W, charge float64, until func(W) monotime.Time) Beside[K, W] {
	if a.groups == nil {
		a.groups = map[K][]*group[K, W]{}
	}
	i := slices.IndexFunc(a.groups[kind], func(g *group[K, W]) bool { return g.index == w.Row() && g.thing == thing })
	if i < 0 {
		i = len(a.groups[kind])
		a.groups[kind] = append(a.groups[kind], &group[K, W]{newRow[W](), kind, w.Row(), thing})
	}
	g := a.groups[kind][i]
	e := g.insert(w, charge)
	a.n++
	a.Await(kind, until)
	return Beside[K, W]{g, e}
}

// Remove takes out the waiter that stands at b.
func (a *Aside[K, W]) Remove(b Beside[K, W]) {
	b.entry.Remove()
	a.n--
	if g := b.in; g.len() == 0 {
		a.due.Set(g, 0)
		a.groups[g.kind] = slices.DeleteFunc(a.groups[g.kind], func(o *group[K, W]) bool { return o == g })
		if len(a.groups[g.kind]) == 0 {
			delete(a.groups, g.kind)
		}
	}
}

// Await has the first of each group of a kind come back when it may. It is called when one that came back has
// left, or what they wait for has changed.
func (a *Aside[K, W]) Await(kind K, until func(W) monotime.Time) {
	for _, g := range a.groups[kind] {
		a.due.Set(g, max(until(g.first().w), 1))
	}
}

// AwaitAll is Await for all kinds.
func (a *Aside[K, W]) AwaitAll(until func(W) monotime.Time) {
	for kind := range a.groups {
		a.Await(kind, until)
	}
}

// Next is when a waiter may come back, zero if none may.
func (a *Aside[K, W]) Next() monotime.Time { return a.due.Next() }

// Back takes out a waiter that may come back, and returns it; ok is false if none may.
func (a *Aside[K, W]) Back(now monotime.Time, until func(W) monotime.Time) (w W, ok bool) {
	for a.due.Due(now) {
		g := a.due.Take()
		e := g.first()
		w := e.w // a removed entry has none
		switch at := until(w); {
		case at > now:
			a.due.Set(g, at)
			continue
		case at == 0:
			a.due.Set(g, 1)
		}
		e.Serve()
		a.Remove(Beside[K, W]{g, e})
		return w, true
	}
	return w, false
}

// Last returns the waiter with the worst rank; the zero W if there is none.
func (a *Aside[K, W]) Last() (last W) {
	found := false
	for _, w := range a.all() {
		if !found || last.Before(w) {
			last, found = w, true
		}
	}
	return last
}

// After goes through the waiters of a line, and then through those that stand beside it, in the order of
// Before. They may be removed meanwhile.
func (a *Aside[K, W]) After(line iter.Seq[W]) iter.Seq[W] {
	return func(yield func(W) bool) {
		for w := range line {
			if !yield(w) {
				return
			}
		}
		all := a.all()
		slices.SortFunc(all, func(w, o W) int {
			switch {
			case w.Before(o):
				return -1
			case o.Before(w):
				return 1
			}
			return 0
		})
		slices.Values(all)(yield)
	}
}

// all returns the waiters in no order.
func (a *Aside[K, W]) all() (all []W) {
	for _, groups := range a.groups {
		for _, g := range groups {
			for _, f := range g.flows() {
				for e := f.first; e != nil; e = e.next {
					all = append(all, e.w)
				}
			}
		}
	}
	return all
}
