package throttle

import (
	"fmt"
	"slices"
	"time"
)

// late is Limiter.Late, or what it stands for.
func (l *Limiter) late(qs Quotas) time.Duration {
	if l.Late > 0 {
		return l.Late
	}
	late := time.Second
	for i := range qs {
		q := &qs[i]
		e := q.per() / 100
		if q.Kind == TokenBucket {
			spare := scale(q.per(), int64(q.burst()-1), 10*int64(q.N))
			e = max(e, spare, 10*time.Millisecond)
		} else {
			e = min(max(e, 10*time.Millisecond), q.latest())
		}
		late = min(late, e)
	}
	return late
}

// latest is what Late may become by itself.
func (q *Quota) latest() time.Duration {
	if q.Kind == TokenBucket {
		return time.Second
	}
	return min(q.per()/4, time.Second)
}

// trip notes a round trip. Late, if it was not set, becomes twice the shortest of the last few if that is
// longer.
func (s *lease) trip(took time.Duration) {
	copy(s.tooks[:], s.tooks[1:])
	s.tooks[len(s.tooks)-1] = took
	if s.l.Late > 0 {
		return
	}
	late := 2 * slices.Min(s.tooks[:])
	for i := range s.quotas {
		late = min(late, s.quotas[i].latest())
	}
	s.late = max(s.late, late)
}

// took is the last round trip.
func (s *lease) took() time.Duration { return s.tooks[len(s.tooks)-1] }

// tellEvery is how often it is told at most that round trips take too long.
const tellEvery = 10 * time.Second

// slow notes that a reply took so long that a slot in it was of no use.
func (s *lease) slow(now instant) {
	s.err = fmt.Errorf("throttle: %s: a round trip to the store took %v, want less than Late, %v", s.l.Name, s.took(), s.late)
	if s.l.Late <= 0 && (s.tooks[0] == 0 || s.took() < s.late) {
		return // it may become longer, or did
	}
	s.retry = now.add(min(s.took(), horizon))
	if s.tardy == 0 || now.sub(s.tardy) > tellEvery {
		s.tardy = now
		s.events = append(s.events, StoreEvent{Err: s.err})
	}
}
