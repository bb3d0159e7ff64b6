package adaptive

import (
	"slices"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/pace"
)

// This file keeps what an earlier run, or another process, has learned of a limit until the server states that
// limit, and says whether its rate is taken up again then.

// keep has the habits of a limit be those of the window of the limit, when there is one. Of what is known
// already, nothing changes.
func (s *Server) keep(m *WindowMemory) {
	if m.any() && s.find(m.of()) == nil && len(s.kept) < maxWindows {
		s.kept = append(s.kept, *m)
	}
}

// inMillis reports whether the resets of a limit are known to be milliseconds of which there is no window yet.
func (s *Server) inMillis(st *quota.Statement) bool {
	of := nameOf(st)
	return s.apart.has(of) && s.apart.unit.found || slices.ContainsFunc(s.kept, func(m WindowMemory) bool { return m.Millis && m.of() == of })
}

// resume takes up again how fast a new window comes back, if the limit is still what it was.
func (s *Server) resume(now monotime.Time, w *window) {
	m := w.kept
	if m == nil {
		return
	}
	w.kept = nil
	switch {
	case w.stated != bounded(m.Limit) || w.instances:
		return
	case w.stated > 0 && pace.Sane(m.Refill):
		w.refill.resume(w.heardAt, w.stated, w.remaining, m.Refill, m.Raises, s.config.MaxHold)
	case !w.seek.resume(&m.Habits, m.OfNow):
		return
	}
	w.scheduleLook(now, now, &s.config)
}

// resume takes the server for one that refills at a rate. At an instant, so much remained of the limit.
func (r *refill) resume(at monotime.Time, limit, remaining int, rate float64, raises bool, maxHold time.Duration) {
	r.maxHold = maxHold
	full := monotime.Seconds(float64(limit) / rate)
	r.start(&outcome{now: at, limit: limit, remaining: remaining}, at, full, full)
	r.resumed = true
	if raises && limit < fewTokens {
		r.raise = raise{by: 1, from: r.rate, gap: raiseAfter}
	}
}
