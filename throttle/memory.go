package throttle

import (
	"cmp"
	"math"
	"time"
)

// Memory is what a Limiter has learned from a server's answers, to be kept from one run
// of a program to the next, as JSON for instance. Quotas, what was charged to them and
// who waits are not part of it.
type Memory struct {
	// Held is until when nothing goes. Zero if it was not held.
	Held time.Time `json:"held,omitzero"`

	// Windows are the limits that the server spoke of.
	Windows []WindowMemory `json:"windows,omitempty"`

	// Rate is that at which a server delivers which says nothing of limits, in
	// requests per second, and At when that was known; Growth is the share by which it
	// grows in a second. Zero if it is not known.
	Rate   float64   `json:"rate,omitzero"`
	Growth float64   `json:"growth,omitzero"`
	At     time.Time `json:"at,omitzero"`
}

// WindowMemory is what is known of one limit of the server.
type WindowMemory struct {
	Name      string `json:"name,omitempty"`
	Bucket    string `json:"bucket,omitempty"`
	Unit      string `json:"unit,omitempty"`
	Limit     int    `json:"limit,omitzero"`
	Remaining int    `json:"remaining"`

	// The reset is not before Early and not after Late; zero if it is not known. It was
	// stated in steps of Resolution, rounded down if Floors says so, for a limit
	// per Span, which is zero if the server does not say.
	Early      time.Time     `json:"early,omitzero"`
	Late       time.Time     `json:"late,omitzero"`
	Resolution time.Duration `json:"resolution,omitzero"`
	Floors     bool          `json:"floors,omitzero"`
	Span       time.Duration `json:"span,omitzero"`

	// Refill is the rate at which the limit comes back bit by bit, in tokens per
	// second. Zero if it comes back at once.
	Refill float64 `json:"refill,omitzero"`
}

// Memory returns what the Limiter has learned. What is in flight counts as used.
func (l *Limiter) Memory() (m Memory) {
	root := l.lock()
	defer l.unlock(root)
	now := root.now()
	if l.hold > now {
		m.Held = l.time(l.hold)
	}
	for _, w := range l.server.windows {
		kept := WindowMemory{
			Name: w.name, Bucket: w.bucket, Unit: w.unit, Limit: w.limit, Remaining: max(w.least-l.server.under(w), 0),
			Early: l.time(w.early), Late: l.time(w.late), Resolution: w.step, Floors: w.floors, Span: w.span,
		}
		if w.refills {
			kept.Refill = w.rate
		}
		m.Windows = append(m.Windows, kept)
	}
	if d := &l.server.delivered; d.rate > 0 {
		m.Rate, m.Growth, m.At = d.at(now), d.growth, l.time(now)
	}
	return m
}

// Remember takes m for what was learned, unless the Limiter has learned something
// itself. What is no longer so by the clock is left out. No number in m can do more than
// what a server says: it holds requests back, at most for MaxHold before one
// looks again.
func (l *Limiter) Remember(m Memory) {
	root := l.lock()
	defer l.unlock(root)
	now := root.now()
	s := &l.server
	if len(s.windows) > 0 || s.delivered.since != 0 || s.refusals > 0 {
		return
	}
	l.change(now, func() {
		for _, w := range m.Windows[:min(len(m.Windows), maxWindows)] {
			l.remember(now, &w)
		}
		if len(s.windows) == 0 && sane(m.Rate) && m.Growth >= 0 && now.sub(l.instant(m.At)) < l.idleAfter() {
			l.last.Store(int64(now)) // else it would be new, and measured anew
			s.delivered = delivered{since: now, asked: now, rate: m.Rate, growth: min(max(m.Growth, slowest), fastest), from: now, paced: now}
		}
		l.holdUntil(min(l.instant(m.Held), now.add(l.maxHold())), now)
	})
}

// remember takes in one window.
func (l *Limiter) remember(now instant, m *WindowMemory) {
	late := min(l.instant(m.Late), now.add(ages))
	if late <= now {
		return
	}
	w := l.server.window(l, m.Name, m.Bucket, canonical(m.Unit))
	l.server.next()
	w.stated, w.since = l.server.order, l.server.order
	w.limit, w.least, w.fresh = max(m.Limit, 0), max(m.Remaining, 0), math.MaxInt
	w.text = label(cmp.Or(w.name, w.bucket), w.limit, w.unit)
	w.step, w.floors, w.span = min(max(m.Resolution, 0), ages), m.Floors, min(max(m.Span, 0), ages)
	w.early, w.late, w.opened, w.went, w.heard = min(l.instant(m.Early), late), late, now, now, now
	if w.least == 0 {
		w.spent = now
	}
	if sane(m.Refill) && w.limit > 0 {
		o := outcome{now: now, remaining: w.least}
		w.longest = l.maxHold()
		w.start(&o, w.limit, now, seconds(float64(w.limit)/m.Refill))
	}
	w.spread = l.plan(w.limit, late.sub(now))
	w.look(now, l)
}

// sane reports whether a rate can be reckoned with.
func sane(rate float64) bool { return rate > 0 && rate <= math.MaxInt32 }

// time returns an instant by the wall clock, zero if it is none.
func (l *Limiter) time(t instant) time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.Unix(0, l.wall+int64(t)-1)
}

// instant returns a time by the wall clock as an instant. That of zero, and of one
// before the Limiter was first used, has passed.
func (l *Limiter) instant(t time.Time) instant {
	if t.IsZero() {
		return 0
	}
	return instant(max(min(t.Sub(time.Unix(0, l.wall)), ages), -ages)) + 1
}
