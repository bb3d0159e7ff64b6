package limit

import (
	"maps"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/expect"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Demand is what one claim asks for, or what several ask for together.
type Demand struct {
	Claims int         // how many they are
	N      int         // in requests
	Costs  quota.Costs // in other units; nil if in none

	Like   *expect.Kind // the claims like them, which tell what they cost in units that are not in Costs; nil if none do
	Silent int          // how many of the claims have a Like

	Haste Haste
}

// Haste is from when on no slow start delays a claim: First while nothing was answered, and then Latest. Both
// are zero if slow starts always may.
type Haste struct{ First, Latest monotime.Time }

// In returns what is asked for of a quota, whose Unit is canonical.
func (d *Demand) In(q *quota.Quota) int64 {
	switch {
	case q.Unit != "":
		n, said := d.Costs[q.Unit]
		if d.Silent > 0 && (!said || d.Claims > 1) {
			n += int64(d.Silent) * d.Like.Cost(q.Unit)
		}
		return n
	case q.Kind.Concurrent():
		return int64(d.Claims)
	}
	return int64(d.N)
}

// Shares reports whether d and o draw on the same quota.
func (d *Demand) Shares(o *Demand, qs quota.Quotas) bool {
	for i := range qs {
		if q := &qs[i]; q.N > 0 && d.In(q) > 0 && o.In(q) > 0 {
			return true
		}
	}
	return false
}

// Said returns d without what it is expected to cost.
func (d *Demand) Said() Demand {
	return Demand{Claims: d.Claims, N: d.N, Costs: d.Costs, Haste: d.Haste}
}

// says reports whether d says what it costs in a unit other than requests.
func (d *Demand) says(unit string) bool {
	_, ok := d.Costs[unit]
	return ok
}

// SetCosts sets the costs of a claim in other units, with zero for those that are negative. Costs are never
// changed.
func (d *Demand) SetCosts(costs quota.Costs) {
	d.Costs = costs
	for _, cost := range costs {
		if cost < 0 {
			d.Costs = maps.Clone(costs)
			for unit := range d.Costs {
				d.Costs[unit] = max(d.Costs[unit], 0)
			}
			return
		}
	}
}

// One returns the least that could be asked for in the same units: one token of each.
func (d *Demand) One() Demand {
	one := Demand{Claims: 1, N: 1}
	if len(d.Costs) > 0 {
		one.Costs = maps.Clone(d.Costs)
		for unit, n := range one.Costs {
			one.Costs[unit] = min(n, 1)
		}
	}
	return one
}

// Add adds what others ask for, sign times.
func (d *Demand) Add(o *Demand, sign int) {
	d.Claims += sign * o.Claims
	d.N += sign * o.N
	d.addSilent(o, sign)
	if len(o.Costs) == 0 {
		return
	}
	if d.Costs == nil {
		d.Costs = quota.Costs{}
	}
	for unit, n := range o.Costs {
		if d.Costs[unit] += int64(sign) * n; d.Costs[unit] == 0 {
			delete(d.Costs, unit)
		}
	}
}

// Plus returns what d and o ask for together, and leaves both as they are.
func (d Demand) Plus(o *Demand) Demand {
	if d.Claims == 0 {
		return *o
	}
	if len(o.Costs) > 0 {
		d.Costs = maps.Clone(d.Costs)
	}
	d.Add(o, 1)
	return d
}

// Sum returns what all ask for together.
func Sum(demands []Demand) (sum Demand) {
	for i := range demands {
		if d := &demands[i]; d.Claims > 0 {
			sum = sum.Plus(d)
		}
	}
	return sum
}

// AnySilent reports whether some claim has a Like: does not say all of its costs.
func AnySilent(demands []Demand) bool {
	for i := range demands {
		if demands[i].Silent > 0 {
			return true
		}
	}
	return false
}

// Ahead is the sum of what goes before a claim.
type Ahead struct {
	All        Demand
	Unreserved Demand // the part of All that is not urgent, and so must not use what is reserved
	Direct     Demand // the part of All that asked the bucket itself, above that of the claim
}

// Add adds what others ask for.
func (a *Ahead) Add(d *Demand, urgent bool) {
	a.All.include(d)
	if !urgent {
		a.Unreserved.include(d)
	}
}

// include sets d to what d and o ask for together. It changes no map, since d may have that of another.
func (d *Demand) include(o *Demand) {
	if len(o.Costs) > 0 {
		*d = d.Plus(o)
		return
	}
	d.Claims += o.Claims
	d.N += o.N
	d.addSilent(o, 1)
}

// addSilent adds claims that do not say all that they cost.
func (d *Demand) addSilent(o *Demand, sign int) {
	if o.Silent > 0 {
		d.Silent += sign * o.Silent
		d.Like = o.Like.Any()
	}
}

// Last returns the least that the last of several asks for: one token of each unit in which d is not zero; and
// what is left of d for the others.
func (d *Demand) Last() (before, last Demand) {
	last = d.One()
	before.Add(d, 1)
	before.Add(&last, -1)
	return before, last
}
