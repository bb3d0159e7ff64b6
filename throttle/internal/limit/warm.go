package limit

import (
	"math"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/warmup"
)

// warm is a bucket that warms up: Guava's SmoothWarmingUp. What is stored while idling makes
// the next tokens dearer, and a request's cost is paid by the one after it.
type warm struct {
	ramp  warmup.Ramp
	quota quota.Quota
}

func newWarm(q quota.Quota) *warm {
	return &warm{ramp: warmup.Ramp{Rate: perSecond(q), WarmUp: q.WarmUp, ColdFactor: q.ColdFactor}, quota: q}
}

// When implements Limit. Whatever is asked for may go when the debt before it is paid.
func (w *warm) When(t monotime.Time, ahead, _ int64) (monotime.Time, bool) {
	return t.Add(min(w.ramp.Next(t.Std(), toInt(ahead)).Sub(t.Std()), monotime.Longest)), true
}

// waiting is what w is at t if claims wait for something else from now on: it does not cool meanwhile.
func (w *warm) waiting(now, t monotime.Time) *warm {
	then := *w
	then.Busy(now, t)
	return &then
}

// Take implements Limit.
func (w *warm) Take(due, _ monotime.Time, n int64) { w.ramp.Reserve(due.Std(), toInt(n)) }

// Give implements Limit.
func (w *warm) Give(_, _ monotime.Time, n int64) { w.ramp.Return(toInt(n)) }

// toInt is n, or the largest int if that has 32 bits and n is larger.
func toInt(n int64) int { return int(min(n, math.MaxInt)) }

// Idle implements Limit.
func (w *warm) Idle(now monotime.Time) bool { return w.ramp.Idle(now.Std()) }

// Cool implements Limit.
func (w *warm) Cool(now monotime.Time) { w.ramp.Chill(now.Std()) }

// Busy implements Limit.
func (w *warm) Busy(from, until monotime.Time) { w.ramp.Busy(from.Std(), until.Std()) }

// Set implements Limit.
func (w *warm) Set(now monotime.Time, q quota.Quota) bool {
	if q.N == 0 || q.Kind != quota.TokenBucket || q.WarmUp != w.quota.WarmUp || q.ColdFactor != w.quota.ColdFactor {
		return false
	}
	w.ramp.SetRate(now.Std(), perSecond(q))
	w.quota = q
	return true
}
