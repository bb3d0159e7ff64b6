package throttle

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"math"
	"runtime"
	"time"
	"weak"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/lease"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/store"
)

// callTimeout is how long a call of the store may take.
const callTimeout = 250 * time.Millisecond

// storeLink makes the calls of the Store that a lease decides on, and does what follows from
// them. At most one call is under way, for all who wait, in a goroutine which lives as long as
// the call. It is protected by the lock of the tree.
type storeLink struct {
	l       *Limiter
	lease   *lease.Lease
	line    leaseLine
	calling chan struct{} // closed when the call that is under way has ended; nil if none is
	closed  bool
	stop    func() // ends listening
	noNews  bool   // the store has none
	timer   *time.Timer
	armed   monotime.Time // when the timer fires; zero if it does not
	events  []StoreEvent  // that were not reported
	reports bool          // somebody reports them
}

func newStoreLink(l *Limiter) *storeLink {
	return &storeLink{l: l, line: leaseLine{l: l}, lease: lease.New(lease.Config{
		Name: l.Name, Bucket: l.storeName(), Member: rand.Text(), Late: l.Late, Outage: lease.Outage(l.Outage),
	})}
}

// arm sets the timer. It is called whenever something was done with the lease.
func (s *storeLink) arm(now monotime.Time) {
	wake := s.lease.Wake()
	if s.closed || wake == 0 || wake == s.armed {
		return
	}
	s.armed = wake
	if d := wake.Sub(now); s.timer == nil {
		s.timer = time.AfterFunc(d, s.tick)
	} else {
		s.timer.Reset(d)
	}
}

// tick runs when the timer fires.
func (s *storeLink) tick() {
	root := s.l.lock()
	defer s.l.unlock(root)
	now := root.now()
	s.armed = 0
	if !s.closed && s.lease.Tick(now, s.l.hold) {
		s.l.run(now)
		s.ask(now)
	}
	s.arm(now)
}

// ask calls the store if there is something to ask or to tell. It is called whenever something
// has changed.
func (s *storeLink) ask(now monotime.Time) {
	if s.closed {
		return
	}
	if c := s.lease.Next(now, s.l.hold, &s.line); c != nil {
		done := make(chan struct{})
		s.calling = done
		go s.call(c, s.line.seen, done)
	}
	s.line.seen = nil
	s.arm(now)
}

// take charges a claim to the lease.
func (s *storeLink) take(g *Grant, due, now monotime.Time, w *need) {
	var uses []lease.Use
	if g.more != nil {
		uses = g.more.uses
	}
	if uses = s.lease.Take(uses, due, now, &w.Demand, w.urgent(), s.l.line.waiting-1); len(uses) > 0 {
		g.extend().uses = uses
	}
	s.arm(now)
}

// giveBack takes back all that g took of the lease.
func (s *storeLink) giveBack(now monotime.Time, g *Grant) {
	if g.more != nil {
		s.lease.Return(now, g.more.uses)
		s.arm(now)
	}
}

// settle charges more, and takes back less of what g took.
func (s *storeLink) settle(now monotime.Time, g *Grant, more quota.Costs, less []limit.Part) {
	s.lease.Settle(now, g.more.uses, more, less, g.urgent)
	s.arm(now)
}

// said has others told what the server said.
func (s *storeLink) said(now monotime.Time, statements []quota.Statement) {
	s.lease.Said(now, statements)
	s.arm(now)
}

// tell has others told of a hold, if they do not know.
func (s *storeLink) tell(now monotime.Time) {
	s.lease.Told(now)
	s.arm(now)
}

// restock has the stores of l and of those above asked for what may be needed soon.
func (l *Limiter) restock(now monotime.Time) {
	for b := l; b != nil; b = b.Parent {
		if b.link != nil {
			b.link.ask(now)
		}
	}
}

// shrunk is told that somebody left the line of l who did not go.
func (l *Limiter) shrunk() {
	for b := l; b != nil; b = b.Parent {
		if b.link != nil {
			b.link.lease.Shrunk()
		}
	}
}

// mayAsk reports whether a store has to be asked before it is known that w, which is due at d,
// would have to wait.
func (l *Limiter) mayAsk(now monotime.Time, d obstacle) bool {
	if d.At > now {
		return false
	}
	for b := l; b != nil; b = b.Parent {
		if b.link != nil && b.link.lease.MayAsk(now) {
			return true
		}
	}
	return false
}

