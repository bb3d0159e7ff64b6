package pacer

import (
	"net/http"
	"time"

	"github.com/gopacer/pacer/internal/attempt"
	"github.com/gopacer/pacer/internal/body"
	"github.com/gopacer/pacer/internal/verdict"
	"github.com/gopacer/pacer/throttle"
)

// RoundTrip implements http.RoundTripper: the documentation of the package says what it does with a request. If
// a function of the caller panics, or ends its goroutine, it gives back what the request holds.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	// This is all, where a request goes at once and its answer brings no news; the next two are for all else.
	ctx := req.Context()
	info := infoOf(ctx)
	var g *throttle.Grant
	if t.short.Load() == t && (t.Base != nil || !t.isAbove()) && t.Trace == nil && info == nil && // nobody asks for more,
		(req.Cancel == nil || !attempt.Gone(req)) && req.URL != nil && req.Header != nil && t.routes.Load().byHost { //nolint:staticcheck // it is not canceled, and its host says where it belongs
		if l := t.hosts.Of(req.URL); l != nil { // one that is forgotten grants nothing at once
			g = ofThrottle.AtOnce(ctx, l, req.Method, req.URL.Path)
		}
	}
	if g == nil {
		if err := t.check(req, info); err != nil {
			body.Close(req, nil)
			return nil, err
		}
		return t.roundTrip(req, info)
	}
	returned := false
	defer dropUnless(&returned, req, g)
	resp, err := t.base().RoundTrip(req)
	if !attempt.Answered(resp, err) {
		resp, err = attempt.Corrected(t.base(), resp, err)
	}
	if returned = true; err == nil && resp.StatusCode < 400 && t.endsAtOnce(g, resp) {
		if resp.Request == nil {
			resp.Request = req
		}
		return resp, nil
	}
	return t.goneAtOnce(req, g, resp, err)
}

// goneAtOnce is for a request that RoundTrip has sent with the grant g, and with the outcome resp or err.
func (t *Transport) goneAtOnce(req *http.Request, g *throttle.Grant, resp *http.Response, err error) (*http.Response, error) {
	trip, ended := trip{resp: resp}, false
	defer func() {
		if !ended {
			drop(req, trip.resp, g)
		}
	}()
	t.terms(req, nil, &trip)
	v, err := t.outcome(req, &trip, g, err)
	err, ended = t.again(&trip, g, v, err), true
	return trip.resp, err
}

// roundTrip finds the terms of the request, replaces the request by a copy if fields of the Transport ask for
// one, waits for its turn, and sends it.
func (t *Transport) roundTrip(req *http.Request, info *requestInfo) (_ *http.Response, err error) {
	trip, ended := trip{}, false
	var g *throttle.Grant
	defer func() {
		if !ended {
			drop(req, trip.resp, g)
		}
	}()
	t.terms(req, info, &trip)
	out, made := req, (*body.Replay)(nil)
	if t.altersRequests() && trip.mode != ModeObserve {
		out, made = t.alter(req)
		trip.req = out
	}
	if g = t.redeem(out, info, &trip); g == nil {
		var granted throttle.Grant // which so stays on the stack
		if g, err = t.acquire(out.Context(), true, &trip, &granted); err == nil {
			t.tellWent(&trip, g)
		}
	}
	if err != nil {
		trip.resp, err = t.notSent(&trip, err)
	} else {
		if trip.calls != nil {
			trip.calls.addSend(t, ofThrottle.Keep(g))
		}
		v, failed := t.attempt(out, &trip, g)
		err = t.again(&trip, g, v, failed)
	}
	if out != req {
		if trip.resp != nil && trip.resp.Request == out {
			trip.resp.Request = req
		}
		made.Finish(err != nil)
	}
	ended = true
	return trip.resp, err
}

// attempt sends next once. next is req itself or a copy of it. The outcome ends the grant, and the bucket
// learns from the outcome. The answer, if there is one, is in the trip.
func (t *Transport) attempt(next *http.Request, trip *trip, g *throttle.Grant) (v verdict.Verdict, err error) {
	if t.isAbove() || trip.countsBytes {
		next = t.prepareSend(next, trip)
	}
	trip.resp, err = t.send(next, trip) //nolint:bodyclose // whoever has the trip closes it
	if t.Trace != nil {
		trip.latency = time.Since(trip.firstSent(g))
	}
	return t.outcome(next, trip, g, err)
}

// outcome takes in what became of next: the answer in the trip, or err.
func (t *Transport) outcome(next *http.Request, trip *trip, g *throttle.Grant, err error) (verdict.Verdict, error) {
	if err != nil {
		t.endUnanswered(g, err)
		t.tellAnswered(trip, g, err, nil, throttle.Outcome{})
		return t.judgeError(trip, err), err
	}
	resp := trip.resp
	switch r := resp.Request; {
	case r == nil || r == next:
		resp.Request = trip.req
	case t.isAbove():
		resp.Request = r.WithContext(trip.req.Context()) // without the mark of prepareSend
	}
	if !t.saysNothing(trip, g) {
		return t.learn(trip, g), nil
	}
	if g.Answered(throttle.Answer{Reading: t.countsReading() && body.Has(trip.req, resp)}).Open {
		resp.Body = t.watch(trip, g, false)
	}
	bucketOf(ofThrottle.Granter(g)).budget.Deposit()
	if t.Trace != nil {
		t.tellAnswered(trip, g, nil, nil, throttle.Outcome{})
	}
	return verdict.Verdict{}, nil
}
