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
// Fallback; in ModeObserve it grants the request all the same. Acquire leaves the body of req alone: after an
// error, which comes without a cancel, the body is still to be closed, or req to be tried again.
func (t *Transport) Acquire(ctx context.Context, req *http.Request) (paid *http.Request, cancel func(), err error) {
	if err := t.check(req, infoOf(req.Context())); err != nil {
		return nil, nil, err
	}
	var trip trip
	t.terms(req, infoOf(req.Context()), &trip)
	g, err := t.acquire(ctx, false, &trip, new(throttle.Grant))
	if err != nil {
		t.tellNotSent(&trip, err)
		return nil, nil, err
	}
	t.tellWent(&trip, g)
	var p *payment.Payment
	paidFor := withInfo(req.Context(), func(i *requestInfo) {
		p = payment.New(req.Context(), t, trip.limiter, g, i.payment)
		i.payment = p
	})
	return req.WithContext(paidFor), p.Cancel, nil
}

// acquire waits until the bucket of the request and the buckets above it grant the claim, in the way that the
// mode says, and has g, which is zero, be the grant. Answers says that ctx bounds the answer, too.
func (t *Transport) acquire(ctx context.Context, answers bool, trip *trip, g *throttle.Grant) (*throttle.Grant, error) {
	defer trip.over()
	if trip.mode == ModeObserve {
		trip.observed(g, ofThrottle.Observe(trip.find(), trip.claim, g))
		return g, nil
	}
	var causes *[]throttle.Wait // nil if nobody is to know
	if t.Trace != nil || trip.calls != nil {
		causes = &trip.causes
	}
	search := ofThrottle.Search(&t.buckets, trip.find, trip.waits, causes)
	return search.Acquire(ctx, answers, trip.claim, g)
}

// find returns the Limiter of the request.
func (trip *trip) find() *throttle.Limiter {
	trip.limiter = trip.t.limiter(trip.req)
	return trip.limiter
}

// waits notes that the request waits as f says.
func (trip *trip) waits(f throttle.Forecast) {
	trip.tellQueued(f)
	trip.readAhead()
	if trip.since.IsZero() {
		trip.since = time.Now()
		trip.t.counts.waiting.Add(1)
	}
}

// tellQueued tells Trace that the request waits, or would wait, as f says.
func (trip *trip) tellQueued(f throttle.Forecast) {
	if hook := trip.t.trace().Queued; hook != nil {
		e := trip.event(trip.limiter)
		e.Bucket = f.Bucket
		hook(Queued{Event: e, Cause: f.Cause, Quota: f.Quota, Wait: f.Wait})
	}
}

// observed tells Trace if the request, which has the grant g, should have waited, or would never go.
func (trip *trip) observed(g *throttle.Grant, f throttle.Forecast) {
	undo.OnPanic(func() {
		switch {
		case f.Err != nil:
			trip.t.tellNotSent(trip, f.Err)
		case f.Cause != "":
			trip.tellQueued(f)
			trip.causes = []throttle.Wait{{Bucket: f.Bucket, Label: f.Label, Cause: f.Cause, Quota: f.Quota, For: f.Wait}}
		}
	}, g.Cancel)
}

// over counts the wait, if the request has waited.
func (trip *trip) over() {
	if !trip.since.IsZero() {
		trip.t.counts.waiting.Add(-1)
		trip.t.counts.waits.Add(1)
		trip.t.counts.waited.Add(int64(time.Since(trip.since)))
		trip.calls.addWaits(trip.causes, 0)
		trip.since = time.Time{}
	}
}

// redeem returns the grant that t's Acquire got for the request, nil if there is none, or if the request was
// changed so that it belongs to another bucket now.
func (t *Transport) redeem(req *http.Request, info *requestInfo, trip *trip) (g *throttle.Grant) {
	if info == nil {
		return nil
	}
	if p := info.payment.Of(t); p != nil {
		if g = p.Redeem(t.limiter(req)); g != nil {
			trip.sentAt = time.Now()
		}
	}
	return g
}
