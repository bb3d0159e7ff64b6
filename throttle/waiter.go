package throttle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gopacer/pacer/throttle/internal/bell"
	"github.com/gopacer/pacer/throttle/internal/blame"
	"github.com/gopacer/pacer/throttle/internal/check"
	"github.com/gopacer/pacer/throttle/internal/due"
	"github.com/gopacer/pacer/throttle/internal/lease"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/order"
	"github.com/gopacer/pacer/throttle/internal/readable"
)

// waiter is a claim that stands in line. The fields that change after newWaiter name who writes them.
type waiter struct {
	expected delay         // when w joined; lineUp
	wakesIn  time.Duration // how long until w wakes by itself: at its end, or when it comes to be hasty; zero if it has ended then; the goroutine of the claim alone

	l *Limiter // the bucket that was asked
	need
	rank         monotime.Time   // see Limiter.rankOf; pass and place.go, while w is in no line, which may change its flow, too
	joined       monotime.Time   // when w joined the line of l
	from         monotime.Time   // from when w may count
	check.Bounds                 // refuseOutOfBounds, where answers turn out to take longer, or less long
	cancel       <-chan struct{} // of the Claim
	asksStore    bool            // w waits for calls of stores, as long as awaitsCall says so; enqueue, storeLink.apply
	hope         lease.Hope      // what these may bring; the lease
	passed       int             // how often it has let others pass; letOthersPass
	beyond       bool            // it came where MaxQueue refused nobody yet; makeRoom
	abandoned    bool            // nobody waits for w: it only makes the store hand out what w needs; abandon

	remembered bool                     // a call to a Store, which sets it, may look at w after it has left
	stay       blame.Stay               // what w waits for, if its claim asks
	entry      [1]*order.Entry[*waiter] // room for entries
	entries    []*order.Entry[*waiter]  // where w stands in the lines of l, its parent, …; nil if not in line, empty if aside; line.go, as aside and unsure
	aside      beside                   // where it stands aside
	unsure     bool                     // it stands aside, or may step aside when its turn comes
	done       bell.Bell                // rings when w has left the line, with grant or err set; wait waits for it
	grant      right                    // release
	err        error                    // depart, giveUp
}

// rankOf is the rank of a claim, the smallest goes first. One that the server has refused may have fallen
// behind others, whatever their priority: but not behind Normal claims that come after the hold, nor those of
// its own priority if that is lower.
func (l *Limiter) rankOf(p *place, of Priority) monotime.Time {
	rank := l.rankAt(p.since, of)
	if behind, last := p.past.Placed(); last != 0 {
		rank = max(rank, min(behind, max(last, l.rankAt(last, of))))
	}
	return rank
}

// rankAt is the rank of a claim of a priority that is made at an instant.
func (l *Limiter) rankAt(t monotime.Time, of Priority) monotime.Time {
	return order.Rank(t, of.index()-Normal.index(), check.Aging(l.Aging))
}

// Before reports whether w goes before o.
func (w *waiter) Before(o *waiter) bool {
	return w.rank < o.rank || w.rank == o.rank && w.place.number < o.place.number
}

// Flow is the flow of the waiter.
func (w *waiter) Flow() string { return w.flow.name }

// Row is the index of the waiter's priority.
func (w *waiter) Row() int { return w.priority.index() }

// wait blocks until w is granted, and copies the grant to g; or until w is refused, which it is when its bounds
// end it; or until its context or cancel channel ends.
func (w *waiter) wait(ctx context.Context, g *Grant) error {
	for {
		switch w.done.WaitOr(w.wakesIn, ctx.Done(), w.cancel) {
		case bell.Expired:
			if w.l.alter(func(now monotime.Time) { w.wakesIn = w.expire(now) }); w.wakesIn > 0 {
				continue
			}
			<-w.done.C
		case bell.Ended:
			return w.drop(ctx.Err(), func() error { return context.Cause(ctx) })
		case bell.Canceled:
			return w.drop(context.Canceled, func() error { return context.Canceled })
		}
		g.right = w.grant
		return w.err
	}
}

