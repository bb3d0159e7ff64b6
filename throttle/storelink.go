package throttle

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/adaptive"
	"github.com/gopacer/pacer/throttle/internal/check"
	"github.com/gopacer/pacer/throttle/internal/lease"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/link"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/outbox"
	"github.com/gopacer/pacer/throttle/store"
)

// storeLink connects a bucket to its Store: it makes the calls that the lease decides on, and does what follows
// from the replies. At most one call is under way, in a goroutine that lives as long as the call; while one
// does not return, no other is made.
//
// The lock of the tree protects the storeLink, but for tries and learned, which the call under way alone uses.
// It alone writes stopListening, too, with the lock, since sayFarewell reads that even while a call does not
// return.
type storeLink struct {
	l             *Limiter
	lease         *lease.Lease
	calling       *storeCall // the call under way; nil if there is none, or it is overdue
	overdue       bool       // a call has not returned, and counts as failed
	settling      bool       // a reply is taken in: the next call is made when those for whom it came have gone, or were refused
	closed        bool       // Close was called
	stopListening func()     // ends listening; nil if not listening
	tries         link.Tries // of listening
	timer         monotime.Timer[*storeLink]
	events        outbox.Outbox[StoreEvent]
	learned       lease.Learned // used by one call at a time, without the lock
	visited       []*waiter     // whom InOrder yielded to the lease, in this order
}

// storeCall is a call for the waiters that the line had.
type storeCall struct {
	*lease.Call
	waiters []*waiter
	end     func()        // closes ended
	ended   chan struct{} // closed when the call has ended, or is overdue
}

// mostCalls bounds how many calls the buckets of a Group have under way, forgotten ones too, of which some may
// never return: others then fail before they are made, and no farewell is said.
const mostCalls = 10_000

var errMostCalls = fmt.Errorf("throttle: %d calls of the Store have not returned: %w", mostCalls, context.DeadlineExceeded)

func newStoreLink(l *Limiter) *storeLink {
	return &storeLink{l: l, lease: lease.New(lease.Config{Believed: max(check.MaxHold(l.MaxHold), 24*time.Hour), Name: l.Name, Bucket: l.storeName(), Member: rand.Text(), SlotLife: l.Shared.SlotLife, Outage: check.Outage(l.Shared.Outage), Fresh: l.Shared.Fresh, Standstill: cmp.Or(l.MaxStandstill, 2*time.Minute)})}
}

// ask calls the store, if there is one, and something to ask or to tell. It is called whenever something has
// changed.
func (s *storeLink) ask(now monotime.Time) {
	if s == nil || s.closed || s.settling {
		return
	}
	if t := s.l.tree; t.frozen > 0 { // nobody could go by the reply, and who must not wait would ask again
		t.runOnThaw.Add(s.l)
		return
	}
	if c := s.lease.Next(now, s.l.hold.Until(), s); c != nil {
		ended := make(chan struct{})
		s.calling = &storeCall{c, s.visited, sync.OnceFunc(func() { close(ended) }), ended}
		go s.call(s.calling)
	}
	s.visited = nil
	s.arm(now)
}

