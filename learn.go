package pacer

import (
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gopacer/pacer/headers"
	"github.com/gopacer/pacer/internal/body"
	"github.com/gopacer/pacer/internal/verdict"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// spentHold is for how long a bucket is held, within MaxHold, when a quota is spent which
// is granted by the day or longer, or for money: until one request looks again.
const spentHold = time.Hour

// saysNothing reports whether an answer says nothing of limits and costs, and nothing is to be found out
// by a closer look.
func (t *Transport) saysNothing(tm *terms, g *throttle.Grant, resp *http.Response) bool {
	return resp.StatusCode < 400 && t.Bodies == nil && t.Spent == nil && !tm.countsBytes &&
		!bucketOf(g.Limiter()).limitsTold.Load() && !t.Headers.Tells(resp.Header)
}

// endUnanswered ends the grant of a request to which no answer came.
func (t *Transport) endUnanswered(g *throttle.Grant, err error) {
	if verdict.NeverSent(err) {
		g.Cancel() // nothing reached the server, so nothing was used up
	} else {
		g.Done(throttle.Answer{Lost: true})
	}
}

// read appends to limits what an answer says of them, in its headers and in its body, and returns when to
// come again.
func (t *Transport) read(req *http.Request, tm *terms, g *throttle.Grant, resp *http.Response, limits []headers.Limit) ([]headers.Limit, headers.Retry) {
	at := tm.firstSent(g)
	limits, hint := t.Headers.Append(limits, resp.Header, at)
	b := bucketOf(g.Limiter())
	if told := len(limits) > 0; b.limitsTold.Load() != told {
		b.limitsTold.Store(told)
	}
	if t.Bodies == nil || !t.Bodies(resp) || !body.Has(req, resp) || !headers.BodyTells(resp.Header) {
		return limits, hint
	}
	begin, whole := body.Peek(resp.Body, headers.MaxBody)
	resp.Body = whole
	facts := t.Headers.ParseBody(resp.Header, begin, at)
	return facts.Limits, facts.Retry
}

// noteRefusal notes in a, which has the Statements of the answer, whether that refuses the request, and for how
// long then.
func noteRefusal(a *throttle.Answer, resp *http.Response, hint headers.Retry) {
	switch {
	case verdict.Refusal(resp.StatusCode, hint, resp.StatusCode >= 400 && anySpent(a.Statements)):
		a.Refused, a.Hold, a.HoldKnown = true, hint.After, hint.Known
		if hint.Cause == headers.Spent {
			a.Hold, a.HoldKnown = max(hint.After, spentHold), true
		}
	case resp.StatusCode >= 400:
		a.MayRefuse = verdict.MayRefuse(resp.StatusCode, hint)
	}
}

// costOf returns what the request has cost, as far as it is known now, and whether its bytes are to tell when
// the answer was read.
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

// watch returns the body of resp with whose end g ends. The end matters because the answer holds a slot
// of what may be in flight, or because its bytes are counted.
func (t *Transport) watch(req *http.Request, resp *http.Response, g *throttle.Grant, counts bool, sent *atomic.Int64) io.ReadCloser {
	kept := *g
	return body.Watch(req.Context(), resp.Body, t.maxUnread(), func(read int64) {
		g := kept // its methods take its address, for which kept would be allocated
		if counts {
			g.Settle(quota.Costs{quota.Bytes: int(body.Sent(req, sent) + read)})
		}
		g.Close()
	})
}

// ErrorBodies is for Transport.Bodies: all answers that are errors.
func ErrorBodies(resp *http.Response) bool { return resp.StatusCode >= 400 }

// bucketName returns what an answer says that the request drew on, empty if nothing or more
// than one.
func bucketName(limits []headers.Limit) (name string) {
	for i := range limits {
		switch b := limits[i].Bucket; {
		case b == "" || b == name:
		case name != "":
			return ""
		default:
			name = b
		}
	}
	return name
}

// anySpent reports whether nothing remains of one of the limits.
func anySpent(limits []quota.Statement) bool {
	return slices.ContainsFunc(limits, func(l quota.Statement) bool { return l.Remaining <= 0 })
}

// statements translates what headers say into what throttle learns from. A limit
// without a count of what remains says nothing about now, and an advisory one
// binds nobody.
func statements(to []quota.Statement, limits []headers.Limit) []quota.Statement {
	for i := range limits {
		l := &limits[i]
		if !l.Remaining.Known || l.Advisory {
			continue
		}
		s := quota.Statement{
			Name: l.Name, Bucket: l.Bucket, Unit: unitName(l.Unit), Limit: count(l.Limit), Remaining: count(l.Remaining),
			Reset: l.Reset.In, ResetKnown: l.Reset.Known, Resolution: l.Reset.Resolution, Window: l.Window,
			Absolute: l.Reset.Absolute, Skew: l.Reset.Skew,
		}
		if s.Remaining == 0 && l.Limit.Known && l.Limit.N == 0 {
			continue // 0 of 0: the server does not count (Tyk, Okta)
		}
		if i := slices.IndexFunc(to, func(o quota.Statement) bool { return o.Name == s.Name && o.Bucket == s.Bucket && o.Unit == s.Unit }); i < 0 {
			to = append(to, s)
		} else if s.Remaining < to[i].Remaining {
			to[i] = s // a name that is given twice is one limit, and the tighter word counts
		}
	}
	return to
}

// unitName returns the name of a unitName as users write it.
func unitName(name string) string {
	if name == "content-bytes" { // draft-ietf-httpapi-ratelimit-headers section 9.4
		return quota.Bytes
	}
	return name
}

// count returns a number that the server stated, zero if it stated none.
func count(c headers.Count) int {
	if !c.Known {
		return 0
	}
	return int(min(c.N, math.MaxInt32))
}
