package throttle

import (
	"cmp"
	"time"

	"github.com/gopacer/pacer/internal/inside"
	"github.com/gopacer/pacer/internal/undo"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/adaptive"
	"github.com/gopacer/pacer/throttle/internal/atonce"
	"github.com/gopacer/pacer/throttle/internal/check"
	"github.com/gopacer/pacer/throttle/internal/concurrency"
	"github.com/gopacer/pacer/throttle/internal/counter"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/together"
)

// Answer is what became of a request. The zero Answer is a success of which nothing else is known.
type Answer struct {
	// Refused says that the server refused the request because of a limit, and did nothing.
	Refused bool

	// MayRefuse says that the request failed in a way in which some servers refuse, such as a 503 without a
	// Retry-After. It is taken for Refused if failures are seen to depend on how fast requests go: from when a
	// good part of the answers were failures, and for as long as slower requests fail less often.
	MayRefuse bool

	// Lost says that no answer came: the request may have reached the server or not.
	Lost bool

	// Reading says that the answer has begun and is still being read. Then quotas of the kind quota.InFlight,
	// and what the server is still to charge in other units, are held until Grant.Done; Outcome.Open reports
	// whether there are any.
	Reading bool

	// Unsettled says that the cost in units other than requests is not known yet: Grant.Settle is to come, and
	// then Grant.Done.
	Unsettled bool

	// Spent is what the request has cost, where that differs from what was claimed; see Grant.Settle. Nil means
	// that it does not.
	Spent quota.Costs

	// Hold is for how long the server wants no requests, as a Retry-After says. It is cut to Limiter.MaxHold.
	// Nil means that the server did not say.
	Hold *quota.Hold

	// Counter is the server's name for what the request drew on, where the server counts some requests on
	// their own; see Group. Empty if the server does not say.
	Counter string

	Statements  []quota.Statement // what the server said about its limits
	Concurrency quota.Concurrency // what it said of requests at the same time
	instances   bool              // one of the Statements is of several instances of the server
	repeats     bool              // Outcome.mark is wanted
}

// Outcome is what an answer means for the requests that follow.
type Outcome struct {
	Held    time.Duration // for how long the bucket is held from now on; zero if it is not
	Refused bool          // the answer is a refusal: it said so, or is taken for one
	Vain    bool          // the request was refused before, and nothing of the bucket was served since: all are refused, and not this one alone
	Open    bool          // Grant.Done must be called, because of Answer.Reading or Answer.Unsettled
	mark    *inside.Mark  // see inner.Answered

	// Backoff is for how long the refused request is not to be made again; see Claim.After. Zero means that the
	// line alone says when. It is above zero in three cases:
	//   - The refusal is a matter of this request, or of its kind, and does not hold the bucket: others like it
	//     were refused again and again, while others were served in between (docs/learning-rules.md says how
	//     that is told), or something in front of the server has refused it.
	//   - The bucket is held, the refusal does not say for how long, and others were served between three
	//     refusals of the request.
	//   - No server can hold the bucket (a negative Limiter.MaxHold). Then it is no shorter than the answer
	//     asks for.
	Backoff time.Duration
}

// Answered says what became of the request, and the bucket learns from that. It ends the grant, unless the
// Outcome is Open: then Done does, when the answer has been read. Further calls do nothing.
func (g *Grant) Answered(a Answer) Outcome {
	switch {
	case g.kept != nil:
		return g.kept.Answered(a)
	case !g.state.CompareAndSwap(underWay, answered):
		return Outcome{}
	}
	l := g.l
	if g.requestsOnly && a.Spent == nil && !a.Unsettled && !a.informative() && (l.Parent == nil || l.quietAbove() && !l.contradicts(g.ticket.Sent)) && l.endAtOnce(g.ticket.N, !a.Lost) {
		return Outcome{}
	}
	a.Statements, a.Counter = together.Short(a.Statements, a.Counter) // here, where they stay on the stack
	if l.Rand == nil || !a.informative() {
		return g.answered(&a, 0)
	}
	return g.answered(&a, g.draw())
}

