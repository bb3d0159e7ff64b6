package lease

import (
	"slices"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// This file is about how long after its instant a slot may be used, and about the round trips that
// this time must exceed. The user sets it with Config.SlotLife. Else it begins as DefaultSlotLife, which
// depends on the quotas alone; while round trips take long, it is slotLifeFromTrip. A request tells it as
// Request.SlotLife, which from then on holds for all slots in hand.

// DefaultSlotLife returns how long after its instant a slot may be used if the user does not say: the
// shortest time that suits any of the quotas that live in a store.
func DefaultSlotLife(qs quota.Quotas) time.Duration {
	slotLife := time.Second
	for i := range qs {
		q := &qs[i]
		if !Stored(q) {
			continue
		}
		e := q.Per / 100
		if q.Kind == quota.TokenBucket {
			tenthOfBurst := monotime.Scale(q.Per, q.Burst-1, 10*q.N)
			e = max(e, tenthOfBurst, 10*time.Millisecond)
		} else {
			e = min(max(e, 10*time.Millisecond), longestSlotLife(q))
		}
		slotLife = min(slotLife, e)
	}
	return slotLife
}

// longestSlotLife bounds what SlotLife may become by itself where round trips take long.
func longestSlotLife(q *quota.Quota) time.Duration {
	if q.Kind == quota.TokenBucket {
		return time.Second
	}
	return min(q.Per/4, time.Second)
}

// slotLifeFromTrip returns how long after its instant a slot may be used where a round trip takes at
// least so long: twice that, as far as the quotas bear it.
func slotLifeFromTrip(qs quota.Quotas, trip time.Duration) time.Duration {
	slotLife := 2 * trip
	for i := range qs {
		slotLife = min(slotLife, longestSlotLife(&qs[i]))
	}
	return slotLife
}

// probeEvery is how often a call is tried while the store cannot be reached, counted from call to call: after
// one that took longer, at once.
const probeEvery = 200 * time.Millisecond

// Timeout is how long a call may take: half a Horizon. Where only slots let claims go, it is the SlotLife that
// the user has set, maybe for a store which is far, if that is longer; but no more than what SlotLife becomes
// by itself. Where processes go on without the store, all have to tell what went within a Horizon of when the
// first one reaches the store again, which a call that hangs must not keep them from.
func (l *Lease) Timeout() time.Duration {
	if l.config.Outage.lets() {
		return Horizon / 2
	}
	return max(min(l.config.SlotLife, time.Second), Horizon/2)
}

// longestCall is how long a call takes at the most before it counts as failed, unless Timeout gives it more.
const longestCall = 300 * time.Millisecond

// roundTrips is how long the last three calls of the store took.
type roundTrips struct {
	took       [3]time.Duration // the latest is the last
	slowToldAt monotime.Time    // when the owner was told last that round trips take too long

	looked      int           // how many calls were made since an instant to see whether the store is near again
	lookedSince monotime.Time // that instant
}

// lookAgain reports whether to make a call to see whether the store is near again, now that one was short:
// SlotLife falls with the third that is. It counts as made; of a span, two are.
func (r *roundTrips) lookAgain(now monotime.Time, span time.Duration) bool {
	if r.lookedSince == 0 || now.Sub(r.lookedSince) >= span {
		r.looked, r.lookedSince = 0, now
	}
	r.looked++
	return r.looked < len(r.took)
}

func (r *roundTrips) add(took time.Duration) {
	copy(r.took[:], r.took[1:])
	r.took[len(r.took)-1] = took
}

// last returns the latest; zero before the first.
func (r *roundTrips) last() time.Duration { return r.took[len(r.took)-1] }

// least returns the shortest; zero while there were fewer than three.
func (r *roundTrips) least() time.Duration { return slices.Min(r.took[:]) }

// tellSlowEvery is how often the owner is told, at most, that round trips take too long.
const tellSlowEvery = 10 * time.Second

// tellSlow reports whether to tell the owner now.
func (r *roundTrips) tellSlow(now monotime.Time) bool {
	if r.slowToldAt != 0 && now.Sub(r.slowToldAt) <= tellSlowEvery {
		return false
	}
	r.slowToldAt = now
	return true
}

// EffectiveSlotLife is what the user has set, or the default for qs.
func EffectiveSlotLife(qs quota.Quotas, slotLife time.Duration) time.Duration {
	if slotLife > 0 {
		return slotLife
	}
	return DefaultSlotLife(qs)
}
