package limit

import (
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Piece returns how many bytes should be claimed at once, at most, where they flow by quotas of which a share
// is reserved: of each quota in bytes what comes in a fortieth of a second, and half of what it grants at once.
// So there is room for what comes while a timer is late, and others have their turn soon. All defaults of qs
// must be written out.
func Piece(qs quota.Quotas, share float64) int64 {
	least := quota.MaxN
	for i := range qs {
		q := &qs[i]
		if q.N <= 0 || q.Unit != quota.Bytes {
			continue
		}
		if !q.Kind.Concurrent() {
			least = min(least, int64(monotime.Scale(time.Second/40, q.N, int64(q.Per))))
		}
		if q.WarmUp == 0 { // else a claim of any cost goes
			left := unreserved(*q, share)
			least = min(least, Most(&left)/2)
		}
	}
	return max(least, 1)
}
