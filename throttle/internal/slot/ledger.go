// Package slot is the arithmetic of quotas whose slots are handed out ahead of their time. Where
// processes share a quota, a store hands out slots: the right to send so much from an instant on.
// A [Ledger] says where the next slot of one quota may be, as a limit.Limit says when tokens may
// go that go now.
//
// A slot may be far ahead, because of another quota or because it is large. The room before it is
// not lost: later slots may be handed out before it, if all that was handed out remains right.
//
// In come quotas with all defaults written out, costs, and instants; out come the instants of
// slots. The package has no clock, and knows nothing of members, of what they have in hand, and
// of how they reach a store.
package slot

import (
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/varint"
)

// A Ledger is the arithmetic of one quota whose slots are handed out ahead of their time.
//
//nolint:interfacebloat // what one kind of quota has to say to a store
type Ledger interface {
	// When returns the earliest instant, not before t, for a slot of n. It changes nothing.
	When(t monotime.Time, n int64) monotime.Time

	// Take charges a slot that When returned at now.
	Take(now, slot monotime.Time, n int64)

	// Overdraw charges what goes at now, whatever is there.
	Overdraw(now monotime.Time, n int64)

	// Own charges n that went or go at an instant, past or to come, without a slot that this ledger knows
	// of. If Assume has assumed them, it assumes so many less. Assumed is the t of Assume.
	Own(now, at, assumed monotime.Time, n int64)

	// Left returns how much of a window is left at now, all slots that are to come counted.
	Left(now monotime.Time) int64

	// Give takes back n of a slot that were not used.
	Give(now, slot monotime.Time, n int64)

	// Passed reports whether what Give takes back of a slot to come would be of no use at the slot's instant:
	// later slots were handed out, and none is handed out before these any more.
	Passed(now, slot monotime.Time) bool

	// Set changes the numbers of the quota, at now. A slot may be used until slotLife after its instant.
	// Slots that are near are handed out in their order; before those that are farther there may be others.
	Set(now monotime.Time, q quota.Quota, slotLife, horizon time.Duration)

	// Fall says when slotLife becomes shorter, and what it becomes then, as far as is known: what is handed out
	// for later reckons with it. The instant is zero if it does not.
	Fall(at monotime.Time, to time.Duration)

	// Assume makes a new ledger one that was used evenly up to t. Of a bucket that is not new, it
	// takes what may still be there at t. One token is there so soon after t, at the latest.
	Assume(t monotime.Time, first time.Duration)

	// Trust ends what Assume has assumed up to an instant: all that went was told, at now.
	Trust(now, assumed monotime.Time)

	// Release ends what was charged up to t beyond what the quota grants, and what Assume has assumed. What was
	// handed out stays charged: most is the largest N by which that was. Nothing is handed out before t.
	Release(t monotime.Time, most int64)

	// Append appends what was charged to b, but for what Set tells. Restore reads it, in a
	// new ledger of the same quota.
	Append(b []byte) []byte
	Restore(r *varint.Reader)
}

// Near is how far ahead near slots are, at most: a twentieth of the horizon. Near slots are handed out in their
// order. Before others there may be more, so that what comes back is of use to those who wait.
func Near(horizon time.Duration) time.Duration { return horizon / 20 }

// New returns the ledger of q. The wall clock was at wall, in nanoseconds since 1970, at
// instant 0.
func New(q quota.Quota, slotLife, horizon time.Duration, wall int64) Ledger {
	var l Ledger
	switch {
	case q.Kind == quota.TokenBucket:
		l = &Bucket{}
	case q.Kind.OnClock():
		l = newGrid(q, wall)
	default:
		l = &window{}
	}
	l.Set(0, q, slotLife, horizon)
	return l
}

// Compatible reports whether two quotas can have the same ledger, one after the other.
func Compatible(p, q *quota.Quota) bool {
	return p.Kind == q.Kind && p.Unit == q.Unit && (!p.Kind.OnClock() || p.Per == q.Per)
}
