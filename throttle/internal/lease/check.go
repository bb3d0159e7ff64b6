package lease

import (
	"fmt"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Check returns an error if quotas, which have all defaults written out, cannot live in a store. Late is as in
// Config.
func Check(qs quota.Quotas, late time.Duration) error {
	for i := range qs {
		switch q := &qs[i]; {
		case q.WarmUp > 0:
			return fmt.Errorf("throttle: quota %q: WarmUp is %v, want 0 for what lives in a Store", q.Name, q.WarmUp)
		case Stored(q) && q.Kind != quota.TokenBucket && late > q.Per/2:
			return fmt.Errorf("throttle: quota %q: Per is %v, want at least twice Late, %v", q.Name, q.Per, late)
		}
	}
	return nil
}

// CheckBelow returns an error if a bucket of some quotas cannot be below another one, each in a store: a slot of
// each of the two schedules must be valid at the same time.
func CheckBelow(name string, qs quota.Quotas, late time.Duration, above string, qsAbove quota.Quotas, lateAbove time.Duration) error {
	longer := max(EffectiveLate(qs, late), EffectiveLate(qsAbove, lateAbove))
	for i := range qsAbove {
		q := &qsAbove[i]
		if q.N <= 0 || q.Kind != quota.TokenBucket {
			continue
		}
		if each := monotime.Scale(q.Per, 1, int64(q.N)); each > longer {
			return fmt.Errorf("throttle: quota %q of %s, above %s with a Store too, has a token come back each %v, want one within Late, %v: set Late to %v or more",
				q.Name, above, name, each, longer, each)
		}
	}
	return nil
}

// EffectiveLate is late, or the default for qs.
func EffectiveLate(qs quota.Quotas, late time.Duration) time.Duration {
	if late > 0 {
		return late
	}
	return DefaultLate(qs)
}
