package pacer

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gopacer/pacer/throttle"
)

// Acquire waits until req may go, as RoundTrip does, and returns a copy of req that has its grant:
// RoundTrip sends the copy at once. Acquire is for waits that must not count against http.Client.Timeout,
// which bounds all that a RoundTripper does. The wait is bounded by ctx, and not by the context of req.
//
//	req, cancel, err := transport.Acquire(ctx, req)
//	if err != nil {
//		return err // a *throttle.Error
//	}
//	defer cancel()
//	resp, err := client.Do(req)
//
// The grant is for one request: a redirect or a retry waits in line. A grant that was not used is given
// back when cancel is called or when the context of req ends. After the request was sent, cancel does
// nothing. In modes other than Wait, Acquire returns an error if the request cannot go now; it does not
// call Fallback.
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
	if err = t.acquire(ctx, req, &tm, &p.grant, nil); err != nil {
		t.Trace.refused(Refused{Request: req, Bucket: tm.limiter.Name, Err: err})
		return nil, nil, err
	}
	p.limiter = tm.limiter
	p.stop = context.AfterFunc(req.Context(), p.giveBack)
	return req.WithContext(context.WithValue(req.Context(), infoKey{}, paidFor)), p.cancel, nil
}

// acquire waits until the bucket of the request and the buckets above it grant the claim, in the way that
// the mode says. It calls waits, unless that is nil, before it waits. Terms and grant are pointers because
// copies would be much of the cost of a request.
func (t *Transport) acquire(ctx context.Context, req *http.Request, tm *terms, g *throttle.Grant, waits func()) error {
	if tm.mode == Observe {
		t.observe(req, tm, g)
		return nil
	}
	var waiting time.Time
	granted, err := t.buckets.Acquire(ctx, tm.claim, func() *throttle.Limiter {
		tm.limiter = t.limiter(req)
		return tm.limiter
	}, func(f throttle.Forecast) {
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

// observe lets the request go at once, and tells Trace how long it should have waited.
func (t *Transport) observe(req *http.Request, tm *terms, g *throttle.Grant) {
	tm.limiter = t.limiter(req)
	granted, f := tm.limiter.Observe(tm.claim)
	if *g = *granted; f.Wait > 0 {
		t.Trace.queued(queued(req, f))
	}
}

// payment is a grant that Acquire got for a request that is not sent yet.
type payment struct {
	t       *Transport
	limiter *throttle.Limiter // of the most specific bucket
	stop    func() bool       // stops waiting for the end of the request's context
	grant   throttle.Grant
	used    atomic.Bool
	next    *payment // made by another Transport for the same request; nil if there is none
}

// cancel is the function that Acquire returns.
func (p *payment) cancel() {
	p.stop()
	p.giveBack()
}

// giveBack returns the grant to its bucket, unless the grant was used or given back before.
func (p *payment) giveBack() {
	if !p.used.Swap(true) {
		p.grant.Cancel()
	}
}

// redeem reports whether t's Acquire was called for the request, and if so copies the grant to g. If the
// request belongs to another bucket now, because it was changed after Acquire, redeem gives the grant back
// and returns false.
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
