package throttle

// others is what goes before a claim.
type others struct {
	all  demand
	kept demand // of that, what must not use what is reserved
}

func (c *others) add(d *demand, p Priority) {
	c.all = c.all.plus(d)
	if p < Urgent {
		c.kept = c.kept.plus(d)
	}
}

// ahead adds what goes before w, which is about to join, in l and in the buckets below it:
// at least that. It is called for w's bucket first, and then for those above it. Of a
// bucket below which has somebody in the line of l all who wait follow, if it would let
// them.
func (l *Limiter) ahead(c *others, w *Waiter, now instant) {
	for i := range l.line.class {
		p := Priority(i) + Background
		lower := p < w.priority
		if lower {
			// Who has waited for long goes first, unless it waits only for what is left to it.
			e := l.line.class[i].Back()
			if e == nil || l.Reserve > 0 && w.urgent() || !e.Value.(*Waiter).before(w) {
				continue
			}
		}
		c.add(&l.line.sum[i], p)
		if l.line.class[i].Len() == l.line.sum[i].claims {
			continue // nobody from below
		}
		for e := l.line.class[i].Front(); e != nil; e = e.Next() {
			guest := e.Value.(*Waiter)
			if guest.l == l || w.passes(guest, l) {
				continue // counted already
			}
			var buf [classes]*Waiter
			switch {
			case !lower && guest.l.Parent == l && guest.l.lets(now):
				c.add(&guest.l.line.sum[i], p)
			case guest.l.line.heads(&buf)[0] == guest:
				c.add(&guest.demand, p) // others may be held back by it
			}
		}
	}
}

// lets reports whether l would let all go at once who asked it.
func (l *Limiter) lets(now instant) bool {
	var all want
	for i := range l.line.sum {
		all.demand = all.plus(&l.line.sum[i])
	}
	if l.hold > now || !l.server.open(now, &all, l.Reserve) {
		return false
	}
	for _, limits := range [...][]limit{l.limits, l.spare} {
		for i, lim := range limits {
			n := all.in(&l.quotas[i])
			if lim == nil || n == 0 {
				continue
			}
			if at, _ := lim.when(now, n-1, 1); at > now {
				return false
			}
		}
	}
	return true
}

// passes reports whether w comes to l through the same bucket below it as guest.
func (w *Waiter) passes(guest *Waiter, l *Limiter) bool { return w.l.below(l) == guest.l.below(l) }

// below returns the bucket next to above on the way from l to it, nil if l is it.
func (l *Limiter) below(above *Limiter) (next *Limiter) {
	for b := l; b != above; b = b.Parent {
		next = b
	}
	return next
}
