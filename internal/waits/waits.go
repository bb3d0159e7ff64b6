// Package waits adds up what requests have waited for, and what they have cost, for those who are told.
package waits

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// Sum returns how long waits lasted together.
func Sum(waits []throttle.Wait) (d time.Duration) {
	for _, w := range waits {
		d += w.For
	}
	return d
}

// Merge adds more to waits, which has each cause once, the longest first.
func Merge(waits, more []throttle.Wait) []throttle.Wait {
	for _, m := range more {
		same := func(w throttle.Wait) bool {
			w.For = m.For
			return w == m
		}
		if i := slices.IndexFunc(waits, same); i >= 0 {
			waits[i].For += m.For
		} else {
			waits = append(waits, m)
		}
	}
	slices.SortStableFunc(waits, func(w, o throttle.Wait) int { return cmp.Compare(o.For, w.For) })
	return waits
}

// Apart returns what costs say of requests, zero if nothing or less than 1, and what they say of other units;
// nil if nothing. It changes no map.
func Apart(costs quota.Costs) (requests int, others quota.Costs) {
	named, isNamed := costs[quota.Requests]
	empty, isEmpty := costs[""]
	if !isNamed && !isEmpty {
		return 0, costs
	}
	for unit, n := range costs {
		if unit != quota.Requests && unit != "" {
			if others == nil {
				others = quota.Costs{}
			}
			others[unit] = n
		}
	}
	return int(min(max(named, empty, 0), math.MaxInt)), others
}

// Over returns costs with others over them: of each unit that the others have, theirs count. Requests, which
// have two names, are one unit. It changes no map.
func Over(costs, others quota.Costs) quota.Costs {
	_, named := others[quota.Requests]
	_, empty := others[""]
	all := quota.Costs{}
	for unit, n := range costs {
		if !named && !empty || cmp.Or(unit, quota.Requests) != quota.Requests {
			all[unit] = n
		}
	}
	maps.Copy(all, others)
	return all
}

// Costs returns what a request was charged: what was claimed, 1 if requests are less, but for units of which it
// is known what was spent.
func Costs(requests int, others, spent quota.Costs) quota.Costs {
	costs := quota.Costs{quota.Requests: int64(max(requests, 1))}
	for _, some := range []quota.Costs{others, spent} {
		for unit, n := range some {
			if unit == "" || unit == quota.Requests {
				unit, n = quota.Requests, max(some[""], some[quota.Requests])
			}
			costs[unit] = max(n, 0)
		}
	}
	return costs
}

// Hooks returns a hook that calls that of each of several sets of hooks, in their order; nil if none has it.
func Hooks[T, E any](sets []*T, of func(*T) func(E)) func(E) {
	var hooks []func(E)
	for _, t := range sets {
		if t != nil && of(t) != nil {
			hooks = append(hooks, of(t))
		}
	}
	if len(hooks) == 0 {
		return nil
	}
	return func(e E) {
		for _, hook := range hooks {
			hook(e)
		}
	}
}
