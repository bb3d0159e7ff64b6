package throttle

import (
	"context"
	"errors"
	"maps"
	"math"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/adaptive"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Claim is what a caller asks of a Limiter.
type Claim struct {
	// N is the cost in requests. Zero means what Costs says, or else 1. Negative
	// panics.
	N int

	// Costs is the cost in other units. A quota of a unit that is not among them is not
	// drawn on.
	Costs quota.Costs

	// Priority is how urgent it is. Zero is Normal.
	Priority Priority

	// Class is what kind of request it is for, by which a Group tells apart what a server counts on its
	// own. The zero Class is one of many.
	Class Class

	// After, if not nil, is the Grant of a request which the server refused, and for which the claim is made
	// again: it stands in line where that stood, and so goes before all who came later.
	// MaxWait counts from when that was made first. The Limiter may be another one of the same tree, or of the
	// same Group.
	After *Grant

	// Cancel ends the wait when it is closed, beside the context. Nil means
	// that only the context does.
	Cancel <-chan struct{}

	// NoWait refuses with ErrWait what cannot go at once.
	NoWait bool
}

// Wait blocks until n tokens are granted or ctx ends. The error, an [*Error],
// comes at once if the wait would end after ctx's deadline or MaxWait. A caller
// that stops waiting leaves nothing behind: no token is lost, and everybody
// behind it moves up. It panics if n < 0; zero counts as one.
//
// What is granted by Wait is not counted as in flight, since nobody says when it
// ends: use Acquire where a server's answers are to be learned from.
func (l *Limiter) Wait(ctx context.Context, n int) error {
	g, err := l.Acquire(ctx, Claim{N: n})
	if err == nil {
		g.forget()
	}
	return err
}

// Acquire blocks like Wait and returns a Grant, which must be ended by exactly
// one call of Done or Cancel.
func (l *Limiter) Acquire(ctx context.Context, c Claim) (*Grant, error) {
	return l.acquire(ctx, &c, new(Grant), nil) // inlined, so that the Grant need not be allocated
}

// acquire is Acquire, which makes g the grant, of the bucket that is found.
func (l *Limiter) acquire(ctx context.Context, c *Claim, g *Grant, found *search) (*Grant, error) {
	if l.grantFast(ctx, c, g) {
		return g, nil
	}
	var p place
	if c.After != nil {
		p = c.After.place
	}
	w, err := l.join(ctx, c, p, g, found)
	if w == nil && err == nil {
		return g, nil
	}
	if w != nil || errors.Is(err, errDismissed) {
		err = l.wait(ctx, c, p, g, found, w)
	}
	if err != nil {
		return nil, err
	}
	return g, nil
}

// wait waits in line as w, nil if the claim belongs in another line than that of l, until the claim is
// granted; in other buckets, too, if it comes to belong there.
func (l *Limiter) wait(ctx context.Context, c *Claim, p place, g *Grant, found *search, w *waiter) (err error) {
	for {
		moved := w
		if err = errDismissed; w != nil {
			found.waits(w.forecast)
			err, p = w.wait(ctx, g), w.place
		}
		if !errors.Is(err, errDismissed) {
			return err
		}
		if w, err = l.rejoin(ctx, c, p, g, found, moved); w == nil && !errors.Is(err, errDismissed) {
			return err
		}
	}
}

// rejoin is join in the bucket to which the claim of moved, nil if it did not wait, belongs now.
func (l *Limiter) rejoin(ctx context.Context, c *Claim, p place, g *Grant, found *search, moved *waiter) (*waiter, error) {
	if moved != nil {
		defer moved.freezes.thaw() // also when what finds the bucket panics
	}
	return found.again(l).join(ctx, c, p, g, found)
}

// grantFast grants the claim without the lock if nothing could stand in its way.
func (l *Limiter) grantFast(ctx context.Context, c *Claim, g *Grant) bool {
	if !l.fastGrant.Load() || c.Costs != nil || c.N < 0 || c.After != nil || ctx.Err() != nil {
		return false
	}
	now, n := l.now(), max(c.N, 1)
	l.unlocked.Add(int64(n))
	// fastGrant is read again: whoever sets it to false counts what is unlocked after that.
	if !l.busy(now) || !l.fastGrant.Load() {
		l.unlocked.Add(int64(-n))
		return false
	}
	l.last.Store(int64(now))
	g.l, g.ticket, g.place, g.class = l, adaptive.Ticket{Sent: now, N: n}, place{since: now}, c.Class
	g.urgent, g.plain, g.more = false, true, nil
	return true
}

// join grants the claim at once if it may go now, and makes g its grant, else puts it in line and
// returns the waiter. Bounds are checked here, on the wait as it is projected now. The error is
// errDismissed if what was found may be another bucket now.
func (l *Limiter) join(ctx context.Context, c *Claim, p place, g *Grant, found *search) (*waiter, error) {
	w := c.need()
	if ctx.Err() != nil {
		return nil, &Error{Bucket: l.Name, Cost: w.N, Err: ErrCanceled, ctxErr: context.Cause(ctx)}
	}
	root := l.lock()
	if l.gone.Load() || l.split {
		l, root = l.follow(root, c.Class)
	}
	defer l.unlock(root)
	if found.stale() {
		return nil, errDismissed
	}
	now := root.now()
	for b := l; b != nil; b = b.Parent {
		if b.invalid != nil {
			return nil, b.invalid
		}
	}
	l.wake(now)
	b := l
	for b != nil && root.frozen == 0 && b.line.len() == 0 && b.open(now, &w, b == l) {
		b = b.Parent
	}
	again := p != place{}
	if !again {
		root.asked++
		p = place{now, root.asked}
	}
	if b == nil {
		l.charge(g, now, now, &w, p, c.Class)
		l.restock(now)
		return nil, nil
	}
	if w.Costs != nil {
		w.Costs = maps.Clone(w.Costs) // it is looked at for as long as it waits
	}
	return l.queue(ctx, now, c, p, w, again)
}

// Forecast returns how long the claim would wait if it were made now, and for
// what. It changes nothing.
func (l *Limiter) Forecast(c Claim) Forecast {
	w := c.need()
	root := l.lock()
	if l.gone.Load() || l.split {
		l, root = l.follow(root, c.Class)
	}
	defer l.unlock(root)
	now := root.now()
	return l.project(now, w).forecast(now)
}

// Observe grants the claim at once, whatever is due, and charges it. It returns how
// long the claim should have waited, and for what: for trying limits on a live system
// without delaying it.
func (l *Limiter) Observe(c Claim) (*Grant, Forecast) {
	g := new(Grant)
	return g, l.observe(&c, g)
}

// observe is Observe, which makes g the grant.
func (l *Limiter) observe(c *Claim, g *Grant) Forecast {
	w := c.need()
	root := l.lock()
	if l.gone.Load() || l.split {
		l, root = l.follow(root, c.Class)
	}
	defer l.unlock(root)
	now := root.now()
	l.wake(now)
	d := l.project(now, w)
	l.charge(g, now, now, &w, place{}, c.Class)
	l.restock(now)
	return d.forecast(now)
}

// project returns when a claim that was made now would go.
func (l *Limiter) project(now monotime.Time, wanted need) obstacle {
	w := waiter{l: l, need: wanted, rank: l.rank(now, wanted.priority)}
	w.place.number = math.MaxUint64
	return w.project(now, false)
}

// queue puts a claim in line after checking its bounds. It requires that mu is
// held.
func (l *Limiter) queue(ctx context.Context, now monotime.Time, c *Claim, p place, wanted need, again bool) (*waiter, error) {
	w := &waiter{
		l: l, need: wanted, place: p, class: c.Class, rank: l.rank(p.since, wanted.priority),
		joined: now, cancel: c.Cancel, ready: make(chan struct{}),
	}
	if l.MaxWait > 0 {
		w.expires = p.since.Add(l.MaxWait)
	}
	if t, ok := ctx.Deadline(); ok {
		w.deadline = l.clock.Until(t)
	}
	d := w.project(now, again)
	w.forecast = d.forecast(now)
	switch {
	case d.Never:
		return nil, w.refusal(now, d, ErrTooLarge)
	case d.At <= now && l.line.waiting > 0 && w.goes(again):
		return w, nil
	case c.NoWait || l.MaxWait < 0 || l.MaxQueue < 0:
		if w.asksStore = l.mayAsk(now, d); !w.asksStore {
			return nil, w.refusal(now, d, ErrWait)
		}
	}
	why := w.late(d.At)
	if why == nil && !again {
		d, why = w.crowded(now, d)
	}
	if why != nil {
		return nil, w.refusal(now, d, why)
	}
	w.enter(again)
	l.run(now)
	return w, nil
}

// goes grants w if it may go now, before all who wait, and reports whether it did.
func (w *waiter) goes(again bool) bool {
	now := w.joined
	w.enter(again)
	w.l.run(now)
	if w.entries == nil {
		return true
	}
	w.leave()
	w.l.run(now)
	return false
}

// crowded returns ErrQueueFull if there is no place for w in line, and for what it would
// wait there. Of a bucket's line, MaxQueue is for the best: one who would go last
// makes room for w.
func (w *waiter) crowded(now monotime.Time, d obstacle) (obstacle, error) {
	var ahead predecessors
	for b := w.l; b != nil; b = b.Parent {
		b.ahead(&ahead, w, now)
		for i := range b.quotas {
			if q := &b.quotas[i]; q.Queue > 0 && w.In(q) > 0 && ahead.all.In(q) >= q.Queue {
				d.by, d.Quota, d.Cost = b, q.Name, q.Queue
				return d, ErrQueueFull
			}
		}
	}
	n := w.l.line.own
	if w.l.MaxQueue == 0 || n < w.l.MaxQueue {
		return d, nil
	}
	last := w.l.latest()
	if !w.before(last) {
		return d, ErrQueueFull
	}
	last.end(last.refusal(now, last.project(now, false), ErrQueueFull))
	return d, nil
}

// Acquire is Limiter.Acquire for a claim whose path may become another one while it waits: find
// returns the Limiter, and is called again after an Update. If waits is not nil, it is called before
// the claim waits, with how long that looks to be.
func (g *Group) Acquire(ctx context.Context, c Claim, find func() *Limiter, waits func(Forecast)) (*Grant, error) {
	return g.acquire(ctx, &c, new(Grant), find, waits) // inlined, so that the Grant need not be allocated
}

func (g *Group) acquire(ctx context.Context, c *Claim, granted *Grant, find func() *Limiter, waits func(Forecast)) (*Grant, error) {
	generation := g.generation.Load()
	return find().acquire(ctx, c, granted, &search{g, find, waits, generation})
}

// search is how to find the bucket of a claim. It is nil if that is known.
type search struct {
	group      *Group
	find       func() *Limiter
	wait       func(Forecast) // may be nil
	generation uint64         // of the Group, when it was found
}

// waits is told that the claim waits.
func (s *search) waits(f Forecast) {
	if s != nil && s.wait != nil {
		s.wait(f)
	}
}

// stale reports whether the bucket may be another one now.
func (s *search) stale() bool { return s != nil && s.generation != s.group.generation.Load() }

// again returns the bucket of the claim now, l if that cannot change.
func (s *search) again(l *Limiter) *Limiter {
	if s == nil {
		return l
	}
	s.generation = s.group.generation.Load()
	return s.find()
}

// need returns what the claim asks for.
func (c *Claim) need() need {
	if c.N < 0 {
		panic("throttle: negative cost")
	}
	w := need{limit.Demand{Claims: 1, N: max(c.N, 1)}, c.Priority}
	if len(c.Costs) > 0 {
		w.costs(c)
	}
	return w
}

// costs adds those of a claim in other units.
func (w *need) costs(c *Claim) {
	if c.N == 0 {
		w.N = max(c.Costs[quota.Requests], 1)
	}
	w.Costs = c.Costs
	for unit := range w.Costs {
		if w.Costs[unit] < 0 {
			w.Costs = maps.Clone(w.Costs)
			maps.DeleteFunc(w.Costs, func(_ string, n int) bool { return n < 0 })
			return
		}
	}
}