// Answered is Grant.Answered. Repeats says that the next answers may say the same but for what remains: then
// the mark is for Count, unless there is more to the bucket than what remains.
func (inner) Answered(g *Grant, a Answer, repeats bool) (o Outcome, mark *inside.Mark) {
	a.repeats = repeats
	o = g.Answered(a)
	return o, o.mark
}

// Count is Answered for the answer to a request that was served, if it says what an earlier answer said, which
// has the mark, but that so much remains of each limit; or, if the mark is nil, if it says nothing. It costs a
// fraction of Answered. If it returns false, nothing has happened, and Answered is to hear the answer: more
// remains than before, and no other answer has overtaken this one; nothing remains; or the bucket has changed.
// What time alone would tell is not learned, nor what others use: so Answered is to hear the answer to one of
// the requests that were granted in 10 ms or so. No method of g may be called before Count has returned: a
// Cancel, an Answered or a Done meanwhile would be lost.
func (inner) Count(g *Grant, mark *inside.Mark, left *inside.Left) (ok bool) {
	if g.kept != nil {
		return inner{}.Count(g.kept, mark, left)
	}
	l := g.l
	if !g.requestsOnly || g.place.past != nil || l.Parent != nil || !g.state.CompareAndSwap(underWay, answered) {
		return false
	}
	if mark == nil {
		ok = l.endAtOnce(g.ticket.N, true)
	} else {
		var now monotime.Time
		if l.asRoot.mu.Lock(); l.server.Timed() {
			now = l.now()
		}
		ok = l.gate.Way() == atonce.OneLock && g.extra == nil && l.server.Count(mark, left, now, &g.ticket, &g.kind)
		l.asRoot.mu.Unlock()
	}
	if !ok {
		g.state.Store(underWay)
	}
	return ok
}

// draw calls Rand, without the lock. If Rand panics, the grant ends as that of a request whose answer is lost.
func (g *Grant) draw() (luck float64) {
	undo.OnPanic(func() { luck = check.Draw(g.l.Rand) }, func() { g.answered(&Answer{Lost: true}, 0) })
	return luck
}

// answered is Answered, after what can be done without the lock. Two things are made of the answer:
//   - Told is what the tenant learns. If the refusal is no matter of the bucket (refusedAlone), that is only
//     that the request has ended; alone is for how long the request is not made again then.
//   - A is what the bucket learns: the same, or only that the request has ended, if another bucket learns the
//     rest (forward).
func (g *right) answered(a *Answer, luck float64) (o Outcome) {
	l := g.l
	var alone time.Duration
	var own, local bool
	refused := a.Refused
	if refused {
		var rest *quota.Hold
		if alone, rest, own = g.refusedAlone(a, luck); own { // made here, where it stays on the stack
			a = &Answer{Lost: true, Hold: rest, Reading: a.Reading, Unsettled: a.Unsettled, Spent: a.Spent, Counter: a.Counter, Statements: a.Statements, Concurrency: a.Concurrency}
		}
	}
	told := a
	if l.group != nil && (a.Counter != "" || l.contradicted.Load()) {
		if o, local = g.forward(a, luck); !local { // l learns only that the request has ended
			a = &Answer{Lost: true, Reading: a.Reading, Unsettled: a.Unsettled, Spent: a.Spent, Concurrency: a.Concurrency}
		}
	}
	o.Refused, o.Backoff = o.Refused || refused, alone
	var now monotime.Time
	if local && !l.node.Named { // learnerFor has locked it
		now = l.now()
	} else {
		now = l.lock()
	}
	defer l.unlock()
	l.luck = luck
	l.change(now, func() { g.endWith(now, &o, a, told, alone) })
	if a.repeats {
		o.mark = l.server.Stated(a.Statements)
	}
	l.hearTenant(now, g, told, o)
	o.Held = max(o.Held, l.hold.Left(now))
	return o
}

