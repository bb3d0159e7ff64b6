package throttle

import (
	"container/list"
	"iter"
	"time"

	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// line is who waits in a bucket, by priority, and of each in the order in which they
// first asked.
//
// A waiter stands in the line of the bucket that it asked, and, when it is the
// first there and that bucket would let it go, in the line of the parent too,
// and so on up: only the first of each bucket, and of each priority, competes for
// what the parent grants, by rank again. At the root, whoever is first and may go in
// every bucket of its path is granted, in all of them at one instant.
//
// Nobody overtakes one of a better rank who waits for what both need. Where the
// better one waits only because it must not use what is reserved, others may.
type line struct {
	byPriority [priorities]list.List    // of *waiter
	sum        [priorities]limit.Demand // of those who asked this bucket itself
	own        int                      // how many they are
	waiting    int                      // how many wait in this bucket or in one below it
	timer      *time.Timer              // for the next who may go; nil until somebody waits
}

// len is how many stand in this line itself.
func (q *line) len() (n int) {
	for i := range q.byPriority {
		n += q.byPriority[i].Len()
	}
	return n
}

// heads returns the first of each priority, the best rank first.
func (q *line) heads(buf *[priorities]*waiter) []*waiter {
	heads := buf[:0]
	for i := range q.byPriority {
		e := q.byPriority[i].Front()
		if e == nil {
			continue
		}
		heads = append(heads, e.Value.(*waiter))
		for j := len(heads) - 1; j > 0 && heads[j].before(heads[j-1]); j-- {
			heads[j], heads[j-1] = heads[j-1], heads[j]
		}
	}
	return heads
}

// latest returns who would go last of those who asked l itself.
func (l *Limiter) latest() (last *waiter) {
	for i := range l.line.byPriority {
		for e := l.line.byPriority[i].Back(); e != nil; e = e.Prev() {
			if w := e.Value.(*waiter); w.l == l {
				if last == nil || last.before(w) {
					last = w
				}
				break
			}
		}
	}
	return last
}

// all goes through the line in the order of ranks. Who was passed may leave.
func (q *line) all() iter.Seq[*waiter] {
	return func(yield func(*waiter) bool) {
		var at [priorities]*list.Element
		for i := range q.byPriority {
			at[i] = q.byPriority[i].Front()
		}
		for {
			var next *waiter
			for _, e := range at {
				if e == nil {
					continue
				}
				if w := e.Value.(*waiter); next == nil || w.before(next) {
					next = w
				}
			}
			if next == nil {
				return
			}
			at[next.priority.index()] = at[next.priority.index()].Next()
			if !yield(next) {
				return
			}
		}
	}
}

// insert puts w behind all of its priority who asked before it. Newcomers look from
// the back; those who were in line before, and so belong near the front, from there.
func (q *line) insert(w *waiter, fromFront bool) *list.Element {
	waiters := &q.byPriority[w.priority.index()]
	if fromFront {
		for e := waiters.Front(); e != nil; e = e.Next() {
			if w.before(e.Value.(*waiter)) {
				return waiters.InsertBefore(w, e)
			}
		}
		return waiters.PushBack(w)
	}
	for e := waiters.Back(); e != nil; e = e.Prev() {
		if e.Value.(*waiter).before(w) {
			return waiters.InsertAfter(w, e)
		}
	}
	return waiters.PushFront(w)
}

// remove takes out of line who stands at e.
func (q *line) remove(w *waiter, e *list.Element) { q.byPriority[w.priority.index()].Remove(e) }

// enter puts w in line. It requires that mu is held.
func (w *waiter) enter(again bool) {
	w.joinLine(w.l, again)
	w.count(1)
}

// leave takes w out of all lines. It requires that mu is held.
func (w *waiter) leave() {
	w.withdraw(w.l)
	w.l.line.remove(w, w.entries[0])
	w.entries = nil
	w.count(-1)
}

// count adds what w asks for, sign times.
func (w *waiter) count(sign int) {
	w.l.line.own += sign
	w.l.line.sum[w.priority.index()].Add(&w.Demand, sign)
	for b := w.l; b != nil; b = b.Parent {
		b.line.waiting += sign
	}
}

// withdraw takes w out of the lines above b, where it would block others.
func (w *waiter) withdraw(b *Limiter) {
	for top := w.top(); top != b; top = w.top() {
		last := len(w.entries) - 1
		top.line.remove(w, w.entries[last])
		w.entries = w.entries[:last]
	}
}

// joinLine puts w in the line of b. Whoever was the first of its priority there until now
// no longer competes above.
func (w *waiter) joinLine(b *Limiter, fromFront bool) {
	e := b.line.insert(w, fromFront)
	if next := e.Next(); next != nil {
		next.Value.(*waiter).withdraw(b)
	}
	w.entries = append(w.entries, e)
}

// top is the highest bucket in whose line w stands.
func (w *waiter) top() *Limiter {
	b := w.l
	for range w.entries[1:] {
		b = b.Parent
	}
	return b
}

// predecessors is what goes before a claim.
type predecessors struct {
	all        limit.Demand
	unreserved limit.Demand // of that, what must not use what is reserved
}

func (c *predecessors) add(d *limit.Demand, p Priority) {
	c.all = c.all.Plus(d)
	if p < Urgent {
		c.unreserved = c.unreserved.Plus(d)
	}
}

// ahead adds what goes before w, which is about to join, in l and in the buckets below it:
// at least that. It is called for w's bucket first, and then for those above it. Of a
// bucket below which has somebody in the line of l all who wait follow, if it would let
// them.
func (l *Limiter) ahead(c *predecessors, w *waiter, now monotime.Time) {
	for i := range l.line.byPriority {
		p := Priority(i) + Background
		lower := p < w.priority
		if lower {
			// Who has waited for long goes first, unless it waits only for what is left to it.
			e := l.line.byPriority[i].Back()
			if e == nil || l.Reserve > 0 && w.urgent() || !e.Value.(*waiter).before(w) {
				continue
			}
		}
		c.add(&l.line.sum[i], p)
		if l.line.byPriority[i].Len() == l.line.sum[i].Claims {
			continue // nobody from below
		}
		for e := l.line.byPriority[i].Front(); e != nil; e = e.Next() {
			guest := e.Value.(*waiter)
			if guest.l == l || w.passes(guest, l) {
				continue // counted already
			}
			var buf [priorities]*waiter
			switch {
			case !lower && guest.l.Parent == l && guest.l.opensForAll(now):
				c.add(&guest.l.line.sum[i], p)
			case guest.l.line.heads(&buf)[0] == guest:
				c.add(&guest.Demand, p) // others may be held back by it
			}
		}
	}
}

// opensForAll reports whether l would let all go at once who asked it.
func (l *Limiter) opensForAll(now monotime.Time) bool {
	var all need
	for i := range l.line.sum {
		all.Demand = all.Plus(&l.line.sum[i])
	}
	if l.hold > now || !l.server.Open(now, &all.Demand, l.Reserve) {
		return false
	}
	return l.stack.OpenForAll(now, &all.Demand)
}

// passes reports whether w comes to l through the same bucket below it as guest.
func (w *waiter) passes(guest *waiter, l *Limiter) bool { return w.l.below(l) == guest.l.below(l) }

// below returns the bucket next to above on the way from l to it, nil if l is it.
func (l *Limiter) below(above *Limiter) (next *Limiter) {
	for b := l; b != above; b = b.Parent {
		next = b
	}
	return next
}

// place is a place in line: that of whoever first asked then. MaxWait counts from
// there.
type place struct {
	since  monotime.Time
	number uint64 // counts those who asked; zero for one who came when nobody waited
}

// rank is the instant at which one who asked at since, with priority p, is taken to
// have asked. The order of two ranks never changes: all who wait age alike.
func (l *Limiter) rank(since monotime.Time, p Priority) monotime.Time {
	ageing := l.Ageing
	switch {
	case ageing == 0:
		ageing = 10 * time.Second
	case ageing < 0 || ageing > monotime.Longest:
		ageing = monotime.Longest
	}
	return since.Add(-time.Duration(p.index()-Normal.index()) * ageing)
}

// need is what a claim asks for.
type need struct {
	limit.Demand
	priority Priority
}

// urgent reports whether w may use what is reserved.
func (w *need) urgent() bool { return w.priority >= Urgent }
