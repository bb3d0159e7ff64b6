package limit

import (
	"maps"
	"slices"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Part is what was charged at an instant, requests among the costs.
type Part struct {
	At   monotime.Time
	Cost quota.Costs
}

// Parts is all that was charged for one request, in the order of the charges: at the grant, and when its
// cost was corrected.
type Parts []Part

// In returns the sum of a unit.
func (ps Parts) In(unit string) (n int64) {
	for _, p := range ps {
		n += p.Cost[unit]
	}
	return n
}

// Correct makes the sum of each unit in spent what spent says, as of now. A negative cost counts as zero, one
// above quota.MaxN as that, and an empty unit is quota.Requests: of the two the larger counts. It returns the
// corrected parts, what is to be charged now (more), and what is to be taken back (less): the latest charges
// first, each as of the instant at which it was made.
func (ps Parts) Correct(now monotime.Time, spent quota.Costs) (corrected Parts, more quota.Costs, less Parts) {
	more = quota.Costs{}
	for unit, n := range spent {
		if unit == "" || unit == quota.Requests {
			unit, n = quota.Requests, max(spent[""], spent[quota.Requests])
		}
		switch diff := tokens(max(n, 0)) - ps.In(unit); {
		case diff > 0:
			more[unit] = diff
		case diff < 0:
			less = ps.takeBack(less, unit, -diff)
		}
	}
	if len(more) > 0 {
		ps = append(ps, Part{At: now, Cost: more})
	}
	return ps, more, less
}

// takeBack takes n of a unit out of the parts, the latest first, and appends what it took to less.
func (ps Parts) takeBack(less Parts, unit string, n int64) Parts {
	for i := len(ps) - 1; i >= 0 && n > 0; i-- {
		p := &ps[i]
		if k := min(n, p.Cost[unit]); k > 0 {
			p.Cost[unit] -= k
			n -= k
			less = append(less, Part{At: p.At, Cost: quota.Costs{unit: k}})
		}
	}
	return less
}

// Demand returns what was claimed (d), at the cost that was charged.
func (ps Parts) Demand(d Demand) Demand {
	d.N, d.Costs = toInt(ps.In(quota.Requests)), maps.Clone(d.Costs)
	for _, p := range ps {
		for unit := range p.Cost {
			if unit != quota.Requests {
				if d.Costs == nil {
					d.Costs = quota.Costs{}
				}
				d.Costs[unit] = ps.In(unit)
			}
		}
	}
	return d
}

// Charged is what one grant was charged, and what it holds.
type Charged struct {
	Demand Demand // what was claimed
	Slots  []Slot // of quotas of what is under way

	guessed quota.Costs // what was charged beyond the Demand, of which nobody has said yet what it really is
	parts   Parts       // what was charged; nil if that is the Demand
}

// Guess has c be charged what the claim is expected to cost in units of which it does not say it, and returns
// what the claim costs then.
func (c *Charged) Guess(costs quota.Costs) *Demand {
	c.guessed = costs
	d := c.Demand
	d.Costs = maps.Clone(d.Costs)
	if d.Costs == nil {
		d.Costs = quota.Costs{}
	}
	maps.Copy(d.Costs, costs)
	return &d
}

// Parts returns what was charged, and when: at the grant, if nothing was corrected.
func (c *Charged) Parts(granted monotime.Time) Parts {
	if c.parts != nil {
		return c.parts
	}
	cost := quota.Costs{}
	for _, costs := range [...]quota.Costs{c.Demand.Costs, c.guessed} {
		for unit, n := range costs {
			cost[unit] = tokens(n)
		}
	}
	cost[quota.Requests] = tokens(int64(c.Demand.N))
	return Parts{{At: granted, Cost: cost}}
}

// Cost is what was claimed, at the cost that was charged, but for units of which it was only expected.
func (c *Charged) Cost() Demand {
	if c.parts == nil {
		return c.Demand
	}
	d := c.parts.Demand(c.Demand)
	for unit := range c.guessed {
		delete(d.Costs, unit)
	}
	return d
}

// Correct is Parts.Correct.
func (c *Charged) Correct(granted, now monotime.Time, spent quota.Costs) (more quota.Costs, less Parts) {
	c.parts, more, less = c.Parts(granted).Correct(now, spent)
	for unit := range spent {
		delete(c.guessed, unit)
	}
	return more, less
}

// Holds reports whether the grant holds a slot of a kind.
func (c *Charged) Holds(kind quota.Kind) bool {
	return slices.ContainsFunc(c.Slots, func(s Slot) bool { return s.Kind == kind })
}

// Record records which slots the claim holds in a stack whose quotas bound what is under way.
func (c *Charged) Record(s Stack, d *Demand, urgent bool) { c.Slots = s.Slots(c.Slots, d, urgent) }

// Free gives back the slots of some kinds.
func (c *Charged) Free(kinds ...quota.Kind) {
	c.Slots = slices.DeleteFunc(c.Slots, func(s Slot) bool {
		freed := slices.Contains(kinds, s.Kind)
		if freed {
			s.Free()
		}
		return freed
	})
}
