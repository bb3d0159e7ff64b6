// Package lease is what a process has of a bucket that it shares with others through a store:
// slots in hand, each the right to send so much from one instant on, and until another.
//
// A [Lease] decides, and its owner acts. [Lease.Next] says what to ask the store for, on behalf
// of whom in line, and what to tell it; [Lease.Step] takes in the reply, or the error, and says
// what follows from that. Between calls, [Lease.Due] says when a claim may go by what is in
// hand, [Lease.Take] charges it, [Lease.Return] and [Lease.Settle] take back what was not
// used. [Lease.Wake] is when to call [Lease.Tick].
//
// In come instants, what claims ask for, who waits (a [Line]), requests and replies of package
// store. The package knows nothing of locks, clocks, timers and goroutines, of what a server
// says, and of how a store is reached.
package lease

import (
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/slot"
	"github.com/gopacer/pacer/throttle/store"
)

// Horizon is how far ahead slots are got that may not be needed, of all members together.
// More saves round trips, and has a newcomer wait longer for its share.
const Horizon = 500 * time.Millisecond

// Config is what does not change of a Lease.
type Config struct {
	Name   string        // of the bucket, in errors
	Bucket string        // what the store calls it
	Member string        // what the store calls this process
	Late   time.Duration // for how long after its instant a slot may be used; not positive if the Lease is to find it
	Outage Outage        // what to do while the store cannot be reached
}

// Lease is what a process has of a bucket. New makes one.
type Lease struct {
	Config
	quotas quota.Quotas // as the store is told of them
	names  []string     // of the quotas
	own    int          // how many there are; those that follow are what is left to claims that are not urgent
	sets   int          // how often quotas were set
	late   time.Duration

	hand   hand
	demand demand
	outage outage
	trips  roundTrips
	told   told
	wake   monotime.Time // when to look again what there is to ask or tell; zero if not

	// What the next call is to tell, and the one before it has told, perhaps.
	back, sentBack []store.Part // what was not used of slots
	more, sentMore []int        // what went without a slot

	// What to ask for.
	serial   int64
	calling  bool          // a call is under way
	urgent   bool          // there is something to tell at once
	surplus  bool          // there may be more in hand than who waits wants
	room     bool          // there may be slots before those in hand
	returned monotime.Time // when slots were given back last for such
	lull     monotime.Time // since when only those who may come want something
	retry    monotime.Time // no call before
	held     monotime.Time // the hold that the store knows of

	// What the last reply said.
	heard   monotime.Time
	next    monotime.Time // when the next slot could be had
	nextFor []int         // that costs so much
	tail    monotime.Time // of the schedule
	bound   int           // the quota that keeps the next slot from being earlier; negative if none does
	members int
	full    bool          // it gave less than was asked for
	scarce  monotime.Time // until then there is nothing to be had for those who may come
	err     error         // why the store cannot be reached, or is of no use

	calls, got, wasted int
}

// New returns a Lease of no quotas.
func New(c Config) *Lease { return &Lease{Config: c, serial: 1} }

// Set replaces the quotas, which have all defaults written out, and of which a share is
// reserved for urgent claims. Only those count that live in a store. What is in hand is lost.
func (s *Lease) Set(qs quota.Quotas, reserve float64) {
	s.quotas, s.names = nil, nil
	s.add(qs)
	s.own = len(s.quotas)
	if reserve > 0 {
		s.add(limit.Unreserved(qs, reserve))
	}
	s.sets++
	if s.late = s.Late; s.late <= 0 {
		s.late = Late(s.quotas)
	}
	s.hand.reset(len(s.quotas))
	s.demand.unit = nil
	s.back, s.more, s.sentBack, s.sentMore = nil, nil, nil, nil
	s.outage.reset()
}

func (s *Lease) add(qs quota.Quotas) {
	for _, q := range qs {
		if Stored(&q) {
			s.names = append(s.names, q.Name)
			q.Name, q.Queue = "", 0 // which a store need not know
			s.quotas = append(s.quotas, q)
		}
	}
}

// Stored reports whether a quota lives in the store of a bucket that has one.
func Stored(q *quota.Quota) bool { return q.N > 0 && !q.Kind.Concurrent() }

// cost returns what d costs of each quota, with or without what is left to claims that are not
// urgent. The result is buf if that is long enough.
func (s *Lease) cost(buf []int, d *limit.Demand, unreserved bool) []int {
	buf = buf[:0]
	for i := range s.quotas {
		n := 0
		if i < s.own || unreserved {
			n = d.In(&s.quotas[i])
		}
		buf = append(buf, n)
	}
	return buf
}

// work is the time in which a cost comes back.
func (s *Lease) work(cost []int) time.Duration { return slot.Work(s.quotas, cost) }

// later has Tick called at an instant, or before.
func (s *Lease) later(at monotime.Time) {
	if s.wake == 0 || at < s.wake {
		s.wake = at
	}
}

// Wake is when to call Tick; zero if not.
func (s *Lease) Wake() monotime.Time { return s.wake }

// Tick is called at the instant of Wake or later. It reports whether that has come: then there
// may be something to ask or to tell. The bucket is held until an instant.
func (s *Lease) Tick(now, held monotime.Time) bool {
	if s.wake == 0 || s.wake > now {
		return false
	}
	s.expire(now)
	s.wake, s.urgent = 0, s.urgent || s.news() || held > max(now, s.held)
	return true
}

// Told has the store told soon of a new hold of the bucket, if it does not know.
func (s *Lease) Told(now monotime.Time) { s.later(now) }

// Overheard notes that the store knows of a hold.
func (s *Lease) Overheard(hold monotime.Time) { s.held = max(s.held, hold) }

// Room notes that there may be slots before those in hand.
func (s *Lease) Room() { s.room = true }

// Shrunk notes that somebody left the line who did not go.
func (s *Lease) Shrunk() { s.surplus = true }

// MayAsk reports whether a store is being asked, or can be, for who may not go by what is in hand.
func (s *Lease) MayAsk(now monotime.Time) bool { return s.calling || now >= s.retry }

// RoundTrip is how long the last call took; zero before the first.
func (s *Lease) RoundTrip() time.Duration { return s.trips.last() }

// news reports whether there is anything to tell.
func (s *Lease) news() bool {
	return len(s.back) > 0 || len(s.sentBack) > 0 || s.more != nil || s.sentMore != nil
}

// Idle reports whether forgetting the Lease loses nothing.
func (s *Lease) Idle(now monotime.Time) bool {
	s.expire(now)
	return !s.calling && len(s.hand.slots) == 0 && !s.news() && !s.urgent
}

// State is what is known of the store, and what came of it.
type State struct {
	Members   int
	Ahead     time.Duration
	Down      time.Duration
	Err       error
	RoundTrip time.Duration

	Calls, Got, Wasted, Hand int
}

// State returns a snapshot.
func (s *Lease) State(now monotime.Time) State {
	st := State{
		Members: s.members, Ahead: max(s.tail.Sub(now), 0), Err: s.err, RoundTrip: s.RoundTrip(),
		Calls: s.calls, Got: s.got, Wasted: s.wasted, Hand: slot.Total(s.hand.sum),
	}
	if s.outage.since != 0 {
		st.Down = now.Sub(s.outage.since)
	}
	return st
}