// expire is called when w wakes by itself. It ends w if its bounds have ended; since w joined, they may have
// come to end later, if less time is kept for its answer. If w is hasty by now, and only a slow start delays
// it, it goes before those who may wait for that longer. If w is still in line then, expire returns in how long
// w is to wake again.
func (w *waiter) expire(now monotime.Time) (wakesIn time.Duration) {
	switch end, awake := w.Ends(), w.l.clock.Awake(now); {
	case w.waits() && end != 0 && end <= awake:
		w.end(now, w.refusal(now, w.remaining(now), w.Ended(awake, ErrMaxWait, ErrDeadline)))
	case !w.isAside() && w.l.server.Lenient():
		w.leave()
		w.pass(now)
		w.enter()
	}
	if w.waits() {
		wakesIn = w.Wakes(w.l.clock.Awake(now), w.l.server.Hasty(w.Haste).Sub(now), !w.isAside() && w.l.server.Lenient())
	}
	return wakesIn
}

// mayStart reports whether a claim whose delay has a cause waits for a slow start; or may do so, as nobody
// knows while the tree is frozen.
func (t *scheduler) mayStart(of limit.Cause) bool { return of == limit.SlowStart || t.frozen > 0 }

// foremost is a rank before that of all claims: an Urgent one may count as made monotime.Longest ago.
const foremost = -2 * monotime.Time(monotime.Longest)

// pass gives w, which is in no line, the rank before all others if these wait for a slow start, and w is hasty.
// Not while the tree is frozen, when others have yet to come back to their places: then w is looked at again
// when it is not.
func (w *waiter) pass(now monotime.Time) {
	if w.Haste.Latest == 0 || w.l.server.Hasty(w.Haste) > now || w.l.tree.frozen > 0 {
		return
	}
	if _, passes := w.onlyStarts(now); passes {
		w.rank, w.flow.name = foremost, ofOneAlone(w)
	}
}

// onlyStarts reports whether w, which is in no line, would wait there for nothing but a slow start at a server
// that has refused nothing; if it would wait for more at such a server, d is for what.
func (w *waiter) onlyStarts(now monotime.Time) (d delay, only bool) {
	if !w.l.server.Lenient() {
		return d, false
	}
	patient := w.Haste
	w.Haste = limit.Haste{First: now, Latest: now}
	d = w.project(now, nil)
	w.Haste = patient
	return d, d.Cause == ""
}

// abandon copies the grant to g if w was granted already, and reports whether it was. If not, w stays in line
// until the store has replied, but is not granted.
func (w *waiter) abandon(g *Grant) (granted bool) {
	w.l.lock()
	w.abandoned, g.right = true, w.grant
	granted, dismissed := !w.waits() && w.err == nil, isDismissed(w.err)
	w.l.unlock()
	if dismissed {
		w.l.thaw()
	}
	return granted
}

// drop takes w out of line, and returns what it waits for. If w was granted at the same time, the grant is
// given back for the next in line; if w was dismissed, the tree that waits for it waits no longer. The cause of
// ctxErr is asked for last: to ask a context takes a lock that its cancel function holds until it has woken all
// who wait for it, and many may.
func (w *waiter) drop(ctxErr error, cause func() error) error {
	// What is known is said before the lock is taken, since many may leave at once.
	e := &Error{Bucket: w.l.Name, Quota: w.expected.Quota, Cause: Cause(w.expected.Cause), Cost: int64(w.N), Err: ErrCanceled, ctxErr: ctxErr, detail: " while waiting"}
	if now := w.l.lock(); w.waits() && (w.isAside() || w.isBehind()) { // nobody goes sooner
		w.giveUp(now, e)
		w.l.restock(now)
	} else {
		w.l.move(now, func() { w.giveUp(now, e) })
	}
	w.l.unlock()
	e.cause = cause() // may panic: then await drops w once more
	if isDismissed(w.err) {
		w.l.thaw()
	}
	return e
}

// giveUp takes w out of line, and says in e what it waits for; or gives back what it was granted.
func (w *waiter) giveUp(now monotime.Time, e *Error) {
	if w.waits() {
		_ = w.explain(e, now, w.remaining(now), ErrCanceled)
		w.depart(now, ErrCanceled)
	} else if w.err == nil {
		w.grant.giveBack(now)
		w.err = ErrCanceled
	}
}

