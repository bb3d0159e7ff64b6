package order

import "slices"

// walk goes through a row in the order in which its waiters go if nobody joins. It looks at no more flows than
// it must.
type walk[W Waiter[W]] struct {
	flows byTag[W]   // a heap; of the flow at i, those at 2i+1 and 2i+2 come later
	at    cursors[W] // flows whose turn may come next
	taken *Entry[W]  // from the first of at, which is not charged yet
}

// cursor is where a walk is in a flow.
type cursor[W Waiter[W]] struct {
	start float64
	at    *Entry[W]
	index int // in the flows of the walk; those below it are looked at when somebody was taken. Negative: they were
}

// newWalk begins a walk through r. Leaving says that waiters which were yielded may be removed before it ends.
func newWalk[W Waiter[W]](r *row[W], leaving bool) (s walk[W]) {
	if r == nil {
		return s
	}
	s.flows = r.active
	if leaving {
		s.flows = slices.Clone(s.flows) // of the flows that the walk has not come to, nothing changes
	}
	s.look(0)
	return s
}

// look adds a flow to those whose turn may come next.
func (s *walk[W]) look(index int) {
	if index < len(s.flows) {
		f := s.flows[index]
		s.at.add(cursor[W]{f.start, f.first, index})
	}
}

// next is where the waiter stands that comes next; nil if none does.
func (s *walk[W]) next() *Entry[W] {
	s.settle()
	if len(s.at) == 0 {
		return nil
	}
	return s.at[0].at
}

// settle charges the flow from which a waiter was taken, unless that was removed: then it does not count.
func (s *walk[W]) settle() {
	e := s.taken
	if e == nil {
		return
	}
	c := &s.at[0]
	if s.taken = nil; e.of != nil {
		c.start = after(c.start, e.charge)
	}
	below := c.index
	if c.index = -1; c.at == nil {
		s.at.removeFirst()
	} else {
		s.at.moveBack()
	}
	if below >= 0 {
		s.look(2*below + 1)
		s.look(2*below + 2)
	}
}

// take returns the waiter that comes next, and goes on. There must be one.
func (s *walk[W]) take() W {
	e := s.next()
	s.taken, s.at[0].at = e, e.next
	return e.w
}

// cursors is a heap, in the order of byTag. It is not a heap.Interface, for which a walk would escape.
type cursors[W Waiter[W]] []cursor[W]

func (c cursors[W]) less(i, j int) bool {
	a, b := &c[i], &c[j]
	if a.start != b.start {
		return a.start < b.start
	}
	return a.at.w.Before(b.at.w)
}

// add adds a cursor.
func (c *cursors[W]) add(x cursor[W]) {
	*c = append(*c, x)
	h := *c
	for i := len(h) - 1; i > 0 && h.less(i, (i-1)/2); i = (i - 1) / 2 {
		h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
	}
}

// removeFirst removes the first cursor.
func (c *cursors[W]) removeFirst() {
	last := len(*c) - 1
	(*c)[0] = (*c)[last]
	*c = (*c)[:last]
	c.moveBack()
}

// moveBack moves the first cursor to its place.
func (c *cursors[W]) moveBack() {
	h := *c
	for i := 0; ; {
		least := i
		for j := 2*i + 1; j <= 2*i+2 && j < len(h); j++ {
			if h.less(j, least) {
				least = j
			}
		}
		if least == i {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}
