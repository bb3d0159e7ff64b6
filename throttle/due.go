package throttle

import "time"

// open reports whether w may go at now in this bucket alone. What the server
// allows counts only for those who asked this bucket itself (home): its answers
// to them are what it was learned from.
func (l *Limiter) open(now instant, w *want, home bool) bool {
	if l.hold > now || home && !l.server.open(now, w, l.share(w)) {
		return false
	}
	if !l.opens(l.limits, now, w) {
		return false
	}
	if l.spare != nil && !w.urgent() && !l.opens(l.spare, now, w) {
		return false
	}
	return l.lease == nil || l.lease.open(now, w)
}

func (l *Limiter) opens(limits []limit, now instant, w *want) bool {
	for i, lim := range limits {
		if lim == nil {
			continue
		}
		n := w.in(&l.quotas[i])
		if n == 0 {
			continue
		}
		if at, ok := lim.when(now, 0, n); !ok || at > now {
			return false
		}
	}
	return true
}

// share is which part of what the server allows w must leave to others.
func (l *Limiter) share(w *want) float64 {
	if w.urgent() {
		return 0
	}
	return l.Reserve
}

// due is when something may go, and what it waits for until then.
type due struct {
	at     instant
	shared instant  // when it could go but for what is reserved: until then it stands in the way of others
	by     *Limiter // the bucket that stands in the way
	cause  Cause
	quota  string
	cost   int  // what was asked for of the quota, if that is never
	never  bool // no wait helps
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

func (d due) forecast(now instant) Forecast {
	f := Forecast{Wait: d.at.sub(now), Cause: d.cause, Quota: d.quota, Never: d.never}
	if d.by != nil {
		f.Bucket = d.by.Name
	}
	return f
}

// due returns when w may go in this bucket alone, not before t, if ahead goes before
// it. Some waits end with an answer, and nobody knows when that comes: to set a
// timer, the longest that they are waited for counts, for a projection (optimist)
// they do not.
func (l *Limiter) due(t instant, ahead others, w *want, home, optimist bool) due {
	from := due{at: t}
	if l.hold > t {
		from.at, from.cause = l.hold, CauseHold
	}
	d := from
	if home {
		d = l.server.due(d, &ahead.all, w, 0, optimist)
	}
	d = l.dueOf(l.limits, d, &ahead.all, w, optimist)
	if l.lease != nil && !d.never {
		d = l.lease.due(d, &ahead.all, w, false, optimist)
	}
	d.shared = d.at
	if l.Reserve == 0 || w.urgent() || d.never {
		return d
	}
	// What is left is used by others than all of it is: each is reckoned from now.
	left := from
	if home {
		left = l.server.due(left, &ahead.kept, w, l.Reserve, optimist)
	}
	left = l.dueOf(l.spare, left, &ahead.kept, w, optimist)
	if l.lease != nil && !left.never {
		left = l.lease.due(left, &ahead.kept, w, true, optimist)
	}
	switch {
	case left.never, left.at > d.at:
		left.shared = from.at // until then it would have to wait for what is left to it
		return left
	case d.cause == "":
		left.shared = d.shared
		return left
	}
	return d
}

// dueOf returns d, or what comes later because of the limits.
func (l *Limiter) dueOf(limits []limit, d due, ahead *demand, w *want, optimist bool) due {
	from := d.at
	for i, lim := range limits {
		if lim == nil {
			continue
		}
		q := &l.quotas[i]
		n := w.in(q)
		if n == 0 {
			continue
		}
		at, ok := lim.when(from, ahead.in(q), n)
		switch {
		case !ok:
			return due{at: at, shared: d.shared, cause: q.cause(), quota: q.label(), cost: n, never: true}
		case at <= d.at:
		case q.Kind.slots() && optimist:
			if d.cause == "" {
				d.cause, d.quota = q.cause(), q.label()
			}
		default:
			d = due{at: at, shared: d.shared, cause: q.cause(), quota: q.label()}
		}
	}
	return d
}

// cause is what those who wait for q wait for.
func (q *Quota) cause() Cause {
	switch {
	case q.WarmUp > 0:
		return CauseWarmUp
	case q.Kind.slots():
		return CauseInFlight
	}
	return CausePace
}

// charge takes what w wants from this bucket and all above it at the instant at, and
// makes g the Grant.
func (l *Limiter) charge(g *Grant, at, now instant, w *want, p Place) {
	*g = Grant{l: l, n: w.n, place: p, sent: now, urgent: w.urgent()}
	if w.of != nil {
		g.more = &more{asked: w.demand}
	}
	for b := l; b != nil; b = b.Parent {
		b.last.Store(int64(now))
		b.booked = at
		b.take(b.limits, g, at, w)
		if !g.urgent {
			b.take(b.spare, g, at, w)
		}
		if b.lease != nil {
			b.lease.take(g, at, now, w)
		}
	}
	g.order, g.probe = l.server.take(now, max(p.since, 1), w, l.share(w))
}

// take charges g to the limits.
func (l *Limiter) take(limits []limit, g *Grant, at instant, w *want) {
	for i, lim := range limits {
		if lim == nil {
			continue
		}
		n := w.in(&l.quotas[i])
		if n == 0 {
			continue
		}
		lim.take(at, g.sent, n)
		if s, ok := lim.(*slots); ok {
			g.hold(s, n)
		}
	}
}

// holdUntil holds the bucket until at, if that is later than until when it is
// held already, and starts it slowly after that.
func (l *Limiter) holdUntil(at, now instant) {
	if at <= l.hold || at <= now {
		return
	}
	l.hold = at
	if l.lease != nil {
		l.lease.later(now, 0) // others are told, if they do not know
	}
	if l.SlowStart {
		l.server.restart()
	}
	l.refuseLate(now)
}

// wake notices that the bucket is new or has idled, and then starts it slowly.
func (l *Limiter) wake(now instant) {
	if l.hold <= now {
		l.hold = 0
	}
	if l.SlowStart && l.idled(now) {
		set(&l.calm, false)
		l.server.restart()
		l.server.delivered = delivered{}
	}
}

// idled reports whether the bucket is new or has idled.
func (l *Limiter) idled(now instant) bool {
	last, after := instant(l.last.Load()), l.idleAfter()
	return last == 0 || after > 0 && now.sub(last) >= after && l.server.inflight.Load() == 0
}

func (l *Limiter) idleAfter() time.Duration {
	if l.IdleAfter == 0 {
		return time.Minute
	}
	return l.IdleAfter
}
