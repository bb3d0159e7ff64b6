package pacer

import (
	"maps"
	"math"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gopacer/pacer/headers"
	"github.com/gopacer/pacer/throttle"
)

// learn ends the grant with what became of the request, and returns whether it is to be
// sent again. Sent is how much of its body was sent; nil if its length is known.
func (t *Transport) learn(req *http.Request, tm *terms, b *bucket, g *throttle.Grant, resp *http.Response, err error, sent *atomic.Int64) verdict {
	if err != nil {
		if neverSent(err) {
			g.Cancel() // nothing reached the server, so nothing was used up
		} else {
			g.Done(throttle.Answer{Lost: true})
		}
		return t.judgeError(req, tm, err)
	}
	if resp.Request != req {
		resp.Request = req
	}
	if resp.StatusCode < 400 && t.Bodies == nil && t.Spent == nil && !tm.counts && !g.Lasts() &&
		!b.told.Load() && !t.Headers.Tells(resp.Header) {
		g.Done(throttle.Answer{})
		b.budget.Deposit()
		return verdict{}
	}
	return t.learnFrom(req, tm, b, g, resp, sent)
}

// learnFrom is learn for an answer that says something.
func (t *Transport) learnFrom(req *http.Request, tm *terms, b *bucket, g *throttle.Grant, resp *http.Response, sent *atomic.Int64) (v verdict) {
	at := tm.paid
	if at.IsZero() {
		at = g.Time()
	}
	var few [2]headers.Limit
	limits, hint := t.Headers.Append(few[:0], resp.Header, at)
	if told := len(limits) > 0; b.told.Load() != told {
		b.told.Store(told)
	}
	if t.Bodies != nil && t.Bodies(resp) {
		limits, hint = t.readBody(req, resp, at, limits, hint)
	}
	var buf [2]throttle.Statement
	a := throttle.Answer{Statements: statements(buf[:0], limits)}
	if refusal(resp.StatusCode, a.Statements, hint) {
		a.Refused, a.Hold, a.HoldKnown = true, hint.After, hint.Known
		if hint.Cause == headers.Spent {
			a.Hold, a.HoldKnown = max(hint.After, spentHold), true
		}
	}
	if resp.StatusCode >= 400 || a.Refused {
		a.Shed = !a.Refused && sheds(resp.StatusCode, hint)
		v = t.judge(req, tm, resp, a.Refused || a.Shed && b.Sheds() && idempotent(req), hint)
	}
	counts := false
	if t.Spent != nil || tm.counts || g.Lasts() {
		a.Spent, counts = t.spent(tm, resp, v, sent)
		a.Reading = (counts || g.Lasts()) && v.kind == final && hasBody(req, resp)
	}
	held := t.teach(req, b, g, a, limits)
	if a.Reading {
		resp.Body = t.watch(req, b, resp, g, counts, sent)
	}
	if resp.StatusCode < 500 && !a.Refused {
		b.budget.Deposit()
	}
	t.Trace.learned(req, b.Name, limits)
	if a.Refused && held > 0 {
		t.Trace.held(Held{Request: req, Bucket: b.Name, Status: resp.StatusCode, For: held})
	}
	return v
}

// teach ends the grant, and has the bucket learn to which the request belonged. It returns
// for how long that is held.
func (t *Transport) teach(req *http.Request, b *bucket, g *throttle.Grant, a throttle.Answer, limits []headers.Limit) (held time.Duration) {
	own := b
	if name := drewOn(limits); name != "" {
		spent := slices.ContainsFunc(a.Statements, func(s throttle.Statement) bool { return s.Remaining <= 0 })
		own = t.router.sort(t, b, req, name, spent)
		if a.Refused && a.HoldKnown && !spent && own.key.name != "" {
			// It was not refused because of what is named: GitHub's secondary limits are for all.
			held = own.host().Told(*g, throttle.Answer{Lost: true, Hold: a.Hold, HoldKnown: true})
		}
	}
	if own == b {
		held = max(held, g.Done(a))
	} else {
		held = max(held, own.Told(*g, a))
		g.Done(throttle.Answer{Lost: true, Reading: a.Reading, Spent: a.Spent})
	}
	return held
}

// spent returns what the request has cost, as far as it is known now, and whether that is
// for its bytes to tell. Of an answer that is not final nobody will read the body.
func (t *Transport) spent(tm *terms, resp *http.Response, v verdict, sent *atomic.Int64) (spent throttle.Costs, counts bool) {
	if t.Spent != nil {
		spent = t.Spent(resp)
	}
	if _, known := spent[throttle.Bytes]; known || !tm.counts {
		return spent, false
	}
	if spent = maps.Clone(spent); spent == nil {
		spent = throttle.Costs{}
	}
	n := bytesOf(resp.Request, sent)
	if v.kind == final && hasBody(resp.Request, resp) {
		n += max(resp.ContentLength, 0)
	}
	spent[throttle.Bytes] = int(n)
	return spent, true
}

// statements translates what headers say into what throttle learns from. A limit
// without a count of what remains says nothing about now, and an advisory one
// binds nobody.
func statements(to []throttle.Statement, limits []headers.Limit) []throttle.Statement {
	for i := range limits {
		l := &limits[i]
		if !l.Remaining.Known || l.Advisory {
			continue
		}
		s := throttle.Statement{
			Name: l.Name, Bucket: l.Bucket, Unit: unit(l.Unit), Limit: count(l.Limit), Remaining: count(l.Remaining),
			Reset: l.Reset.In, ResetKnown: l.Reset.Known, Resolution: l.Reset.Resolution, Window: l.Window,
			Absolute: l.Reset.Absolute, Skew: l.Reset.Skew,
		}
		if s.Remaining == 0 && l.Limit.Known && l.Limit.N == 0 {
			continue // 0 of 0: the server does not count (Tyk, Okta)
		}
		if i := slices.IndexFunc(to, func(o throttle.Statement) bool { return o.Name == s.Name && o.Bucket == s.Bucket && o.Unit == s.Unit }); i < 0 {
			to = append(to, s)
		} else if s.Remaining < to[i].Remaining {
			to[i] = s // a name that is given twice is one limit, and the tighter word counts
		}
	}
	return to
}

// unit returns the name of a unit as users write it.
func unit(name string) string {
	if name == "content-bytes" { // draft-ietf-httpapi-ratelimit-headers section 9.4
		return throttle.Bytes
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
