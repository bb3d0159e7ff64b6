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
	when(t instant, ahead, n int) (at instant, ok bool)

	// take charges n, which were due at an instant that when returned or at a
	// later one, and go now. A late timer must not cost the tokens of a bucket, so that
	// they count from when they were due; a window counts from when they go.
	take(due, now instant, n int)

	// give takes back n tokens which were charged, with that now, and did not go.
	give(t, went instant, n int)

	// idle reports whether forgetting the limit would lose nothing: it is as
	// it was when it was new.
	idle(t instant) bool

	// set changes the quota in place, at t, if it is of the same kind.
	set(t instant, q Quota) bool

	// cool is told that the server pushed back at t.
	cool(t instant)
}

// newLimit returns the arithmetic of q, or nil if q is no limit. The wall clock was
// at wall, in nanoseconds since 1970, at instant 0.
func newLimit(q Quota, wall int64) limit {
	switch {
	case q.N == 0:
		return nil
	case q.Kind != TokenBucket:
		return newWindow(q, wall)
	case q.WarmUp > 0:
		return &warm{ramp: warmup.Ramp{Rate: q.perSecond(), WarmUp: q.WarmUp, ColdFactor: q.ColdFactor}, quota: q}
	default:
		return &bucket{ledger: rate.NewLimiter(rate.Limit(q.perSecond()), q.burst()), burst: q.burst(), debt: q.Debt}
	}
}

// warm is SmoothWarmingUp as a limit. What is stored while idling makes the
// next tokens dearer, and a request's cost is paid by the one after it.
type warm struct {
	ramp  warmup.Ramp
	quota Quota
}

func (w *warm) when(t instant, ahead, _ int) (instant, bool) {
	return t.add(min(w.ramp.After(t.time(), ahead).Sub(t.time()), ages)), true
}

func (w *warm) take(due, _ instant, n int) { w.ramp.Reserve(due.time(), n) }
func (w *warm) give(t, _ instant, n int)   { w.ramp.Return(t.time(), n) }
func (w *warm) idle(t instant) bool        { return w.ramp.Idle(t.time()) }
func (w *warm) cool(t instant)             { w.ramp.Chill(t.time()) }

func (w *warm) set(t instant, q Quota) bool {
	if q.N == 0 || q.Kind != TokenBucket || q.WarmUp != w.quota.WarmUp || q.ColdFactor != w.quota.ColdFactor {
		return false
	}
	w.ramp.SetRate(t.time(), q.perSecond())
	w.quota = q
	return true
}

// seconds converts s to a duration, rounded to the nanosecond: what is due at an
// instant must be due at it from wherever it is computed, and rounding up would
// turn the dust of a subtraction into a nanosecond. The half of one that is
// granted too early stays in the ledger as debt.
func seconds(s float64) time.Duration {
	if !(s > 0) {
		return 0
	}
	ns := math.Round(s * 1e9)
	if ns >= float64(ages) {
		return ages
	}
	return time.Duration(ns)
}
