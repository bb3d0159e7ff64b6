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

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := t.check(req); err != nil {
		closeBody(req)
		return nil, err
	}
	called := infoOf(req.Context())
	var tm terms
	t.terms(req, called, &tm)
	if !t.altersRequests() || tm.mode == Observe {
		return t.roundTrip(req, called, &tm)
	}
	out, made := t.alter(req)
	resp, err := t.roundTrip(out, called, &tm)
	if made != nil {
		made.Finish()
	}
	if resp != nil {
		resp.Request = req
	}
	return resp, err
}

// roundTrip is RoundTrip for a request whose terms are known: it waits for its turn, is sent, and, if the
// answer is not final, sent again.
func (t *Transport) roundTrip(req *http.Request, called *requestInfo, tm *terms) (*http.Response, error) {
	ctx := req.Context()
	var g throttle.Grant
	if called == nil || !t.redeem(req, called, tm, &g) {
		if err := t.acquire(ctx, req, tm, &g, nil); err != nil {
			return t.notSent(req, tm, err)
		}
	}
	resp, v, err := t.attempt(req, req, tm, &g)
	if v.Kind == verdict.Final {
		return resp, err
	}
	x := exchange{t: t, req: req, terms: *tm, lastGrant: g, firstSent: tm.firstSent(&g), resp: resp, err: err}
	if tm.nested {
		return x.giveUp(ctx, ErrNested)
	}
	return x.again(ctx, v)
}

// attempt sends next, which is req or a copy of it, once. What comes back ends the grant, and its bucket
// learns from it.
func (t *Transport) attempt(req, next *http.Request, tm *terms, g *throttle.Grant) (*http.Response, verdict.Verdict, error) {
	if tm.call != nil {
		g = tm.call.addSend(t, g)
	}
	var sent *atomic.Int64 // bytes of the body; nil if they are known, or do not matter
	if t.marksRequests || tm.countsBytes {
		next, sent = t.prepareSend(req, next, tm)
	}
	resp, err := t.send(next, tm, g)
	if err != nil {
		t.endUnanswered(g, err)
		return nil, t.judgeError(req, tm, err), err
	}
	if resp.Request != req {
		resp.Request = req
	}
	if !t.saysNothing(tm, g, resp) {
		return resp, t.learn(req, tm, g, resp, sent), nil
	}
	if g.Done(throttle.Answer{Reading: body.Has(req, resp)}).Open {
		resp.Body = t.watch(req, resp, g, false, sent)
	}
	bucketOf(g.Limiter()).budget.Deposit()
	return resp, verdict.Verdict{}, nil
}

// learn ends the grant with an answer that says something, and returns whether the request is to be sent
// again: what the answer says, what its bucket makes of that, and what follows for the request.
func (t *Transport) learn(req *http.Request, tm *terms, g *throttle.Grant, resp *http.Response, sent *atomic.Int64) (v verdict.Verdict) {
	var few [2]headers.Limit
	var buf [2]quota.Statement
	limits, hint := t.read(req, tm, g, resp, few[:0])
	a := throttle.Answer{Statements: statements(buf[:0], limits), Bucket: bucketName(limits), Reading: body.Has(req, resp)}
	noteRefusal(&a, resp, hint)
	a.Spent, a.Unsettled = t.costOf(req, tm, resp, sent)
	o := g.Done(a)
	if resp.StatusCode >= 400 || a.Refused {
		v = t.judge(req, tm, resp, a.Refused || o.Refused && verdict.Idempotent(req), hint)
	}
	switch {
	case v.Kind != verdict.Final: // nobody will read it
		if a.Unsettled {
			g.Settle(quota.Costs{quota.Bytes: int(body.Sent(req, sent))})
		}
		g.Close()
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
