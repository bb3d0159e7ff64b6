package throttle

import "time"

// open reports whether n may go at now in this bucket alone. What the server
// allows counts only for those who asked this bucket itself (home): its answers
// to them are what it was learned from.
func (l *Limiter) open(now instant, n int, home bool) bool {
	if l.hold > now || home && !l.server.open(now, n) {
		return false
	}
	for _, lim := range l.limits {
		if lim == nil {
			continue
		}
		if at, ok := lim.when(now, 0, n); !ok || at > now {
			return false
		}
	}
	return true
}

// due is when something may go, and what it waits for until then.
type due struct {
	at    instant
	by    *Limiter // the bucket that stands in the way
	cause Cause
	quota string
	never bool
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

// due returns when n may go in this bucket alone, not before t, if ahead tokens
// go before. Some waits end with an answer, and nobody knows when that comes: to
// set a timer, the longest that they are waited for counts, for a projection
// (optimist) they do not.
func (l *Limiter) due(t instant, ahead, n int, home, optimist bool) due {
	d := due{at: t}
	if l.hold > t {
		d.at, d.cause = l.hold, CauseHold
	}
	if home {
		d = l.server.due(d, ahead, n, optimist)
	}
	from := d.at
	for i, lim := range l.limits {
		if lim == nil {
			continue
		}
		at, ok := lim.when(from, ahead, n)
		if !ok {
			return due{at: at, cause: CausePace, quota: l.quotas[i].label(), never: true}
		}
		if at > d.at {
			d = due{at: at, cause: CausePace, quota: l.quotas[i].label()}
			if l.quotas[i].WarmUp > 0 {
				d.cause = CauseWarmUp
			}
		}
	}
	return d
}

// charge takes n from this bucket and all above it at the instant at, and
// returns the Grant.
func (l *Limiter) charge(at, now instant, n int, p Place) Grant {
	g := Grant{l: l, n: n, place: p, sent: now}
	for b := l; b != nil; b = b.Parent {
		b.last.Store(int64(now))
		b.booked = at
		for _, lim := range b.limits {
			if lim != nil {
				lim.take(at, now, n)
			}
		}
	}
	g.order, g.probe = l.server.take(now, n)
	return g
}

// holdUntil holds the bucket until at, if that is later than until when it is
// held already, and starts it slowly after that.
func (l *Limiter) holdUntil(at, now instant) {
	if at <= l.hold || at <= now {
		return
	}
	l.hold = at
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
	last, after := instant(l.last.Load()), l.IdleAfter
	if after == 0 {
		after = time.Minute
	}
	return last == 0 || after > 0 && now.sub(last) >= after && l.server.inflight.Load() == 0
}
