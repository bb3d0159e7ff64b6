package order

import (
	"container/list"
	"iter"
	"maps"
	"slices"
)

// Set is some of those who wait. The zero Set is empty.
type Set[W interface {
	comparable
	Waiter[W]
}] struct{ all map[W]bool }

// Put puts a waiter in, or takes it out.
func (s *Set[W]) Put(w W, in bool) {
	switch {
	case !in:
		delete(s.all, w)
	case s.all == nil:
		s.all = map[W]bool{w: true}
	default:
		s.all[w] = true
	}
}

// Sorted returns all of them, the best rank first.
func (s *Set[W]) Sorted() []W {
	return slices.SortedFunc(maps.Keys(s.all), func(a, b W) int {
		if a.Before(b) {
			return -1
		}
		return 1
	})
}

// Each yields what a list holds, which may leave the list as it comes.
func Each[T any](l *list.List) iter.Seq[T] {
	return func(yield func(T) bool) {
		for e := l.Front(); e != nil; {
			v := e.Value.(T)
			if e = e.Next(); !yield(v) {
				return
			}
		}
	}
}
