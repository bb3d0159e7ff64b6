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

	Also      []quota.Quota // stacked on the first: each must admit a request
	Narrow    int           // limit of the route narrowPath in the same window, which is counted on its own; zero if there is none
	Instances int           // behind a balancer that asks them in turn, each with its part of the quota; zero for one
	Probed    time.Time     // when the balancer asked the second instance whether it lives, which counts there

	RefusalsCount bool // a refused request begins a window of its own, so that a client which asks too soon is refused for longer
}

// narrowPath is where a limit is tighter, of servers that have one per route.
const narrowPath = "/narrow"

// algorithm returns the same in virtual time.
func (t Truth) algorithm() pacertest.Algorithm {
	q := t.Quota
	switch {
	case len(t.Also) > 0:
		return newStacked(append([]quota.Quota{q}, t.Also...))
	case t.Instances > 1:
		return newInTurn(t)
	case t.Narrow > 0: // requests go to each route in proportion to its limit
		return &pacertest.FixedWindow{Limit: int(q.N + int64(t.Narrow)), Window: q.Per}
	case q.Kind == quota.FixedWindow:
		return &pacertest.FixedWindow{Limit: int(q.N), Window: q.Per}
	case q.Kind == quota.EstimatedWindow:
		return &pacertest.EstimatedWindow{Limit: int(q.N), Window: q.Per, Phase: t.Phase}
	case t.Queue:
		return &pacertest.LeakyBucket{Rate: perSecond(q), Depth: int(q.Burst), Queue: true}
	default:
		return &pacertest.TokenBucket{Rate: perSecond(q), Burst: int(q.Burst)}
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
		return int(max(q.Burst, 1))
	}
	return int(q.N)
}

// stacked admits what each of several limits admits. What one of them refuses counts for none.
type stacked struct {
	limits   []pacertest.Algorithm
	admitted []time.Time
}

func newStacked(quotas []quota.Quota) *stacked {
	s := &stacked{}
	for _, q := range quotas {
		s.limits = append(s.limits, Truth{Quota: q}.algorithm())
	}
	return s
}

// Fresh implements pacertest.Algorithm.
func (s *stacked) Fresh() pacertest.Algorithm { return &stacked{limits: s.limits} }

// Take implements pacertest.Algorithm. Each limit is asked anew after what was admitted, since a limit that has
// taken a request cannot give it back.
func (s *stacked) Take(now time.Time, n int) (v pacertest.Verdict) {
	for _, l := range s.limits {
		l = l.Fresh()
		for _, at := range s.admitted {
			l.Take(at, n)
		}
		if v = l.Take(now, n); !v.OK {
			return v
		}
	}
	s.admitted = append(s.admitted, now)
	return v
}

// inTurn asks its instances in turn.
type inTurn struct {
	truth     Truth
	instances []pacertest.Algorithm
	next      int
}

func newInTurn(t Truth) *inTurn {
	b := &inTurn{truth: t}
	for range t.Instances {
		one := Truth{Quota: t.Quota, Phase: t.Phase, Queue: t.Queue}
		one.Quota.N /= int64(t.Instances)
		b.instances = append(b.instances, one.algorithm())
	}
	if !t.Probed.IsZero() {
		b.instances[1].Take(t.Probed, 1)
	}
	return b
}

// Fresh implements pacertest.Algorithm.
func (b *inTurn) Fresh() pacertest.Algorithm { return newInTurn(b.truth) }

// Take implements pacertest.Algorithm. After a refusal the same instance is asked again, as it is for the
// request which comes after so many that were refused by the others.
func (b *inTurn) Take(now time.Time, n int) pacertest.Verdict {
	v := b.instances[b.next].Take(now, n)
	if v.OK {
		b.next = (b.next + 1) % len(b.instances)
	}
	return v
}
