package pacer

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gopacer/pacer/throttle"
)

// Acquire waits until req may go, as RoundTrip does, and returns it paid: RoundTrip
// sends what it returned at once. It is for waits that must not count against
// http.Client.Timeout, which is for all that a RoundTripper does. The wait is bounded by
// ctx and not by the context of req.
//
//	req, cancel, err := transport.Acquire(ctx, req)
//	if err != nil {
//		return err // a *throttle.Error
//	}
//	defer cancel()
//	resp, err := client.Do(req)
//
// One request is paid for: a redirect and a retry wait in line. What was not used goes
// back when cancel is called, and when the context of req ends; after the request was sent
// cancel does nothing. In modes other than Wait, what cannot go now is an error; there
// is no Fallback.
func (t *Transport) Acquire(ctx context.Context, req *http.Request) (paid *http.Request, cancel func(), err error) {
	if err := t.check(req); err != nil {
		return nil, nil, err
	}
	c := callOf(req.Context())
	var tm terms
	t.terms(req, c, &tm)
	p := &payment{t: t}
	paidFor := &called{call: tm.call, paid: p}
	if c != nil {
		p.next, paidFor.above = c.paid, c.above
	}
	if p.bucket, err = t.acquire(ctx, req, &tm, &p.grant, nil); err != nil {
		t.Trace.refused(Refused{Request: req, Bucket: p.bucket.Name, Err: err})
		return nil, nil, err
	}
	p.stop = context.AfterFunc(req.Context(), p.giveBack)
	return req.WithContext(context.WithValue(req.Context(), callKey{}, paidFor)), p.cancel, nil
}

// payment is what a request has been granted before it is sent.
type payment struct {
	t      *Transport
	bucket *bucket
	stop   func() bool // nothing more is to be done when the context of the request ends
	grant  throttle.Grant
	used   atomic.Bool
	next   *payment // for another Transport below or above this one
}

// giveBack gives the payment back unless it was used.
func (p *payment) giveBack() {
	if !p.used.Swap(true) {
		p.grant.Cancel()
	}
}

func (p *payment) cancel() {
	p.stop()
	p.giveBack()
}

// paid returns the bucket and the grant that were paid for the request, nil if none was.
// What was paid for another bucket, since the request is another one now, goes back.
func (t *Transport) paid(req *http.Request, c *called, g *throttle.Grant) *bucket {
	if c == nil {
		return nil
	}
	p := c.paid
	for p != nil && p.t != t {
		p = p.next
	}
	if p == nil {
		return nil
	}
	b, _ := t.router.bucket(t, req)
	p.stop()
	if p.used.Swap(true) {
		return nil
	}
	if b != p.bucket {
		p.grant.Cancel()
		return nil
	}
	*g = p.grant
	return b
}

// acquire finds the bucket of the request, and waits until it and those above it
// grant what is claimed, in the way that the mode says. Before it waits, it calls
// waits. Terms and grant are passed by pointer on the way of every request, where copies
// of them would be much of the cost.
func (t *Transport) acquire(ctx context.Context, req *http.Request, tm *terms, g *throttle.Grant, waits func()) (*bucket, error) {
	var moved *throttle.Waiter
	for {
		b, rs := t.router.bucket(t, req)
		if tm.mode == Observe {
			*g = t.observe(req, b, tm)
			return b, nil
		}
		var w *throttle.Waiter
		var err error
		*g, w, err = b.Join(ctx, tm.claim)
		if moved != nil {
			moved.Moved()
			moved = nil
		}
		stale := b.gone.Load() // nobody will look it up any more
		switch {
		case w != nil:
			// Who joined when the quotas had been replaced already was not told to move.
			if stale = stale || t.router.table.Load() != rs; stale && w.Leave() {
				tm.claim.Place = w.Place()
				continue
			}
			if err = t.wait(ctx, req, tm, g, w, waits); errors.Is(err, throttle.ErrDismissed) {
				moved, tm.claim.Place = w, w.Place()
				continue
			}
		case stale && err == nil:
			g.Cancel()
			continue
		}
		return b, err
	}
}

// wait waits in line.
func (t *Transport) wait(ctx context.Context, req *http.Request, tm *terms, g *throttle.Grant, w *throttle.Waiter, waits func()) (err error) {
	t.Trace.queued(queued(req, w.Forecast))
	if waits != nil {
		waits()
	}
	if tm.call != nil {
		defer func(start time.Time) { tm.call.wait(time.Since(start)) }(time.Now())
	}
	*g, err = w.Wait(ctx)
	return err
}

// observe lets the request go, and tells how long it should have waited.
func (t *Transport) observe(req *http.Request, b *bucket, tm *terms) throttle.Grant {
	g, f := b.Observe(tm.claim)
	if f.Wait > 0 {
		t.Trace.queued(queued(req, f))
	}
	return g
}
