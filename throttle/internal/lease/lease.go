// Package lease is what one process holds of a bucket that it shares with other processes
// through a store: slots in hand. A slot is the right to send so much, from one instant on and
// until another.
//
// A [Lease] decides, and its owner acts. The owner has the lock, the clock, the timer and the
// connection to the store. A call of the store goes through the files in this order:
//
//   - next.go: [Lease.Next] returns the request to send now, or nil if there is none. asks.go
//     asks for slots for the claims in line ([Line], line.go), prefetch.go for slots for claims
//     that may come. back.go adds what goes back to the store, statements.go what the server said.
//   - step.go: [Lease.Step] takes in the reply or the error, and returns what follows for the
//     owner ([Effects]). The new slots go to slots.go, the round trip to slotlife.go, an error to
//     outage.go.
//   - due.go: [Lease.Due] returns when a claim may go by what is in hand.
//   - use.go: [Lease.Take] charges a claim that goes. [Lease.Return] and [Lease.Settle] take back
//     what the claim did not use. demand.go counts what goes, which prefetch.go asks about.
//   - left.go and usage.go: what the store has left, and what this process has used of that; sharing.go: with
//     how many processes it shares the bucket.
//   - hope.go: which claims calls are for, those under way and the next one ([Lease.MayBring]); for how long
//     they have brought nothing.
//   - owner.go: the other things that the owner tells between calls. [Lease.Wake] is when to call
//     [Lease.Tick] next.
//
// In come instants, costs, the line, and replies of package store; out come requests of package
// store, the instants of claims, and events. The package knows nothing of locks, clocks, timers
// and goroutines, nothing of how a store is reached, and nothing of what a server's statements
// mean. A reply may come from a store that is broken: whatever it says, nothing panics, and no
// more slots are kept than were asked for, nor any that are farther ahead than the last one it knows of.
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

// Horizon is how far ahead slots are prefetched, by all members together. A longer horizon
// saves round trips, but a new member waits longer for its share.
const Horizon = 500 * time.Millisecond

// Config is the part of a Lease that does not change.
type Config struct {
	Name     string        // of the bucket, in errors
	Bucket   string        // what the store calls the bucket
	Member   string        // what the store calls this process
	SlotLife time.Duration // how long after its instant a slot may be used; not positive if the Lease is to find that out
	Outage   Outage        // what to do while the store cannot be reached

	Fresh      bool          // nobody has drawn on the bucket before, as far as its user knows
	Standstill time.Duration // for how long a claim waits for one token
	Believed   time.Duration // for how long claims wait for the server because the store alone says so
}

// Lease is what one process holds of one bucket. New makes one.
type Lease struct {
	config Config

	// The quotas that live in the store: first those of all claims, then what is left of these
	// to claims that are not urgent.
	quotas   quota.Quotas  // as the store is told of them
	names    []string      // of the quotas, for errors
	forAll   int           // how many of the quotas are of all claims
	none     bool          // there are none any more: those above are of before, of which there may be something to tell
	version  int           // how often the quotas were set
	changed  monotime.Time // when slots in hand went back for that last
	then     quota.Quotas  // which they were
	stay     time.Duration // how far ahead slots in hand stay with the next change, by the quotas since
	again    monotime.Time // when they are to do so again, since the quotas have changed meanwhile; zero if they have not
	slotLife time.Duration // see slotlife.go

	slots  heldSlots
	used   used
	demand demand
	outage outage
	trips  roundTrips
	wake   monotime.Time // when the owner is to call Tick; zero if not

	// What the store is to be told. A call that failed may have arrived: what it told of slots is told again,
	// and it asks again for the same, unchanged and with the same serial. So it does mostOldTries times by
	// quotas that were replaced meanwhile. With that serial nothing else is told of slots, nor asked: the store
	// would take it for what it knows.
	unsent     slotReport
	sent       slotReport
	asked      []store.Ask
	sentOf     quota.Quotas // of which sent and asked are
	statements statements
	holdKnown  monotime.Time // the hold of which the store knows
	toldSince  monotime.Time // when the store told of a hold, or of a statement, first while claims wait and none goes

	// Whether to call the store, and what for.
	serial        int64         // of the next request
	serialUsed    bool          // a call with it was made, and may have arrived
	answered      int64         // of the latest request that was answered
	flights       flights       // which claims calls are for
	vain          vain          // replies that had nothing
	flown         []int         // from which quota of sentOf each takes over
	sentVersion   int           // the version of sentOf
	oldTries      int           // how many calls were made by sentOf after the quotas were replaced
	mustCall      bool          // a call is due, even if no slots are wanted
	heardLost     bool          // so it is since the store lost the bucket while a call is under way, whose reply may be of before
	notBefore     monotime.Time // no call is made before
	lineShrunk    bool          // a claim left the line without going: slots in hand may be too many
	earlierRoom   bool          // the store may have slots that are earlier than those in hand
	settledLow    monotime.Time // when a claim cost less last, and its slot had expired or was of no use
	farReturned   monotime.Time // when far slots were given back last, in exchange for earlier ones
	prefetchAlone monotime.Time // since when a call would be for prefetching alone; zero if it would not
	noPrefetch    monotime.Time // no prefetching before: the store had nothing

	life   int64 // of the bucket, by the latest reply
	told   int64 // the life for which the store was told all of before
	shared mostSharing
	lately []lately
	lostAt monotime.Time // when the store said last that it has lost the bucket; zero if never
	last   lastReply
	came   cameNews
	far    farNews
	atOnce []atOnce       // of each quota
	others []quota.Quotas // by which other processes ask, of which the owner was told
	err    error          // why the store cannot be reached, or why its slots are of no use

	calls  int
	wasted int64 // tokens
}

