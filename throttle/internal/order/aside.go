package order

import (
	"iter"
	"slices"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Aside is waiters that stand beside a line, in groups by what they wait for, while others go. The zero Aside is empty.
//
// Until says of a waiter until when it stands aside; an instant that has passed is not at all, and zero is not at all whatever
// others of its group do. It may change: then Await is to be called. Of a group one comes back at a time, since those that go
// change what the others wait for.
type Aside[K comparable, W Waiter[W]] struct {
	groups map[K][]W // best rank first
	due    Agenda[K] // when the first of a group is to come back; of none if that is back already
	n      int
}

// Len is the number of waiters.
func (a *Aside[K, W]) Len() int { return a.n }

// Add puts w into a group.
func (a *Aside[K, W]) Add(k K, w W, until func(W) monotime.Time) {
	if a.groups == nil {
		a.groups = map[K][]W{}
	}
	i, _ := a.index(k, w)
	a.groups[k] = slices.Insert(a.groups[k], i, w)
	a.n++
	a.Await(k, until)
}

// Remove takes w out of its group.
func (a *Aside[K, W]) Remove(k K, w W) {
	i, _ := a.index(k, w)
	a.n--
	if a.groups[k] = slices.Delete(a.groups[k], i, i+1); len(a.groups[k]) == 0 {
		delete(a.groups, k)
		a.due.Set(k, 0)
	}
}

func (a *Aside[K, W]) index(k K, w W) (int, bool) {
	return slices.BinarySearchFunc(a.groups[k], w, func(o, w W) int {
		if o.Before(w) {
			return -1
		}
		return 1
	})
}

// Await has the first of a group come back when it may. It is called when one that came back has left, or what they wait for
// has changed.
func (a *Aside[K, W]) Await(k K, until func(W) monotime.Time) {
	if g := a.groups[k]; len(g) > 0 {
		a.due.Set(k, max(until(g[0]), 1))
	}
}

// AwaitAll is Await for all groups.
func (a *Aside[K, W]) AwaitAll(until func(W) monotime.Time) {
	for k := range a.groups {
		a.Await(k, until)
	}
}

// Next is when a waiter may come back, zero if none may.
func (a *Aside[K, W]) Next() monotime.Time { return a.due.Next() }

// Back takes out a waiter that may come back, and returns it; ok is false if none may.
func (a *Aside[K, W]) Back(now monotime.Time, until func(W) monotime.Time) (w W, ok bool) {
	for a.due.Due(now) {
		k := a.due.Take()
		w = a.groups[k][0]
		switch at := until(w); {
		case at > now:
			a.due.Set(k, at)
			continue
		case at == 0:
			a.due.Set(k, 1)
		}
		a.Remove(k, w)
		return w, true
	}
	return w, false
}

// After goes through the waiters of a line, and then through those that stand beside it. They may be removed meanwhile.
func (a *Aside[K, W]) After(line iter.Seq[W]) iter.Seq[W] {
	return func(yield func(W) bool) {
		for w := range line {
			if !yield(w) {
				return
			}
		}
		var all []W
		for _, g := range a.groups {
			all = append(all, g...)
		}
		slices.Values(all)(yield)
	}
}
