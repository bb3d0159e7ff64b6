package pacer

import (
	"io"
	"maps"
	"net/http"
	"sync/atomic"

	"github.com/gopacer/pacer/headers"
	"github.com/gopacer/pacer/internal/body"
	"github.com/gopacer/pacer/internal/verdict"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// ErrorBodies is a value for Learn.Bodies: it selects all answers that are errors.
func ErrorBodies(resp *http.Response) bool { return resp.StatusCode >= 400 }

// saysNothing reports whether an answer says nothing of limits, costs and errors, so that it need not be read closely.
func (t *Transport) saysNothing(tm *terms, g *throttle.Grant, resp *http.Response) bool {
	return resp.StatusCode < 400 && t.Learn.Bodies == nil && t.Spent == nil && !tm.countsBytes &&
		!bucketOf(g.Limiter()).habit.Tells(t.Learn.Headers, resp.Header, tm.firstSent(g))
}

// endUnanswered ends the grant of a request that got no answer.
func (t *Transport) endUnanswered(g *throttle.Grant, err error) {
	if verdict.NeverSent(err) {
		g.Cancel() // the request did not reach the server, so it used up nothing
	} else {
		g.Done(throttle.Answer{Lost: true})
	}
}

// read appends to limits what an answer says of limits, in its headers and in its body. It also returns
// whether and when the request may be sent again.
func (t *Transport) read(req *http.Request, tm *terms, g *throttle.Grant, resp *http.Response, limits []headers.Limit) ([]headers.Limit, headers.Retry) {
	at := tm.firstSent(g)
	var hint headers.Retry
	if resp.StatusCode < 400 {
		limits, hint = bucketOf(g.Limiter()).habit.Append(t.Learn.Headers, limits, resp.Header, at)
	} else {
		limits, hint = t.Learn.Headers.Append(limits, resp.Header, at)
	}
	if t.Learn.Bodies == nil || !t.Learn.Bodies(resp) || !body.Has(req, resp) || !t.Learn.Headers.BodyTells(resp.Header) {
		return limits, hint
	}
	begin, whole := body.Peek(req.Context(), resp.Body, headers.MaxBody, tm.ends)
	resp.Body = whole
	facts := t.Learn.Headers.ParseBody(resp.Header, begin, at)
	return facts.Limits, facts.Retry
}

// costOf returns what the request has cost as far as that is known now. unsettled means that the bytes of
// the answer are known only when its body was read.
func (t *Transport) costOf(req *http.Request, tm *terms, resp *http.Response, sent *atomic.Int64) (spent quota.Costs, unsettled bool) {
	if t.Spent != nil {
		spent = t.Spent(resp)
	}
	if !tm.countsBytes {
		return spent, false
	}
	if _, known := spent[quota.Bytes]; known {
		return spent, false
	}
	if spent = maps.Clone(spent); spent == nil {
		spent = quota.Costs{}
	}
	n := body.Sent(req, sent)
	if unsettled = body.Has(req, resp); unsettled {
		n += max(resp.ContentLength, 0)
	}
	spent[quota.Bytes] = int(n)
	return spent, unsettled
}

// countsReading reports whether answers count as in flight while they are read.
func (t *Transport) countsReading() bool { return t.Line.MaxUnread >= 0 }

// watch returns the body of resp, wrapped so that its end ends g: until then, the answer holds a slot of a
// quota in flight, or its bytes are counted.
func (t *Transport) watch(req *http.Request, resp *http.Response, g *throttle.Grant, counts bool, sent *atomic.Int64) io.ReadCloser {
	kept := g.Keep()
	return body.Watch(req.Context(), resp.Body, body.MaxUnread(t.Line.MaxUnread), func(read int64) {
		var spent quota.Costs
		if counts {
			spent = quota.Costs{quota.Bytes: int(body.Sent(req, sent) + read)}
		}
		kept.Done(throttle.Answer{Spent: spent})
	})
}