// slotReport is what the store is to be told of slots.
type slotReport struct {
	back    []store.Part  // unused parts of slots
	settled time.Duration // of those, the work of claims that cost less
	more    []int64       // what went without a slot, of each quota; nil if nothing did
	own     []own         // what went, or will go, and the store does not know of; nil if it knows all
}

// empty reports whether there is nothing to tell.
func (r *slotReport) empty() bool { return len(r.back) == 0 && r.more == nil && len(r.own) == 0 }

// lastReply is what the last reply of the store said.
type lastReply struct {
	at       monotime.Time // when it arrived; zero before the first
	sent     monotime.Time // when its request was sent
	next     monotime.Time // when the next slot could be had
	nextCost []int64       // the cost of that slot
	bound    int           // index of the quota that keeps the next slot from being earlier; negative if none does
	end      monotime.Time // the last slot that the store has handed out, to any member
	endAt    monotime.Time // when that was said, here or by news
	members  int
	few      bool           // the store had lost the bucket when it answered first, and others have had no Horizon to ask again
	sharing  int            // how many members share the bucket, of whom some may be idle
	left     []int64        // how much of each window was left
	leftTo   int            // to how many members, with this one
	short    bool           // it had fewer slots than were asked for
	others   []quota.Quotas // by which other processes ask
}

// cameNews is what news told last of members that came.
type cameNews struct {
	at      monotime.Time
	sharing int // how many shared the bucket then, with this one
}

// farNews is what news told last of slots that are far ahead.
type farNews struct{ at, end monotime.Time }

// overdraw has the store be told of what it did not grant.
func (r *slotReport) overdraw(n []int64) {
	if r.more == nil {
		r.more = make([]int64, len(n))
	}
	slot.Add(r.more, n, 1)
}

// giveBack has the store be told of a part of a slot, together with other parts of the same slot.
func (r *slotReport) giveBack(id int64, cost []int64) {
	for i := len(r.back) - 1; i >= max(len(r.back)-manyParts, 0); i-- {
		if r.back[i].Slot == id {
			slot.Add(r.back[i].Cost, cost, 1)
			return
		}
	}
	r.back = append(r.back, store.Part{Slot: id, Cost: slices.Clone(cost)})
}

// manyParts is among how many parts, the latest, another part of a slot is looked for: a claim that is settled
// gives back of its slots quota by quota.
const manyParts = 64

// New returns a Lease without quotas.
func New(c Config) *Lease { return &Lease{config: c, serial: 1} }

// Set replaces the quotas, which have all defaults written out. A share of each quota is reserved for urgent
// claims. Only quotas that live in a store count. All slots in hand go back, as slots of the quotas that take
// over from those of before: else each change would cost what a Horizon holds, at the rate of before. So does
// what a call gets that is under way, or has failed and comes again. What went is known of a quota that takes
// over from another one, as it does in the store, and the store is told of it. Where only a rate changes, by a
// little, soon after another change, slots stay in hand until changesEvery after that one.
func (l *Lease) Set(now monotime.Time, qs quota.Quotas, reserve float64) {
	had, forAll := l.quotas, l.forAll
	if l.none = !slices.ContainsFunc(qs, func(q quota.Quota) bool { return Stored(&q) }); !l.none {
		l.quotas, l.names = nil, nil
		l.add(qs)
		l.forAll = len(l.quotas)
		if reserve > 0 {
			l.add(limit.Unreserved(qs, reserve))
		}
	}
	from := append(takesOver(l.quotas[:l.forAll], had[:forAll], 0), takesOver(l.quotas[l.forAll:], had[forAll:], forAll)...)
	l.last.left = carry(l.last.left, from, -1)
	for i := range l.last.left {
		if of := from[i]; l.last.left[i] >= 0 {
			l.last.left[i] = max(min(l.last.left[i], had[of].N)+(l.quotas[i].N-had[of].N), 0) // whatever a store says is left
		}
	}
	l.stay = min(l.stay, staysFor(l.quotas, l.then))
	if soon := l.changed.Add(changesEvery); l.changed != 0 && now < soon && !l.none && l.outage.since == 0 && l.stay > 0 {
		l.again = soon
		l.wakeBy(soon)
		return
	}
	l.change(now, had, from)
}

