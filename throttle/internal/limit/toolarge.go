package limit

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gopacer/pacer/quota"
)

// TooLarge returns the unit of the quota of that name, and says what a cost is, what that quota grants at once,
// of which a share is reserved, and which quotas in its place would grant a cost that is above that: with the
// same name and the same queue, and if that makes a token bucket of another kind, with what the bucket admits.
// If there is no such quota, it says the cost alone. All defaults of qs must be written out.
func TooLarge(qs quota.Quotas, name string, cost int64, share float64) (unit, why string) {
	i := slices.IndexFunc(qs, func(q quota.Quota) bool { return q.Name == name })
	if i < 0 {
		return "", strconv.FormatInt(cost, 10)
	}
	q, whom := unnamed(qs[i]), ""
	most, burst, debt := Most(&q), q, q
	if share > 0 {
		left := unreserved(q, share)
		if most = Most(&left); most < Most(&q) {
			whom = fmt.Sprintf(" to claims that are not Urgent, since %v of it is reserved", share)
		}
	}
	says := fmt.Sprintf("%s; it grants at most %s at once%s: claim less", Amount(cost, q.Unit), Amount(most, q.Unit), whom)
	switch {
	case q.Kind.Concurrent():
		return q.Unit, says
	case q.Months > 0:
		return q.Unit, says + ", and settle the rest"
	}
	burst.Burst, debt.Debt = int64(min(math.Ceil(float64(cost)/(1-share)), float64(quota.MaxN))), true
	switch {
	case q.Streamed:
		return q.Unit, says + fmt.Sprintf(", or write %q", text(burst))
	case q.Kind == quota.TokenBucket:
		return q.Unit, says + fmt.Sprintf(", or write %q or %q", text(burst), text(debt))
	}
	debt.Kind, debt.Cells, debt.From, debt.Zone = quota.Plain, 0, 0, ""
	return q.Unit, says + fmt.Sprintf(" and settle the rest, or write %q (a token bucket: up to %d in any %s, and one such cost)", text(debt), 2*q.N, span(q.Per))
}

// Amount writes so many tokens of a unit: "3000000 bytes", and of requests the number alone.
func Amount(n int64, unit string) string {
	if unit == "" || unit == quota.Requests {
		return strconv.FormatInt(n, 10)
	}
	return strconv.FormatInt(n, 10) + " " + unit
}

// unnamed returns the quota without its name, if that is only what the quota is called for want of a name: its
// text.
func unnamed(q quota.Quota) quota.Quota {
	if same, err := quota.Parse(q.Name); err == nil && slices.Equal(same.Explicit(), quota.Quotas{q}) {
		q.Name = ""
	}
	return q
}

// text is how a quota is written, with its name.
func text(q quota.Quota) string { return quota.Quotas{q}.String() }

// span is a span in words.
func span(per time.Duration) string {
	switch per {
	case time.Second:
		return "second"
	case time.Minute:
		return "minute"
	case time.Hour:
		return "hour"
	case 24 * time.Hour:
		return "day"
	}
	return strings.TrimPrefix(quota.Quota{N: 1, Per: per}.String(), "1/")
}
