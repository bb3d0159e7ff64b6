package quota

import (
	"cmp"
	"slices"
)

// Explicit returns the quotas with all defaults filled in, for those who enforce quotas: Name, Per,
// the Burst of a TokenBucket, Cells and ColdFactor. The Unit of requests becomes empty. A quota whose
// zero Burst means a SlidingWindow (see [Quota.Burst]) becomes one. If there is nothing to fill in,
// Explicit returns qs itself and not a copy. A quota that is invalid stays invalid.
func (qs Quotas) Explicit() Quotas {
	explicit := qs
	for i, q := range qs {
		e := q.explicit()
		if q.spacedByDefault() && slices.ContainsFunc(qs, func(o Quota) bool {
			return o.N > 0 && !o.Kind.Concurrent() && o.unit() == e.Unit && o.per() < e.Per
		}) {
			e.Kind, e.Burst, e.Cells = SlidingWindow, 0, defaultCells
		}
		if e == q {
			continue
		}
		if &explicit[0] == &qs[0] {
			explicit = slices.Clone(qs)
		}
		explicit[i] = e
	}
	return explicit
}

// spacedByDefault reports whether the quota is a bucket that spaces its tokens evenly only because
// its fields do not say otherwise.
func (q *Quota) spacedByDefault() bool {
	return q.N > 0 && q.Kind == TokenBucket && q.Burst == 0 && !q.Debt && q.WarmUp == 0
}

// explicit returns what Explicit makes of a quota that stands alone.
func (q Quota) explicit() Quota {
	q.Name, q.Unit = q.label(), q.unit()
	switch {
	case q.N == 0 || q.Kind.Concurrent():
		return q
	case q.WarmUp > 0:
		q.ColdFactor = cmp.Or(q.ColdFactor, defaultColdFactor)
	case q.Kind == TokenBucket:
		q.Burst = cmp.Or(q.Burst, defaultBurst)
	case q.Kind == SlidingWindow:
		q.Cells = cmp.Or(q.Cells, defaultCells)
	}
	q.Per = q.per()
	return q
}