// end takes w out of line and has its caller woken when mu is free: with the grant if err is nil, else with
// err. It requires that mu is held.
func (w *waiter) end(now monotime.Time, err error) {
	w.depart(now, err)
	w.l.tree.woken.Add(&w.done)
}

// depart is end for the caller itself, which needs not be woken.
func (w *waiter) depart(now monotime.Time, err error) {
	w.stay.End(now)
	w.err = err
	w.leave()
}

// refuse ends w with an error. The next claims take its place.
func (w *waiter) refuse(now monotime.Time, err error) {
	w.end(now, err)
	w.l.advance(now)
}

// project returns when w would go if ahead went before it. If ahead is nil, w is not in line, and those with a
// better rank go before it. If nothing changes, w does not go before that.
func (w *waiter) project(now monotime.Time, ahead *predecessors) (d delay) {
	d.At = now
	before := cmp.Or(ahead, &predecessors{})
	for b := w.l; b != nil && !d.Never; b = b.Parent {
		if ahead == nil {
			b.addAhead(before, w, now)
		}
		p := delay{bucket: b}
		b.delays.Project(&p.Due, now, before, &w.Claim)
		at := max(p.At, d.At)
		if p.Never || p.Reported() > d.Reported() || d.Cause == "" {
			d = p
		}
		d.At = at
	}
	return d
}

// waitsFor finds a cause for d, which has none: what the first waiters ahead of w wait for. If these have gone
// meanwhile, it is what any first waiter waits for, or else what delays w itself.
func (w *waiter) waitsFor(now monotime.Time, d *delay) {
	w.sharing(now, d, true)
	w.sharing(now, d, false)
	w.blocked(now, d)
}

// sharing finds a cause for d if it has none: what the first of some line on the way of w waits for, if that
// one holds w back:
//   - The first of w's own row does.
//   - The first of another row does if the bucket of that line delays it; but not if it must only leave what
//     is reserved, and w may use that.
//
// If ahead is set, only waiters that go before w count. While the tree is frozen, all wait for the change.
func (w *waiter) sharing(now monotime.Time, d *delay, ahead bool) {
	if d.Cause == "" && w.l.tree.frozen > 0 {
		d.Cause, d.bucket = limit.Hold, w.l
	}
	for b := w.l; b != nil && d.Cause == ""; b = b.Parent {
		heads := b.line.Heads(new([priorities]*waiter))
		if ahead {
			heads = b.line.Before(w, heads)
		}
		for _, h := range heads {
			alike := h.Row() == w.Row()
			if h == w || alike && b != w.l && h.l.branchUnder(b) == w.l.branchUnder(b) { // this one was looked at in the line below
				continue
			}
			var cause delay
			h.blocked(now, &cause)
			ofItsBucket := cause.bucket == b && (cause.Unreserved > now || !w.Urgent)
			if alike && cause.Cause != "" || ofItsBucket {
				*d = h.project(now, alone)
				h.blocked(now, d)
				break
			}
		}
	}
}

// blocked finds a cause for d if it has none: what delays w now, with nobody ahead. W may go at any moment, as
// when a store replies.
func (w *waiter) blocked(now monotime.Time, d *delay) {
	if d.Cause == "" {
		var of delay
		if w.l.dueOnPath(&of, now, w.earliest(now), &w.need); of.bucket != nil {
			d.Cause, d.Quota, d.Unreserved, d.bucket = of.Cause, of.Quota, of.Unreserved, of.bucket
		}
	}
}

// unfit returns why the claim cannot be granted, however long it waits: something is wrong with the
// configuration of l or of a bucket above it, or with a unit of the costs. It returns that bucket, too; l if
// nothing is wrong.
func (l *Limiter) unfit(need *need) (*Limiter, error) {
	for b := l; b != nil; b = b.Parent {
		if b.invalid != nil {
			return b, b.invalid
		}
		if need.Costs != nil || need.bare && b.beyondBare {
			if name, cost, unit, why := check.Unit(need.Costs, int64(need.N), need.bare, b.quotas); why != "" {
				return b, &Error{Bucket: b.Name, Quota: name, Cost: cost, Unit: unit, Err: ErrUnit, detail: why}
			}
		}
	}
	return l, nil
}