// endWith ends what is under way with an answer, and says in o what that means; see answered. It requires that
// mu is held, in a change of g.l.
func (g *right) endWith(now monotime.Time, o *Outcome, a, told *Answer, alone time.Duration) {
	l, void := g.l, told.Refused || told.Lost // nothing was done
	if a.Spent != nil {
		g.settle(now, a.Spent)
	}
	l.server.End(&g.ticket, g.extra.Claimed())
	if l.learn(now, &g.ticket, a, g.extra.CostOrNil(), g.kind) {
		o.Refused = true
	}
	if o.Refused {
		o.Backoff, o.Vain = l.server.RefusedClaim(alone, &g.place.past, told.hold().For, told.Statements)
	}
	l.answers.Note(l.clock.AwakeAt(g.ticket.Sent), l.clock.Awake(now), g.answers, o.Refused, void)
	if p := g.place.past; p != nil && (a.Refused || alone > 0) {
		l.fallBack(now, &g.ticket, p, alone)
	}
	if !o.Refused && !a.Lost {
		g.served(now)
	}
	o.Open = g.freeAnswered(now, a, void)
}

// served tells the bucket, and those above it, that the request was served. It requires that mu is held.
func (g *right) served(now monotime.Time) {
	if times := g.l.server.Served(now, g.kind, &g.ticket, g.place.past); times > 0 {
		g.l.letOthersPass(g, times)
	}
	for p := g.l.Parent; p != nil; p = p.Parent {
		p.server.ServedBelow()
	}
}

// refusedAlone takes in that the answer refuses the request. Own says that the bucket is not to take that for a
// refusal. There are two reasons. The refusal is a matter of this request, and no limit that the answer states
// explains it: then the request is not to be made again for alone, else zero. Or the request was observed
// (early) while the bucket was held: then the bucket is held for the rest of a hold that began when the
// bucket's began, or requests that nothing delays would extend that for ever.
func (g *right) refusedAlone(a *Answer, luck float64) (alone time.Duration, rest *quota.Hold, own bool) {
	l := g.l
	now := l.lock()
	defer l.unlock()
	if a.explained(g) {
		return 0, nil, false
	}
	l.luck = luck
	alone, own = l.server.Refuse(now, &g.ticket, adaptive.PastOf(&g.place.past), g.kind, a.hold().For, len(a.Statements) > 0)
	if left := l.hold.Rest(now, a.hold().For); left > 0 && g.early && !own && a.Hold != nil {
		rest = &quota.Hold{For: left}
	}
	return alone, rest, g.early || own
}

// Done says that the request is over: its answer has been read, and its cost is known. Before Answered, it is
// Answered by a success of which nothing else is known. After the end of the grant, it does nothing.
func (g *Grant) Done() {
	if g = g.current(); g.state.Load() == underWay {
		g.Answered(Answer{})
	}
	now := g.l.lock()
	defer g.l.unlock()
	if g.extra == nil || !g.extra.AwaitsEnd {
		return
	}
	g.extra.AwaitsEnd = false
	g.l.awaitEnd--
	g.l.change(now, func() {
		g.extra.Release(quota.InFlight)
		g.l.server.EndReading(&g.ticket, &g.kind)
		g.endGuess(now, false)
	})
}

// hold returns Hold, or the zero one if the server did not say.
func (a *Answer) hold() quota.Hold { return *cmp.Or(a.Hold, new(quota.Hold)) }

// informative reports whether there is anything to learn from the answer.
func (a *Answer) informative() bool {
	return a.Refused || a.MayRefuse || a.Hold != nil || a.Counter != "" || len(a.Statements) > 0 || a.Concurrency != quota.Concurrency{}
}

// forward passes an answer to the bucket for what the request drew on, if that is known, unless it is the one
// that granted the request. Local reports whether it is: then that bucket is still to learn from the answer.
func (g *right) forward(a *Answer, luck float64) (o Outcome, local bool) {
	l := g.l
	learner, hold := l.group.learnerFor(g, a)
	if hold > 0 {
		o = l.account.learnFromOther(g, &Answer{Lost: true, Hold: &quota.Hold{For: hold}}, luck)
		o.Refused = true
		return o, false
	}
	if a.Refused && a.Hold != nil && !a.tooLittle(g) && learner.node.Named {
		// The limit that is named was not the reason, since enough remains of it. GitHub's secondary
		// limits, for example, are of all requests: so all hold.
		o = l.account.learnFromOther(g, &Answer{Lost: true, Hold: &quota.Hold{For: a.Hold.For}}, luck)
	}
	if held := o.Held; learner != l {
		o = learner.learnFromOther(g, a, luck)
		o.Held = max(o.Held, held)
	}
	return o, learner == l
}

