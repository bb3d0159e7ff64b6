package adaptive

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// hearsay is what is known of a limit from elsewhere, whoever says so: a Memory (memory.go), a statement of the
// server to another process (lesson.go), or the Server that took several counters for one (countapart.go).
type hearsay struct {
	limitName
	limit, remaining int
	span             time.Duration
	heard            monotime.Time // when so much remained, from when on more may have come back; zero if now
	reset            reset         // no more than its interval and its step, and when its window began
	unstated         time.Duration // from when the window began to the reset, if looks found that; zero if it is stated
}

// restore takes over what is known of a limit from elsewhere, if the reset has not passed of which that speaks.
// If s has a window of the limit already, the reset of this window must have passed. A new window has the
// habits that are kept (recall).
func (s *Server) restore(now monotime.Time, h *hearsay) {
	if h.reset.late <= now {
		return
	}
	late := min(h.reset.late, now.Add(monotime.Longest))
	w := s.findOrAdd(h.limitName)
	s.advance()
	w.restore(bounded(h.remaining), s.sequence)
	o := outcome{now: now}
	w.define(&o, h.limit, h.span)
	o.limit = w.limit()
	w.granted = w.granted || w.stated > 0 || w.remaining > 0
	if w.seek = (seek{}); h.unstated > 0 {
		w.seek.from = min(late.Add(-h.unstated), now)
	}
	w.reset.restore(now, late, &h.reset, h.unstated == 0)
	w.refill.forget(&o, &w.reset)
	w.overlap.lastHeardBy = nil
	if w.heardAt = now; h.heard != 0 {
		w.heardAt = min(h.heard, now)
	}
	w.last.note(w.heardAt)
	w.restoreLook(w.remaining, w.heardAt)
	w.spread = s.config.Spend.SpreadFor(int64(w.stated), late.Sub(now), s.config.MaxStandstill)
	w.scheduleLook(now, now, &s.config)
	s.resume(now, w)
}
