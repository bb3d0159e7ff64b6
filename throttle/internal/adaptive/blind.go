package adaptive

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/pace"
)

// blind is about a limit that is full again within a round trip. As many requests as it has tokens go in each,
// and are served, but what remains never shows how much faster the limit comes back.
//
// It is known by this: more came back within some round trips than two windows have. (A window lasts longer
// than five of them.) That is a rate which the limit keeps. From then on requests are paced, so that more may
// be under way than remain, and each answer that finds the whole limit raises the rate: as the window of TCP,
// by one request per round trip for each, until one is refused, and by one for all of a round trip after that,
// a hundredth with each answer at most.
//
// In come outcomes (note, grow) and refusals; out comes the rate.
type blind struct {
	meter               // from an answer on
	trip  time.Duration // the shortest round trip since

	on      bool // the rate is raised
	refused bool // and a request was refused meanwhile
}

const (
	// blindTrips is within how many round trips so much must come back.
	blindTrips = 10

	// blindRaise is by which part of itself the rate grows with an answer at most once a request was refused.
	blindRaise = 0.01
)

// mayBeBlind reports whether so much is under way that more than two windows may come back within so many round
// trips.
func (o *outcome) mayBeBlind() bool { return blindTrips*o.flight > 2*o.limit }

// note takes in an outcome, and reports whether more came back than two windows have; and at which rate it
// comes back at least.
func (b *blind) note(o *outcome) (rate float64, ok bool) {
	took, trip := o.now.Sub(b.from), o.now.Sub(o.sent)
	if b.from == 0 || o.refused || o.failed || o.otherLimit || took > blindTrips*min(trip, b.trip) {
		*b = blind{meter: meter{from: o.now, left: o.remaining}, trip: trip}
		return 0, false
	}
	b.trip = min(b.trip, trip)
	b.serve(o)
	back := b.back(o.remaining)
	rate = measuredShare * float64(back) / took.Seconds()
	return rate, o.newest && o.moreThanWindows(back) && pace.Sane(rate) // answers that come at one instant show no rate
}

// grow takes in that a request was served, and returns what the rate is after it. No rate is above twice of
// what was under way: nobody has tried it.
func (b *blind) grow(o *outcome, rate float64) float64 {
	trip := o.now.Sub(o.sent).Seconds()
	if !b.on || o.failed || trip <= 0 || o.found() < o.limit {
		return rate
	}
	by := float64(o.n) / trip
	if b.refused {
		by = min(by/max(rate*trip, 1), blindRaise*rate) // where few are under way, one more is much
	}
	return max(rate, min(rate+by, 2*float64(o.flight)/trip))
}