// learnerFor returns the bucket that is to learn from an answer: that for the name which the server gives to
// what the request drew on, or for the counter that the numbers show; or the one above those, while all
// requests are counted together. Buckets are made where needed. If the answer refuses all requests, hold says
// for how long.
//
// The one of all requests is locked, or another answer might show meanwhile that they are not counted together:
// what the one of all then learned would keep all of them waiting until the reset.
func (g *Group) learnerFor(r *right, a *Answer) (learner *Limiter, hold time.Duration) {
	g.mu.Lock()
	defer func() {
		if learner == r.l && !learner.node.Named {
			learner.lock()
		}
		g.mu.Unlock()
	}()
	whole := r.l
	if whole.node.Named {
		whole = whole.Parent
	}
	t := &whole.table
	switch {
	case whole.forgotten.Load():
		return r.l, 0
	case a.Counter == "" || t.Split():
		return g.counterFor(whole, t, r, a)
	}
	name, own := t.Named(r.kind.Verb, r.kind.Path, a.Counter, a.tooLittle(r))
	if !whole.isSplit && !own {
		return whole, 0
	} else if !whole.isSplit {
		g.regroup(whole, []string{name, t.First()}, nil)
	}
	return g.namedBucket(whole, name), 0
}

// counterFor is learnerFor where the server gives no name, and answers have contradicted each other.
func (g *Group) counterFor(whole *Limiter, t *together.Table, r *right, a *Answer) (learner *Limiter, hold time.Duration) {
	now, heard := whole.lock(), whole.server.Sequence()
	if name, any := whole.server.Contradicted(); any {
		t.Suspect(name)
	}
	if t.Calm() {
		whole.contradicted.Store(whole.server.Reconcile())
	}
	whole.unlock()
	if !t.HasCounters() {
		return r.l, 0
	}
	change := t.Hear(r.kind.Verb, r.kind.Path, &counter.Answer{Granted: r.ticket.Granted(), Heard: heard, Sent: r.ticket.Sent, Now: now, N: int64(r.ticket.N), Refused: a.Refused, Hold: a.hold().For, HoldKnown: a.Hold != nil, Statements: a.Statements})
	if change.Instances != nil {
		a.Statements, a.instances = change.Instances, true
	}
	if !t.Split() {
		return r.l, 0
	} else if len(change.Left) > 0 {
		g.regroup(whole, change.Left, change.Gone)
	}
	return g.namedBucket(whole, change.Counter), change.Hold
}

// learnFromOther makes l learn from the answer to a request that another bucket of the tree granted.
func (l *Limiter) learnFromOther(g *right, a *Answer, luck float64) (o Outcome) {
	t := g.ticket.Elsewhere()
	l.alter(func(now monotime.Time) {
		l.luck = luck
		o.Refused = l.learn(now, &t, a, nil, g.kind)
		o.Held = l.hold.Left(now)
	})
	return o
}