// call makes one call.
func (s *storeLink) call(c *storeCall) {
	var sent monotime.Time
	var luck float64
	var reply *store.Reply
	began, err, timeout := s.l.now(), link.ErrLeft, s.lease.Timeout()
	overdue := time.AfterFunc(timeout+link.Grace, func() { s.replied(began, 0, c, nil, link.Overdue(timeout), true) })
	defer func() {
		overdue.Stop()
		if err = link.Ended(recover(), err); err != nil {
			s.learned.Failed()
		}
		if s.replied(sent, luck, c, reply, err, false); err == nil && reply != nil && reply.Learned != "" {
			s.inherit(reply)
		}
	}()
	if g := s.l.group; g != nil {
		defer g.calls.Add(-1)
		if g.calls.Add(1) > mostCalls {
			err = errMostCalls
			return
		}
	}
	if s.stopListening == nil && s.tries.Due(began) {
		if s.listen(); !overdue.Reset(timeout + link.Grace) {
			err = link.Overdue(timeout) // what the request says is of before
			return
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	c.Request.Learned = s.teach()
	luck, sent = check.Draw(s.l.Rand), s.l.now()
	reply, err = s.l.Shared.Store.Exchange(ctx, c.At(sent, s.stopListening != nil))
}

// teach returns what others are to be told of the server, if that is new.
func (s *storeLink) teach() string {
	if !s.learned.Due(s.l.now()) {
		return ""
	}
	m, g := s.l.memory(), s.l.group
	if g != nil {
		g.mu.Lock()
		m.Together = s.l.table.Save(g.clock.Now(), &g.clock, s.l.node.DigestOf)
		g.mu.Unlock()
	}
	return s.learned.Tell(m.Lesson(store.MaxLearned))
}

// inherit takes over what another process has learned of the server.
func (s *storeLink) inherit(reply *store.Reply) {
	m, ok := adaptive.ReadLesson(reply.Learned, reply.Members, time.Now())
	if s.l.remember(m, 0, (*adaptive.Server).Inherit); ok && s.l.group != nil {
		s.l.group.mu.Lock()
		defer s.l.group.mu.Unlock()
		s.l.group.reunite(s.l, m.Together)
	}
}

// replied does what follows from the reply to a call, or from the error; or that the call is overdue: then it
// counts as failed, and no other is made before it has ended.
func (s *storeLink) replied(sent monotime.Time, luck float64, c *storeCall, reply *store.Reply, err error, overdue bool) {
	now := s.l.lock()
	defer s.l.unlock()
	if overdue && s.calling != c {
		return
	}
	s.l.change(now, func() {
		s.calling, s.overdue, s.l.luck, s.settling = nil, overdue, luck, true
		s.apply(now, s.lease.Step(now, sent, c.Call, reply, err, overdue), c)
		if err == nil && reply != nil {
			s.l.server.Divide(reply.Members)
		}
	})
	s.l.tree.refuseUncalled(now) // whom it was for
	s.settling, s.l.tree.lostHope = false, true
	s.ask(now)
	c.end() // Close waits for the call, and not for StoreEvent, which may wait for what the caller of Close holds
	s.events.Tell(s.l.Shared.Event, s.l.unlock, func() { s.l.lock() })
}

// apply does what follows from a reply. It requires that mu is held.
func (s *storeLink) apply(now monotime.Time, e lease.Effects, c *storeCall) {
	for _, ev := range e.Events {
		s.events.Add(StoreEvent{s.l.Name, s.l.Label, StoreEventKind(ev.Kind), ev.Err, ev.After, ev.Others})
	}
	if e.Hold != 0 {
		s.holdUntil(e.Hold, now)
	}
	for _, st := range s.lease.Overheard(now, e.Statements, s.l.line.waiting) {
		s.l.server.Overhear(now, &st, store.Doubt(&st))
		s.l.heard()
	}
	for _, u := range e.Unserved {
		w := c.waiters[u.Waiter]
		if !w.waits() || w.asksStore {
			w.asksStore = w.waits() && w.top() != s.l // else it need not wait for a bucket above
			continue
		}
		d := delay{u.Due, s.l}
		if why := w.missedBound(now, &d, 0); why != nil {
			w.refuse(now, w.refusal(now, d, why))
		}
	}
	if e.Retry != 0 && slices.ContainsFunc(e.Concerned, func(a lease.Asked) bool { w := c.waiters[a.Waiter]; return w.waits() && !w.AtOnce }) {
		s.lease.AskNotBefore(e.Retry)
	}
}

// holdUntil holds the bucket as other processes do. The instant of one hold differs by up to a round trip
// from message to message: such a difference extends the hold, but does not begin a new one.
func (s *storeLink) holdUntil(at, now monotime.Time) {
	at = s.lease.HeldByStore(now, at, s.l.line.waiting)
	if s.l.hold.Restate(at, now, s.lease.RoundTrip()) {
		s.l.later()
		return
	}
	s.l.holdUntil(at, 0, now)
}

// listen asks the store to send news at once.
func (s *storeLink) listen() {
	stop := link.Listen(&s.tries, s.l.now(), s.l.Shared.Store, s.l.storeName(), s.l, (*Limiter).hearNews)
	if stop == nil {
		return
	}
	s.l.lock()
	if s.closed && s.overdue {
		s.l.unlock()
		stop()
		return
	}
	s.stopListening = stop // Close calls stop when this call has ended
	s.l.unlock()
	runtime.AddCleanup(s.l, func(stop func()) { go func() { _ = link.Stop(stop) }() }, stop) // in a goroutine, since all cleanups share one
}

// hearNews takes in what the Store tells.
func (l *Limiter) hearNews(n store.News) {
	now := l.lock()
	defer l.unlock()
	if n.Released {
		l.change(now, func() { l.hold.End(now) })
	}
	if at := now.Add(min(n.Hold, monotime.Longest)); n.Hold > 0 && at > l.hold.Until() {
		l.change(now, func() { l.link.holdUntil(at, now) })
	}
	if l.link.lease.Heard(now, n) {
		l.link.ask(now)
	}
}

// arm sets the timer to when the lease wants to be called again. It is called after each use of the lease.
func (s *storeLink) arm(now monotime.Time) {
	if wake := s.lease.Wake(); !s.closed && wake != 0 {
		s.timer.Set(s.l.clock.Awake(now), wake.Sub(now), (*storeLink).tick, s)
	}
}

// tick runs when the timer fires.
func (s *storeLink) tick() {
	now := s.l.lock()
	defer s.l.unlock()
	if !s.closed && s.lease.Tick(now, s.l.hold.Until()) {
		s.l.run(now)
		s.ask(now)
	}
	s.arm(now)
}

// take charges a claim to the lease.
func (s *storeLink) take(g *right, due, now monotime.Time, need *need) {
	if uses := s.lease.Take(g.extra.Used(), due, now, &need.Demand, need.Urgent, s.l.line.waiting-1); len(uses) > 0 {
		g.ensureExtra().Uses = uses
	}
	s.arm(now)
}

// restock asks the stores of l and of its parents for what may be needed soon.
func (l *Limiter) restock(now monotime.Time) {
	for b := l; b != nil; b = b.Parent {
		b.link.ask(now)
	}
}

// meet notes that w has come to the line, or back to it.
func (s *storeLink) meet(w *waiter) {
	if s != nil {
		s.lease.Meet(&w.hope)
	}
}

// mustAskStore reports whether a reply of a store must come before it is known that w must wait: w is due, by
// its delay d, but the line does not release it.
func (l *Limiter) mustAskStore(now monotime.Time, d delay) bool {
	for b := l; b != nil && d.At <= now; b = b.Parent {
		if b.link != nil && b.link.lease.MayAsk(now) {
			return true
		}
	}
	return false
}

// refuseUncalled refuses those in the tree who must not wait, and for whom no call is made; the best rank
// first. Those who lined up while the tree was frozen may be hasty.
func (t *scheduler) refuseUncalled(now monotime.Time) {
	t.lostHope = false
	for _, w := range t.lookAt.Sorted() {
		if w.refuseUncalled(now); !w.AtOnce && t.frozen == 0 {
			t.lookAt.Put(w, false)
			w.l.change(now, func() { w.expire(now) })
		}
	}
}

// refuseUncalled refuses w, which must not wait, if it waits and no call of a store may let it go. While the
// tree is frozen, nobody knows.
func (w *waiter) refuseUncalled(now monotime.Time) {
	if w.AtOnce && w.waits() && w.l.tree.frozen == 0 && (!w.asksStore || !w.awaitsCall()) {
		w.l.change(now, func() {
			if w.waits() { // those who were due by now have gone first
				w.refuse(now, w.refusal(now, w.project(now, alone), ErrWouldWait))
			}
		})
	}
}

// awaitsCall reports whether a call of a store may bring what w asks for, or what one needs that goes before it
// and already competes above.
func (w *waiter) awaitsCall() bool {
	top := w.top()
	return w.hope.Called() || top.link != nil && top.link.lease.MayBring(&w.hope) ||
		slices.ContainsFunc(top.line.Before(w, top.line.Heads(new([priorities]*waiter))), func(o *waiter) bool { return o.top() != top && o.awaitsCall() })
}

// sayFarewell makes the last calls, which give back all slots and end the membership, unless one does not
// return.
func (s *storeLink) sayFarewell() error {
	s.l.lock()
	s.timer.Stop()
	stop, timeout := s.stopListening, s.lease.Timeout()
	var cannot error
	switch {
	case s.overdue:
		cannot = link.Overdue(timeout)
	case s.l.group != nil && s.l.group.calls.Load() >= mostCalls:
		cannot = errMostCalls
	}
	s.l.unlock()
	return link.Farewell(s.l.Shared.Store, stop, cannot, timeout, func() *store.Request {
		r := s.lease.Farewell(s.l.lock(), s.l.hold.Until())
		s.l.unlock()
		if r != nil {
			r.Learned = s.teach()
		}
		return r
	}, func() {
		s.l.lock()
		defer s.l.unlock()
		s.lease.Acknowledged()
	})
}

// Waiting implements lease.Line.
func (s *storeLink) Waiting() int { return s.l.line.waiting }

// First implements lease.Line.
func (s *storeLink) First(now monotime.Time) (first lease.Waiter, until monotime.Time, ok bool) {
	for w := range s.l.line.InOrder() {
		return w.forLease(now), s.l.blockedUntil(now, w), true
	}
	return first, 0, false
}

// Demands implements lease.Line.
func (s *storeLink) Demands() iter.Seq2[*limit.Demand, bool] {
	return func(yield func(*limit.Demand, bool) bool) {
		line := &s.l.line
		for i := range line.sure.Sum {
			if !yield(&line.sure.Sum[i], byIndex[i] == Urgent) {
				return
			}
		}
		if line.Len() == line.direct {
			return
		}
		for w := range line.InOrder() {
			if w.l != s.l && !yield(&w.Demand, w.Urgent) {
				return
			}
		}
	}
}

// Hope implements lease.Line.
func (s *storeLink) Hope(i int) *lease.Hope { return &s.visited[i].hope }

// InOrder implements lease.Line.
func (s *storeLink) InOrder(now monotime.Time) iter.Seq[lease.Waiter] {
	return func(yield func(lease.Waiter) bool) {
		next := func(w *waiter) bool {
			w.remembered, s.visited = true, append(s.visited, w)
			return yield(w.forLease(now))
		}
		for w := range s.l.line.InOrder() {
			if !next(w) {
				return
			}
			if w.l == s.l || w.l.Parent != s.l || !w.l.opensForAll(now) {
				continue
			}
			// If w goes, all others of its bucket can follow.
			for o := range w.l.line.InOrder() {
				if o != w && o.l == w.l && !next(o) {
					return
				}
			}
		}
	}
}

// forLease is w as a lease sees it.
func (w *waiter) forLease(now monotime.Time) lease.Waiter {
	return lease.Waiter{Demand: &w.Demand, Urgent: w.Urgent, Within: w.Left(w.l.clock.Awake(now))}
}

// blockedUntil returns the instant until which something else than the store of l delays w.
func (l *Limiter) blockedUntil(now monotime.Time, w *waiter) monotime.Time {
	d := l.delays.ButForStore(now, &w.Claim)
	for b := l.Parent; b != nil; b = b.Parent {
		if p := b.delays.ButForStore(now, &w.Claim); p.At > d.At {
			d = p
			d.At = min(d.At, now.Add(lease.Horizon)) // a parent does not say when that changes
		}
	}
	return d.At
}

// Close gives back to the Store the slots in hand, and ends the membership there. Claims that wait, and all
// later claims, get ErrClosed. Close returns the error of the store, if a call fails; the slots then expire by
// themselves. A call that does not return within 300 ms, or as long as a Store has that is far
// (Shared.SlotLife), has failed, and no other is made. Later calls of Close return nil. Without a Store, Close
// does nothing and returns nil.
//
// A Limiter need not be closed: if it is only forgotten, other processes lose the slots that it had in hand, at
// most its share of half a second.
func (l *Limiter) Close() error {
	if l.Shared.Store == nil {
		return nil
	}
	l, _ = l.lockCurrent()
	l.unlock()
	return l.close()
}

// isClosed reports whether Close was called. It requires that mu is held.
func (l *Limiter) isClosed() bool { return l.link != nil && l.link.closed }

// close is Close for l itself, also when its Group has forgotten it.
func (l *Limiter) close() error {
	if !l.shut() {
		return nil
	}
	return l.leave()
}

// shut ends all claims, and has no further call be made. It reports whether leave is to make the last ones.
func (l *Limiter) shut() bool {
	now := l.lock()
	defer l.unlock()
	if l.link == nil || l.isClosed() {
		return false
	}
	l.link.closed, l.invalid = true, &Error{Bucket: l.Name, Err: ErrClosed}
	l.change(now, func() {
		for w := range l.line.Leaving() { // none stands aside: with a Store, nothing is guessed
			w.end(now, w.refusal(now, delay{Due: limit.Due{At: now}}, ErrClosed))
		}
		for _, b := range l.withLines(nil)[1:] {
			b.promote(now)
		}
	})
	return true
}

// leave says farewell to the Store when the call under way has ended.
func (l *Limiter) leave() error {
	l.lock()
	calling := l.link.calling
	l.unlock()
	if calling != nil {
		<-calling.ended
	}
	if err := l.link.sayFarewell(); err != nil {
		return fmt.Errorf("throttle: %s: close: %w", l.Name, err)
	}
	return nil
}

// storeName is what the Store calls the bucket.
func (l *Limiter) storeName() string { return cmp.Or(l.Shared.Name, l.Name) }

// checkQuotas returns an error if the quotas do not fit those of the buckets above, or cannot live in the
// Store. It requires that mu is held.
func (l *Limiter) checkQuotas(qs quota.Quotas) error {
	var path []check.Bucket
	for b := l; b != nil; b = b.Parent {
		path = append(path, check.Bucket{Name: b.Name, StoreName: b.Shared.Name, Quotas: b.quotas, SlotLife: b.Shared.SlotLife, Stored: b.Shared.Store != nil})
	}
	path[0].Quotas = qs
	return check.Quotas(path[0], path[1:])
}
