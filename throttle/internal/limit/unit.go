package limit

import (
	"fmt"

	"github.com/gopacer/pacer/quota"
)

// Misspelled returns a unit of costs that was probably meant to be that of a quota, and that quota. Ok is false if
// there is none. Of several, the first in the order of strings is returned.
func Misspelled(costs quota.Costs, qs quota.Quotas) (unit string, meant quota.Quota, ok bool) {
	for u := range costs {
		if q, near := qs.Misspelled(u); near && (!ok || u < unit) {
			unit, meant, ok = u, q, true
		}
	}
	return unit, meant, ok
}

// Spelled returns costs with the units of the quotas in place of those that were probably meant to be these. Where costs
// have both, the right one counts. Costs are not changed.
func Spelled(costs quota.Costs, qs quota.Quotas) quota.Costs {
	for {
		unit, q, ok := Misspelled(costs, qs)
		if !ok {
			return costs
		}
		meant := quota.Costs{UnitName(&q): costs[unit]}
		for u, n := range costs { // not maps.Clone, for which every answer would escape to the heap
			if u != unit {
				meant[u] = n
			}
		}
		costs = meant
	}
}

// CheckUnits returns an error if a quota is in a unit that is nearly one of the quotas of a bucket above: a cost has one
// of the two, and would draw on nothing of the other.
func CheckUnits(name string, qs quota.Quotas, above string, theirs quota.Quotas) error {
	for i := range qs {
		if o, ok := theirs.Misspelled(qs[i].Unit); ok && qs[i].N > 0 {
			return fmt.Errorf("throttle: %s: the Unit of %q is %q, want %q as in %q of %s", name, qs[i].Name, UnitName(&qs[i]), UnitName(&o), o.Name, above)
		}
	}
	return nil
}
