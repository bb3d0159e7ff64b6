package limit

import (
	"fmt"
	"math"
	"slices"

	"github.com/gopacer/pacer/quota"
)

// TooLarge says what the quota of that name grants at once, of which a share is reserved, and which quotas in its place
// would grant a cost that is above that. It returns nothing if there is no such quota. All defaults of qs must be
// written out.
func TooLarge(qs quota.Quotas, name string, cost int, share float64) string {
	i := slices.IndexFunc(qs, func(q quota.Quota) bool { return q.Name == name })
	if i < 0 {
		return ""
	}
	q, whom := qs[i], ""
	most, burst, debt := Most(&q), q, q
	if share > 0 {
		left := unreserved(q, share)
		if most = Most(&left); most < Most(&q) {
			whom = fmt.Sprintf(" to claims that are not Urgent, since %v of it is reserved", share)
		}
	}
	says := fmt.Sprintf("; it grants at most %d at once%s: claim less", most, whom)
	if q.Kind.Concurrent() {
		return says
	}
	burst.Burst, debt.Debt = int(min(math.Ceil(float64(cost)/(1-share)), quota.MaxN)), true
	if q.Kind == quota.TokenBucket {
		return says + fmt.Sprintf(", or write %q or %q", text(burst), text(debt))
	}
	return says + fmt.Sprintf(" and settle the rest, or write %q", text(quota.Quota{N: q.N, Unit: q.Unit, Per: q.Per, Debt: true}))
}

// text is how a quota is written, whatever its name.
func text(q quota.Quota) string {
	q.Name = ""
	return q.String()
}
