package lease

import (
	"fmt"
	"slices"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Late is for how long after its instant a slot may be used, if nothing else is said: the least
// that is good for any of the quotas that live in a store.
func Late(qs quota.Quotas) time.Duration {
	late := time.Second
	for i := range qs {
		q := &qs[i]
		if !Stored(q) {
			continue
		}
		e := q.Per / 100
		if q.Kind == quota.TokenBucket {
			spare := monotime.Scale(q.Per, int64(q.Burst-1), 10*int64(q.N))
			e = max(e, spare, 10*time.Millisecond)
		} else {
			e = min(max(e, 10*time.Millisecond), longestLate(q))
		}
		late = min(late, e)
	}
	return late
}

// longestLate is what Late may become by itself where round trips take long.
func longestLate(q *quota.Quota) time.Duration {
	if q.Kind == quota.TokenBucket {
		return time.Second
	}
	return min(q.Per/4, time.Second)
}

// roundTrips is how long the last few calls took.
type roundTrips struct {
	took       [3]time.Duration // the last is the latest
	slowToldAt monotime.Time    // when it was told last that they take too long
}

func (r *roundTrips) add(took time.Duration) {
	copy(r.took[:], r.took[1:])
	r.took[len(r.took)-1] = took
}

// last is the latest, zero before the first.
func (r *roundTrips) last() time.Duration { return r.took[len(r.took)-1] }

// least is the shortest of them, zero while there were too few.
func (r *roundTrips) least() time.Duration { return slices.Min(r.took[:]) }

// trip notes a round trip. Late, if it was not set, becomes twice the shortest of the last few
// if that is longer.
func (s *Lease) trip(took time.Duration) {
	s.trips.add(took)
	if s.Late > 0 {
		return
	}
	late := 2 * s.trips.least()
	for i := range s.quotas {
		late = min(late, longestLate(&s.quotas[i]))
	}
	s.late = max(s.late, late)
}

// tellSlowEvery is how often it is told at most that round trips take too long.
const tellSlowEvery = 10 * time.Second

// slow notes that a reply took so long that a slot in it was of no use.
func (s *Lease) slow(now monotime.Time, e *Effects) {
	took := s.trips.last()
	s.err = fmt.Errorf("throttle: %s: a round trip to the store took %v, want less than Late, %v", s.Name, took, s.late)
	if s.Late <= 0 && (s.trips.took[0] == 0 || took < s.late) {
		return // it may become longer, or did
	}
	s.retry = now.Add(min(took, Horizon))
	if at := s.trips.slowToldAt; at == 0 || now.Sub(at) > tellSlowEvery {
		s.trips.slowToldAt = now
		e.Events = append(e.Events, Event{Err: s.err})
	}
}
