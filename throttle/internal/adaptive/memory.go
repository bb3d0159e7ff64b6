package adaptive

import (
	"cmp"
	"math"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Memory is what a Server has learned, to be kept from one run of a program to the next, as JSON
// for instance. What was charged to quotas and who waits is not part of it.
type Memory struct {
	// Held is until when nothing goes. Zero if it was not held.
	Held time.Time `json:"held,omitzero"`

	// Windows are the limits that the server spoke of.
	Windows []WindowMemory `json:"windows,omitempty"`

	// Rate is that at which a server serves which says nothing of limits, in requests per
	// second, and At when that was known; Growth is the share by which it grows in a second.
	// Zero if it is not known.
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
	// stated in steps of Resolution, rounded down if Floors says so, for a limit per Span,
	// which is zero if the server does not say.
	Early      time.Time     `json:"early,omitzero"`
	Late       time.Time     `json:"late,omitzero"`
	Resolution time.Duration `json:"resolution,omitzero"`
	Floors     bool          `json:"floors,omitzero"`
	Span       time.Duration `json:"span,omitzero"`

	// Refill is the rate at which the limit comes back bit by bit, in tokens per second. Zero
	// if it comes back at once.
	Refill float64 `json:"refill,omitzero"`
}

// Memory returns what s has learned. What is in flight counts as used.
func (s *Server) Memory(now monotime.Time, clock *monotime.Clock) (m Memory) {
	for _, w := range s.windows {
		kept := WindowMemory{
			Name: w.name, Bucket: w.bucket, Unit: w.unit, Limit: w.limit, Remaining: max(w.remaining-s.under(w), 0),
			Early: clock.Date(w.reset.early), Late: clock.Date(w.reset.late),
			Resolution: w.reset.resolution, Floors: w.reset.roundsDown, Span: w.span,
		}
		if w.refill.refills {
			kept.Refill = w.refill.rate
		}
		m.Windows = append(m.Windows, kept)
	}
	if r := &s.served; r.rate > 0 {
		m.Rate, m.Growth, m.At = r.at(now), r.growth, clock.Date(now)
	}
	return m
}

// Fresh reports whether s has learned nothing yet.
func (s *Server) Fresh() bool { return len(s.windows) == 0 && s.served.since == 0 && s.refusals == 0 }

// Remember takes m for what a fresh Server was told. What is no longer so by the clock is left
// out, and so is a rate that was known longer ago than a bucket may idle. No number in m can do
// more than what a server says: it holds requests back, at most for MaxHold before one looks
// again. It reports whether the bucket is not new any more because of that.
func (s *Server) Remember(now monotime.Time, m *Memory, clock *monotime.Clock, idleAfter time.Duration) (known bool) {
	for i := range m.Windows[:min(len(m.Windows), maxWindows)] {
		s.restore(now, m.Windows[i].known(clock))
	}
	if len(s.windows) > 0 || !sane(m.Rate) || !(m.Growth >= 0) || now.Sub(clock.At(m.At)) >= idleAfter {
		return false
	}
	growth := min(max(m.Growth, slowest), fastest)
	s.served = servedRate{since: now, asked: now, rate: m.Rate, growth: growth, from: now, paced: now}
	return true
}

// known is what is known of a limit that others have heard of.
type known struct {
	name, bucket, unit string // the unit is canonical
	limit, remaining   int
	early, late        monotime.Time
	resolution         time.Duration
	roundsDown         bool
	span               time.Duration
	refill             float64 // in tokens per second; zero if it comes back at once
}

func (m *WindowMemory) known(clock *monotime.Clock) *known {
	return &known{
		name: m.Name, bucket: m.Bucket, unit: canonical(m.Unit), limit: m.Limit, remaining: m.Remaining,
		early: clock.At(m.Early), late: clock.At(m.Late), resolution: m.Resolution, roundsDown: m.Floors, span: m.Span, refill: m.Refill,
	}
}

// restore takes over what is known of a limit whose reset has not passed.
func (s *Server) restore(now monotime.Time, k *known) {
	late := min(k.late, now.Add(monotime.Longest))
	if late <= now {
		return
	}
	w := s.window(k.name, k.bucket, k.unit)
	s.next()
	w.stated, w.epoch = s.order, s.order
	w.limit, w.remaining, w.next = max(k.limit, 0), max(k.remaining, 0), math.MaxInt
	w.text = label(cmp.Or(w.name, w.bucket), w.limit, w.unit)
	w.span = min(max(k.span, 0), monotime.Longest)
	w.reset.resolution, w.reset.roundsDown = min(max(k.resolution, 0), monotime.Longest), k.roundsDown
	w.reset.early, w.reset.late, w.reset.opened = min(k.early, late), late, now
	w.went, w.heard = now, now
	if w.remaining == 0 {
		w.spent = now
	}
	if sane(k.refill) && w.limit > 0 {
		w.refill.longest = s.config.MaxHold
		o := outcome{now: now, limit: w.limit, remaining: w.remaining}
		w.refill.start(&o, now, monotime.Seconds(float64(w.limit)/k.refill))
	}
	w.spread = s.config.plan(w.limit, late.Sub(now))
	w.scheduleProbe(now, &s.config)
}

// sane reports whether a rate can be reckoned with.
func sane(rate float64) bool { return rate > 0 && rate <= math.MaxInt32 }
