package throttle

import (
	"math"
	"time"

	"golang.org/x/time/rate"

	"github.com/gopacer/pacer/warmup"
)

// A limit is arithmetic: it has no clock, lock, timer or goroutine. Given an
// instant it says when n tokens may go, is told what went, and takes back what
// did not. The Limiter calls it with its lock held and with instants that never
// go back.
type limit interface {
	// when returns the earliest instant, not before t, at which n tokens may
	// go if ahead others go before them, each as early as it may. It changes
	// nothing. With nothing ahead the answer is exact: at that instant take
	// holds. ok is false if n may never go.
	when(t time.Time, ahead, n int) (at time.Time, ok bool)

	// take charges n at t, an instant that when returned or a later one.
	take(t time.Time, n int)

	// give takes back n tokens which were charged and did not go.
	give(t time.Time, n int)

	// idle reports whether forgetting the limit would lose nothing: it is as
	// it was when it was new.
	idle(t time.Time) bool

	// set changes the quota in place, at t, if it is of the same kind.
	set(t time.Time, q Quota) bool

	// cool is told that the server pushed back at t.
	cool(t time.Time)
}

// newLimit returns the arithmetic of q, or nil if q is no limit.
func newLimit(q Quota) limit {
	switch {
	case q.N == 0:
		return nil
	case q.WarmUp > 0:
		return &warm{ramp: warmup.Ramp{Rate: q.perSecond(), WarmUp: q.WarmUp, ColdFactor: q.ColdFactor}, quota: q}
	default:
		return &bucket{rate.NewLimiter(rate.Limit(q.perSecond()), q.burst())}
	}
}

// bucket is a token bucket: Burst tokens at most, refilled evenly at N per Per.
// It suits servers that are one (GCRA, nginx limit_req, tollbooth), and is safe
// for all others when Burst is 1. x/time keeps the books; it never waits.
type bucket struct{ ledger *rate.Limiter }

func (b *bucket) when(t time.Time, ahead, n int) (time.Time, bool) {
	if n > b.ledger.Burst() {
		return t, false
	}
	missing := float64(ahead) + float64(n) - b.ledger.TokensAt(t)
	if missing <= 0 {
		return t, true
	}
	return t.Add(seconds(missing / float64(b.ledger.Limit()))), true
}

// take uses ReserveN, which charges even if rounding left the bucket a
// billionth of a token short of what when promised.
func (b *bucket) take(t time.Time, n int) { b.ledger.ReserveN(t, n) }

// give credits n, as AllowN of a negative number does, and spills what is over
// the burst at once: x/time would do so only when it is asked next, when the burst
// may be another.
func (b *bucket) give(t time.Time, n int) {
	b.ledger.AllowN(t, -n)
	b.ledger.SetBurstAt(t, b.ledger.Burst())
}

func (b *bucket) idle(t time.Time) bool {
	return b.ledger.TokensAt(t) >= float64(b.ledger.Burst())
}

func (b *bucket) set(t time.Time, q Quota) bool {
	if q.N == 0 || q.WarmUp > 0 {
		return false
	}
	b.ledger.SetLimitAt(t, rate.Limit(q.perSecond()))
	b.ledger.SetBurstAt(t, q.burst())
	return true
}

func (b *bucket) cool(time.Time) {}

// warm is SmoothWarmingUp as a limit. What is stored while idling makes the
// next tokens dearer, and a request's cost is paid by the one after it.
type warm struct {
	ramp  warmup.Ramp
	quota Quota
}

func (w *warm) when(t time.Time, ahead, _ int) (time.Time, bool) {
	return w.ramp.After(t, ahead), true
}

func (w *warm) take(t time.Time, n int) { w.ramp.Reserve(t, n) }
func (w *warm) give(t time.Time, n int) { w.ramp.Return(t, n) }
func (w *warm) idle(t time.Time) bool   { return w.ramp.Idle(t) }
func (w *warm) cool(t time.Time)        { w.ramp.Chill(t) }

func (w *warm) set(t time.Time, q Quota) bool {
	if q.N == 0 || q.WarmUp != w.quota.WarmUp || q.ColdFactor != w.quota.ColdFactor {
		return false
	}
	w.ramp.SetRate(t, q.perSecond())
	w.quota = q
	return true
}

// century bounds what is computed from rates, so that no sum of an instant and
// a duration can overflow.
const century = 100 * 365 * 24 * time.Hour

// seconds converts s to a duration, rounded to the nanosecond: what is due at an
// instant must be due at it from wherever it is computed, and rounding up would
// turn the dust of a subtraction into a nanosecond. The half of one that is
// granted too early stays in the ledger as debt.
func seconds(s float64) time.Duration {
	if !(s > 0) {
		return 0
	}
	ns := math.Round(s * 1e9)
	if ns >= float64(century) {
		return century
	}
	return time.Duration(ns)
}
