package lease

import (
	"slices"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/slot"
	"github.com/gopacer/pacer/throttle/store"
)

// This file is what the owner tells the Lease, and asks it, apart from calls and claims. A method in
// the past tense takes in an event: Said, Shrunk.

// Wake returns when the owner is to call Tick; zero if not.
func (l *Lease) Wake() monotime.Time { return l.wake }

// Tick is called at the instant of Wake or later. It reports whether that instant has come: then
// the owner looks who may go, and calls Next. The bucket is held until an instant.
func (l *Lease) Tick(now, held monotime.Time) bool {
	if l.wake == 0 || l.wake > now {
		return false
	}
	l.expire(now)
	l.wake = 0
	l.mustCall = l.mustCall || l.reports() || held > max(now, l.holdKnown)
	return true
}

// TellHold has the store told of a new hold of the bucket, unless the store knows of the hold: the
// next Tick, which is due now, decides.
func (l *Lease) TellHold(now monotime.Time) { l.wakeBy(now) }

// HeldByStore returns until when a hold is believed of which the store tells, and which it need not be told.
func (l *Lease) HeldByStore(now, hold monotime.Time, waiting int) monotime.Time {
	hold = min(hold, l.believedUntil(now, waiting))
	l.holdKnown = max(l.holdKnown, hold)
	return hold
}

// Overheard returns those statements of a server that are believed of which the store tells: none, or all that
// a store keeps, but for those with names that no server has. Each takes time under the owner's lock.
func (l *Lease) Overheard(now monotime.Time, all []quota.Statement, waiting int) []quota.Statement {
	if len(all) > 0 && now >= l.believedUntil(now, waiting) {
		return nil
	}
	all = all[:min(len(all), maxStatements)]
	tooLong := func(st quota.Statement) bool { return max(len(st.Name), len(st.Counter), len(st.Unit)) > longestName }
	if slices.ContainsFunc(all, tooLong) {
		all = slices.DeleteFunc(slices.Clone(all), tooLong)
	}
	return all
}

// believedUntil is until when the store is believed that says of the server to wait: for config.Believed since
// it said so first while so many claims waited and none went. Else holds that come one after the other would
// hold claims for ever. A store that means what it says hands out no slot before its hold is over.
func (l *Lease) believedUntil(now monotime.Time, waiting int) monotime.Time {
	if waiting == 0 || l.toldSince == 0 || l.toldSince < l.demand.grants.at {
		l.toldSince = now
	}
	return l.toldSince.Add(l.config.Believed)
}

// Heard takes in news, and reports whether to call Next. If the store has lost the bucket it is told at once
// what is known here, or once it can be reached; and after the call under way, whose reply may be of before the
// loss. If a person has ended a hold or a debt it is asked at once.
func (l *Lease) Heard(now monotime.Time, n store.News) bool {
	l.earlierRoom = l.earlierRoom || n.Room || n.Released
	l.hearWhoCame(now, n.Sharing)
	l.hearAhead(now, n.Ahead)
	if n.Lost && (l.last.at != 0 || l.flights.calling()) {
		l.mustCall, l.heardLost = true, l.flights.calling()
		if l.outage.since == 0 && !l.lostLately(now) {
			l.notBefore = min(l.notBefore, now)
		}
	}
	if n.Released {
		l.holdKnown = min(l.holdKnown, now)
		if l.outage.since == 0 {
			l.notBefore = min(l.notBefore, now)
		}
	}
	return n.Room || n.Lost || n.Released
}

// Shrunk notes, if so, that a claim left the line without going.
func (l *Lease) Shrunk(so bool) { l.lineShrunk = l.lineShrunk || so }

// Said notes what the server said. The store is told with the next call; at once if nothing is
// left.
func (l *Lease) Said(now monotime.Time, statements []quota.Statement) {
	for _, st := range statements {
		if l.statements.add(now, st) {
			l.mustCall = true
			l.wakeBy(now)
		}
	}
}

// AskNotBefore has no call made before an instant. It never shortens what an error or a slow round
// trip asks for.
func (l *Lease) AskNotBefore(at monotime.Time) { l.notBefore = max(l.notBefore, at) }

// MayAsk reports whether a call is under way or may be made now, for claims for which the slots
// in hand do not suffice. A call that does not return is neither.
func (l *Lease) MayAsk(now monotime.Time) bool {
	return l.flights.now != nil || !l.flights.overdue && now >= l.notBefore
}

// Meet notes that a claim has come to the line of the bucket, or has come back to it from that of the bucket
// above.
func (l *Lease) Meet(h *Hope) {
	if h.served < mostServed { // else more urgent ones come all the time
		h.met = l.flights.now
	}
}

// MayBring reports whether a call may be for a claim in the line, but for calls that are made because of it:
// one that was under way when it came, or has no room for it; or one that Next is still to return. If none may,
// what is in hand suffices for all in line, but later; or something else delays them.
func (l *Lease) MayBring(h *Hope) bool { return l.flights.mayBring(h) }

// RoundTrip returns how long the last call took; zero before the first.
func (l *Lease) RoundTrip() time.Duration { return l.trips.last() }

// reports reports whether there is anything to tell of slots.
func (l *Lease) reports() bool { return !l.unsent.empty() || !l.sent.empty() }

