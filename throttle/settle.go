package throttle

import "maps"

// part is what of a grant was charged at an instant: what it was asked for when it went,
// and what was found out later when that was told.
type part struct {
	at   instant
	cost Costs // of Requests too
}

// Settle tells what the request has really cost, in the units that are among spent;
// the others stay as they were. What was claimed too much goes back as if it had not
// been claimed; what was claimed too little is charged now, as a server does that
// finds it out at the end, and may leave a bucket in debt. Those who wait are timed
// anew. It may be called at any time, more than once, before Done and after it.
//
// Of a grant whose Claim had no Costs, copies do not know what the others were told, unless
// Share was called before they were made.
func (g *Grant) Settle(spent Costs) {
	root := g.l.lock()
	defer g.l.unlock(root)
	now := root.now()
	g.l.change(now, func() { g.settle(now, spent) })
}

// Share has all copies of g that are made from now on know what one of them is told by
// Settle or Done.
func (g *Grant) Share() {
	if g.more == nil {
		g.more = &more{asked: g.asked()}
	}
}

func (g *Grant) settle(now instant, spent Costs) {
	g.Share()
	m := g.more
	if m.canceled {
		return
	}
	m.parts = g.parts()
	more, less := Costs{}, []part{}
	for unit, n := range spent {
		if unit == "" {
			unit = Requests
		}
		switch diff := max(n, 0) - m.spent(unit); {
		case diff > 0:
			more[unit] = diff
		case diff < 0:
			less = m.take(less, unit, -diff)
		}
	}
	for b := g.l; b != nil; b = b.Parent {
		b.booked = now
		b.settle(b.limits, now, more, less)
		if !g.urgent {
			b.settle(b.spare, now, more, less)
		}
		if b.lease != nil {
			b.lease.settle(now, g, more, less)
		}
	}
	if len(more) > 0 {
		m.parts = append(m.parts, part{now, more})
	}
}

// take takes n of a unit back from the latest parts, and adds to less what it took.
func (m *more) take(less []part, unit string, n int) []part {
	for i := len(m.parts) - 1; i >= 0 && n > 0; i-- {
		p := &m.parts[i]
		if k := min(n, p.cost[unit]); k > 0 {
			p.cost[unit] -= k
			n -= k
			less = append(less, part{p.at, Costs{unit: k}})
		}
	}
	return less
}

// settle charges more now, and gives back less.
func (l *Limiter) settle(limits []limit, now instant, more Costs, less []part) {
	for i, lim := range limits {
		q := &l.quotas[i]
		if lim == nil || q.Kind.slots() {
			continue
		}
		for _, p := range less {
			if n := p.cost[q.name()]; n > 0 {
				lim.give(now, p.at, n)
			}
		}
		if n := more[q.name()]; n > 0 {
			lim.take(now, now, n)
		}
	}
}

// name is the unit of the quota in Costs.
func (q *Quota) name() string {
	if q.Unit == "" {
		return Requests
	}
	return q.Unit
}

// parts returns what was charged.
func (g *Grant) parts() []part {
	if g.more != nil && g.more.parts != nil {
		return g.more.parts
	}
	asked := g.asked()
	cost := maps.Clone(asked.of)
	if cost == nil {
		cost = Costs{}
	}
	cost[Requests] = asked.n
	return []part{{g.sent, cost}}
}

// spent is what the grant has cost in a unit, as far as it is known.
func (m *more) spent(unit string) (n int) {
	for _, p := range m.parts {
		n += p.cost[unit]
	}
	return n
}

// cost is what the grant has cost, as far as that is known.
func (g *Grant) cost() demand {
	d := g.asked()
	if g.more == nil || g.more.parts == nil {
		return d
	}
	d.n, d.of = g.more.spent(Requests), maps.Clone(d.of)
	for _, p := range g.more.parts {
		for unit := range p.cost {
			if unit != Requests {
				if d.of == nil {
					d.of = Costs{}
				}
				d.of[unit] = g.more.spent(unit)
			}
		}
	}
	return d
}
