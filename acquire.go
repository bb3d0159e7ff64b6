package pacer

import (
	"context"
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
	c := infoOf(req.Context())
	var tm terms
	t.terms(req, c, &tm)
	p := &payment{t: t}
	paidFor := &requestInfo{call: tm.call, payment: p}
	if c != nil {
		p.next, paidFor.above = c.payment, c.above
	}
	p.limiter = t.limiter(req)
	if err = t.acquire(ctx, req, &tm, &p.grant, nil); err != nil {
		t.Trace.refused(Refused{Request: req, Bucket: p.limiter.Name, Err: err})
		return nil, nil, err
	}
	p.stop = context.AfterFunc(req.Context(), p.giveBack)
	return req.WithContext(context.WithValue(req.Context(), infoKey{}, paidFor)), p.cancel, nil
}

// payment is what a request has been granted before it is sent.
type payment struct {
	t       *Transport
	limiter *throttle.Limiter // the most specific
	stop    func() bool       // nothing more is to be done when the context of the request ends
	grant   throttle.Grant
	used    atomic.Bool
	next    *payment // for another Transport below or above this one
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

// redeem reports whether the request was redeem for, and makes g the grant then. What was redeem for another
// bucket, since the request is another one now, goes back.
func (t *Transport) redeem(req *http.Request, c *requestInfo, tm *terms, g *throttle.Grant) bool {
	p := c.payment
	for p != nil && p.t != t {
		p = p.next
	}
	if p == nil {
		return false
	}
	l := t.limiter(req)
	p.stop()
	if p.used.Swap(true) {
		return false
	}
	if l != p.limiter {
		p.grant.Cancel()
		return false
	}
	*g, tm.sentAt = p.grant, time.Now()
	return true
}

// acquire waits until the bucket of the request and those above it grant what is claimed, in the way that
// the mode says. Before it waits, it calls waits. Terms and grant are passed by pointer on the way of
// every request, where copies of them would be much of the cost.
func (t *Transport) acquire(ctx context.Context, req *http.Request, tm *terms, g *throttle.Grant, waits func()) error {
	if tm.mode == Observe {
		t.observe(req, tm, g)
		return nil
	}
	var waiting time.Time
	granted, err := t.buckets.Acquire(ctx, tm.claim, func() *throttle.Limiter { return t.limiter(req) }, func(f throttle.Forecast) {
		t.Trace.queued(queued(req, f))
		if waits != nil {
			waits()
		}
		if waiting.IsZero() {
			waiting = time.Now()
		}
	})
	if !waiting.IsZero() {
		tm.call.addWait(time.Since(waiting))
	}
	if err != nil {
		return err
	}
	*g = *granted
	return nil
}

// observe lets the request go, and tells how long it should have waited.
func (t *Transport) observe(req *http.Request, tm *terms, g *throttle.Grant) {
	granted, f := t.limiter(req).Observe(tm.claim)
	if *g = *granted; f.Wait > 0 {
		t.Trace.queued(queued(req, f))
	}
}
