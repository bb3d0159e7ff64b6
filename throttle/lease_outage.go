package throttle

import (
	"time"
)

// Outage is what a Limiter does while its Store cannot be reached, once what it had in
// hand when it last could, is used up or too old.
type Outage int

const (
	// Share goes on with a part that is safe: nine tenths of the rate of each quota,
	// divided by the number of processes that there were, evenly spaced, from
	// Late after the horizon of what is in hand. A window that had been used up
	// faster than evenly before may see as much more. If the store was never reached, nobody knows how many
	// there are: then it is as Closed.
	Share Outage = iota

	// Closed lets nothing go. Who waits does so until the store is back, or its own bound.
	Closed

	// Open lets everything go that nothing else holds back.
	Open
)

// CauseStore is what those wait for who need a Store that cannot be reached.
const CauseStore Cause = "store not reached"

// StoreEvent is something that happened to the link between a Limiter and its Store.
type StoreEvent struct {
	// Err is why the store cannot be reached, or why what it hands out is of no use, once
	// for each outage. Nil if it can be reached again, or for what is below.
	Err error

	// After is how long the outage was, if it is over.
	After time.Duration

	// Lost says that the store has lost the bucket.
	Lost bool
}

// outage is what happens while a store cannot be reached.
type outage struct {
	down   instant // since when; zero if it can be
	err    error   // of the last call
	local  []ledger
	extra  []int        // what went without the store
	events []StoreEvent // that were not reported
	talks  bool         // somebody reports them
	tardy  instant      // when a round trip was too long and that was told
}

// probeEvery is how often a store is tried which cannot be reached.
const probeEvery = 200 * time.Millisecond

// safely is how much of its part a process uses without the store: processes that do not
// hear of each other do not send in turns.
const safely = 0.9

// failed notes that a call failed.
func (s *lease) failed(now instant, err error) {
	s.retry = now.add(probeEvery)
	s.urgent = true
	s.err = err
	s.told = append(s.sentTold, s.told...)
	if s.down == 0 {
		s.down = now
		s.events = append(s.events, StoreEvent{Err: err})
	}
	if s.l.line.waiting > 0 || s.news() {
		s.later(now, probeEvery)
	}
}

// from is when requests begin to go without the store; ok is false if they do not.
func (s *lease) from() (at instant, ok bool) {
	if s.down == 0 || s.l.Outage == Closed || s.l.Outage == Share && s.heard == 0 {
		return 0, false
	}
	return max(s.down, s.heard.add(horizon+s.late)), true
}

// alone reports whether requests go without the store.
func (s *lease) alone(now instant) bool {
	if at, ok := s.from(); !ok || now < at {
		return false
	}
	if s.extra == nil {
		s.extra = make([]int, len(s.quotas))
	}
	if s.local == nil && s.l.Outage == Share {
		for _, q := range s.quotas {
			b := newLedger(Quota{N: q.N, Per: time.Duration(float64(q.per()) * float64(s.members) / safely), Burst: 1, Debt: true}, 0, 0, 0)
			b.drain(now)
			s.local = append(s.local, b)
		}
	}
	return true
}

// without returns d, or what comes later because of the part that goes without the store.
func (s *lease) without(d due, ahead *demand, w *want, all bool) due {
	var buf, before costs
	n, a := s.cost(buf[:0], &w.demand, all), s.cost(before[:0], ahead, all)
	from := d.at
	for i, l := range s.local {
		if n[i] == 0 {
			continue
		}
		at := l.when(from, n[i])
		if a[i] > 0 {
			at = at.add(l.(*slotBucket).work(a[i]))
		}
		if at > d.at {
			d = due{at: at, shared: d.shared, cause: CauseStore, quota: s.l.quotas[s.places[i]].label()}
		}
	}
	return d
}

// report calls StoreEvent for what has happened, one after the other. It requires that mu
// is held, and releases it meanwhile.
func (s *lease) report(root *Limiter) {
	if s.talks {
		return // whoever does will see these too
	}
	s.talks = true
	for len(s.events) > 0 {
		events := s.events
		s.events = nil
		if s.l.StoreEvent == nil {
			break
		}
		s.l.unlock(root)
		for _, e := range events {
			s.l.StoreEvent(e)
		}
		s.l.lock()
	}
	s.talks = false
}

// excess is charged beyond what was in hand.
func (s *lease) excess(at instant, n []int) {
	if s.extra != nil {
		add(s.extra, n, 1)
		for i, l := range s.local {
			if n[i] > 0 {
				l.take(at, at, n[i])
			}
		}
		return
	}
	if s.more == nil {
		s.more = make([]int, len(n))
	}
	add(s.more, n, 1)
	s.later(at, horizon)
}

// recovered notes that a call succeeded. Windows are told what went without the store; in a bucket
// it has come back since.
func (s *lease) recovered(now instant) {
	if s.down == 0 {
		return
	}
	for i, n := range s.extra {
		q := &s.quotas[i]
		if n == 0 || q.Kind == TokenBucket && s.l.Outage == Share {
			continue
		}
		if q.Kind == TokenBucket {
			n = min(n, q.burst())
		} else if d := now.sub(s.down); d > q.per() {
			n = int(float64(n) * float64(q.per()) / float64(d))
		}
		if s.more == nil {
			s.more = make([]int, len(s.quotas))
		}
		s.more[i] += n
		s.urgent = true
	}
	s.events = append(s.events, StoreEvent{After: now.sub(s.down)})
	s.down, s.err, s.local, s.extra = 0, nil, nil, nil
}

// forgotten notes that the store knows nothing of the slots that it handed out before. It waits for those
// of the next horizon.
func (s *lease) forgotten(now instant) {
	s.events = append(s.events, StoreEvent{Lost: true})
	s.epoch++
	s.back = nil
	kept := s.hand[:0]
	for _, h := range s.hand {
		if h.from <= now.add(horizon) {
			kept = append(kept, h)
		} else {
			add(s.sum, h.left, -1)
		}
	}
	clear(s.hand[len(kept):])
	s.hand = kept
}
