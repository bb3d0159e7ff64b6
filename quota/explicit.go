package quota

import (
	"cmp"
	"slices"
)

// Explicit returns the quotas with all defaults filled in, for those who enforce quotas: Name, Per,
// the Kind and the Burst of a TokenBucket, Cells and ColdFactor. The Unit of requests becomes empty. Per beside
// Months becomes how long they last at most by UTC: 31 days for a month, 366 for a year.
// If there is nothing to fill in, Explicit returns qs itself and not a copy. A quota that is invalid
// stays invalid.
func (qs Quotas) Explicit() Quotas {
	explicit := qs
	for i, q := range qs {
		e := q.explicit()
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

// explicit returns what Explicit makes of a quota.
func (q Quota) explicit() Quota {
	q.Name, q.Unit = q.label(), q.unit()
	if q.N == 0 || q.Kind.Concurrent() {
		return q
	}
	q.Per = cmp.Or(q.Per, q.per())
	if q.Months > 0 {
		q.From = cmp.Or(q.From, 1)
	}
	switch {
	case q.WarmUp > 0:
		q.ColdFactor = cmp.Or(q.ColdFactor, defaultColdFactor)
	case q.isBucket():
		q.Burst = cmp.Or(q.Burst, q.defaultBurst())
	default:
		q.Cells = cmp.Or(q.Cells, q.defaultCells())
	}
	if q.isBucket() {
		q.Kind = TokenBucket
	}
	return q
}
