// Package agenda says when something is to be looked at again: each thing at an instant of its own ([Agenda]), or once when all is done ([Once]), and a whole
// line not too often ([Looks]).
//
// In come instants, and how much there is to look at; out comes when. The package knows nothing of what is looked at.
package agenda

import (
	"container/heap"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Agenda is what is to be looked at, each at an instant of its own. The zero Agenda is empty.
type Agenda[K comparable] struct {
	list calendar[K]
}

// Set puts k on the agenda, at an instant in place of any earlier one; zero takes it off.
func (a *Agenda[K]) Set(k K, at monotime.Time) {
	i, found := a.list.find(k)
	switch {
	case at == 0 && found:
		heap.Remove(&a.list, i)
	case at == 0:
	case found:
		a.list.items[i].at = at
		heap.Fix(&a.list, i)
	default:
		heap.Push(&a.list, item[K]{k, at})
	}
}

// Due reports whether something is due.
func (a *Agenda[K]) Due(now monotime.Time) bool {
	return len(a.list.items) > 0 && a.list.items[0].at <= now
}

// Next is the instant of what comes first, zero if there is nothing.
func (a *Agenda[K]) Next() monotime.Time {
	if len(a.list.items) == 0 {
		return 0
	}
	return a.list.items[0].at
}

// Take takes off and returns what comes first. There must be something.
func (a *Agenda[K]) Take() K { return heap.Pop(&a.list).(item[K]).k }

type item[K comparable] struct {
	k  K
	at monotime.Time
}

// calendar implements heap.Interface, and knows where each item is.
type calendar[K comparable] struct {
	items []item[K]
	index map[K]int // nil while there have been no more than few items
}

// few items are searched in less time than a map takes.
const few = 8

// find returns where k is.
func (c *calendar[K]) find(k K) (i int, found bool) {
	if c.index != nil {
		i, found = c.index[k]
		return i, found
	}
	for i := range c.items {
		if c.items[i].k == k {
			return i, true
		}
	}
	return 0, false
}

func (c *calendar[K]) Len() int           { return len(c.items) }
func (c *calendar[K]) Less(i, j int) bool { return c.items[i].at < c.items[j].at }

func (c *calendar[K]) Swap(i, j int) {
	c.items[i], c.items[j] = c.items[j], c.items[i]
	if c.index != nil {
		c.index[c.items[i].k], c.index[c.items[j].k] = i, j
	}
}

// Push implements heap.Interface.
func (c *calendar[K]) Push(x any) {
	it := x.(item[K])
	c.items = append(c.items, it)
	switch n := len(c.items); {
	case c.index != nil:
		c.index[it.k] = n - 1
	case n > few:
		c.index = map[K]int{}
		for i := range c.items {
			c.index[c.items[i].k] = i
		}
	}
}

// Pop implements heap.Interface.
func (c *calendar[K]) Pop() any {
	last := len(c.items) - 1
	it := c.items[last]
	c.items[last] = item[K]{} // so that k can be collected
	c.items = c.items[:last]
	if delete(c.index, it.k); last == 0 {
		c.index = nil
	}
	return it
}
