package limit

import (
	"math"
	"time"

	"github.com/gopacer/pacer/quota"
)

// Unreserved returns what is left of quotas for claims that are not urgent, if a share of each
// is reserved: of a token bucket so much less of its rate and of its burst, of the others so
// much less of their N. At least one token is left.
func Unreserved(qs quota.Quotas, share float64) quota.Quotas {
	left := make(quota.Quotas, len(qs))
	for i, q := range qs {
		if left[i] = q; q.N > 0 {
			left[i] = unreserved(q, share)
		}
	}
	return left
}

func unreserved(q quota.Quota, share float64) quota.Quota {
	left := func(n int64) int64 {
		if f := math.Floor(float64(n)*(1-share) + dust); f < float64(n) {
			return max(int64(f), 1)
		}
		return n // the largest int64 is a larger float, which is no int64
	}
	if q.Kind != quota.TokenBucket {
		q.N = left(q.N)
		return q
	}
	q.Per = time.Duration(min(math.Round(float64(q.Per)/(1-share)), math.MaxInt64/2))
	if q.WarmUp == 0 {
		q.Burst = left(q.Burst)
	}
	return q
}
