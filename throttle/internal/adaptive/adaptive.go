// Package adaptive is what the answers of a server tell about what it allows. It is a state
// machine: in come answers, what requests ask for, and instants; out come instants at which
// a request may go ([Server.Due]), and what an answer means for all requests of a bucket
// ([Effect]).
//
// A [Server] is what one bucket knows of its server. All Servers of a tree of buckets belong to
// one [Site], since several of them may draw on one limit of the server. What a Server knows
// has these parts, each in a file of its own:
//
//   - a window for each limit that the server states (window.go), with the reset of the
//     limit, as an interval that each statement narrows (reset.go); how the limit comes back
//     if it does so bit by bit (refill.go); when one request looks early for it (guess.go); which part of
//     it others use (others.go); and which other Servers draw on it (overlap.go);
//   - the rate at which the server serves while it refuses without an explanation (served.go);
//   - whether failures without a word are refusals (overload.go);
//   - a slow start while nothing of all this is known (server.go).
//
// A rule of learning belongs to one of these. The package has no lock and no clock, makes no
// timers, and knows nothing of lines, of who waits, and of HTTP. Random numbers come in as a
// function, and the requests that are under way as numbers.
package adaptive

import (
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Site is what the Servers of one tree of buckets have in common. The zero Site is new.
type Site struct {
	order    uint64    // counts the grants and answers of the tree
	ids      ID        // how many Servers there were
	speakers []*Server // that heard of limits, and are compared with one another
}

// ID tells the Servers of a Site apart.
type ID uint32

// Config is what the user of a bucket says of learning. All values are effective ones, with
// defaults filled in.
type Config struct {
	MaxHold   time.Duration  // bounds every hold on a server's word
	MaxWait   time.Duration  // how long callers wait; zero if there is no bound
	Spend     Spend          // how what remains of a limit is spent
	SlowStart bool           // after a refusal, and when the bucket is new or has idled
	Random    func() float64 // numbers from [0, 1)
}

// Ticket is what a granted request knows of the moment of its grant. Its answer is learned from
// with it.
type Ticket struct {
	Sent  monotime.Time // when the request was granted
	N     int           // what it was thought to cost, in requests
	order uint64        // among the grants and answers of the Site; zero if nothing was known then
	probe bool          // the request goes to find out what the server allows
}

// Elsewhere is the ticket of a request of another Server as this one sees it: older than all that
// this Server knows, and nothing that it has used.
func (t *Ticket) Elsewhere() Ticket { return Ticket{Sent: max(t.Sent, 1)} }

// Answer is what became of a request.
type Answer struct {
	Refused    bool // the server refused the request because of a limit, and did nothing
	MayRefuse  bool // the request failed in a way in which some servers refuse
	Lost       bool // no answer came
	Hold       time.Duration
	HoldKnown  bool // the server said for how long nobody is to ask
	Statements []quota.Statement

	// Cost is what the request has cost, as far as it is known. Nil means the requests of its
	// Ticket, and nothing in other units.
	Cost *limit.Demand
}

// Tells reports whether there is anything to learn from the answer.
func (a *Answer) Tells() bool {
	return a.Refused || a.MayRefuse || a.HoldKnown || len(a.Statements) > 0
}

// cost is what the request has cost.
func (a *Answer) cost(t *Ticket) limit.Demand {
	if a.Cost != nil {
		return *a.Cost
	}
	return limit.Demand{Claims: 1, N: t.N}
}

// Effect is what an answer means for all requests of the bucket.
type Effect struct {
	Refused    bool          // the answer is a refusal, or is taken for one
	PushedBack bool          // the server asks for less: what warms up becomes cold
	Hold       time.Duration // nothing is to go for so long; zero or negative if it may
}

// asked returns what d asks for of a limit that the server spoke of, whose unit the caller may
// not know: then each request takes as much of it as of requests.
func asked(d *limit.Demand, unit string) int {
	if unit == "" {
		return d.N
	}
	if n, ok := d.Costs[unit]; ok {
		return n
	}
	return d.N
}

// canonical returns the unit as limits are told apart by it: that of requests is empty.
func canonical(unit string) string {
	if unit == quota.Requests {
		return ""
	}
	return unit
}

// doubled returns d, doubled for each n after the first.
func doubled(d time.Duration, n int) time.Duration { return d << min(max(n-1, 0), 20) }
