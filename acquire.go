package pacer

import (
	"context"
	"net/http"
	"time"

	"github.com/gopacer/pacer/internal/payment"
	"github.com/gopacer/pacer/internal/undo"
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
// The grant is for one request: a redirect or a retry waits in line. A grant that was not used is given back
// when cancel is called or when the context of req ends. After the request was sent, cancel does nothing. If
// the request cannot go now, Acquire returns an error in ModeReject, and in ModeDegrade without a call of
// Fallback; in ModeObserve it grants the request all the same.
func (t *Transport) Acquire(ctx context.Context, req *http.Request) (paid *http.Request, cancel func(), err error) {
	if err := t.check(req, infoOf(req.Context())); err != nil {
		return nil, nil, err
	}
	var tm terms
	t.terms(req, infoOf(req.Context()), &tm)
	g, err := t.acquire(ctx, false, req, &tm, nil)
	if err != nil {
		t.tellNotSent(req, &tm, err)
		return nil, nil, err
	}
	t.tellWent(req, &tm, g)
	var p *payment.Payment
	paidFor := withInfo(req.Context(), func(i *requestInfo) {
		p = payment.New(req.Context(), t, tm.limiter, g, i.payment)
		i.payment = p
	})
	return req.WithContext(paidFor), p.Cancel, nil
}

// acquire waits until the bucket of the request and the buckets above it grant the claim, in the way that the
// mode says. Answers says that ctx bounds the answer, too. It calls also, unless that is nil, before it waits. The
// Grant is allocated: roundTrip does the same without that.
func (t *Transport) acquire(ctx context.Context, answers bool, req *http.Request, tm *terms, also func()) (*throttle.Grant, error) {
	line := turn{t: t, req: req, mode: tm.mode, asks: t.Trace != nil || tm.calls != nil, also: also}
	defer line.over(tm)
	if tm.mode == ModeObserve {
		g, f := line.find().Observe(tm.claim)
		line.observed(g, f)
		return g, nil
	}
	return ofThrottle.Acquire(ctx, answers, &t.buckets, tm.claim, line.find, line.waits, line.waited())
}

// turn is a request that waits for its turn.
type turn struct {
	t       *Transport
	req     *http.Request
	mode    Mode
	asks    bool              // somebody is to know what the request waits for
	also    func()            // called before the request waits; may be nil
	limiter *throttle.Limiter // where the request was granted, or waits
	since   time.Time         // when it began to wait; zero if it has not
	causes  []throttle.Wait   // what it has waited for, if somebody asks
}

// find returns the Limiter of the request.
func (w *turn) find() *throttle.Limiter {
	w.limiter = w.t.limiter(w.req)
	return w.limiter
}

// waits notes that the request waits as f says.
func (w *turn) waits(f throttle.Forecast) {
	w.tellQueued(f)
	if w.also != nil {
		w.also()
	}
	if w.since.IsZero() {
		w.since = time.Now()
		w.t.counts.waiting.Add(1)
	}
}

// tellQueued tells Trace that the request waits, or would wait, as f says.
func (w *turn) tellQueued(f throttle.Forecast) {
	if hook := w.t.trace().Queued; hook != nil {
		e := event(w.req, w.limiter, w.mode)
		e.Bucket = f.Bucket
		hook(Queued{Event: e, Cause: f.Cause, Quota: f.Quota, Wait: f.Wait})
	}
}

// waited returns what notes for which causes the request has waited; nil if nobody asks.
func (w *turn) waited() func([]throttle.Wait) {
	if !w.asks {
		return nil
	}
	return func(causes []throttle.Wait) { w.causes = causes }
}

// observed tells Trace if the request, which has the grant g, should have waited, or would never go.
func (w *turn) observed(g *throttle.Grant, f throttle.Forecast) {
	undo.OnPanic(func() {
		switch {
		case f.Err != nil:
			w.t.tellNotSent(w.req, &terms{mode: w.mode, limiter: w.limiter}, f.Err)
		case f.Cause != "":
			w.tellQueued(f)
			w.causes = []throttle.Wait{{Bucket: f.Bucket, Label: f.Label, Cause: f.Cause, Quota: f.Quota, For: f.Wait}}
		}
	}, g.Cancel)
}

// over notes in the terms that the request waits no longer. After the first time, it does nothing more.
func (w *turn) over(tm *terms) {
	if tm.limiter = w.limiter; w.causes != nil || !w.since.IsZero() {
		w.count(tm)
	}
}

// count counts a wait.
func (w *turn) count(tm *terms) {
	if tm.waits = w.causes; w.since.IsZero() {
		return // it would have waited
	}
	w.t.counts.waiting.Add(-1)
	w.t.counts.waits.Add(1)
	w.t.counts.waited.Add(int64(time.Since(w.since)))
	w.since = time.Time{}
	tm.calls.addWaits(w.causes, 0)
}

// redeem returns the grant that t's Acquire got for the request, nil if there is none, or if the request was
// changed so that it belongs to another bucket now.
func (t *Transport) redeem(req *http.Request, info *requestInfo, tm *terms) (g *throttle.Grant) {
	if info == nil {
		return nil
	}
	if p := info.payment.Of(t); p != nil {
		if g = p.Redeem(t.limiter(req)); g != nil {
			tm.sentAt = time.Now()
		}
	}
	return g
}
