package lease

import (
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/slot"
)

// Outage is what to do while the store cannot be reached, once what was in hand is used up or
// too old.
type Outage int

// What to do. Package throttle documents them.
const (
	Share Outage = iota
	Closed
	Open
)

// Event is something that happened to the link to the store.
type Event struct {
	Err   error         // why the store cannot be reached, or why what it hands out is of no use
	After time.Duration // how long the outage was, if it is over
	Lost  bool          // the store has lost the bucket
}

// outage is what happens while the store cannot be reached.
type outage struct {
	since monotime.Time  // zero if it can be
	local []*slot.Bucket // of each quota, the part that goes without the store
	took  []int          // what went without it; nil before anything may
}

// reset forgets what went, but not that the store cannot be reached.
func (o *outage) reset() { o.local, o.took = nil, nil }

// take charges what goes without the store.
func (o *outage) take(at monotime.Time, n []int) {
	slot.Add(o.took, n, 1)
	for i, b := range o.local {
		if n[i] > 0 {
			b.Take(at, at, n[i])
		}
	}
}

// when returns the first instant, not before at, at which n goes without the store behind
// others, and the quota which it waits for, negative if it need not wait.
func (o *outage) when(at monotime.Time, ahead, n []int) (when monotime.Time, of int) {
	when, of = at, -1
	for i, b := range o.local {
		if n[i] == 0 {
			continue
		}
		t := b.When(at, n[i])
		if ahead[i] > 0 {
			t = t.Add(b.Work(ahead[i]))
		}
		if t > when {
			when, of = t, i
		}
	}
	return when, of
}

// probeEvery is how often a store is tried which cannot be reached.
const probeEvery = 200 * time.Millisecond

// safely is how much of its part a process uses without the store: processes that do not
// hear of each other do not send in turns.
const safely = 0.9

// failed notes that a call failed.
func (s *Lease) failed(now monotime.Time, err error, e *Effects) {
	s.retry = now.Add(probeEvery)
	s.urgent = true
	s.err = err
	s.told.unsent()
	if s.outage.since == 0 {
		s.outage.since = now
		e.Events = append(e.Events, Event{Err: err})
	}
}

// aloneFrom is when requests begin to go without the store; ok is false if they do not.
func (s *Lease) aloneFrom() (at monotime.Time, ok bool) {
	if s.outage.since == 0 || s.Outage == Closed || s.Outage == Share && s.heard == 0 {
		return 0, false
	}
	return max(s.outage.since, s.heard.Add(Horizon+s.late)), true
}

// alone reports whether requests go without the store.
func (s *Lease) alone(now monotime.Time) bool {
	if at, ok := s.aloneFrom(); !ok || now < at {
		return false
	}
	if s.outage.took != nil {
		return true
	}
	s.outage.took = make([]int, len(s.quotas))
	if s.Outage != Share {
		return true
	}
	for _, q := range s.quotas {
		b := &slot.Bucket{}
		b.Set(quota.Quota{N: q.N, Per: time.Duration(float64(q.Per) * float64(s.members) / safely), Burst: 1, Debt: true}, 0, 0)
		b.AssumeUsed(now)
		s.outage.local = append(s.outage.local, b)
	}
	return true
}

// without returns from, or what comes later because of the part that goes without the store.
func (s *Lease) without(from limit.Due, ahead *limit.Demand, n []int, unreserved bool) limit.Due {
	var buf costs
	at, of := s.outage.when(from.At, s.cost(buf[:0], ahead, unreserved), n)
	if of < 0 {
		return from
	}
	return limit.Due{At: at, Unreserved: from.Unreserved, Cause: limit.Store, Quota: s.names[of]}
}

// recovered notes that a call succeeded. Windows are told what went without the store; in a
// bucket it has come back since.
func (s *Lease) recovered(now monotime.Time, e *Effects) {
	since := s.outage.since
	if since == 0 {
		return
	}
	for i, n := range s.outage.took {
		q := &s.quotas[i]
		if n == 0 || q.Kind == quota.TokenBucket && s.Outage == Share {
			continue
		}
		if q.Kind == quota.TokenBucket {
			n = min(n, q.Burst)
		} else if d := now.Sub(since); d > q.Per {
			n = int(float64(n) * float64(q.Per) / float64(d))
		}
		if s.more == nil {
			s.more = make([]int, len(s.quotas))
		}
		s.more[i] += n
		s.urgent = true
	}
	e.Events = append(e.Events, Event{After: now.Sub(since)})
	s.outage, s.err = outage{}, nil
}

// lost notes that the store knows nothing of the slots that it handed out before. It waits
// for those of the next horizon.
func (s *Lease) lost(now monotime.Time, e *Effects) {
	e.Events = append(e.Events, Event{Lost: true})
	s.hand.epoch++
	s.back = nil
	s.hand.remove(func(h *heldSlot) bool { return h.from > now.Add(Horizon) })
}