// call makes one call, on behalf of some of these waiters.
func (s *storeLink) call(c *lease.Call, waiters []*waiter, done chan struct{}) {
	defer close(done)
	if s.stop == nil && !s.noNews {
		s.listen()
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	sent := s.l.root().now()
	reply, err := s.l.Store.Exchange(ctx, c.Request)
	root := s.l.lock()
	now := root.now()
	s.l.change(now, func() {
		s.calling = nil
		s.apply(now, s.lease.Step(now, sent, c, reply, err), c, waiters)
	})
	for _, a := range c.Asked {
		if w := waiters[a.Waiter]; w.asksStore && w.entries != nil {
			s.l.change(now, func() { w.end(w.refusal(now, w.project(now, true), ErrWait)) })
		}
	}
	s.ask(now)
	s.report(root)
	s.l.unlock(root)
}

// apply does what follows from a reply.
func (s *storeLink) apply(now monotime.Time, e lease.Effects, c *lease.Call, waiters []*waiter) {
	for _, ev := range e.Events {
		s.events = append(s.events, StoreEvent(ev))
	}
	if e.Hold != 0 {
		s.holdUntil(e.Hold, now)
	}
	for i := range e.Statements {
		s.l.server.Overhear(now, &e.Statements[i])
	}
	for _, u := range e.Unserved {
		w := waiters[u.Waiter]
		if w.entries == nil || w.asksStore {
			continue
		}
		if why := w.late(u.Due.At); why != nil {
			w.end(w.refusal(now, obstacle{u.Due, s.l}, why))
		}
	}
	if e.Retry == 0 {
		return
	}
	for _, a := range c.Asked {
		if w := waiters[a.Waiter]; w.entries != nil && !w.asksStore {
			s.lease.AskAgain(e.Retry)
			return
		}
	}
}

// holdUntil takes over a hold. It reaches us a moment late, each time another one: that does
// not make it a new one.
func (s *storeLink) holdUntil(at, now monotime.Time) {
	s.lease.Overheard(at)
	if h := s.l.hold; h > now && at > h && at.Sub(h) <= s.lease.RoundTrip() {
		s.l.hold = at
		return
	}
	s.l.holdUntil(at, now)
}

// listen has the store tell what there is to know at once.
func (s *storeLink) listen() {
	l := weak.Make(s.l) // who forgets a Limiter without closing it may
	stop, err := s.l.Store.Listen(s.l.storeName(), func(n store.News) {
		l := l.Value()
		if l == nil || n == (store.News{}) {
			return
		}
		root := l.lock()
		defer l.unlock(root)
		now := root.now()
		if at := now.Add(min(n.Hold, monotime.Longest)); n.Hold > 0 && at > l.hold {
			l.change(now, func() { l.link.holdUntil(at, now) })
		}
		if n.Room {
			l.link.lease.Room()
			l.link.ask(now)
		}
	})
	root := s.l.lock()
	defer s.l.unlock(root)
	switch {
	case err != nil:
		s.noNews = true
	case s.closed:
		stop()
	default:
		s.stop = stop
		runtime.AddCleanup(s.l, func(stop func()) { stop() }, stop)
	}
}

// report calls StoreEvent for what has happened, one after the other. It requires that mu
// is held, and releases it meanwhile.
func (s *storeLink) report(root *Limiter) {
	if s.reports {
		return // whoever does will see these too
	}
	s.reports = true
	for len(s.events) > 0 {
		events := s.events
		s.events = nil
		if s.l.StoreEvent == nil {
			break
		}
		s.l.unlock(root)
		for _, e := range events {
			s.l.StoreEvent(e)
		}
		s.l.lock()
	}
	s.reports = false
}

// leave makes the last calls.
func (s *storeLink) leave() error {
	root := s.l.lock()
	if s.timer != nil {
		s.timer.Stop()
	}
	stop := s.stop
	s.l.unlock(root)
	if stop != nil {
		stop()
	}
	for {
		root := s.l.lock()
		r := s.lease.Farewell(root.now(), s.l.hold)
		s.l.unlock(root)
		if r == nil {
			return nil
		}
		if err := s.bye(r); err != nil {
			return err
		}
		root = s.l.lock()
		s.lease.Acknowledged()
		s.l.unlock(root)
		if r.Leave {
			return nil
		}
	}
}

func (s *storeLink) bye(r *store.Request) error {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	_, err := s.l.Store.Exchange(ctx, r)
	return err
}

// leaseLine is the line of a bucket as its lease sees it.
type leaseLine struct {
	l    *Limiter
	seen []*waiter // those that InOrder went through
}

// Waiting implements lease.Line.
func (q *leaseLine) Waiting() int { return q.l.line.waiting }

// First implements lease.Line.
func (q *leaseLine) First(now monotime.Time) (first lease.Waiter, until monotime.Time, ok bool) {
	for w := range q.l.line.all() {
		return w.leased(now), q.l.barredUntil(now, w), true
	}
	return first, 0, false
}

// Demands implements lease.Line.
func (q *leaseLine) Demands() iter.Seq2[*limit.Demand, bool] {
	return func(yield func(*limit.Demand, bool) bool) {
		line := &q.l.line
		for i := range line.sum {
			if !yield(&line.sum[i], Priority(i)+Background >= Urgent) {
				return
			}
		}
		if line.len() == line.own {
			return
		}
		for w := range line.all() {
			if w.l != q.l && !yield(&w.Demand, w.urgent()) {
				return
			}
		}
	}
}

// InOrder implements lease.Line.
func (q *leaseLine) InOrder(now monotime.Time) iter.Seq[lease.Waiter] {
	return func(yield func(lease.Waiter) bool) {
		next := func(w *waiter) bool {
			q.seen = append(q.seen, w)
			return yield(w.leased(now))
		}
		for w := range q.l.line.all() {
			if !next(w) {
				return
			}
			if w.l == q.l || w.l.Parent != q.l || !w.l.opensForAll(now) {
				continue
			}
			// All who wait below follow.
			for o := range w.l.line.all() {
				if o != w && o.l == w.l && !next(o) {
					return
				}
			}
		}
	}
}

// leased is w as a lease sees it.
func (w *waiter) leased(now monotime.Time) lease.Waiter {
	return lease.Waiter{Demand: &w.Demand, Urgent: w.urgent(), Within: w.within(now)}
}

// within is for how long w can wait; negative if there is no bound.
func (w *waiter) within(now monotime.Time) time.Duration {
	at := monotime.Time(math.MaxInt64)
	if w.expires != 0 {
		at = w.expires
	}
	if w.deadline != 0 {
		at = min(at, w.deadline-1)
	}
	switch {
	case w.asksStore:
		return 0
	case at == math.MaxInt64:
		return -1
	}
	return max(at.Sub(now), 0)
}

// barredUntil returns the instant until which something else than the store of l stands in the
// way of w.
func (l *Limiter) barredUntil(now monotime.Time, w *waiter) monotime.Time {
	d := l.dueHere(now, w)
	for b := l.Parent; b != nil; b = b.Parent {
		if p := b.dueHere(now, w); p.At > d.At {
			d = p
			d.At = min(d.At, now.Add(lease.Horizon)) // nobody tells us when that changes
		}
	}
	return d.At
}

// dueHere returns when w may go, but for what is in hand.
func (l *Limiter) dueHere(now monotime.Time, w *waiter) limit.Due {
	d := limit.Due{At: now}
	if l.hold > now {
		d.At = l.hold
	}
	if w.l == l {
		d = l.server.Due(d, &limit.Demand{}, &w.Demand, l.share(&w.need), false)
	}
	d = l.stack.Due(d, &limit.Demand{}, &w.Demand, false, false)
	if l.Reserve > 0 && !w.urgent() {
		d = l.stack.Due(d, &limit.Demand{}, &w.Demand, true, false)
	}
	return d
}

// Close gives back to the Store what is in hand, and ends the membership there. Whoever waits
// and whoever asks from then on gets ErrClosed. It returns the error of the store, whose slots
// die by themselves then. Without a Store, it does nothing and returns nil.
//
// A Limiter that is not closed may be forgotten all the same: the others go without what it had
// in hand then, at most its share of the next half a second.
func (l *Limiter) Close() error {
	if l.Store == nil {
		return nil
	}
	l, root := l.here()
	l.unlock(root)
	return l.close()
}

func (l *Limiter) close() error {
	root := l.lock()
	if l.link == nil || l.link.closed {
		l.unlock(root)
		return nil
	}
	l.link.closed = true
	now := root.now()
	l.invalid = &Error{Bucket: l.Name, Err: ErrClosed}
	l.change(now, func() {
		for w := range l.line.all() {
			w.end(w.refusal(now, obstacle{Due: limit.Due{At: now}}, ErrClosed))
		}
	})
	calling := l.link.calling
	l.unlock(root)
	if calling != nil {
		<-calling
	}
	return l.link.leave()
}

// storeName is what the Store calls the bucket.
func (l *Limiter) storeName() string {
	if l.StoreName != "" {
		return l.StoreName
	}
	return l.Name
}

// late is Limiter.Late, or what it stands for.
func (l *Limiter) late(qs quota.Quotas) time.Duration {
	if l.Late > 0 {
		return l.Late
	}
	return lease.Late(qs)
}

// checkStore reports what keeps the quotas from a Store.
func (l *Limiter) checkStore(qs quota.Quotas) error {
	if l.Store == nil {
		return nil
	}
	qs = qs.Explicit()
	if l.storeName() == "" {
		return errors.New("throttle: a Limiter with a Store needs a Name, by which others share it")
	}
	for b := l.Parent; b != nil; b = b.Parent {
		if b.Store == nil {
			continue
		}
		above := b.Quotas.Explicit()
		// Slots of two schedules must be good at the same time.
		late := max(l.late(qs), b.late(above))
		for i := range above {
			q := &above[i]
			if q.N > 0 && q.Kind == quota.TokenBucket && monotime.Scale(q.Per, 1, int64(q.N)) > late {
				return fmt.Errorf("throttle: quota %q of %s, above %s with a Store too, has a token come back each %v, want one within Late, %v, at least",
					q.Name, b.Name, l.Name, monotime.Scale(q.Per, 1, int64(q.N)), late)
			}
		}
	}
	for i := range qs {
		switch q := &qs[i]; {
		case q.WarmUp > 0:
			return fmt.Errorf("throttle: quota %q: WarmUp is %v, want 0 for what lives in a Store", q.Name, q.WarmUp)
		case lease.Stored(q) && q.Kind != quota.TokenBucket && l.Late > q.Per/2:
			return fmt.Errorf("throttle: quota %q: Per is %v, want at least twice Late, %v", q.Name, q.Per, l.Late)
		}
	}
	return nil
}
