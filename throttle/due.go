package throttle

import (
	"math/rand/v2"
	"time"

	"github.com/gopacer/pacer/throttle/internal/adaptive"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// open reports whether w may go at now in this bucket alone. What the server
// allows counts only for those who asked this bucket itself (home): its answers
// to them are what it was learned from.
func (l *Limiter) open(now monotime.Time, w *need, home bool) bool {
	if l.hold > now || home && !l.server.Open(now, &w.Demand, l.share(w)) {
		return false
	}
	if !l.stack.Open(now, &w.Demand, w.urgent()) {
		return false
	}
	return l.link == nil || l.link.lease.Open(now, &w.Demand, w.urgent())
}

// share is which part of what the server allows w must leave to others.
func (l *Limiter) share(w *need) float64 {
	if w.urgent() {
		return 0
	}
	return l.Reserve
}

// obstacle is when a claim may go, and the bucket that stands in its way until then.
type obstacle struct {
	limit.Due
	by *Limiter // nil if none does
}

// Forecast is how long a claim would wait, as it looks now: not longer than it will,
// if nothing changes.
type Forecast struct {
	Wait   time.Duration
	Bucket string // the name of the Limiter that stands in the way; empty if none does
	Cause  Cause
	Quota  string // the quota or limit that does, as text; empty if none in particular
	Never  bool   // the cost is above what a quota ever grants at once
}

func (d obstacle) forecast(now monotime.Time) Forecast {
	f := Forecast{Wait: d.At.Sub(now), Cause: Cause(d.Cause), Quota: d.Quota, Never: d.Never}
	if d.by != nil {
		f.Bucket = d.by.Name
	}
	return f
}

// due returns when w may go in this bucket alone, not before t, if ahead goes before
// it. Some waits end with an answer, and nobody knows when that comes: to set a
// timer, the longest that they are waited for counts, for a projection (optimist)
// they do not.
func (l *Limiter) due(now, t monotime.Time, ahead predecessors, w *need, home, optimist bool) limit.Due {
	from := limit.Due{At: t}
	if l.hold > t {
		from.At, from.Cause = l.hold, limit.Hold
	}
	d := from
	if home {
		d = l.server.Due(d, &ahead.all, &w.Demand, 0, optimist)
	}
	d = l.stack.Due(d, &ahead.all, &w.Demand, false, optimist)
	if l.link != nil && !d.Never {
		d = l.link.lease.Due(now, d, &ahead.all, &w.Demand, false, optimist)
	}
	d.Unreserved = d.At
	if l.Reserve == 0 || w.urgent() || d.Never {
		return d
	}
	// What is left is used by others than all of it is: each is reckoned from now.
	left := from
	if home {
		left = l.server.Due(left, &ahead.unreserved, &w.Demand, l.Reserve, optimist)
	}
	left = l.stack.Due(left, &ahead.unreserved, &w.Demand, true, optimist)
	if l.link != nil && !left.Never {
		left = l.link.lease.Due(now, left, &ahead.unreserved, &w.Demand, true, optimist)
	}
	switch {
	case left.Never, left.At > d.At:
		left.Unreserved = from.At // until then it would have to wait for what is left to it
		return left
	case d.Cause == "":
		left.Unreserved = d.Unreserved
		return left
	}
	return d
}

// charge takes what w wants from this bucket and all above it at the instant at, and
// makes g the Grant.
func (l *Limiter) charge(g *Grant, at, now monotime.Time, w *need, p place, c Class) {
	*g = Grant{l: l, ticket: adaptive.Ticket{Sent: now, N: w.N}, place: p, class: c, urgent: w.urgent()}
	if w.Costs != nil {
		g.more = &more{asked: w.Demand}
	}
	for b := l; b != nil; b = b.Parent {
		b.last.Store(int64(now))
		b.lastCharged = at
		b.stack.Take(at, now, &w.Demand, g.urgent)
		if b.concurrent {
			g.hold(b.stack, &w.Demand)
		}
		if b.link != nil {
			b.link.take(g, at, now, w)
		}
	}
	g.plain = g.more == nil
	l.server.Take(now, max(p.since, 1), &w.Demand, l.share(w), &g.ticket)
}

// holdUntil holds the bucket until at, if that is later than until when it is
// held already, and starts it slowly after that.
func (l *Limiter) holdUntil(at, now monotime.Time) {
	if at <= l.hold || at <= now {
		return
	}
	l.hold = at
	if l.link != nil {
		l.link.tell(now)
	}
	l.server.Restart(false)
	l.refuseLate(now)
}

// wake notices that the bucket is new or has idled, and then starts it slowly.
func (l *Limiter) wake(now monotime.Time) {
	if l.hold <= now {
		l.hold = 0
	}
	if l.SlowStart && l.idled(now) {
		set(&l.fastGrant, false)
		l.server.Restart(true)
	}
}

// idled reports whether the bucket is new or has idled.
func (l *Limiter) idled(now monotime.Time) bool {
	return l.last.Load() == 0 || !l.busy(now) && l.server.InFlight() == 0
}

// busy reports whether something was granted lately, so that the bucket does not idle.
func (l *Limiter) busy(now monotime.Time) bool {
	last, after := monotime.Time(l.last.Load()), l.idleAfter()
	return last != 0 && (after <= 0 || now.Sub(last) < after)
}

func (l *Limiter) idleAfter() time.Duration {
	if l.IdleAfter == 0 {
		return time.Minute
	}
	return l.IdleAfter
}

// maxHold is the longest hold that a server's word is good for.
func (l *Limiter) maxHold() time.Duration {
	if l.MaxHold == 0 {
		return 15 * time.Minute
	}
	return max(l.MaxHold, 0)
}

func (l *Limiter) random() func() float64 {
	if l.Rand == nil {
		return rand.Float64
	}
	return l.Rand
}
