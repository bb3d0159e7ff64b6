package lease

import (
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/slot"
)

// Due returns from, or what comes later because of what is in hand, for a claim behind so many
// others. It answers for all quotas, or for those of all claims; see limit.Stack.Due, also for
// what optimist means.
func (s *Lease) Due(now monotime.Time, from limit.Due, ahead, d *limit.Demand, unreserved, optimist bool) limit.Due {
	var buf costs
	n := s.cost(buf[:0], d, unreserved)
	if slot.Empty(n) {
		return from
	}
	for i := range n {
		if n[i] > s.quotas[i].Most() {
			return limit.Due{At: from.At, Unreserved: from.Unreserved, Cause: limit.Pace, Quota: s.names[i], Cost: n[i], Never: true}
		}
	}
	s.expire(now)
	at, ok := s.hand.first(from.At, now, n)
	switch {
	case ok && (!optimist || ahead.Claims == 0):
	case s.alone(now):
		return s.without(from, ahead, n, unreserved)
	case optimist:
		var before costs
		all := s.cost(before[:0], ahead, unreserved)
		slot.Add(all, n, 1)
		at = s.project(from.At, now, all, n)
		if s.outage.since != 0 {
			at = max(at, s.retry)
		}
	case from.At > now:
		return from
	default:
		at = now.Add(monotime.Longest) // a reply ends this
		if t, down := s.aloneFrom(); down {
			at = t
		}
	}
	switch {
	case at <= from.At:
		return from
	case s.outage.since != 0 && !ok:
		return limit.Due{At: at, Unreserved: from.Unreserved, Cause: limit.Store}
	}
	return limit.Due{At: at, Unreserved: from.Unreserved, Cause: limit.Pace, Quota: s.names[min(max(s.bound, 0), len(s.names)-1)]}
}

// Open reports whether what is in hand suffices for a claim now.
func (s *Lease) Open(now monotime.Time, d *limit.Demand, urgent bool) bool {
	due := s.Due(now, limit.Due{At: now}, &limit.Demand{}, d, !urgent, false)
	return due.At <= now && !due.Never
}

// project returns when one that costs n goes, at the earliest, if it and all that goes
// before cost so much, which project changes.
func (s *Lease) project(at, now monotime.Time, all, n []int) monotime.Time {
	missing := all
	for _, h := range s.hand.slots {
		slot.Add(missing, h.left, -1)
		if slot.Empty(missing) {
			return max(at, h.from)
		}
	}
	// What the store said last is soon out of date.
	from := at
	if s.heard != 0 && now.Sub(s.heard) < Horizon && slot.Suffices(n, s.nextFor) {
		from = max(at, s.next)
	}
	for i := range missing {
		atOnce := s.quotas[i].Most() // may be there, as far as is known
		if from > at {
			atOnce = n[i]
		}
		missing[i] = max(missing[i]-atOnce, 0)
	}
	return from.Add(s.work(missing))
}
