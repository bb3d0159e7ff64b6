// Package agenda says when something is to be looked at again: each thing at an instant of its own ([Agenda]),
// or once when all is done ([Once]), and a whole line not too often ([Checks]).
//
// In come instants, and how much there is to look at; out comes when. The package knows nothing of what is
// looked at.
package agenda

import "github.com/gopacer/pacer/throttle/internal/monotime"

// Agenda is what is to be looked at, each at an instant of its own. The zero Agenda is empty.
type Agenda[K comparable] struct {
	items []item[K] // a heap: of the one at i, those at 2i+1 and 2i+2 come no sooner
	index map[K]int // where each is; nil while there have been no more than few
}

type item[K comparable] struct {
	k  K
	at monotime.Time
}

// few items are searched in less time than a map takes.
const few = 8

// Set puts k on the agenda, at an instant in place of any earlier one; zero takes it off.
func (a *Agenda[K]) Set(k K, at monotime.Time) {
	i, found := a.find(k)
	switch {
	case at == 0 && found:
		a.remove(i)
	case at == 0:
	case found:
		a.items[i].at = at
		a.settle(i)
	default:
		a.add(item[K]{k, at})
	}
}

// Due reports whether something is due.
func (a *Agenda[K]) Due(now monotime.Time) bool {
	return len(a.items) > 0 && a.items[0].at <= now
}

// Next is the instant of what comes first, zero if there is nothing.
func (a *Agenda[K]) Next() monotime.Time {
	if len(a.items) == 0 {
		return 0
	}
	return a.items[0].at
}

// Take takes off and returns what comes first. There must be something.
func (a *Agenda[K]) Take() K {
	first := a.items[0].k
	a.remove(0)
	return first
}

// find returns where k is.
func (a *Agenda[K]) find(k K) (i int, found bool) {
	if a.index != nil {
		i, found = a.index[k]
		return i, found
	}
	for i := range a.items {
		if a.items[i].k == k {
			return i, true
		}
	}
	return 0, false
}

// add adds what is not there.
func (a *Agenda[K]) add(it item[K]) {
	a.items = append(a.items, it)
	switch n := len(a.items); {
	case a.index != nil:
		a.index[it.k] = n - 1
	case n > few:
		a.index = map[K]int{}
		for i := range a.items {
			a.index[a.items[i].k] = i
		}
	}
	a.settle(len(a.items) - 1)
}

// remove takes off what is at i.
func (a *Agenda[K]) remove(i int) {
	last := len(a.items) - 1
	a.swap(i, last)
	delete(a.index, a.items[last].k)
	a.items[last] = item[K]{} // so that k can be collected
	if a.items = a.items[:last]; last == 0 {
		a.index = nil
	}
	a.settle(i)
}

// settle has what is at i, if anything, take its place. It is not done by container/heap, which would allocate
// for each item that is added.
func (a *Agenda[K]) settle(i int) {
	for i < len(a.items) {
		least := i
		for j := 2*i + 1; j <= 2*i+2 && j < len(a.items); j++ {
			if a.items[j].at < a.items[least].at {
				least = j
			}
		}
		if up := (i - 1) / 2; least == i && a.items[i].at < a.items[up].at {
			least = up
		}
		if least == i {
			return
		}
		a.swap(i, least)
		i = least
	}
}

func (a *Agenda[K]) swap(i, j int) {
	a.items[i], a.items[j] = a.items[j], a.items[i]
	if a.index != nil {
		a.index[a.items[i].k], a.index[a.items[j].k] = i, j
	}
}
