package pacer

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gopacer/pacer/headers"
	"github.com/gopacer/pacer/internal/body"
	"github.com/gopacer/pacer/internal/stated"
	"github.com/gopacer/pacer/internal/verdict"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// RoundTrip implements http.RoundTripper. It finds the terms of the request, replaces the request by a copy if fields
// of the Transport ask for one, and waits for its turn. If a function of the caller panics, or ends its goroutine,
// RoundTrip gives back what the request holds.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := t.check(req); err != nil {
		body.Close(req, nil)
		return nil, err
	}
	var tm terms
	var g *throttle.Grant
	ended := false
	defer func() {
		if !ended {
			drop(req, tm.resp, g)
		}
	}()
	called := infoOf(req.Context())
	t.terms(req, called, &tm)
	out := req
	var made *body.Replay
	if t.altersRequests() && tm.mode != ModeObserve {
		out, made = t.alter(req)
	}
	var err error
	if g = t.redeem(out, called, &tm); g == nil {
		line := turn{t: t, req: out, mode: tm.mode, asks: t.Trace != nil || tm.calls != nil}
		if tm.mode == ModeObserve {
			var f throttle.Forecast
			g, f = line.find().Observe(tm.claim)
			line.observed(g, f)
		} else {
			g, err = t.buckets.Acquire(out.Context(), tm.claim, line.find, line.waits, line.waited())
		}
		if line.over(&tm); t.Trace != nil && err == nil {
			t.went(out, &tm, g)
		}
	}
	if err != nil {
		tm.resp, err = t.notSent(out, &tm, err)
	} else {
		if tm.calls != nil {
			tm.calls.addSend(t, g.Keep())
		}
		var v verdict.Verdict
		if v, err = t.attempt(out, out, &tm, g); v.Kind != verdict.Final || v.Unrepeatable {
			err = t.again(out, &tm, g, v, err)
		}
	}
	if out != req {
		if tm.resp != nil && tm.resp.Request == out {
			tm.resp.Request = req
		}
		made.Finish()
	}
	ended = true
	return tm.resp, err
}

// attempt sends next once. next is req itself or a copy of it. The outcome ends the grant, and the bucket
// learns from the outcome. The answer, if there is one, is in the terms.
func (t *Transport) attempt(req, next *http.Request, tm *terms, g *throttle.Grant) (v verdict.Verdict, err error) {
	var sent *atomic.Int64 // bytes read of the request's body; nil if they need no counting
	if t.isAbove() || tm.countsBytes {
		next, sent = t.prepareSend(req, next, tm)
	}
	resp, err := t.send(next, tm)
	if t.Trace != nil {
		tm.latency = time.Since(tm.firstSent(g))
	}
	if tm.resp = resp; err != nil {
		t.endUnanswered(g, err)
		t.answered(req, tm, g, err, nil, throttle.Outcome{})
		return t.judgeError(req, tm, err), err
	}
	switch r := resp.Request; {
	case r == nil || r == next:
		resp.Request = req
	case t.isAbove():
		resp.Request = r.WithContext(req.Context()) // without the mark of prepareSend
	}
	if !t.saysNothing(tm, g, resp) {
		return t.learn(req, tm, g, resp, sent), nil
	}
	if g.Done(throttle.Answer{Reading: t.countsReading() && body.Has(req, resp)}).Open {
		resp.Body = t.watch(req, resp, g, false, sent)
	}
	bucketOf(g.Limiter()).budget.Deposit()
	if t.Trace != nil {
		t.answered(req, tm, g, nil, nil, throttle.Outcome{})
	}
	return v, nil
}

// learn handles an answer that says something about limits, costs or errors, in three steps: it reads the
// answer, ends the grant so that the bucket learns, and judges whether the request is sent again.
func (t *Transport) learn(req *http.Request, tm *terms, g *throttle.Grant, resp *http.Response, sent *atomic.Int64) (v verdict.Verdict) {
	var few [2]headers.Limit
	var buf [2]quota.Statement
	limits, hint := t.read(req, tm, g, resp, few[:0])
	a := throttle.Answer{Statements: stated.Statements(buf[:0], limits), Bucket: stated.Bucket(limits), Reading: t.countsReading() && body.Has(req, resp)}
	stated.Refusal(&a, resp, hint)
	a.Spent, a.Unsettled = t.costOf(req, tm, resp, sent)
	o := g.Done(a)
	if resp.StatusCode >= 400 || a.Refused {
		v = t.judge(req, tm, resp, a.Refused || o.Refused && idempotent(req), hint)
		if v.Kind == verdict.Refused {
			v.After = o.Alone
		}
	}
	if o.Refused = a.Refused || o.Refused; o.Refused {
		t.counts.refused.Add(1)
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
	if t.Trace != nil {
		t.learned(req, tm, l, limits)
		if a.Refused && o.Held > 0 && t.Trace.Held != nil {
			t.Trace.Held(Held{event(req, l, tm.mode), resp.StatusCode, o.Held})
		}
		t.answered(req, tm, g, nil, a.Spent, o)
	}
	return v
}
