package check

import (
	"cmp"
	"fmt"

	"github.com/gopacer/pacer/internal/spelling"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
)

// Misspelled returns a unit of costs that was probably meant to be that of a quota, and that quota. Ok is false
// if there is none. Of several, the first in the order of strings is returned.
func Misspelled(costs quota.Costs, qs quota.Quotas) (unit string, meant quota.Quota, ok bool) {
	for u := range costs {
		if q := meantBy(u, qs); q != nil && (!ok || u < unit) {
			unit, meant, ok = u, *q, true
		}
	}
	return unit, meant, ok
}

// meantBy returns the quota that a unit was probably meant for, nil if there is none; see quota.Costs.
func meantBy(unit string, qs quota.Quotas) *quota.Quota {
	return spelling.Meant(cmp.Or(unit, quota.Requests), qs, func(q *quota.Quota) (string, bool) { return limit.UnitName(q), q.N > 0 })
}

// Spelled returns costs with the units of the quotas in place of those that were probably meant to be these.
// Where costs have both, the right one counts. Costs are not changed.
func Spelled(costs quota.Costs, qs quota.Quotas) quota.Costs {
	for {
		unit, q, ok := Misspelled(costs, qs)
		if !ok {
			return costs
		}
		meant := quota.Costs{limit.UnitName(&q): costs[unit]}
		for u, n := range costs { // not maps.Clone, for which every answer would escape to the heap
			if u != unit {
				meant[u] = n
			}
		}
		costs = meant
	}
}

// Unit says what is wrong with the unit of a claim of n requests, and the name of the quota that it is not fit
// for, what was claimed, and in which unit, empty for requests: a unit of costs is nearly that of the quota; or
// the claim is bare, of Wait or Allow, and the quota is of something else than requests. Why is empty if the
// claim is fit.
func Unit(costs quota.Costs, n int64, bare bool, qs quota.Quotas) (name string, cost int64, unit, why string) {
	if len(costs) > 0 {
		if unit, q, ok := Misspelled(costs, qs); ok {
			return q.Name, costs[unit], unit, fmt.Sprintf(": cost in %q, want %q as in", unit, limit.UnitName(&q))
		}
	}
	if q := NotInRequests(qs); bare && q != nil {
		if q.Kind.Concurrent() {
			return q.Name, n, "", ": Wait and Allow cannot say when a request ends, want Acquire and Grant.Done for"
		}
		return q.Name, n, "", ": Wait and Allow are for quotas in requests, want Acquire with Costs for"
	}
	return "", 0, "", ""
}

// NotInRequests returns the first quota on which requests alone do not draw, or that wants to know when they
// end; nil if none.
func NotInRequests(qs quota.Quotas) *quota.Quota {
	for i := range qs {
		if q := &qs[i]; q.N > 0 && (q.Unit != "" || q.Kind.Concurrent()) {
			return q
		}
	}
	return nil
}
