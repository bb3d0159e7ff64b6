package tree

import (
	"cmp"
	"container/heap"
	"slices"
)

// victim is a node that may have to go.
type victim[V any] struct {
	n          *Node[V]
	loss       Loss  // the worst of it and of all below it
	used       int64 // when it was used last, or one below it
	usedItself int64
	depth      int
}

// compare is negative if v goes before o: by which less is lost, then what was used longer ago, and below
// before above.
func (v *victim[V]) compare(o *victim[V]) int {
	return cmp.Or(cmp.Compare(v.loss, o.loss), cmp.Compare(v.used, o.used), cmp.Compare(o.depth, v.depth))
}

// victims are those that go first of all that were added: a heap, whose first one goes last.
type victims[V any] []victim[V]

// add adds v, if it is among so many that go first.
func (vs *victims[V]) add(v *victim[V], most int) {
	switch n := len(*vs); {
	case n < most:
		*vs = append(*vs, *v)
		heap.Fix(vs, n)
	case n > 0 && v.compare(&(*vs)[0]) < 0:
		(*vs)[0] = *v
		heap.Fix(vs, 0)
	}
}

// inOrder returns them, the one that goes last first.
func (vs victims[V]) inOrder() []victim[V] {
	slices.SortFunc(vs, func(v, o victim[V]) int { return o.compare(&v) })
	return vs
}

func (vs victims[V]) Len() int           { return len(vs) }
func (vs victims[V]) Less(i, j int) bool { return vs[i].compare(&vs[j]) > 0 }
func (vs victims[V]) Swap(i, j int)      { vs[i], vs[j] = vs[j], vs[i] }

// Push and Pop complete heap.Interface. heap.Fix calls neither.
func (vs *victims[V]) Push(any) {}

// Pop is Push.
func (vs *victims[V]) Pop() any { return nil }
