// Package adaptive learns from the answers of a server what the server allows, and says when the next request
// may go.
//
// In come requests that are granted ([Server.Take]), requests that are over ([Server.End]), and answers
// ([Server.Learn]): whether the server refused, for how long it wants to be left alone, and what it stated
// about its limits. Out come the instant at which a request may go ([Server.Open], [Server.Due]) and what an
// answer means for all requests of a bucket ([Effect]).
//
// The package is a state machine. It has no lock, no clock, no timer and no goroutine: the instant of each call
// is a parameter. It does not know HTTP, the line of waiting requests, or quotas that the user has set. Random
// numbers come in as a function ([Config]).
//
// The glossary of docs/learning-rules.md has the words of this package, such as look, hold, served and others:
// each stands for one idea.
//
// A [Server] is what one bucket has learned. All Servers of a tree of buckets belong to one [Site] (server.go),
// because several buckets may draw on one limit of the server. What is known of one limit that the server
// states is a window.
//
// A request that wants to go asks server.go, which asks packages concurrency, slowstart and pace, and each
// window. The latest instant counts. An answer goes through the files in this order, and docs/learning-rules.md
// has the rules of each:
//
//   - claims.go: does a refusal concern the bucket at all (Refuse), and which claim goes next? Package whose:
//     or one request, one kind of requests, something in front of the server, or all tenants?
//   - learn.go: Learn, with a function for each step. Package overload: is a failure without explanation a
//     refusal?
//   - elsewhere.go: of which limits can a refusal be? outcome.go: what the answer says of one limit. Then each
//     limit:
//   - window.go: what is known of it. remains.go: what remains. due.go: when a request may go. look.go: when to
//     look if nothing remains. rare.go: and if many looks found nothing. An outcome goes to the parts of a
//     window in the order that follows; parts.go says what else becomes of each: forgotten, copied, joined,
//     kept for later, and whether it is steady.
//   - millis.go: are resets milliseconds? behind.go: does the server state what was before the request?
//     dropped.go: is the limit stated no more?
//   - reset.go: when all is back. skew.go: by whose clock. span.go: how long windows last.
//   - package concurrency: how many requests may be under way at a time, if the server states that.
//   - cost.go: what requests cost, and what is in flight. price.go: if they do not say it.
//     dearth.go: if one costs more than ever remains.
//     streaming.go: when is it charged, if answers stream?
//   - renewal.go: does each refused request begin the window anew? overtaken.go: do others use it up before our
//     look?
//   - refill.go: what is believed of a limit that comes back token by token. detect.go: does it, or have others
//     taken a part of it? meter.go: how much has come back? measure.go: at which rate? drip.go: the rate that
//     resets say. blind.go: the rate if all is back within a round trip. raise.go: the rate of few tokens.
//     sharing.go: do others share it? crowd.go: which part is ours then? stock.go: and if the rate is known?
//     pricing.go: or does nobody, and a price explains what is missing?
//   - others.go: how much do others use? lasttokens.go: are the last tokens of a window left to them? spend.go:
//     is the rest spread over the time to the reset?
//   - sought.go, seek.go: when to look if no reset is stated. guess.go: when to look before a stated reset.
//   - doubt.go: a look, or a belief, that was in vain comes again ever more seldom.
//   - overlap.go, peers.go: do two Servers of the Site draw on one limit? apart.go: is one limit several
//     counters, as package counter finds out? countapart.go: what the Server of one of them begins with.
//   - package pace: the rate of a server that refuses and states nothing. lasting.go: what outlasts that when a
//     bucket has idled. Package slowstart: one request first, then more.
//   - hint.go: what a hint stands for, or the lack of one. holds.go: for how long nothing goes after a refusal.
//
// Beside this way lie adaptive.go (the types that all files use), heard.go (the server's count in place of a
// quota), steady.go (a shorter way where there is nothing to find out), memory.go (what is learned, as data:
// data.go and habit.go have its parts, lesson.go writes it to a Store, package shelf to a file), hearsay.go
// (what is taken over of a limit, whoever says it), and state.go and belief.go (what people are told, in
// numbers and in words).
package adaptive

import (
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/whose"
)

// ID tells the Servers of a Site apart.
type ID uint32

// sequence numbers the grants and answers of a Site in the order in which they happened. An
// instant would not do: a request may be granted in the same instant in which an answer comes,
// and the server has seen the request only if the answer came first.
type sequence uint64

// Config is what the user of a bucket says about learning. All values are effective ones, with
// defaults filled in.
type Config struct {
	MaxHold       time.Duration  // bounds every hold that a server asks for; if zero, refused claims wait by themselves, see Unheld
	MaxStandstill time.Duration  // how far away a reset is that may be waited for; zero if there is no bound
	Spend         Spend          // how what remains of a limit is spent
	SlowStart     bool           // after a refusal, and when the bucket is new or has idled
	Random        func() float64 // numbers in [0, 1)
	spacing       time.Duration  // see Space
}

