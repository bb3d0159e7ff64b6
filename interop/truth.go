package interop

import (
	"time"

	"github.com/gopacer/pacer/pacertest"
	"github.com/gopacer/pacer/quota"
)

// Truth is how a server counts: what its documentation says, and what only it knows.
type Truth struct {
	Quota quota.Quota
	Phase time.Duration // by which windows of a clock are later than the clock's
	Queue bool          // what is over the rate is held back by the server, up to the burst
}

// algorithm returns the same in virtual time.
func (t Truth) algorithm() pacertest.Algorithm {
	q := t.Quota
	switch {
	case q.Kind == quota.FixedWindow:
		return &pacertest.FixedWindow{Limit: q.N, Window: q.Per}
	case q.Kind == quota.EstimatedWindow:
		return &pacertest.EstimatedWindow{Limit: q.N, Window: q.Per, Phase: t.Phase}
	case t.Queue:
		return &pacertest.LeakyBucket{Rate: perSecond(q), Depth: q.Burst, Queue: true}
	default:
		return &pacertest.TokenBucket{Rate: perSecond(q), Burst: q.Burst}
	}
}

// least returns the least time in which n requests can be admitted from start on, by
// a server that admitted others at those instants before.
func (t Truth) least(before []time.Time, start time.Time, n int) time.Duration {
	a := t.algorithm()
	for _, at := range before {
		a.Take(at, 1)
	}
	now, end := start, start
	for n > 0 {
		v := a.Take(now, 1)
		if v.OK {
			n--
			if served := now.Add(v.Delay); served.After(end) {
				end = served
			}
			continue
		}
		if v.RetryAfter <= 0 || v.RetryAfter == pacertest.Never {
			return pacertest.Never
		}
		now = now.Add(v.RetryAfter)
	}
	return end.Sub(start)
}

// perSecond is the rate of a quota.
func perSecond(q quota.Quota) float64 { return float64(q.N) / q.Per.Seconds() }

// atOnce is how many may go at once by the documentation.
func atOnce(q quota.Quota) int {
	if q.Kind == quota.TokenBucket {
		return max(q.Burst, 1)
	}
	return q.N
}
