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
// The grant is for one request: a redirect or a retry waits in line. A grant that was not used is given back when
// cancel is called or when the context of req ends. After the request was sent, cancel does nothing. In modes other
// than ModeWait, Acquire returns an error if the request cannot go now; it does not call Fallback.
func (t *Transport) Acquire(ctx context.Context, req *http.Request) (paid *http.Request, cancel func(), err error) {
	if err := t.check(req); err != nil {
		return nil, nil, err
	}
	c := infoOf(req.Context())
	var tm terms
	t.terms(req, c, &tm)
	p := &payment{t: t}
	paidFor := &requestInfo{calls: tm.calls, payment: p}
	if c != nil {
		p.next, paidFor.above = c.payment, c.above
	}
	if p.grant, err = t.acquire(ctx, req, &tm, nil); err != nil {
		t.Trace.notSent(NotSent{Request: req, Bucket: tm.limiter.Name, Err: err})
		return nil, nil, err
	}
	p.limiter = tm.limiter
	p.stop = context.AfterFunc(req.Context(), p.giveBack)
	return req.WithContext(context.WithValue(req.Context(), infoKey{}, paidFor)), p.cancel, nil
}

// acquire waits until the bucket of the request and the buckets above it grant the claim, in the way that the
// mode says. It calls also, unless that is nil, before it waits. The Grant is allocated.
func (t *Transport) acquire(ctx context.Context, req *http.Request, tm *terms, also func()) (*throttle.Grant, error) {
	line := turn{t: t, req: req, also: also}
	defer line.over(tm)
	if tm.mode == ModeObserve {
		g, f := line.find().Observe(tm.claim)
		line.observed(g, f)
		return g, nil
	}
	return t.buckets.Acquire(ctx, tm.claim, line.find, line.waits, nil)
}

// turn is a request that waits for its turn.
type turn struct {
	t       *Transport
	req     *http.Request
	also    func()            // called before the request waits; may be nil
	limiter *throttle.Limiter // where the request was granted, or waits
	since   time.Time         // when it began to wait; zero if it has not
}

// find returns the Limiter of the request.
func (w *turn) find() *throttle.Limiter {
	w.limiter = w.t.limiter(w.req)
	return w.limiter
}

// waits notes that the request waits as f says.
func (w *turn) waits(f throttle.Forecast) {
	w.t.Trace.queued(queued(w.req, f))
	if w.also != nil {
		w.also()
	}
	if w.since.IsZero() {
		w.since = time.Now()
	}
}

// observed tells Trace if the request, which has the grant g, should have waited.
func (w *turn) observed(g *throttle.Grant, f throttle.Forecast) {
	told := false
	defer func() {
		if !told {
			g.Cancel()
		}
	}()
	if f.Cause != "" {
		w.t.Trace.queued(queued(w.req, f))
	}
	told = true
}

// over notes in the terms that the request waits no longer.
func (w *turn) over(tm *terms) {
	if tm.limiter = w.limiter; !w.since.IsZero() {
		tm.calls.addWait(time.Since(w.since))
	}
}

// payment is a grant that Acquire got for a request that is not sent yet.
type payment struct {
	t       *Transport
	limiter *throttle.Limiter // of the most specific bucket
	stop    func() bool       // stops waiting for the end of the request's context
	grant   *throttle.Grant
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

// redeem returns the grant that t's Acquire got for the request, nil if there is none. If the request belongs
// to another bucket now, because it was changed after Acquire, redeem gives the grant back and returns nil.
func (t *Transport) redeem(req *http.Request, c *requestInfo, tm *terms) *throttle.Grant {
	if c == nil || c.payment == nil {
		return nil
	}
	p := c.payment
	for p != nil && p.t != t {
		p = p.next
	}
	if p == nil {
		return nil
	}
	l := t.limiter(req)
	p.stop()
	if p.used.Swap(true) {
		return nil
	}
	if l != p.limiter {
		p.grant.Cancel()
		return nil
	}
	tm.sentAt = time.Now()
	return p.grant
}