// DownSince returns since when the store cannot be reached, if only its return lets claims go for which the
// slots in hand do not suffice; else zero.
func (l *Lease) DownSince() monotime.Time {
	if _, alone := l.aloneFrom(); alone {
		return 0
	}
	return l.outage.since
}

// Away reports whether the store cannot be reached, as far as it counts for a claim: none goes by what this
// process has alone, or this one costs more than goes at once meanwhile.
func (l *Lease) Away(now monotime.Time, d *limit.Demand, urgent bool) bool {
	return l.DownSince() != 0 || l.AbovePart(now, d, urgent) != ""
}

// Beyond reports whether a claim that is due as d says waits for longer than the bound, and what it then waits
// for, but for others that go before. While the store cannot be reached, nobody knows for how long: then it
// counts for how long that has lasted. What a store has had nothing for in so long, whatever it says, is beyond
// the bound, too, but for a claim that has slots, or needs none.
func (l *Lease) Beyond(now monotime.Time, d limit.Due, demand *limit.Demand, urgent bool, bound time.Duration) (limit.Due, bool) {
	since, near, claim := l.DownSince(), d.At.Sub(now) <= bound, Waiter{Demand: demand, Urgent: urgent}
	if since != 0 && (near || d.Cause == limit.Store) && !l.ready(now, &claim) {
		return limit.Due{At: now, Cause: limit.Store}, now.Sub(since) >= bound
	}
	if of := l.binding(); l.vain.lasts(now, l.longest(bound, of)) && !l.ready(now, &claim) {
		return limit.Due{At: now, Cause: limit.Pace, Quota: of}, true
	}
	wait := d.At.Sub(now)
	return d, min(wait, max(l.longestGap(d.Quota), wait-l.othersAhead())) > l.longest(bound, d.Quota)
}

// longest returns for how long a claim waits for a quota, given by its name. If there is no bound, that is what
// the quota itself explains, and else longestAhead: a caller who knows the quotas does not know what a store
// will say of them.
func (l *Lease) longest(bound time.Duration, name string) time.Duration {
	if bound == monotime.Unbounded {
		return max(l.longestGap(name), longestAhead)
	}
	return bound
}

// longestAhead bounds for how long a line is waited for of which a store alone tells, as a hold of a store is
// bounded. It is longestLine where mostCounted processes explain that: of 5/24h, 16 that want one each stand in
// line for three days.
const (
	longestAhead = 24 * time.Hour
	longestLine  = 365 * longestAhead // a store that says more is mistaken: nobody waits for so long
	mostCounted  = 512                // as many as a store.Ledger counts: a store may say any number
)

// othersAhead is how far ahead the slots of other processes may be. All get a Horizon of work together, and
// each one claim more, of all that a quota grants at once; twice, if what each has in hand is of no use to its
// first claim; and what is within a quarter of the Horizon (see store.Ask). Nobody knows what a claim with Debt
// costs. What is farther ahead is a debt, or the mistake of a store, and no line that moves.
func (l *Lease) othersAhead() time.Duration {
	claim, owed := time.Duration(0), time.Duration(0)
	for i := range l.quotas {
		if q := &l.quotas[i]; q.Debt {
			owed = longestAhead
		} else {
			claim = max(claim, monotime.Scale(q.Per, slot.Most(q), q.N))
		}
	}
	of := func(members int) time.Duration {
		return 3*Horizon + l.slotLife + monotime.Times(2, monotime.Times(int64(members), claim))
	}
	return max(owed, min(of(max(l.last.members, 1)), max(min(of(mostCounted), longestLine), longestAhead)))
}

// longestGap bounds the time between two slots of a quota, given by its name: whatever the distance of the next
// slot, those of other processes go before. It is the longest span if the quota does not live in the store.
func (l *Lease) longestGap(name string) time.Duration {
	i := slices.Index(l.names, name)
	if i < 0 {
		return monotime.Longest
	}
	q := &l.quotas[i]
	if q.Kind == quota.TokenBucket {
		return monotime.Scale(q.Per, 1, q.N)
	}
	return q.Per
}

// Hand returns how much is in hand of each quota that lives in the store, in their order.
func (l *Lease) Hand(now monotime.Time) []int64 {
	l.expire(now)
	return slices.Clone(l.slots.inHand[:l.forAll])
}

// Idle reports whether forgetting the Lease loses nothing.
func (l *Lease) Idle(now monotime.Time) bool {
	l.expire(now)
	return !l.flights.calling() && len(l.slots.list) == 0 && !l.reports() && !l.mustCall
}

// State is what is known of the store, and what the Lease got of it.
type State struct {
	Members   int
	Ahead     time.Duration
	Down      time.Duration
	Err       error
	RoundTrip time.Duration

	Calls        int
	Wasted, Hand int64
}

// State returns a snapshot.
func (l *Lease) State(now monotime.Time) *State {
	st := &State{
		Members: l.last.members, Ahead: max(l.last.end.Sub(now), 0), Err: l.err, RoundTrip: l.RoundTrip(),
		Calls: l.calls, Wasted: l.wasted, Hand: slot.Total(l.slots.inHand),
	}
	if l.outage.since != 0 {
		st.Down = now.Sub(l.outage.since)
	}
	return st
}
