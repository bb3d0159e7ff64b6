package store

import (
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// askedSlotLife is the longest SlotLife that members asked for lately.
type askedSlotLife struct {
	longest, second time.Duration // second is what was asked for since
	at              monotime.Time // when the longest was asked for last
}

// shortestHorizon is for how long a SlotLife counts at least: a member that asks for slots of now alone does
// not shorten that of others.
const shortestHorizon = activeFor / 4

// ask notes that a member asks for a SlotLife, and returns the longest that was asked for within the horizon,
// in which who waits asks once at least: to reckon with it for longer keeps a bucket slow after its store was.
// What was asked for meanwhile counts for another horizon, from the first request after that one: for three at
// most. Nothing counts that is longer than slots are used for.
func (a *askedSlotLife) ask(slotLife, used, horizon time.Duration, now monotime.Time) time.Duration {
	horizon = max(horizon, shortestHorizon)
	switch d := now.Sub(a.at); {
	case slotLife >= a.longest || d >= 2*horizon:
		*a = askedSlotLife{slotLife, 0, now}
	case d >= horizon:
		*a = askedSlotLife{max(a.second, slotLife), 0, now}
	default:
		a.second = max(a.second, slotLife)
	}
	if used < a.longest {
		*a = askedSlotLife{used, 0, now}
	}
	return a.longest
}

// manyActive is of how many other members it is known, at the most, for how long they use slots.
const manyActive = 64

// usedFor is for how long after their instants slots are used at the most from now on: what each member that is
// active asked for last holds for all that it has in hand. If they are too many, nobody knows.
func (l *Ledger) usedFor(r *Request, now monotime.Time) (slotLife time.Duration) {
	slotLife = r.SlotLife
	many := 0
	for name, m := range l.members {
		switch {
		case name != r.Member && m.activeTill > now:
			slotLife = max(slotLife, m.slotLife)
			many++
		case name == r.Member && r.Serial < m.serial: // the request is an old one
			slotLife = max(slotLife, m.slotLife)
		}
	}
	if many > manyActive {
		return monotime.Longest
	}
	return slotLife
}

// ledgerSlotLife is the SlotLife by which the ledger of a quota reckons. It rises at once, and falls when the
// slots have expired that may be used for longer, or when no slot is used for longer any more; of a window,
// when those have left it that were.
type ledgerSlotLife struct {
	slotLife time.Duration
	falls    monotime.Time // when it falls; zero if it does not
	to       time.Duration // what it falls to
}

// follow has it follow the SlotLife of the slots that are handed out from now on. The last slot so far is at an
// instant, and from now on they are used for so long at the most.
func (l *ledgerSlotLife) follow(slotLife, used time.Duration, q *quota.Quota, now, last monotime.Time) {
	if l.falls != 0 && now >= l.falls {
		l.slotLife, l.falls = l.to, 0
	}
	falls := now
	if used > slotLife {
		falls = max(now, last).Add(l.slotLife)
	}
	if q.Kind != quota.TokenBucket {
		falls = min(falls.Add(q.Per), now.Add(2*monotime.Longest))
	}
	switch {
	case slotLife >= l.slotLife, q.Kind.OnClock(): // what goes late goes in the window of its slot
		l.slotLife, l.falls = slotLife, 0
	case l.falls == 0 || slotLife > l.to || used <= slotLife && (slotLife < l.to || falls < l.falls):
		l.falls, l.to = falls, slotLife
	}
}
