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

	l *Limiter
	want
	place    Place
	rank     instant         // see Limiter.rank
	joined   instant         // when it joined this time
	expires  instant         // MaxWait after since; zero if there is no bound
	deadline instant         // of the context; zero if there is none
	cancel   <-chan struct{} // of the Claim
	quick    bool            // it waits for a store's word, and no longer

	places []*list.Element // in the lines of l, its parent, …: as far up as it has come
	ready  chan struct{}   // closed when grant and err are set
	grant  Grant
	err    error
}

// before reports whether w goes before o.
func (w *Waiter) before(o *Waiter) bool {
	return w.rank < o.rank || w.rank == o.rank && w.place.number < o.place.number
}

// Wait blocks until the claim is granted, its context or cancel channel ends, or
// a bound is reached. It must be called exactly once, with the context that the
// claim was made with, unless Leave took the claim out of line.
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
	// If it was granted while it was canceled, the cancel holds. The grant goes back,
	// as if it had never been, to whoever is next.
	w.drop(true)
	return Grant{}, &Error{
		Bucket: w.l.Name, Quota: w.Forecast.Quota, Cause: w.Forecast.Cause, Cost: w.n, Err: ErrCanceled, ctxErr: why,
	}
}

// Ready is closed when the wait has ended, so that Wait will not block: for those
// who wait for something else as well.
func (w *Waiter) Ready() <-chan struct{} { return w.ready }

// Leave takes the claim out of line, and everybody behind it moves up. It reports
// false if the wait has ended already; then Wait says how.
func (w *Waiter) Leave() bool { return w.drop(false) }

// Place is where the claim stands in line: the Claim.Place with which it may join
// again after Leave.
func (w *Waiter) Place() Place { return w.place }

// drop takes w out of line. If it was granted already, the grant goes back if granted
// says so. It reports whether w was in line.
func (w *Waiter) drop(granted bool) (waited bool) {
	root := w.l.lock()
	defer w.l.unlock(root)
	now := root.now()
	w.l.change(now, func() {
		select {
		case <-w.ready:
			if granted && w.err == nil {
				w.grant.give(now)
			}
		default:
			if waited = w.places != nil; waited {
				w.leave()
				w.l.shrunk()
			}
		}
	})
	return waited
}

// end takes w out of line and wakes it. It requires that mu is held.
func (w *Waiter) end(g Grant, err error) {
	w.leave()
	w.grant, w.err = g, err
	close(w.ready)
	if err != nil {
		w.l.shrunk()
	}
}

// queue puts a claim in line after checking its bounds. It requires that mu is
// held.
func (l *Limiter) queue(ctx context.Context, now instant, c *Claim, wanted want, again bool) (*Waiter, error) {
	w := &Waiter{
		l: l, want: wanted, place: c.Place, rank: l.rank(c.Place.since, wanted.priority),
		joined: now, cancel: c.Cancel, ready: make(chan struct{}),
	}
	if l.MaxWait > 0 {
		w.expires = c.Place.since.add(l.MaxWait)
	}
	if t, ok := ctx.Deadline(); ok {
		w.deadline = max(instant(min(t.Sub(l.start), ages))+1, 1)
	}
	d := w.project(now, again)
	w.Forecast = d.forecast(now)
	switch {
	case d.never:
		return nil, w.refusal(now, d, ErrTooLarge)
	case d.at <= now && l.line.waiting > 0 && w.goes(again):
		return w, nil
	case c.NoWait || l.MaxWait < 0 || l.MaxQueue < 0:
		if w.quick = l.mayAsk(now, d); !w.quick {
			return nil, w.refusal(now, d, ErrWait)
		}
	}
	why := w.late(d.at)
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
func (w *Waiter) goes(again bool) bool {
	now := w.joined
	w.enter(again)
	w.l.run(now)
	if w.places == nil {
		return true
	}
	w.leave()
	w.l.run(now)
	return false
}

// crowded returns ErrQueueFull if there is no place for w in line, and for what it would
// wait there. Of a bucket's line, MaxQueue is for the best: one who would go last
// makes room for w.
func (w *Waiter) crowded(now instant, d due) (due, error) {
	var ahead others
	for b := w.l; b != nil; b = b.Parent {
		b.ahead(&ahead, w, now)
		for i := range b.quotas {
			if q := &b.quotas[i]; q.Queue > 0 && w.in(q) > 0 && ahead.all.in(q) >= q.Queue {
				d.by, d.quota, d.cost = b, q.label(), q.Queue
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
	last.end(Grant{}, last.refusal(now, last.project(now, false), ErrQueueFull))
	return d, nil
}

// project returns when w, which is not in line, would go if it joined now, behind
// those who go before it or, if first, before them: not later than it will, if nothing
// changes.
func (w *Waiter) project(now instant, first bool) due {
	d := due{at: now}
	var ahead others
	for b := w.l; b != nil; b = b.Parent {
		if !first {
			b.ahead(&ahead, w, now)
		}
		p := b.due(now, ahead, &w.want, b == w.l, true)
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
		if e.bound = time.Duration(w.l.MaxQueue); d.cost > 0 {
			e.bound = time.Duration(d.cost)
		}
	case errors.Is(why, ErrTooLarge):
		e.Cost, e.Wait, e.At = d.cost, 0, time.Time{}
	}
	return e
}
