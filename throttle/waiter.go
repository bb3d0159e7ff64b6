package throttle

import (
	"container/list"
	"context"
	"errors"
	"time"

	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// waiter is a claim that stands in line.
type waiter struct {
	forecast Forecast // how it looked when the claim joined

	l *Limiter
	need
	place     place
	class     Class
	rank      monotime.Time   // see Limiter.rank
	joined    monotime.Time   // when it joined this time
	expires   monotime.Time   // MaxWait after since; zero if there is no bound
	deadline  monotime.Time   // of the context; zero if there is none
	cancel    <-chan struct{} // of the Claim
	asksStore bool            // it waits for a store's word, and no longer

	entries []*list.Element // in the lines of l, its parent, …: as far up as it has come
	ready   chan struct{}   // closed when grant and err are set
	grant   Grant
	err     error
	freezes *Limiter // the tree that waits for w to ask again, if err is errDismissed
}

// before reports whether w goes before o.
func (w *waiter) before(o *waiter) bool {
	return w.rank < o.rank || w.rank == o.rank && w.place.number < o.place.number
}

// wait blocks until the claim is granted, and makes g its grant, or until its context or cancel channel
// ends, or a bound is reached.
func (w *waiter) wait(ctx context.Context, g *Grant) error {
	var why error
	select {
	case <-w.ready:
		*g = w.grant
		return w.err
	case <-ctx.Done():
		why = context.Cause(ctx)
	case <-w.cancel:
		why = context.Canceled
	}
	// If it was granted while it was canceled, the cancel holds. The grant goes back,
	// as if it had never been, to whoever is next.
	w.drop()
	if w.freezes != nil { // it does not ask again
		w.freezes.thaw()
	}
	return &Error{
		Bucket: w.l.Name, Quota: w.forecast.Quota, Cause: w.forecast.Cause, Cost: w.N, Err: ErrCanceled, ctxErr: why,
	}
}

// drop takes w out of line. If it was granted already, the grant goes back.
func (w *waiter) drop() {
	root := w.l.lock()
	defer w.l.unlock(root)
	now := root.now()
	w.l.change(now, func() {
		switch {
		case w.entries != nil:
			w.leave()
			w.l.shrunk()
		case w.err == nil:
			w.grant.give(now)
		}
	})
}

// end takes w out of line and wakes it: with its grant if err is nil. It requires that mu is held.
func (w *waiter) end(err error) {
	w.leave()
	w.err = err
	close(w.ready)
	if err != nil {
		w.l.shrunk()
	}
}

// project returns when w, which is not in line, would go if it joined now, behind
// those who go before it or, if first, before them: not later than it will, if nothing
// changes.
func (w *waiter) project(now monotime.Time, first bool) obstacle {
	d := obstacle{Due: limit.Due{At: now}}
	var ahead predecessors
	for b := w.l; b != nil; b = b.Parent {
		if !first {
			b.ahead(&ahead, w, now)
		}
		p := obstacle{b.due(now, now, ahead, &w.need, b == w.l, true), b}
		if p.Never {
			return p
		}
		if p.At > d.At || d.Cause == "" {
			d = p
		}
	}
	return d
}

// late returns which bound is missed by a wait until at, or nil.
func (w *waiter) late(at monotime.Time) error {
	switch {
	case w.deadline != 0 && at >= w.deadline:
		return ErrDeadline
	case w.expires != 0 && at > w.expires:
		return ErrMaxWait
	}
	return nil
}

// refusal returns the error for w, which can go at d but not for the reason why.
func (w *waiter) refusal(now monotime.Time, d obstacle, why error) *Error {
	e := &Error{
		Bucket: w.l.Name, Quota: d.Quota, Cause: Cause(d.Cause), Cost: w.N,
		Wait: d.At.Sub(now), At: w.l.clock.Std(d.At), Err: why,
	}
	if d.by != nil {
		e.Bucket = d.by.Name
	}
	switch {
	case errors.Is(why, ErrMaxWait):
		e.bound = w.l.MaxWait
	case errors.Is(why, ErrDeadline):
		e.bound = w.deadline.Sub(now)
		e.ctxErr = context.DeadlineExceeded
	case errors.Is(why, ErrQueueFull):
		if e.bound = time.Duration(w.l.MaxQueue); d.Cost > 0 {
			e.bound = time.Duration(d.Cost)
		}
	case errors.Is(why, ErrTooLarge):
		e.Cost, e.Wait, e.At = d.Cost, 0, time.Time{}
	}
	return e
}
