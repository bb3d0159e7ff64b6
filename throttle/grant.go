package throttle

import (
	"cmp"
	"sync/atomic"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/adaptive"
	"github.com/gopacer/pacer/throttle/internal/charge"
	"github.com/gopacer/pacer/throttle/internal/check"
	"github.com/gopacer/pacer/throttle/internal/expect"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Grant is the right to send one request now. Its holder calls Answered when the server has answered, or Cancel
// if nothing was sent: either ends the Grant. Only the first of these calls counts, so that a deferred Cancel
// does no harm. If the answer is still being read at Answered, or its cost is not known yet, Done ends the
// Grant: see [Outcome].Open. A holder that does not look at answers calls Done alone.
//
// A Grant must not be copied, and the zero Grant must not be used. Its methods may be called concurrently.
type Grant struct {
	right
	state atomic.Uint32 // how the grant has ended
	kept  *Grant        // stands for this grant since inner.Keep was called; else nil
}

// The states of a Grant.
const (
	underWay uint32 = iota
	answered        // Answered was called
	canceled        // Cancel was called: nothing is left to settle
)

// right is what was granted, and what it was charged.
type right struct {
	l            *Limiter
	ticket       adaptive.Ticket
	place        place
	kind         adaptive.Kind
	urgent       bool          // the claim was urgent: nothing was charged to the unreserved part of a quota
	early        bool          // the bucket was held: the claim was observed only
	answers      bool          // the request is sent at once: for how long it waits for its answer is heard
	requestsOnly bool          // extra was nil when granted; may be read without the lock
	extra        *charge.Extra // nil if the grant costs requests only, holds no slots, and was not settled; protected by the lock of the tree
}

// charge charges the claim to this bucket and all above it, at the instant at, and makes g its grant.
func (l *Limiter) charge(g *right, at, now monotime.Time, need *need) {
	*g = right{l: l, ticket: adaptive.Ticket{Sent: now, N: need.N}, place: need.place, kind: need.Kind, urgent: need.Urgent, answers: need.answers}
	if need.Costs != nil || need.Like != nil {
		g.extra = &charge.Extra{Charged: limit.Charged{Demand: need.Said()}}
	}
	d := &need.Demand
	if need.Like != nil {
		d = g.guess(now, need)
	}
	for b := l; b != nil; b = b.Parent {
		b.gate.Touch(now)
		b.lastCharged = at
		b.stack.Take(at, now, d, g.urgent)
		if b.concurrent {
			g.ensureExtra().Record(b.stack, d, g.urgent)
		}
		if b.link != nil {
			b.link.take(g, at, now, need)
		}
	}
	g.requestsOnly = g.extra == nil
	l.server.Take(now, max(g.place.since, 1), &need.Demand, &need.Kind, l.delays.Share(need.Urgent), &g.ticket)
}

// expect has the claim cost what others of its kind did, in units in which it does not say what it costs. Of
// looks its kind up. With a Store somewhere on its path, it costs what it says, since the Store does not know
// of kinds. It requires that mu is held.
func (l *Limiter) expect(need *need, of func(verb, path string) *expect.Kind) {
	for b := l; b != nil; b = b.Parent {
		switch {
		case b.link != nil:
			need.Demand = need.Said()
			return
		case b.inUnits:
			need.Like = of(need.Kind.Verb, need.Kind.Path)
			need.Silent = max(need.Silent, b.stack.Silent(&need.Demand))
		}
	}
}

// guess returns what the claim costs with what it is expected to, and has the grant be charged that.
func (g *right) guess(now monotime.Time, need *need) *limit.Demand {
	costs := quota.Costs{}
	for b := g.l; b != nil; b = b.Parent {
		b.stack.Expect(&need.Demand, costs)
	}
	g.extra.Expected = expect.Begin(now, need.Like, costs)
	return g.extra.Guess(costs)
}

// endGuess notes that the request has ended. Void says that it was not done. If nobody has ever said that its
// kind costs anything, what was charged for it, by what other kinds cost, goes back.
func (g *right) endGuess(now monotime.Time, void bool) {
	if unheard := g.extra.Expected.Unheard(); unheard != nil && !void {
		g.correct(now, unheard)
	}
	kind := g.extra.Expected.Kind() // before End, after which a void request has none: and none means all to wake
	if g.extra.Expected.End(now, void) {
		g.l.account.wake(now, kind)
	}
}

// Granter is the bucket that granted the request: where a server counts apart by names, not the one that was
// asked.
func (inner) Granter(g *Grant) *Limiter { return g.l }

// Time is when the request was granted, by the wall clock as it goes now: monotonic time is counted back from
// it.
func (inner) Time(g *Grant) time.Time { return g.l.clock.Date(g.ticket.Sent) }

// Elapsed is when the request was granted, since the clock of its tree was started. Only differences mean
// anything.
func (inner) Elapsed(g *Grant) time.Duration { return time.Duration(g.ticket.Sent) }

// Keep returns a Grant that stands for the same right as g: what is done to one is done to both. It saves an
// allocation in callers that rarely have to keep a Grant: they keep the result of Keep, so that g itself can
// stay on the stack. Keep is called before g is shared with other goroutines, and while no method of g runs.
func (inner) Keep(g *Grant) *Grant {
	if g.kept == nil {
		g.kept = &Grant{right: g.right}
		g.kept.state.Store(g.state.Load())
	}
	return g.kept
}

// current is g, or what stands for it since Keep was called.
func (g *Grant) current() *Grant { return cmp.Or(g.kept, g) }

// Cancel ends the grant of a request that was not sent. What was charged goes back, exactly, and the line moves
// up. A quota that warms up counts what comes back at the price of later tokens, if its debt was paid meanwhile
// and others were charged: see [github.com/gopacer/pacer/warmup.Ramp.Return]. After Answered or Done, Cancel
// does nothing.
func (g *Grant) Cancel() {
	if g = g.current(); g.state.CompareAndSwap(underWay, canceled) {
		g.l.alter(g.giveBack)
	}
}

// giveBack gives back all that the grant was charged, and ends it. It requires that mu is held.
func (g *right) giveBack(now monotime.Time) {
	charged := g.extra.Of(g.ticket.N)
	parts := charged.Parts(g.ticket.Sent)
	for b := g.l; b != nil; b = b.Parent {
		b.lastCharged = now
		b.stack.Settle(now, nil, parts, g.urgent)
		if b.link != nil && g.extra != nil {
			b.link.lease.Return(now, g.extra.Uses)
			b.link.arm(now)
		}
	}
	if g.extra != nil {
		g.extra.Uses = nil
		g.endGuess(now, true)
	}
	g.l.server.Cancel(&g.ticket, g.extra.Claimed())
	g.extra.Release(quota.InFlight, quota.Unanswered)
}

// end ends what is under way; what was charged stays charged. It requires that mu is held.
func (g *right) end() {
	g.extra.Release(quota.InFlight, quota.Unanswered)
	g.l.server.End(&g.ticket, g.extra.Claimed())
	g.l.server.LookOver(&g.ticket)
}

// Settle corrects the cost of the request to what it really was, in the units of spent; in other units it stays
// as it was. What was claimed too much goes back as if it had never been claimed. What was claimed too little
// is charged now, as by a server that learns the cost at the end. A TokenBucket owes what it does not hold, and
// keeps its rate; of any other Kind, what is beyond N is forgotten with its window, as by a provider that
// counts so (see quota.Kind). The line is timed anew. Settle may be called at any time, before Answered or Done
// and after them, and more than once. A negative cost counts as zero; an empty unit means quota.Requests. Since
// Settle cannot fail, a unit that is ErrUnit in a Claim counts as the right one, unless spent has that too.
// After Cancel, Settle does nothing.
func (g *Grant) Settle(spent quota.Costs) {
	g = g.current()
	now := g.l.lock()
	defer g.l.unlock()
	if g.state.Load() != canceled {
		g.l.change(now, func() { g.settle(now, spent) })
	}
}

// settle is Settle. What is learned of it is no more than a quota in that unit grants at once or in its Per,
// since no claim that goes in time costs more. So one wrong number of a server, however large, is forgotten
// soon. It requires that mu is held, in a change of g.l.
func (g *right) settle(now monotime.Time, spent quota.Costs) {
	for b := g.l; b != nil; b = b.Parent {
		spent = check.Spelled(spent, b.quotas)
	}
	g.correct(now, spent)
	most := func(unit string) (most int64) {
		for b := g.l; b != nil; b = b.Parent {
			most = b.stack.Most(unit, most)
		}
		return most
	}
	if g.extra.Expected.Settle(now, expect.Graspable(spent, most)) {
		g.l.account.wake(now, g.extra.Expected.Kind())
	}
}

// correct makes what is charged what was spent. It requires that mu is held, in a change of g.l.
func (g *right) correct(now monotime.Time, spent quota.Costs) {
	more, less := g.ensureExtra().Correct(g.ticket.Sent, now, spent)
	g.l.later()
	for b := g.l; b != nil; b = b.Parent {
		b.lastCharged = now
		b.stack.Settle(now, more, less, g.urgent)
		if b.link != nil {
			b.link.lease.Settle(now, g.extra.Uses, more, less, g.urgent)
			b.link.arm(now)
		}
	}
}

// endUnreported ends the grant of Wait, whose caller will not report what became of the request.
func (g *right) endUnreported() {
	if g.requestsOnly && g.l.endAtOnce(g.ticket.N, false) {
		return
	}
	now := g.l.lock()
	defer g.l.unlock()
	if g.l.tree.root.line.waiting > 0 || g.extra != nil && len(g.extra.Slots) > 0 {
		g.l.change(now, g.end)
	} else {
		g.end()
	}
}

// endAtOnce ends a grant of n requests without the lock, if it may, and reports whether it did. Served says
// that its request was served.
func (l *Limiter) endAtOnce(n int, served bool) bool {
	ended, late := l.gate.End(n, served)
	if late {
		l.alter(func(monotime.Time) {})
	}
	return ended
}

// ensureExtra returns g.extra, a new one if there is none. It requires that mu is held, or that no other
// goroutine has g.
func (g *right) ensureExtra() *charge.Extra {
	if g.extra == nil {
		g.extra = &charge.Extra{Charged: g.extra.Of(g.ticket.N)}
	}
	return g.extra
}
