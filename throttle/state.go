package throttle

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/due"
	"github.com/gopacer/pacer/throttle/internal/lease"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/readable"
)

// State is a snapshot of a bucket. Its text is JSON for people to read: durations and errors are text, and what
// is empty is left out. (A Level, a Forecast and a StoreState alone are printed, and are JSON, as Go does
// that.)
type State struct {
	Bucket    string        `json:"bucket"` // name of the Limiter
	Label     string        `json:"-"`      // of the Limiter
	Value     any           `json:"-"`      // of the Limiter
	Waiting   int           // claims in line
	InFlight  int           // cost, in requests, of the grants of which no answer is known; of what is still read, see Limits of a quota.InFlight
	Held      time.Duration // how long nothing goes because the bucket is held; zero if it is not. Then one request looks, so that Held is at most MaxHold, also where the server asked for longer: Next has that
	SlowStart int           // how many requests may be in flight in the slow start; zero if there is none now
	Next      Forecast      // for a claim of 1 that is made now, and costs in other units what is guessed by all claims
	Limits    []Level       // the Quotas in their order, then the limits that the server states
	Beliefs   []string      // what is believed of the server and why, in words for people to read: of its pace, then of each limit
	Store     *StoreState   // nil without a Store
}

// Level is how much is left of one limit: of a configured quota, or of what the server states.
type Level struct {
	Quota     string        // the quota by its name or as text; or the server's name for it, empty if it has none
	Counter   string        // which of several limits of that name, if the server says so; else empty
	Unit      string        // empty for requests
	Limit     int64         // tokens that are there when all are back; zero if the server does not say
	Available int64         `json:"available"` // tokens that may go now; of a shared quota those in hand, which may be for later; if Stated, as the latest answer said, also when the reset has come
	Reset     time.Duration // time until all are back, at the latest; zero if they are, or if that is not known
	Rate      float64       // tokens that come back in a second, one by one; zero if they do so together
	Stated    bool          // the server states the limit; it is not configured
}

// State returns a snapshot of the bucket.
func (l *Limiter) State() State {
	l, now := l.lockCurrent()
	defer l.unlock()
	s := State{
		Bucket: l.Name, Label: l.Label, Value: l.Value, Waiting: l.line.Len() + l.line.aside.Len(), InFlight: l.server.InFlight(), SlowStart: l.server.SlowStart(),
		Held: l.hold.Left(now), Next: l.forecast(now, need{Claim: due.Claim{Demand: limit.Demand{Claims: 1, N: 1}}}, 0, nil), Beliefs: l.server.Beliefs(now, &l.clock),
	}
	var shared *lease.Lease // nil without a Store
	if l.link != nil {
		shared, s.Store = l.link.lease, (*StoreState)(l.link.lease.State(now))
	}
	if l.invalid == nil {
		for _, left := range lease.Levels(now, l.quotas, l.stack, shared) {
			s.Limits = append(s.Limits, Level{left.Quota, "", left.Unit, left.Most, left.Available, left.Reset, left.Rate, false})
		}
	}
	for _, w := range l.server.Windows(now) {
		s.Limits = append(s.Limits, Level{w.Name, w.Counter, w.Unit, int64(w.Limit), int64(w.Available), w.Reset, w.Rate, true})
	}
	return s
}

// State returns snapshots of the buckets, in the order of their paths, key by key. A bucket for what a server
// counts on its own comes after its Parent, in the order of the names. Buckets that the Group has forgotten are
// missing.
func (g *Group) State() (states []State) {
	for _, n := range g.snapshot() {
		states = append(states, n.Value.State())
	}
	return states
}

// Buckets calls f for each bucket, with what is in flight there, and for how long it is still held, at a
// fraction of the cost of State.
func (inner) Buckets(g *Group, f func(l *Limiter, inFlight int, held time.Duration)) {
	for _, n := range g.snapshot() {
		l, now := n.Value.lockCurrent()
		inFlight, held := l.server.InFlight(), l.hold.Left(now)
		l.unlock()
		f(l, inFlight, held)
	}
}

// String returns the JSON of the state.
func (s State) String() string {
	text, _ := readable.JSON(s) // all of it can be said in JSON
	return string(text)
}

// MarshalJSON implements json.Marshaler.
func (s State) MarshalJSON() ([]byte, error) { return readable.JSON(s) }