// learn makes l learn from the answer to a request, granted with ticket t by l or another bucket of the tree,
// and reports whether the answer is a refusal. Cost is what the request has cost; nil if the ticket says so.
func (l *Limiter) learn(now monotime.Time, t *adaptive.Ticket, a *Answer, cost *limit.Demand, kind adaptive.Kind) (refused bool) {
	l.server.AddServed(now, l.gate.TakeServed())
	refused = a.Refused || a.MayRefuse && l.server.MayRefuse(a.Statements)
	hold := a.hold()
	e := l.server.Learn(now, t, kind, &adaptive.Answer{
		Refused: a.Refused, MayRefuse: a.MayRefuse, Lost: a.Lost, Hold: hold.For, HoldKnown: a.Hold != nil, HoldResolution: hold.Resolution, HoldAbsolute: hold.Absolute, HoldSkew: hold.Skew, Statements: a.Statements, Concurrency: a.Concurrency, Cost: cost, Instances: a.instances, Waiting: l.line.Len(), Reading: a.Reading,
	})
	if e.Contradicted && l.group != nil && !l.node.Named {
		l.contradicted.Store(true)
	}
	if l.Parent != nil || l.isParent {
		l.account.sharers.Join(&l.server, l)
	}
	l.heard()
	if l.link != nil {
		l.link.lease.Said(now, l.server.InUnits(a.Statements))
		l.link.arm(now)
	}
	if e.PushedBack {
		l.stack.Cool(now)
	}
	if e.Hold > 0 {
		l.holdUntil(now.Add(e.Hold), now.Add(e.Said), now)
	}
	if e.PushedBack && l.server.RefusedAgain(t) {
		l.letOthersAhead(now)
	}
	return refused
}

// freeAnswered gives back the slots that the answer frees, and reports whether Done must be called. If not, the
// request has ended; void says that it was not done.
func (g *right) freeAnswered(now monotime.Time, a *Answer, void bool) (awaitsEnd bool) {
	if g.extra == nil && !a.Unsettled && !g.ticket.Reading {
		return false // there is nothing to free, or to wait for
	}
	g.ensureExtra().Release(quota.Unanswered)
	if !a.Reading {
		g.extra.Release(quota.InFlight)
	}
	if awaitsEnd = a.Unsettled || g.ticket.Reading || g.extra.Holds(quota.InFlight) || a.Reading && g.extra.Expected.Open(); awaitsEnd {
		g.extra.AwaitsEnd = true
		g.l.awaitEnd++
	} else {
		g.endGuess(now, void)
	}
	return awaitsEnd
}

// contradicts reports whether a request of l that was sent at an instant, and served, shows that not all
// tenants are refused.
func (l *Limiter) contradicts(sent monotime.Time) bool {
	h := l.account.Parent // of all tenants
	return h != nil && h.refusedSince.Load() != 0 && int64(sent) > h.refusedSince.Load()
}

// quietAbove reports whether it makes no difference to the buckets above that a request of l was served: they
// know nothing either.
func (l *Limiter) quietAbove() bool {
	return l.Parent == nil || l.Parent.gate.Ends() && l.Parent.quietAbove()
}

// tooLittle reports whether the server says that nothing remains of a limit, or refuses a request that has
// claimed more than what remains. It does not need mu.
func (a *Answer) tooLittle(g *right) bool {
	claimed := g.extra.Of(g.ticket.N).Demand
	return adaptive.UsedUp(a.Statements) || a.Refused && adaptive.TooLittle(a.Statements, &claimed)
}

// explained reports whether what the server states explains that it refused the request: too little remains of
// a limit, over time or of requests at the same time. It requires that mu is held.
func (a *Answer) explained(g *right) bool {
	claimed := g.extra.Of(g.ticket.N).Demand
	return g.l.server.Explain(a.Statements, &claimed) || concurrency.UsedUp(&a.Concurrency)
}

// hearTenant takes in what a request of l was told, and holds all tenants if all are refused. It requires that
// mu is held.
func (l *Limiter) hearTenant(now monotime.Time, g *right, a *Answer, o Outcome) {
	h, sent := l.account.Parent, g.ticket.Sent
	switch {
	case h == nil || a.Refused && a.explained(g):
		return
	case a.Refused:
		h.tenants = cmp.Or(h.tenants, new(adaptive.Tenants))
		until := h.tenants.Refused(now, l.account, sent, a.hold().For, a.Hold != nil, max(l.hold.Until(), now.Add(o.Held)))
		h.refusedSince.Store(int64(h.tenants.Since()))
		h.change(now, func() { h.holdUntil(until, until, now) })
	case !o.Refused && !a.Lost && l.contradicts(sent):
		h.refusedSince.Store(0)
		if h.tenants.Served() == h.hold.Until() {
			h.change(now, func() { h.hold.End(now) })
		}
	}
}
