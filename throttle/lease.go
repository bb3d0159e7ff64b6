package throttle

import (
	"errors"
	"fmt"
	"time"
)

// lease is what a Limiter has of the quotas that live in its Store: slots in hand, which
// take the place of limits in all that a Limiter does. The rest is how it gets
// them; see ask. A lease is protected by the lock of the tree.
type lease struct {
	l      *Limiter
	quotas Quotas // as the store is told of them
	places []int  // of each: where it is in l.quotas
	own    int    // what follows the first so many is what is left to those that are not urgent
	late   time.Duration

	hand  []*held // in the order in which they may be used
	sum   []int   // of what is left of them
	dies  instant // when the first of them does; not before that
	epoch int     // slots of an older one cannot come back
	rate  rhythm  // of what goes, in a second
	soon  rhythm  // and in a moment
	dead  rhythm  // slots that got too old
	busy  backlog
	unit  []int // what the latest claim cost

	caller
	outage
}

// held is a slot in hand.
type held struct {
	id          int64
	from, until instant
	left        []int
	epoch       int
}

// use is what of a slot a grant took.
type use struct {
	of   *lease
	slot *held
	cost []int
}

// newLease returns that of a Limiter with a Store.
func newLease(l *Limiter) *lease {
	s := &lease{l: l}
	s.member = newMember()
	s.serial = 1
	return s
}

// adopt takes the quotas of l which live in the store out of its limits.
func (s *lease) adopt() {
	s.quotas, s.places = nil, nil
	s.stored(s.l.quotas.meant())
	s.own = len(s.quotas)
	if s.l.Reserve > 0 {
		s.stored(s.l.rest(s.l.quotas))
	}
	for i := range s.l.quotas {
		if !s.l.quotas[i].Kind.slots() {
			s.l.limits[i] = nil
			if s.l.spare != nil {
				s.l.spare[i] = nil
			}
		}
	}
	s.late = s.l.late(s.quotas)
	s.hand, s.sum, s.unit = nil, make([]int, len(s.quotas)), nil
	s.back, s.more, s.sentBack, s.sentMore = nil, nil, nil, nil
	s.local, s.extra = nil, nil
	s.epoch++
}

// stored adds those of qs that live in the store.
func (s *lease) stored(qs Quotas) {
	for i, q := range qs {
		if q.N > 0 && !q.Kind.slots() {
			s.quotas, s.places = append(s.quotas, q.plain()), append(s.places, i)
		}
	}
}

// plain is q with all that is a default set, and without what a store need not know.
func (q Quota) plain() Quota {
	q.Name, q.Queue, q.Unit, q.Per = "", 0, q.unit(), q.per()
	switch q.Kind {
	case TokenBucket:
		q.Burst = q.burst()
	case SlidingWindow:
		q.Cells = q.cells()
	}
	return q
}

// storeName is what the Store calls the bucket.
func (l *Limiter) storeName() string {
	if l.StoreName != "" {
		return l.StoreName
	}
	return l.Name
}

// checkStore reports what keeps the quotas from a Store.
func (l *Limiter) checkStore(qs Quotas) error {
	if l.Store == nil {
		return nil
	}
	if l.storeName() == "" {
		return errors.New("throttle: a Limiter with a Store needs a Name, by which others share it")
	}
	for b := l.Parent; b != nil; b = b.Parent {
		if b.Store == nil {
			continue
		}
		// Slots of two schedules must be good at the same time.
		late := max(l.late(qs), b.late(b.Quotas))
		for i := range b.Quotas {
			q := &b.Quotas[i]
			if q.N > 0 && q.Kind == TokenBucket && scale(q.per(), 1, int64(q.N)) > late {
				return fmt.Errorf("throttle: quota %q of %s, above %s with a Store too, has a token come back each %v, want one within Late, %v, at least",
					q.label(), b.Name, l.Name, scale(q.per(), 1, int64(q.N)), late)
			}
		}
	}
	for i := range qs {
		switch q := &qs[i]; {
		case q.WarmUp > 0:
			return fmt.Errorf("throttle: quota %q: WarmUp is %v, want 0 for what lives in a Store", q.label(), q.WarmUp)
		case q.N > 0 && !q.Kind.slots() && q.Kind != TokenBucket && l.Late > q.per()/2:
			return fmt.Errorf("throttle: quota %q: Per is %v, want at least twice Late, %v", q.label(), q.per(), l.Late)
		}
	}
	return nil
}

// cost returns what d costs of each quota; of those for what is left to others than urgent
// ones too if all. It is good until the next call.
func (s *lease) cost(buf []int, d *demand, all bool) []int {
	buf = buf[:0]
	for i, place := range s.places {
		n := 0
		if i < s.own || all {
			n = d.in(&s.l.quotas[place])
		}
		buf = append(buf, n)
	}
	return buf
}

// costs is room for a cost which need not be allocated.
type costs [8]int