const (
	// Patience is how long requests wait for the answer to one request that went ahead of
	// them. After it, one more goes ahead.
	Patience = 5 * time.Second
)

// Kind is what kind of request a claim is for.
type Kind = whose.Kind

// Past is what became of a claim that the server has refused.
type Past = whose.Past

// BehindAll is a rank behind those of all claims.
const BehindAll = whose.All

// Tenants tells a server that refuses all tenants from one that refuses each for itself.
type Tenants = whose.Tenants

// Ticket is what is known at the moment of a grant. The answer to the request is learned
// together with its Ticket.
type Ticket struct {
	Sent     monotime.Time // when the request was granted
	N        int           // what the request was thought to cost, in requests
	granted  int           // the cost of all that this Server had granted with it, in requests; zero if it was not granted by Take
	sequence sequence      // of the grant; zero if it was counted by Add, without Take
	looks    bool          // the request goes to find out whether a used-up limit is restored, see look.looking
	paced    bool          // less remained of a limit than was claimed: the request is such a look, or goes at a rate
	spares   bool          // the request left to others what is reserved for these, see look.idle
	Reading  bool          // EndReading is to be told when the answer was read: Learn says so
	begun    bool          // a price has counted that the answer began, and counts its end
	another  bool          // another Server granted the request
	First    bool          // the request goes alone, after a refusal: the others wait for its answer
}

// Granted is the place of the grant among all grants and answers of the Site, see Server.Sequence; zero if that
// is not known.
func (t *Ticket) Granted() uint64 { return uint64(t.sequence) }

// Elsewhere returns the Ticket with which this Server learns from a request that another Server
// granted: older than all that this Server knows, and of no cost.
func (t *Ticket) Elsewhere() Ticket { return Ticket{Sent: max(t.Sent, 1), another: true} }

// Answer is what became of a request.
type Answer struct {
	Refused        bool // the server refused the request because of a limit, and did nothing
	MayRefuse      bool // the request failed in a way in which some servers refuse
	Lost           bool // no answer came
	Reading        bool // the answer has begun, and is still being read
	Hold           time.Duration
	HoldKnown      bool          // the server said that nobody is to ask for Hold
	HoldResolution time.Duration // the step in which it said that
	HoldAbsolute   bool          // it said that as an instant by its clock
	HoldSkew       time.Duration // by how much the local clock was ahead of the Date of the answer when the request was granted
	Statements     []quota.Statement
	Concurrency    quota.Concurrency // the zero one if the answer does not state it

	Waiting int // claims in line now, without one for the same request

	// Instances says that one of the Statements is what several instances of the server state together: what
	// they say of resets to and fro is no sign of a limit that comes back token by token.
	Instances bool

	short bool // a limit may have refused it, if it was refused: see Server.short
	sure  bool // one of these was not whole before
	named bool // one of them is stated
	dear  bool // it may have cost more than what remains of a limit

	inTime bool // likewise, of a limit that has as much when it is back

	unshared bool // what was used of a limit that is stated was ours: so are the limits that are not stated

	sequence sequence // its place among all grants and answers of the Site

	underway int  // requests of the Server that are
	crowded  bool // it was refused because too many were under way

	// Cost is what the request has cost, as far as it is known. Nil means the requests of its
	// Ticket, and nothing in other units.
	Cost *limit.Demand
}

// cost returns what the request has cost.
func (a *Answer) cost(t *Ticket) limit.Demand {
	if a.Cost != nil {
		return *a.Cost
	}
	return limit.Demand{Claims: 1, N: t.N}
}

// Effect is what an answer means for all requests of the bucket.
type Effect struct {
	Refused    bool          // the answer is a refusal, or is taken for one
	PushedBack bool          // the server asks for less: quotas that warm up become cold
	Hold       time.Duration // nothing is to go for so long; zero if requests may go
	Said       time.Duration // how long the server said; more than Hold where MaxHold has cut that

	// Contradicted says that some answers, this one or earlier ones, cannot be about one counter, see
	// Contradicted.
	Contradicted bool
}

// costIn returns what d costs of a limit that counts in a unit. If d does not say what it costs
// in that unit, it is taken to cost as much as in requests.
func costIn(d *limit.Demand, unit string) int {
	if unit == "" {
		return d.N
	}
	if n, ok := d.Costs[unit]; ok {
		return bounded(n)
	}
	return d.N
}

// want is how many tokens of a limit a request wants, and who else wants some.
type want struct {
	n        int
	ahead    int  // so many go before
	reserve  int  // so many are left to others
	inFlight int  // so many are in flight
	optimist bool // what only an answer ends counts as nothing, see Server.Due
}

// limitName is what tells the limits of a server apart. The unit is canonical.
type limitName struct{ name, counter, unit string }

// nameOf returns of which limit a statement is.
func nameOf(st *quota.Statement) limitName {
	return limitName{st.Name, st.Counter, canonical(st.Unit)}
}

// canonical returns the unit in the form by which limits are told apart: requests are the empty
// unit.
func canonical(unit string) string {
	if unit == quota.Requests {
		return ""
	}
	return unit
}
