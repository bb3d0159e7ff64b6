package throttle

import (
	"maps"
	"slices"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/adaptive"
	"github.com/gopacer/pacer/throttle/internal/lease"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Grant is the right to send one request now. It is ended by exactly one call of
// Done, when the server has answered, or of Cancel, if nothing was sent. If the
// answer is still being read then, Close ends that.
//
// A Grant may be moved to another variable; then only that one is good. Its methods may be
// called at the same time.
type Grant struct {
	l      *Limiter
	ticket adaptive.Ticket
	place  place
	class  Class
	urgent bool  // nothing of what is left to those that are not urgent was charged
	plain  bool  // it cost requests only, and holds no slot
	more   *more // nil if there is no more to know
}

// more is what only some grants have.
type more struct {
	asked limit.Demand
	parts []limit.Part // what was charged; nil if that is what was asked for
	slots []limit.Slot // that it holds
	uses  []lease.Use  // of slots of a Store
	open  bool         // Close will be called

	canceled bool // nothing is left to settle
}

// Limiter returns the bucket that granted the request.
func (g *Grant) Limiter() *Limiter { return g.l }

// Time is when the request was granted, by the wall clock of when the Limiter was
// first used and the monotonic one since.
func (g *Grant) Time() time.Time { return g.l.clock.Date(g.ticket.Sent) }

// Close ends the reading of an answer that was Done with Answer.Reading, or with
// Answer.Unsettled. Later calls do nothing.
func (g *Grant) Close() {
	if g.plain {
		return
	}
	root := g.l.lock()
	defer g.l.unlock(root)
	if g.more.open {
		g.more.open = false
		g.l.unclosed--
		g.l.change(root.now(), func() { g.free(quota.InFlight) })
	}
}

// askedCosts is what the grant was asked for, nil if only requests were.
func (g *Grant) askedCosts() *limit.Demand {
	if g.more == nil {
		return nil
	}
	return &g.more.asked
}

// costs is what the grant has cost, as far as that is known; nil if only requests were asked for.
func (g *Grant) costs() *limit.Demand {
	if g.more == nil {
		return nil
	}
	d := g.cost()
	return &d
}

// asked is what the grant was asked for.
func (g *Grant) asked() limit.Demand {
	if g.more != nil {
		return g.more.asked
	}
	return limit.Demand{Claims: 1, N: g.ticket.N}
}

// hold notes what the grant holds of limits on what is under way.
func (g *Grant) hold(s limit.Stack, d *limit.Demand) {
	var slots []limit.Slot
	if g.more != nil {
		slots = g.more.slots
	}
	if slots = s.Slots(slots, d, g.urgent); len(slots) > 0 {
		g.extend().slots = slots
	}
}

// holds reports whether the grant holds slots of a kind.
func (g *Grant) holds(kind quota.Kind) bool {
	if g.more == nil {
		return false
	}
	return slices.ContainsFunc(g.more.slots, func(s limit.Slot) bool { return s.Kind == kind })
}

// free gives back the slots of a kind. It requires that mu is held.
func (g *Grant) free(kind quota.Kind) {
	if g.more == nil {
		return
	}
	kept := g.more.slots[:0]
	for _, s := range g.more.slots {
		if s.Kind == kind {
			s.Free()
		} else {
			kept = append(kept, s)
		}
	}
	g.more.slots = kept
}

// endFast ends a grant of so many requests without the lock, if nobody waits and nothing is
// known that its answer could confirm.
func (l *Limiter) endFast(n int) bool {
	if !l.fastDone.Load() {
		return false
	}
	l.unlocked.Add(int64(-n))
	if !l.fastDone.Load() { // somebody has learned something meanwhile, and may wait for this
		root := l.lock()
		l.change(root.now(), func() {})
		l.unlock(root)
	}
	return true
}

// Cancel ends the grant of a request that was not sent: what was charged goes
// back, exactly, and everybody behind moves up.
func (g *Grant) Cancel() {
	root := g.l.lock()
	defer g.l.unlock(root)
	now := root.now()
	g.l.change(now, func() { g.give(now) })
}

// give takes the grant back. It requires that mu is held.
func (g *Grant) give(now monotime.Time) {
	parts := g.parts()
	if g.more != nil {
		g.more.canceled = true
	}
	for b := g.l; b != nil; b = b.Parent {
		b.lastCharged = now
		b.stack.Settle(now, nil, parts, g.urgent)
		if b.link != nil {
			b.link.giveBack(now, g)
		}
	}
	if g.more != nil {
		g.more.uses = nil
	}
	g.end()
}

// end ends what is under way. It requires that mu is held.
func (g *Grant) end() {
	g.free(quota.InFlight)
	g.free(quota.Unanswered)
	g.l.server.End(&g.ticket, g.askedCosts())
	g.l.server.Looked(&g.ticket)
}

// forget ends the grant of a caller who will not say how it went.
func (g *Grant) forget() {
	if g.plain && g.l.endFast(g.ticket.N) {
		return
	}
	root := g.l.lock()
	defer g.l.unlock(root)
	if g.more != nil && len(g.more.slots) > 0 {
		g.l.change(root.now(), g.end)
	} else {
		g.end()
	}
}

// Settle tells what the request has really cost, in the units that are among spent;
// the others stay as they were. What was claimed too much goes back as if it had not
// been claimed; what was claimed too little is charged now, as a server does that
// finds it out at the end, and may leave a bucket in debt. Those who wait are timed
// anew. It may be called at any time, more than once, before Done and after it.
func (g *Grant) Settle(spent quota.Costs) {
	root := g.l.lock()
	defer g.l.unlock(root)
	now := root.now()
	g.l.change(now, func() { g.settle(now, spent) })
}

// extend returns what more is known of g. It requires that mu is held, or that nobody else has g.
func (g *Grant) extend() *more {
	if g.more == nil {
		g.more = &more{asked: g.asked()}
	}
	return g.more
}

func (g *Grant) settle(now monotime.Time, spent quota.Costs) {
	m := g.extend()
	if m.canceled {
		return
	}
	m.parts = g.parts()
	more, less := quota.Costs{}, []limit.Part{}
	for unit, n := range spent {
		if unit == "" {
			unit = quota.Requests
		}
		switch diff := max(n, 0) - m.spent(unit); {
		case diff > 0:
			more[unit] = diff
		case diff < 0:
			less = m.take(less, unit, -diff)
		}
	}
	for b := g.l; b != nil; b = b.Parent {
		b.lastCharged = now
		b.stack.Settle(now, more, less, g.urgent)
		if b.link != nil {
			b.link.settle(now, g, more, less)
		}
	}
	if len(more) > 0 {
		m.parts = append(m.parts, limit.Part{At: now, Cost: more})
	}
}

// take takes n of a unit back from the latest parts, and adds to less what it took.
func (m *more) take(less []limit.Part, unit string, n int) []limit.Part {
	for i := len(m.parts) - 1; i >= 0 && n > 0; i-- {
		p := &m.parts[i]
		if k := min(n, p.Cost[unit]); k > 0 {
			p.Cost[unit] -= k
			n -= k
			less = append(less, limit.Part{At: p.At, Cost: quota.Costs{unit: k}})
		}
	}
	return less
}

// parts returns what was charged.
func (g *Grant) parts() []limit.Part {
	if g.more != nil && g.more.parts != nil {
		return g.more.parts
	}
	asked := g.asked()
	cost := maps.Clone(asked.Costs)
	if cost == nil {
		cost = quota.Costs{}
	}
	cost[quota.Requests] = asked.N
	return []limit.Part{{At: g.ticket.Sent, Cost: cost}}
}

// spent is what the grant has cost in a unit, as far as it is known.
func (m *more) spent(unit string) (n int) {
	for _, p := range m.parts {
		n += p.Cost[unit]
	}
	return n
}

// cost is what the grant has cost, as far as that is known.
func (g *Grant) cost() limit.Demand {
	d := g.asked()
	if g.more == nil || g.more.parts == nil {
		return d
	}
	d.N, d.Costs = g.more.spent(quota.Requests), maps.Clone(d.Costs)
	for _, p := range g.more.parts {
		for unit := range p.Cost {
			if unit != quota.Requests {
				if d.Costs == nil {
					d.Costs = quota.Costs{}
				}
				d.Costs[unit] = g.more.spent(unit)
			}
		}
	}
	return d
}
