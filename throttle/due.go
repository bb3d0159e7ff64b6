package throttle

import (
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/adaptive"
	"github.com/gopacer/pacer/throttle/internal/charge"
	"github.com/gopacer/pacer/throttle/internal/check"
	"github.com/gopacer/pacer/throttle/internal/expect"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/order"
)

// unfit returns why the claim cannot be granted, however long it waits: something is wrong with the configuration of l
// or of a bucket above it, or with a unit of the costs. It returns that bucket, too; l if nothing is wrong.
func (l *Limiter) unfit(need *need) (*Limiter, error) {
	for b := l; b != nil; b = b.Parent {
		if b.invalid != nil {
			return b, b.invalid
		}
		if need.Costs != nil || need.bare && b.beyondBare {
			if name, cost, unit, why := check.Unit(need.Costs, need.N, need.bare, b.quotas); why != "" {
				return b, &Error{Bucket: b.Name, Quota: name, Cost: cost, Unit: unit, Err: ErrUnit, detail: why}
			}
		}
	}
	return l, nil
}

// delay is when a claim may go, and which bucket delays it until then.
type delay struct {
	limit.Due
	bucket *Limiter // nil if none does
}

// Forecast is how long a claim would wait, and why, as it looks now, for all that it and those ahead in line
// wait for. If nothing changes, the wait is not shorter, unless one ahead comes to wait behind a more urgent
// claim below and lets others pass, or a quota warms up: that is taken to cool while those ahead wait for something
// else, which it does not. It may be longer:
//   - Of a limit that the server states, only the next reset is known.
//   - Each of several quotas is taken to delay those ahead alone, though one may have the window of another begin
//     later.
//   - Claims ahead that cost several tokens of a window, or any of a quota.EstimatedWindow, are taken to go token
//     by token, as fast as they may.
//   - Claims that have aged, or asked another bucket, count only if it is known that they go first.
//   - Of other flows, 250 claims count at most.
type Forecast struct {
	Wait   time.Duration // zero if the claim would go at once, at an answer of a server or a Store that may come any moment, or Never; see Error
	Bucket string        // name of the Limiter that delays the claim; empty if none does
	Label  string        `json:"-"` // of that Limiter
	Cause  Cause         // what the claim would wait for; empty if nothing
	Quota  string        // the quota or limit that delays the claim, as text; empty if none in particular
	Never  bool          // no wait helps: Err says why, and is ErrTooLarge, ErrUnit, ErrInvalid or ErrClosed
	Err    error         // that the claim would be refused with, if Never, or ErrStandstill; of Observe also ErrMaxWait and ErrWouldWait, but how many wait (MaxQueue) never counts
}

func (d delay) forecast(now monotime.Time) Forecast {
	f := Forecast{Cause: Cause(d.Cause), Quota: d.Quota, Never: d.Never}
	if !d.Never && (d.Cause != limit.Store || d.At.Sub(now) < monotime.Longest) {
		f.Wait = d.Reported().Sub(now)
	}
	if d.bucket != nil && (d.Cause != "" || d.Never) {
		f.Bucket, f.Label = d.bucket.Name, d.bucket.Label
	}
	return f
}

// charge charges the claim to this bucket and all above it, at the instant at, and makes g its grant.
func (l *Limiter) charge(g *right, at, now monotime.Time, need *need, p place) {
	*g = right{l: l, ticket: adaptive.Ticket{Sent: now, N: need.N}, place: p, class: need.Class, urgent: need.Urgent, answers: need.answers}
	if need.Costs != nil || need.Kind != nil {
		g.extra = &charge.Extra{Charged: limit.Charged{Demand: need.Said()}}
	}
	d := &need.Demand
	if need.Kind != nil {
		d = g.guess(now, need)
	}
	for b := l; b != nil; b = b.Parent {
		b.gate.Granted(now)
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
	l.server.Take(now, max(p.since, 1), &need.Demand, &need.Class, l.delays.Share(need.Urgent), &g.ticket)
}

// expect has the claim cost what others of its kind did, in units of which it does not say it. With a Store,
// which would have to know, it costs what it says. Of looks its kind up. It requires that mu is held.
func (l *Limiter) expect(need *need, of func(verb, path string) *expect.Kind) {
	for b := l; b != nil; b = b.Parent {
		switch {
		case b.link != nil:
			need.Demand = need.Said()
			return
		case b.inUnits:
			need.Kind = of(need.Class.Verb, need.Class.Path)
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
	g.extra.Expected = expect.Begin(now, need.Kind, costs)
	return g.extra.Guess(costs)
}

// endGuess notes that the request has ended. Void says that it was not done. What was charged for it since
// other kinds cost so much goes back if nobody has ever said that this one costs anything.
func (g *right) endGuess(now monotime.Time, void bool) {
	if unheard := g.extra.Expected.Unheard(); unheard != nil && !void {
		g.correct(now, unheard)
	}
	kind := g.extra.Expected.Kind() // before End, after which a void request has none: and none means all to wake
	if g.extra.Expected.End(now, void) {
		g.l.account.wake(now, kind)
	}
}

// wake looks at those who wait in l, and below it, since there is news of what claims of a kind cost, for which
// others of it stand aside; of all kinds if k is nil.
func (l *Limiter) wake(now monotime.Time, k *expect.Kind) {
	if l.line.aside.Await(k, (*waiter).asideUntil); k == nil {
		l.line.aside.AwaitAll((*waiter).asideUntil)
		for w := range l.line.InOrder() {
			w.setUnsure(w.asideUntil() > 0)
		}
	}
	for b := range order.Each[*Limiter](&l.line.below) { // b leaves it with the last who waits in it
		b.wake(now, k)
		b.promote(now)
	}
}

// holdUntil holds the bucket until at, unless it is held for longer already. Said is until when a server said,
// where MaxHold has cut that. After the hold, the bucket starts slowly. It is called in a change of l.
func (l *Limiter) holdUntil(at, said, now monotime.Time) {
	if !l.hold.Extend(at, said, now) {
		return
	}
	if l.link != nil {
		l.link.lease.TellHold(now)
		l.link.arm(now)
	}
	l.server.Restart(false)
	l.later()
}

// prepare is called before a claim is looked at. It forgets a hold that is long over, starts the bucket slowly if it is new or has idled, and has those go first who are due, but whose timer
// is late.
func (l *Limiter) prepare(now monotime.Time) {
	l.hold.Forget(now)
	forgot := false // at which rate the server served: who waits by it may go sooner, also if this claim is refused
	if l.SlowStart && (l.gate.Latest() == 0 || !l.gate.Recent(now, l.idleAfter) && l.server.InFlight() == 0) {
		l.gate.Shut()
		forgot = l.server.Restart(true)
	}
	if forgot || l.tree.agenda.Due(now) {
		l.run(now)
	}
}
