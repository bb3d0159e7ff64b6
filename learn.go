package pacer

import (
	"io"
	"net/http"
	"time"

	"github.com/gopacer/pacer/headers"
	"github.com/gopacer/pacer/internal/body"
	"github.com/gopacer/pacer/internal/habit"
	"github.com/gopacer/pacer/internal/inside"
	"github.com/gopacer/pacer/internal/stated"
	"github.com/gopacer/pacer/internal/verdict"
	"github.com/gopacer/pacer/internal/waits"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// ErrorBodies is a value for Learn.Bodies: it selects all answers that are errors.
func ErrorBodies(resp *http.Response) bool { return resp.StatusCode >= 400 }

// saysNothing reports whether an answer says nothing of limits, costs and errors, so that it need not be read
// closely.
func (t *Transport) saysNothing(trip *trip, g *throttle.Grant) bool {
	return trip.resp.StatusCode < 400 && t.Learn.Bodies == nil && t.Spent == nil && !trip.countsBytes &&
		!bucketOf(ofThrottle.Granter(g)).habit.Reads(t.Learn.Headers, trip.resp.Header, ofThrottle.Elapsed(g))
}

// endsAtOnce ends the grant of a request that was served, and returns true, if its answer says nothing that
// none has said before.
func (t *Transport) endsAtOnce(g *throttle.Grant, resp *http.Response) bool {
	b := bucketOf(ofThrottle.Granter(g))
	switch a := b.repeats.Latest(); {
	case a != nil && a.Current(ofThrottle.Elapsed(g)):
		var left inside.Left
		if !a.Read(t.Learn.Headers, resp.Header, &left) || !ofThrottle.Count(g, a.Mark, &left) {
			a.TakeBack()
			return false
		}
	case b.habit.Reads(t.Learn.Headers, resp.Header, ofThrottle.Elapsed(g)):
		return false
	case !ofThrottle.Count(g, nil, nil):
		g.Answered(throttle.Answer{})
	}
	b.budget.Deposit()
	return true
}

// endUnanswered ends the grant of a request that got no answer.
func (t *Transport) endUnanswered(g *throttle.Grant, err error) {
	if verdict.NeverSent(err) {
		g.Cancel() // the request did not reach the server, so it used up nothing
	} else {
		g.Answered(throttle.Answer{Lost: true})
	}
}

// read appends to limits what an answer says of limits, in its headers and in its body. It also returns
// whether and when the request may be sent again.
func (t *Transport) read(trip *trip, g *throttle.Grant, limits []headers.Limit) ([]headers.Limit, headers.Retry) {
	resp, at := trip.resp, trip.firstSent(g)
	var hint headers.Retry
	if resp.StatusCode < 400 {
		limits, hint = bucketOf(ofThrottle.Granter(g)).habit.Append(t.Learn.Headers, limits, resp.Header, at, ofThrottle.Elapsed(g))
	} else {
		facts := t.Learn.Headers.Append(headers.Facts{Limits: limits}, resp.Header, at)
		limits, hint = facts.Limits, facts.Retry
	}
	if t.Learn.Bodies == nil || !t.Learn.Bodies(resp) || !body.Has(trip.req, resp) || !t.Learn.Headers.ReadsBody(resp.Header) {
		return limits, hint
	}
	begin, whole := body.Peek(trip.req.Context(), resp.Body, headers.MaxBody, trip.ends)
	if resp.Body = whole; t.Trace != nil {
		trip.latency = time.Since(at)
	}
	facts := t.Learn.Headers.ParseBody(resp.Header, begin, at)
	return facts.Limits, facts.Retry
}

// learn handles an answer that says something about limits, costs or errors, in three steps: it reads the
// answer, ends the grant so that the bucket learns, and judges whether the request is sent again.
func (t *Transport) learn(trip *trip, g *throttle.Grant) (v verdict.Verdict) {
	var few [2]headers.Limit
	var buf [2]quota.Statement
	resp := trip.resp
	limits, hint := t.read(trip, g, few[:0])
	a := throttle.Answer{Statements: stated.Statements(buf[:0], limits), Counter: stated.Counter(limits), Concurrency: stated.Concurrency(limits), Reading: t.countsReading() && body.Has(trip.req, resp)}
	stated.Refusal(&a, resp, limits, hint)
	a.Spent, a.Unsettled = t.costOf(trip)
	l, b := ofThrottle.Granter(g), bucketOf(ofThrottle.Granter(g))
	var next *habit.Repeat
	if t.short.Load() == t && t.Trace == nil && resp.StatusCode < 400 && l.Parent == nil { // below others, none is counted
		next = b.repeats.Next(ofThrottle.Elapsed(g), &b.habit, resp.Header, limits, hint, a.Statements)
	}
	o, mark := ofThrottle.Answered(g, a, next != nil)
	b.repeats.Note(next, mark)
	if resp.StatusCode >= 400 || a.Refused {
		v = t.judge(trip, a.Refused || o.Refused && idempotent(trip.req), hint)
		if v.Kind == verdict.Refused {
			v.After, v.Vain = o.Backoff, o.Vain
		}
	}
	if o.Refused = a.Refused || o.Refused; o.Refused {
		t.counts.refused.Add(1)
	}
	if trip.holds = o.Open; o.Open {
		resp.Body = t.watch(trip, g, a.Unsettled)
	}
	if !a.Refused && v.Success(resp, hint) {
		b.budget.Deposit()
	}
	if t.Trace != nil {
		t.tellLearned(trip, l, limits)
		t.tellAnswered(trip, g, nil, a.Spent, o)
	}
	return v
}

// costOf returns what the request has cost as far as that is known now. unsettled means that the bytes of
// the answer are known only when its body was read.
func (t *Transport) costOf(trip *trip) (spent quota.Costs, unsettled bool) {
	if t.Spent != nil {
		spent = t.Spent(trip.resp)
	}
	if !trip.countsBytes {
		return spent, false
	}
	if _, known := spent[quota.Bytes]; known {
		return spent, false
	}
	var answer int64
	if unsettled = body.Has(trip.req, trip.resp); unsettled {
		answer = trip.resp.ContentLength
	}
	return waits.Over(spent, quota.Costs{quota.Bytes: body.Cost(body.Sent(trip.req, trip.sent), answer)}), unsettled
}

// countsReading reports whether answers count as in flight while they are read.
func (t *Transport) countsReading() bool { return t.Line.MaxUnread >= 0 }

// watch returns the body of the answer, wrapped so that its end ends g: until then, the answer holds a slot of
// a quota in flight, its bytes are to be charged (unsettled), or the server is still to charge it.
func (t *Transport) watch(trip *trip, g *throttle.Grant, unsettled bool) io.ReadCloser {
	kept, req, sent := ofThrottle.Keep(g), trip.req, trip.sent
	return body.Watch(req.Context(), trip.resp.Body, body.MaxUnread(t.Line.MaxUnread), func(read int64) {
		if unsettled {
			kept.Settle(quota.Costs{quota.Bytes: body.Cost(body.Sent(req, sent), read)})
		}
		kept.Done()
	})
}
