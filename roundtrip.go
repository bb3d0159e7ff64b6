package pacer

import (
	"net/http"
	"sync/atomic"

	"github.com/gopacer/pacer/headers"
	"github.com/gopacer/pacer/internal/body"
	"github.com/gopacer/pacer/internal/verdict"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// RoundTrip implements http.RoundTripper. It finds the terms of the request, and replaces the request by a
// copy if fields of the Transport ask for one.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := t.check(req); err != nil {
		body.Close(req, nil)
		return nil, err
	}
	ended := false
	defer func() {
		if !ended {
			body.Close(req, nil)
		}
	}()
	called := infoOf(req.Context())
	var tm terms
	t.terms(req, called, &tm)
	out := req
	var made *body.Replay
	if t.altersRequests() && tm.mode != ModeObserve {
		out, made = t.alter(req)
	}
	resp, err := t.roundTrip(out, called, &tm)
	if out != req {
		if resp != nil && resp.Request == out {
			resp.Request = req
		}
		made.Finish(resp)
	}
	ended = true
	return resp, err
}

// roundTrip carries a request whose terms are known: the request waits for its turn and is sent. If the
// answer is not final, the request is sent again.
func (t *Transport) roundTrip(req *http.Request, called *requestInfo, tm *terms) (*http.Response, error) {
	ctx := req.Context()
	g := t.redeem(req, called, tm)
	if g == nil {
		var err error
		var f throttle.Forecast
		line := turn{t: t, req: req}
		if tm.mode == ModeObserve {
			g, f = line.find().Observe(tm.claim)
			line.observed(g, f)
		} else if g, err = t.buckets.Acquire(ctx, tm.claim, line.find, line.waits); err != nil {
			line.over(tm)
			return t.notSent(req, tm, err)
		}
		line.over(tm)
	}
	if tm.calls != nil {
		tm.calls.addSend(t, g.Keep())
	}
	resp, v, err := t.attempt(req, req, tm, g)
	if v.Kind == verdict.Final && !v.Unrepeatable {
		return resp, err
	}
	x := exchange{t: t, req: req, terms: *tm, last: g.Keep(), firstSent: tm.firstSent(g), resp: resp, err: err}
	return x.again(ctx, v)
}

// attempt sends next once. next is req itself or a copy of it. The outcome ends the grant, and the bucket
// learns from the outcome.
func (t *Transport) attempt(req, next *http.Request, tm *terms, g *throttle.Grant) (resp *http.Response, v verdict.Verdict, err error) {
	ended := false
	defer func() {
		if !ended { // else its slot in flight would be lost for ever
			defer body.Close(next, resp)
			g.Done(throttle.Answer{Lost: true})
		}
	}()
	var sent *atomic.Int64 // bytes read of the request's body; nil if they need no counting
	if t.isAbove() || tm.countsBytes {
		next, sent = t.prepareSend(req, next, tm)
	}
	if resp, err = t.send(next, tm); err != nil {
		t.endUnanswered(g, err)
		v = t.judgeError(req, tm, err)
		ended = true
		return nil, v, err
	}
	switch r := resp.Request; {
	case r == nil || r == next:
		resp.Request = req
	case t.isAbove():
		resp.Request = r.WithContext(req.Context()) // without the mark of prepareSend
	}
	if t.saysNothing(tm, g, resp) {
		if g.Done(throttle.Answer{Reading: t.countsReading() && body.Has(req, resp)}).Open {
			resp.Body = t.watch(req, resp, g, false, sent)
		}
		bucketOf(g.Limiter()).budget.Deposit()
	} else {
		v = t.learn(req, tm, g, resp, sent)
	}
	ended = true
	return resp, v, nil
}

// learn handles an answer that says something about limits, costs or errors, in three steps: it reads the
// answer, ends the grant so that the bucket learns, and judges whether the request is sent again.
func (t *Transport) learn(req *http.Request, tm *terms, g *throttle.Grant, resp *http.Response, sent *atomic.Int64) (v verdict.Verdict) {
	var few [2]headers.Limit
	var buf [2]quota.Statement
	limits, hint := t.read(req, tm, g, resp, few[:0])
	a := throttle.Answer{Statements: statements(buf[:0], limits), Bucket: bucketName(limits), Reading: t.countsReading() && body.Has(req, resp)}
	noteRefusal(&a, resp, hint)
	a.Spent, a.Unsettled = t.costOf(req, tm, resp, sent)
	o := g.Done(a)
	if resp.StatusCode >= 400 || a.Refused {
		v = t.judge(req, tm, resp, a.Refused || o.Refused && idempotent(req), hint)
		if v.Kind == verdict.Refused {
			v.After = o.Alone
		}
	}
	switch {
	case v.Kind != verdict.Final: // the request is sent again, so nobody will read this answer's body
		var spent quota.Costs
		if a.Unsettled {
			spent = quota.Costs{quota.Bytes: int(body.Sent(req, sent))}
		}
		g.Done(throttle.Answer{Spent: spent})
	case o.Open:
		resp.Body = t.watch(req, resp, g, a.Unsettled, sent)
	}
	l := g.Limiter()
	if resp.StatusCode < 500 && !a.Refused {
		bucketOf(l).budget.Deposit()
	}
	t.Trace.learned(req, l.Name, limits)
	if a.Refused && o.Held > 0 {
		t.Trace.held(Held{Request: req, Bucket: l.Name, Status: resp.StatusCode, For: o.Held})
	}
	return v
}