// missedBound returns which bound w misses with the delay d, if so many claims go before it; ErrTooLarge if it
// never goes; nil if it misses none. For ErrStandstill, d becomes what one token waits for.
func (w *waiter) missedBound(now monotime.Time, d *delay, ahead int) error {
	switch {
	case d.Never:
		return ErrTooLarge
	case w.AtOnce && !w.asksStore:
		return ErrWouldWait
	case w.Deadline != 0 && w.l.clock.Awake(d.At) >= w.Deadline:
		return ErrDeadline
	case w.Expires != 0 && w.l.clock.Awake(d.At) > w.Expires:
		return ErrMaxWait
	case w.beyond && d.At > now && 0 < w.l.MaxQueue && w.l.MaxQueue <= ahead && !w.l.putOffCheck(now): // MaxQueue counts it now
		return ErrQueueFull
	case w.asksStore || w.l.Parent == nil && w.l.link == nil && d.At.Sub(now) <= check.Bound(w.l.MaxStandstill):
		return nil // all that w asks for comes within that, at an instant: unless a store is out of reach, or claims to other buckets say more
	case w.standstill(now, d):
		return ErrStandstill
	}
	return nil
}

// standstill reports whether one token waits for longer than MaxStandstill, with nobody ahead. Then d is what
// for.
func (w *waiter) standstill(now monotime.Time, d *delay) (beyond bool) {
	one := due.Claim{Demand: w.One(), Kind: w.Kind, Urgent: w.Urgent, To: w.To}
	for b := w.l; b != nil; b = b.Parent {
		if p, far := b.delays.OneToken(now, &one, check.Bound(w.l.MaxStandstill)); far && (!beyond || p.At > d.At) {
			*d, beyond = delay{p, b}, true
		}
	}
	return beyond
}

// refusal returns the error for w: why it is refused, and the delay d that it would have had.
func (w *waiter) refusal(now monotime.Time, d delay, why error) *Error {
	return w.explain(new(Error), now, d, why)
}

// explain fills e with what refusal returns, and returns it.
func (w *waiter) explain(e *Error, now monotime.Time, d delay, why error) *Error {
	if d.Cause == "" && !errors.Is(why, ErrClosed) {
		w.waitsFor(now, &d)
	}
	e.Bucket, e.Quota, e.Cause, e.Cost, e.Err = w.l.Name, d.Quota, Cause(d.Cause), int64(w.N), why
	e.Wait, e.At = max(d.Reported().Sub(now), 0), w.l.clock.Std(d.Reported())
	if d.bucket != nil {
		e.Bucket = d.bucket.Name
	}
	switch { // of ErrCanceled, drop says the rest
	case errors.Is(why, ErrMaxWait):
		e.detail = readable.Within("", w.MaxWait, w.l.clock.Awake(now).Sub(w.Expires.Add(-w.MaxWait)))
	case errors.Is(why, ErrStandstill):
		e.detail = readable.Within("", check.Bound(w.l.MaxStandstill), 0)
		if d.At <= now {
			e.At = time.Time{} // nobody knows
		}
	case errors.Is(why, ErrDeadline):
		e.detail, e.ctxErr = readable.BeforeAnswer(w.Deadline.Sub(w.l.clock.Awake(now)), w.Answer), context.DeadlineExceeded
	case errors.Is(why, ErrQueueFull):
		e.detail = fmt.Sprintf(" (%d)", cmp.Or(d.Cost, int64(w.l.MaxQueue)))
	case errors.Is(why, ErrTooLarge):
		e.Cost, e.Wait, e.At = d.Cost, 0, time.Time{}
		e.Unit, e.tooMuch = limit.TooLarge(d.bucket.quotas, d.Quota, d.Cost, d.bucket.delays.Share(w.Urgent))
	}
	for b := w.l; b != nil && (e.Cause == "" || e.Cause == CauseStoreNotReached); b = b.Parent {
		if b.link != nil && b.link.lease.Away(now, &w.Demand, w.Urgent) { // nobody knows when the store is back
			e.Cause, e.Wait, e.At, e.trouble = CauseStoreNotReached, 0, time.Time{}, b.link.lease.State(now).Err
			e.tooMuch = b.link.lease.AbovePart(now, &w.Demand, w.Urgent)
		}
	}
	return e
}
