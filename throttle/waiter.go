package throttle

import (
	"container/list"
	"context"
	"errors"
	"time"
)

// Waiter is a claim that stands in line.
type Waiter struct {
	// Forecast is how it looked when the claim joined.
	Forecast Forecast

	l        *Limiter
	n        int
	place    Place
	joined   instant         // when it joined this time
	expires  instant         // MaxWait after since; zero if there is no bound
	deadline instant         // of the context; zero if there is none
	cancel   <-chan struct{} // of the Claim

	places []*list.Element // in the lines of l, its parent, …: as far up as it has come
	ready  chan struct{}   // closed when grant and err are set
	grant  Grant
	err    error
}

// Wait blocks until the claim is granted, its context or cancel channel ends, or
// a bound is reached. It must be called exactly once, with the context that the
// claim was made with.
func (w *Waiter) Wait(ctx context.Context) (Grant, error) {
	var why error
	select {
	case <-w.ready:
		return w.grant, w.err
	case <-ctx.Done():
		why = context.Cause(ctx)
	case <-w.cancel:
		why = context.Canceled
	}
	root := w.l.lock()
	defer w.l.unlock(root)
	now := root.now()
	w.l.change(now, func() {
		select {
		case <-w.ready:
			// It was granted or refused while it was canceled: the cancel holds. A
			// grant goes back, as if it had never been, to whoever is next.
			if w.err == nil {
				w.grant.give(now)
			}
		default:
			w.leave()
		}
	})
	return Grant{}, &Error{
		Bucket: w.l.Name, Quota: w.Forecast.Quota, Cause: w.Forecast.Cause, Cost: w.n, Err: ErrCanceled, ctxErr: why,
	}
}

// end takes w out of line and wakes it. It requires that mu is held.
func (w *Waiter) end(g Grant, err error) {
	w.leave()
	w.grant, w.err = g, err
	close(w.ready)
}

// queue puts a claim in line after checking its bounds. It requires that mu is
// held.
func (l *Limiter) queue(ctx context.Context, now instant, n int, c Claim, again bool) (*Waiter, error) {
	d := l.project(now, n, again)
	w := &Waiter{
		Forecast: d.forecast(now),
		l:        l, n: n, place: c.Place, joined: now, cancel: c.Cancel, ready: make(chan struct{}),
	}
	if l.MaxWait > 0 {
		w.expires = c.Place.since.add(l.MaxWait)
	}
	if t, ok := ctx.Deadline(); ok {
		w.deadline = max(instant(min(t.Sub(l.start), ages))+1, 1)
	}
	switch {
	case d.never:
		return nil, w.refusal(now, d, ErrTooLarge)
	case c.NoWait || l.MaxWait < 0 || l.MaxQueue < 0:
		return nil, w.refusal(now, d, ErrWait)
	case l.MaxQueue > 0 && l.line.waiters.Len() >= l.MaxQueue:
		return nil, w.refusal(now, d, ErrQueueFull)
	}
	if why := w.late(d.at); why != nil {
		return nil, w.refusal(now, d, why)
	}
	w.enter(again)
	l.run(now)
	return w, nil
}

// project returns when a claim of n that joined now would go, behind everybody
// or, if first, before them: not later than it will, if nothing changes.
func (l *Limiter) project(now instant, n int, first bool) due {
	d := due{at: now}
	for b := l; b != nil; b = b.Parent {
		ahead := b.line.cost
		if first {
			ahead = 0
		}
		p := b.due(now, ahead, n, b == l, true)
		p.by = b
		if p.never {
			return p
		}
		if p.at > d.at || d.cause == "" {
			d = p
		}
	}
	return d
}

// late returns which bound is missed by a wait until at, or nil.
func (w *Waiter) late(at instant) error {
	switch {
	case w.deadline != 0 && at >= w.deadline:
		return ErrDeadline
	case w.expires != 0 && at > w.expires:
		return ErrMaxWait
	}
	return nil
}

// refusal returns the error for w, which can go at d but not for the reason why.
func (w *Waiter) refusal(now instant, d due, why error) *Error {
	e := &Error{
		Bucket: w.l.Name, Quota: d.quota, Cause: d.cause, Cost: w.n,
		Wait: d.at.sub(now), At: w.l.start.Add(time.Duration(d.at - 1)), Err: why,
	}
	if d.by != nil {
		e.Bucket = d.by.Name
	}
	switch {
	case errors.Is(why, ErrMaxWait):
		e.bound = w.l.MaxWait
	case errors.Is(why, ErrDeadline):
		e.bound = w.deadline.sub(now)
		e.ctxErr = context.DeadlineExceeded
	case errors.Is(why, ErrQueueFull):
		e.bound = time.Duration(w.l.MaxQueue)
	case errors.Is(why, ErrTooLarge):
		e.Wait, e.At = 0, time.Time{}
	}
	return e
}
