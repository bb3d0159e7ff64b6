package throttle

import (
	"cmp"
	"context"
	"maps"
	"math"
	"time"

	"github.com/gopacer/pacer/internal/undo"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/adaptive"
	"github.com/gopacer/pacer/throttle/internal/atonce"
	"github.com/gopacer/pacer/throttle/internal/bell"
	"github.com/gopacer/pacer/throttle/internal/blame"
	"github.com/gopacer/pacer/throttle/internal/check"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Claim is what a caller asks of a Limiter.
type Claim struct {
	// N is the cost in requests. Zero means 1. Above quota.MaxN it counts as that. Negative panics.
	N int

	// Costs are the costs in other units; quota.Requests, or an empty unit, among them is ErrInvalid. If the
	// unit of a quota is not among them, the claim is charged at first what others of its Verb and like Paths
	// were settled for on average: see the package, and Grant.Settle. A quota in a Store is charged nothing
	// then. A unit that no quota has is ignored; but if it is nearly the unit of a quota ("token" beside
	// "tokens"), it is ErrUnit: see quota.Costs. Negative costs count as zero. The map must not be changed
	// while the Grant is in use.
	Costs quota.Costs

	// Priority is how urgent the claim is. Zero means Normal.
	Priority Priority

	// Flow names for whom the claim is: a user, a tenant, a job. Flows go in turns: see the package. Flow is
	// shown nowhere.
	Flow string

	// Weight is the share of the Flow beside others: a Flow with a Weight of 3 gets three times as much as one
	// with a Weight of 1 while both wait. Zero and negative mean 1.
	Weight int

	// Verb and Path say what kind of request the claim is for: what the request does, and to what, its parts
	// separated by slashes. For an HTTP request they are the method and the path. Where a server counts some
	// requests of a bucket on their own, a Group takes requests of the same Verb and a similar Path to be
	// counted together. Empty ones are like any other.
	Verb, Path string

	// After, if not nil, is the Grant of a request that the server refused and that is to be sent again. This
	// claim takes the place in line of the first claim of that request, and so goes before all claims that were
	// made later; but after requests that went first were refused again and again, others go before it. MaxWait
	// counts from when the first claim was made. The Limiter may be another one of the same tree or Group.
	After *Grant

	// Cancel, if not nil, ends the wait when it is closed, as the context does. If it is closed already,
	// nothing is granted.
	Cancel <-chan struct{}

	// MaxWait bounds how long the claim waits, in place of Limiter.MaxWait. Zero means that of the Limiter. If
	// negative, a claim that cannot go at once fails with ErrWouldWait. Above zero and below 1 µs, it is
	// ErrInvalid, as in a Limiter.
	MaxWait time.Duration

	answers bool  // the context bounds the answer, too, and the request is sent at once
	asks    bool  // its caller is told afterwards what it has waited for
	bare    bool  // made by Wait or Allow: nobody will say when the request ends
	place   place // that of After, or in the line of a bucket that it has left; zero while it has none
}

// Wait blocks until n requests are granted or ctx ends. It fails at once, with an [*Error], if the wait would
// end after ctx's deadline or take longer than MaxWait. A caller that stops waiting leaves nothing behind: no
// token is lost, and all behind it move up. Zero counts as one; Wait panics if n < 0 or ctx is nil.
//
// Wait is for quotas in requests. If some quota of the bucket, or of one above it, is in another unit, or
// bounds what is in flight, the error is ErrUnit: use Acquire, whose Claim has Costs, and whose Grant says when
// the request has ended. Use Acquire also for requests whose answers the bucket is to learn from.
func (l *Limiter) Wait(ctx context.Context, n int) error {
	g, err := l.acquire(ctx, &Claim{N: n, bare: true}, new(Grant), nil)
	if err == nil {
		g.endUnreported()
	}
	return err
}

// Allow reports whether n requests are granted now, and charges them if so. It never blocks. With a Store, it
// grants only slots in hand, and has more slots fetched for the next call. A slot can be used for SlotLife. If
// calls come less often than that, Allow grants nothing; use Acquire with a negative MaxWait, which waits for
// the store's answer. Allow always returns false if a field is invalid, which Validate tells, or if a quota is
// one for which Wait returns ErrUnit. Zero counts as one; Allow panics if n < 0.
func (l *Limiter) Allow(n int) bool {
	c, g := Claim{N: n, MaxWait: -1, bare: true}, Grant{}
	if ctx := context.Background(); !g.begin(l, &c) || g.grantAtOnce(ctx, check.N(c.N)) == nil {
		if w, err := l.join(ctx, &c, &g, nil); err != nil || w != nil && !w.abandon(&g) {
			return false
		}
	}
	g.endUnreported()
	return true
}

// Acquire blocks like Wait and returns a Grant, which must be ended by Answered, Done or Cancel. It panics if
// ctx is nil.
func (l *Limiter) Acquire(ctx context.Context, c Claim) (*Grant, error) {
	return l.acquire(ctx, &c, new(Grant), nil) // inlined, so that the Grant need not be allocated
}

// acquire is Acquire, but fills g, which is zero, and returns g or an error. S is nil, or how to find the
// bucket again.
func (l *Limiter) acquire(ctx context.Context, c *Claim, g *Grant, s *search) (*Grant, error) {
	if check.Context(ctx); g.begin(l, c) && g.grantAtOnce(ctx, check.N(c.N)) != nil {
		return g, nil
	}
	if c.After != nil {
		c.place = c.After.current().place
	}
	w, err := l.join(ctx, c, g, s)
	if w != nil || isDismissed(err) {
		err = l.waitInLine(ctx, c, g, s, w)
	}
	if err != nil {
		return nil, err
	}
	return g, nil
}

// AtOnce is Limiter.Acquire for a claim of one request of a kind, which Claim.Verb and Claim.Path say, that
// nothing delays, as far as a glance tells, at a fraction of the cost; else it returns nil.
func (inner) AtOnce(ctx context.Context, l *Limiter, verb, path string) *Grant {
	return (&Grant{right: right{l: l, kind: adaptive.Kind{Verb: verb, Path: path}, answers: true}}).grantAtOnce(ctx, 1) // inlined, so that the Grant need not be allocated
}

// begin fills in what a claim to l asks for, and reports whether grantAtOnce may be asked: that grants
// only what is claimed in requests, for the first time, and without a Cancel.
func (g *Grant) begin(l *Limiter, c *Claim) bool {
	g.l, g.kind, g.urgent, g.answers = l, c.kind(), c.Priority >= Urgent, c.answers
	return c.Costs == nil && c.N >= 0 && c.After == nil && c.Cancel == nil && check.Fine(c.MaxWait, nil)
}

// grantAtOnce grants n requests to what was begun, and returns g, if nothing can delay it, or if one token
// bucket, and what the server has stated, have enough left. Else it returns nil.
func (g *Grant) grantAtOnce(ctx context.Context, n int) *Grant {
	l, way := g.l, g.l.gate.Way()
	if g.ticket.N, g.requestsOnly = n, true; way == atonce.Looks || ctx.Err() != nil {
		return nil
	}
	if way == atonce.Free {
		now := l.clock.Glance() // first, whether it has idled: a grant keeps the bucket from starting slowly
		if g.ticket.Sent, g.place.since = now, now; !l.gate.Recent(now, l.idleAfter) {
			return nil
		} else if l.gate.Grant(now, n) {
			return g
		}
		l.alter(func(monotime.Time) {}) // Grant counted this one as in flight for a moment, and others may have been put off for it
		return nil
	}
	l.asRoot.mu.Lock()
	now := l.clock.Now()
	if l.gate.Way() == atonce.OneLock && !l.asRoot.credit.Any(now) && l.gate.Recent(now, l.idleAfter) && l.server.OpenSteady(now, n, &g.kind) && l.stack.TakeNow(now, int64(n)) {
		l.asRoot.claimCount++
		g.place.since, g.place.number, l.lastCharged = now, l.asRoot.claimCount, now
		l.gate.Touch(now)
		l.server.TakeSteady(now, &g.ticket)
		l.asRoot.mu.Unlock()
		return g
	}
	l.asRoot.mu.Unlock()
	return nil
}

// join fills g if the claim may go now. Otherwise it checks the bounds (see Limiter) against the wait as it
// looks now, and puts the claim in line and returns the waiter, or returns an error. The error is errDismissed
// if the claim may belong in another bucket now.
func (l *Limiter) join(ctx context.Context, c *Claim, g *Grant, s *search) (*waiter, error) {
	need := c.need(l)
	if which, ended := bell.Over(ctx, c.Cancel); ended != nil {
		return nil, &Error{Bucket: l.Name, Cost: int64(need.N), Err: ErrCanceled, ctxErr: ended, cause: cmp.Or(context.Cause(ctx), ended), detail: ", since " + which}
	}
	l, now := l.redirect(c.kind(), (*Group).kindBucket)
	defer l.unlock()
	need.To = &l.delays
	switch _, err := l.unfit(&need); {
	case s.isOver():
		return nil, errDismissed
	case !check.Fine(c.MaxWait, c.Costs):
		return nil, check.Claim(c.MaxWait, c.Costs)
	case err != nil:
		return nil, err
	}
	l.expect(&need, l.account.kinds.Of)
	l.prepare(now)
	b := l
	for b != nil && l.tree.frozen == 0 && (b.line.Len() == 0 || b.passable(&need, l)) && b.delays.Open(now, &need.Claim) {
		b = b.Parent
	}
	if need.place = c.place; c.isNew() {
		l.tree.claimCount++
		need.place = place{since: now, number: l.tree.claimCount}
	}
	if b == nil {
		l.chargeNow(&g.right, now, &need)
		return nil, nil
	}
	need.Costs = maps.Clone(need.Costs) // the caller may change its map while the claim waits
	return l.enqueue(ctx, now, c, &need)
}

// kind is what kind of request the claim is for.
func (c *Claim) kind() adaptive.Kind { return adaptive.Kind{Verb: c.Verb, Path: c.Path} }

// isNew reports whether the claim has no place in line yet.
func (c *Claim) isNew() bool { return c.place == place{} }

// need returns what the claim, which is made to l, needs of each bucket. It panics if N is negative.
func (c *Claim) need(l *Limiter) (need need) {
	need.Claims, need.N, need.bare, need.answers, need.asks = 1, check.N(c.N), c.bare, c.answers, c.asks
	need.priority, need.Urgent, need.Kind, need.flow = c.Priority, c.Priority >= Urgent, c.kind(), flow{c.Flow, c.Weight}
	need.Haste = adaptive.Haste(1, min(check.MaxWait(c.MaxWait, l.MaxWait, l.MaxQueue), 0)) // of one that must not wait; of others, see newWaiter
	if len(c.Costs) > 0 {
		need.SetCosts(c.Costs)
	}
	return need
}

// enqueue puts a claim in line and returns the waiter, which may have been granted; or returns an error if the
// claim would miss a bound. It requires that mu is held.
func (l *Limiter) enqueue(ctx context.Context, now monotime.Time, c *Claim, need *need) (*waiter, error) {
	w := l.newWaiter(ctx, now, c, need)
	ahead := (*predecessors)(nil)
	if !c.isNew() && !w.place.past.Fell() { // it has its old place: in front
		l.later()
		ahead = alone
	}
	back := l.server.CountBack(now, w.Patience(l.clock.Awake(now)))
	d := w.project(now, ahead)
	if d.At <= now && !d.Never && (l.server.Hurry(now, w.Patience(l.clock.Awake(now))) || back || l.tree.root.line.waiting > 0) {
		if w.grantNow() {
			return w, nil
		}
		d = w.project(now, ahead) // others may have gone
	}
	w.asksStore = w.AtOnce && l.mustAskStore(now, d)
	why := w.missedBound(now, &d, 0)
	if why == nil && c.isNew() && (l.MaxQueue > 0 || l.tree.hasQueues) {
		why = w.makeRoom(now, &d)
	}
	if why != nil {
		if !w.remembered { // else the reply to a call, under way since grantNow, is about w
			defer l.spare.Put(w)
		}
		return nil, w.refusal(now, d, why)
	}
	w.lineUp(now, &d)
	return w, nil
}

// newWaiter returns a waiter for a claim, which stands in no line yet.
func (l *Limiter) newWaiter(ctx context.Context, now monotime.Time, c *Claim, need *need) *waiter {
	w := l.spare.Get().(*waiter)
	done := w.done
	*w = waiter{} // field by field: a literal is another waiter on the stack of each that waits
	since := l.clock.AwakeAt(need.place.since)
	w.l, w.need, w.rank, w.cancel, w.done = l, *need, l.rankOf(&need.place, need.priority), c.Cancel, done
	w.joined, w.from, w.wakesIn, w.MaxWait = now, l.tree.credit.From(now), bell.Never, check.ClaimsOr(c.MaxWait, l.MaxWait)
	w.Expires, w.AtOnce = check.Expires(since, w.MaxWait), w.MaxWait < 0 || l.MaxQueue < 0
	w.Deadline, w.Answer = l.answers.Before(l.clock.Deadline(ctx), since, need.answers)
	w.Haste = adaptive.Haste(need.place.since, w.Patience(since))
	return w
}

// lineUp puts w, which must wait and misses no bound, in line. D is its delay. It refuses w after all if
// that must not wait, and no call of a Store may let it go.
func (w *waiter) lineUp(now monotime.Time, d *delay) {
	l := w.l
	if d.Cause == "" { // the stack of one that waits is to stay small
		w.waitsFor(now, d)
	}
	w.expected = *d
	first := w.asks && w.stay.Begin(now, &l.line.book, w.Row()) // then those before it are to say what they wait for
	if w.enter(); first || !w.changesNothing(now, l.tree) {
		l.run(now)
	}
	l.restock(now)
	w.refuseUncalled(now)
	w.wakesIn = w.Wakes(l.clock.Awake(now), l.server.Hasty(w.Haste).Sub(now), l.tree.mayStart(d.Cause))
}

// grantNow grants w if it may go now, and reports whether it did; if not, w stands in no line. It goes before
// all that wait if it is hasty; else by its rank.
func (w *waiter) grantNow() bool {
	w.pass(w.joined)
	w.enter()
	w.l.run(w.joined)
	if !w.waits() {
		return true
	}
	w.leave()
	w.l.run(w.joined)
	return false
}

// makeRoom returns ErrQueueFull if there is no room for w in line. That is so in two cases:
//   - The line before w costs a quota's Queue or more. Then d, the delay that w would have, is made to say
//     which quota.
//   - MaxQueue claims wait. But if another waiter of this bucket would go after w, that one is refused instead.
//
// While w waits for nothing but a slow start, there is room. While something may be kept back for others that
// are not seen yet, MaxQueue refuses nobody. In both cases w is looked at again when that is over: see beyond.
func (w *waiter) makeRoom(now monotime.Time, d *delay) error {
	more, only := w.onlyStarts(now)
	if w.beyond = only; only {
		return nil
	}
	var ahead predecessors
	w.l.line.unsure.AddTo(&ahead, w.Row(), w.flow.name)
	for b := w.l; b != nil && w.l.tree.hasQueues; b = b.Parent {
		b.addAhead(&ahead, w, now)
		if q := w.FullQueue(b.quotas, &ahead.All); q != nil {
			d.bucket, d.Quota, d.Cost = b, q.Name, q.Queue
			return ErrQueueFull
		}
	}
	if w.l.MaxQueue <= 0 || w.l.line.direct < w.l.MaxQueue {
		return nil
	}
	if w.beyond = w.l.putOffCheck(now); w.beyond {
		return nil
	}
	last, aside := w.l.line.LastWhere(func(o *waiter) bool { return o.l == w.l }), w.l.line.aside.Last()
	switch {
	case aside != nil && w.Before(aside) && (last == nil || last.Before(aside)):
		last = aside
	case last == nil || !w.l.line.Precedes(w, last.entries[0]):
		if Cause(d.Cause) == CauseSlowStart && more.Cause != "" { // for which w would not be refused
			*d = more
		}
		return ErrQueueFull
	}
	last.refuse(now, last.refusal(now, last.project(now, nil), ErrQueueFull))
	return nil
}

// waitInLine waits as w until the claim is granted, refused or canceled. If the claim comes to belong in
// another bucket, it joins the line there and waits on. If w is nil, that is the case from the start.
func (l *Limiter) waitInLine(ctx context.Context, c *Claim, g *Grant, s *search, w *waiter) (err error) {
	var waits []blame.Part
	for {
		moved := w
		if w != nil {
			if err, c.place = w.await(ctx, g, s), w.place; !isDismissed(err) {
				if s.reportWaited(w.stay.AddTo(waits)); err == nil && !w.remembered {
					w.l.spare.Put(w)
				}
				return err
			}
		}
		w, err = l.rejoin(ctx, c, g, s, moved)
		until := l.clock.Glance()
		if w != nil {
			until = w.joined
		}
		if moved != nil {
			waits = moved.stay.Moved(waits, until)
		}
		if w == nil {
			s.reportWaited(waits)
			return err
		}
	}
}

// await waits as w, and says so first, unless w was granted at once. If search.waits panics, or a method of
// ctx, w leaves the line.
func (w *waiter) await(ctx context.Context, g *Grant, s *search) (err error) {
	undo.OnPanic(func() {
		s.reportWait(w)
		err = w.wait(ctx, g)
	}, func() { _ = w.drop(nil, func() error { return nil }) })
	return err
}

// rejoin is join in the bucket where the claim belongs now. Moved, if not nil, is the waiter that was
// dismissed; the tree that it froze is thawed.
func (l *Limiter) rejoin(ctx context.Context, c *Claim, g *Grant, s *search, moved *waiter) (*waiter, error) {
	if moved != nil {
		defer moved.l.thaw() // also when search.find panics
	}
	for {
		if w, err := s.refind(l).join(ctx, c, g, s); w != nil || !isDismissed(err) {
			return w, err
		}
	}
}

// Forecast returns how long the claim would wait if it were made now, and for what. It changes nothing.
func (l *Limiter) Forecast(c Claim) Forecast {
	need := c.need(l)
	l, now := l.redirect(c.kind(), (*Group).wouldBe)
	defer l.unlock()
	return l.forecast(now, need, 0, check.Claim(c.MaxWait, c.Costs))
}

// Observe grants the claim at once, whatever is due, and charges it. It returns how long the claim would have
// had to wait, and for what. So limits can be tried on a live system without delaying it. Where the bucket is
// held and the server refuses the request all the same, the hold lasts as long as that asks for, counted from
// when the hold began.
func (l *Limiter) Observe(c Claim) (*Grant, Forecast) {
	g := new(Grant)
	return g, inner{}.Observe(l, c, g)
}

// Observe is Limiter.Observe, but fills g, which is zero.
func (inner) Observe(l *Limiter, c Claim, g *Grant) Forecast {
	need := c.need(l)
	l, now := l.redirect(c.kind(), (*Group).kindBucket)
	defer l.unlock()
	l.prepare(now)
	need.To = &l.delays
	l.expect(&need, l.account.kinds.Of)
	f := l.forecast(now, need, check.MaxWait(c.MaxWait, l.MaxWait, l.MaxQueue), check.Claim(c.MaxWait, c.Costs))
	l.chargeNow(&g.right, now, &need)
	g.early = l.hold.On(now)
	return f
}

// forecast returns how long a claim that is made now would wait. It tells also if that is longer than maxWait,
// unless that is zero. Wrong, if not nil, is what is wrong with the claim itself.
func (l *Limiter) forecast(now monotime.Time, need need, maxWait time.Duration, wrong error) Forecast {
	if b, err := l.unfit(&need); cmp.Or(wrong, err) != nil {
		return Forecast{Bucket: b.Name, Label: b.Label, Never: true, Err: cmp.Or(wrong, err)}
	}
	need.To = &l.delays
	l.expect(&need, l.account.kinds.Like)
	need.place = place{since: now, number: math.MaxUint64}
	w := waiter{l: l, need: need, Bounds: check.Bounds{MaxWait: maxWait, AtOnce: maxWait < 0, Expires: check.Expires(l.clock.Awake(now), maxWait)}}
	w.rank = l.rankOf(&w.place, need.priority)
	l.server.Hurry(now, w.Patience(l.clock.Awake(now)))
	ahead := alone // it overtakes those who wait, unless it waits itself
	for b := l; b != nil && ahead != nil; b = b.Parent {
		if b.line.Len() > 0 && !b.passable(&need, l) || !b.delays.Open(now, &need.Claim) {
			ahead = nil
		}
	}
	d := w.project(now, ahead)
	if !d.Never && (ahead != nil || need.Haste.Latest > 0 && d.Cause == "" && l.server.Lenient()) {
		return d.forecast(now)
	}
	waits := w // it escapes, and w need not
	waits.sharing(now, &d, true)
	f := d.forecast(now)
	waits.asksStore = w.AtOnce && l.mustAskStore(now, d)
	if why := waits.missedBound(now, &d, 0); why != nil {
		f.Err = waits.refusal(now, d, why)
	}
	return f
}

// search finds the bucket of a claim whose path may change while the claim waits, and says how it waits. It is
// nil if the bucket cannot change, and nobody is told.
type search struct {
	group      *Group
	generation uint64          // of the Group, when find was last called
	find       func() *Limiter // returns the bucket of the claim
	waits      func(Forecast)  // called before the claim waits, with a forecast of the wait; may be nil
	waited     *[]Wait         // set after a wait; nil if nobody asks
}

// Search begins a claim whose path may change while it waits. Find returns the Limiter of the claim; it is
// called again after each Update. Waits, if not nil, is called before the claim waits, with a forecast of the
// wait. Waited, if not nil, is set after the wait, granted or not, to what the claim has waited for: each cause
// once, the longest first. Their sum is the wait, exactly. Nothing is kept for those who do not ask.
func (inner) Search(group *Group, find func() *Limiter, waits func(Forecast), waited *[]Wait) search {
	return search{group, 0, find, waits, waited}
}

// Acquire is Limiter.Acquire for the claim of a Search; it fills g, which is zero. Answers says that ctx bounds
// the answer, too, and not the wait alone.
func (s *search) Acquire(ctx context.Context, answers bool, c Claim, g *Grant) (*Grant, error) {
	c.answers, c.asks = answers, s.waited != nil
	return s.refind(nil).acquire(ctx, &c, g, s)
}

// refind returns the bucket where the claim belongs now; l if that cannot change.
func (s *search) refind(l *Limiter) *Limiter {
	if s == nil {
		return l
	}
	s.generation = s.group.generation.Load()
	return s.find()
}

// isOver reports whether there was an Update since the bucket was found: the claim may belong in another one.
func (s *search) isOver() bool { return s != nil && s.generation != s.group.generation.Load() }

// reportWait says what the claim will wait for, unless it was granted at once. It is not inlined, so that the
// forecast does not lie on the stack for as long as the claim waits.
//
//go:noinline
func (s *search) reportWait(w *waiter) {
	if s != nil && !w.done.Rung() && s.waits != nil {
		s.waits(w.expected.forecast(w.joined))
	}
}

// reportWaited says what the claim has waited for, if its caller asks.
func (s *search) reportWaited(parts []blame.Part) {
	if len(parts) == 0 {
		return
	}
	*s.waited = make([]Wait, len(parts))
	for i, p := range parts {
		(*s.waited)[i] = Wait{p.Bucket, p.Label, Cause(p.Cause.Cause), p.Quota, p.For}
	}
}