// changesEvery is how often slots in hand go back at most for a rate that changes by a little. A store hands
// out none before those that are near: so each time, that much of the rate is lost, and a call is made.
const changesEvery = Horizon / 5

// staysFor is how far ahead slots in hand stay that were handed out by other quotas, if these differ in their
// rate at most, by a fifth; else zero. Where it differs by a fifth these are the slots that are near, so that
// no more goes by the faster one than what comes back in a fifth of that time; where it differs by less, so
// many more. Else each change would cost what is near, for each of the processes.
func staysFor(qs, then quota.Quotas) time.Duration {
	d := monotime.Longest
	same := slices.EqualFunc(qs, then, func(p, q quota.Quota) bool {
		least, most := min(p.N, q.N), max(p.N, q.N)
		little := most-least <= most/5 // so that nothing below overflows
		if little && most > least {
			d = min(d, monotime.Scale(slot.Near(Horizon), most, 5*(most-least)))
		}
		p.N, q.N = 0, 0
		return little && p == q
	})
	if !same {
		return 0
	}
	return d
}

// change has what is known follow the quotas, each of which takes over from one of before.
func (l *Lease) change(now monotime.Time, had quota.Quotas, from []int) {
	stay := l.stay
	if l.none || l.outage.since != 0 {
		stay = 0
	}
	l.changed, l.then, l.again, l.stay = now, l.quotas, 0, monotime.Longest
	l.unsent.own = append(l.unsent.own, l.outage.went.before(0, monotime.Time(monotime.Unbounded))...)
	l.version++
	l.flown = carry(l.flown, from, -1)
	for _, s := range l.slots.remove(func(s *heldSlot) bool { return stay == 0 || s.from > now.Add(stay) }) {
		if s.epoch == l.slots.epoch {
			l.unsent.giveBack(s.id, s.left)
		}
	}
	l.slotLife = EffectiveSlotLife(l.quotas, l.config.SlotLife)
	if stay == 0 {
		l.slots.reset(len(l.quotas))
	}
	l.remember(now, had, l.used, had)
	l.used = l.used.takenOver(l.quotas, had, from, l.lately)
	l.demand.unit, l.atOnce = nil, nil
	l.unsent = l.unsent.carried(from)
	l.outage.reset()
	l.last.next, l.last.nextCost, l.last.bound = 0, nil, -1
	if l.outage.since == 0 {
		l.notBefore = 0 // the store had nothing by the quotas of before
	}
	l.mustCall = l.mustCall || l.last.at != 0 // else the quotas of before hold on for others, while they may be about
}

func (l *Lease) add(qs quota.Quotas) {
	for _, q := range qs {
		if Stored(&q) {
			l.names = append(l.names, q.Name)
			q.Name, q.Queue = "", 0 // which a store need not know
			l.quotas = append(l.quotas, q)
		}
	}
}

// Stored reports whether a quota lives in the store, if its bucket has one.
func Stored(q *quota.Quota) bool { return q.N > 0 && !q.Kind.Concurrent() }

// NotStored returns the quotas that do not live in the store, with the zero Quota in place of each other one.
func NotStored(qs quota.Quotas) quota.Quotas {
	qs = slices.Clone(qs)
	for i := range qs {
		if !qs[i].Kind.Concurrent() {
			qs[i] = quota.Quota{}
		}
	}
	return qs
}

// cost returns what d costs of each quota. An urgent claim costs nothing of what is left to claims
// that are not. The result is in buf if buf is long enough.
func (l *Lease) cost(buf []int64, d *limit.Demand, urgent bool) []int64 {
	buf = buf[:0]
	if l.none {
		return buf
	}
	for i := range l.quotas {
		var n int64
		if i < l.forAll || !urgent {
			n = d.In(&l.quotas[i])
		}
		buf = append(buf, n)
	}
	return buf
}

// work returns the time in which a cost comes back.
func (l *Lease) work(cost []int64) time.Duration { return slot.Work(l.quotas, cost) }

// wakeBy has Tick called at an instant, or before.
func (l *Lease) wakeBy(at monotime.Time) {
	if l.wake == 0 || at < l.wake {
		l.wake = at
	}
}
