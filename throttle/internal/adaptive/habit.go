package adaptive

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/pace"
)

// habits returns those of a window. While the next answer may show that the limit does not refill, its rate is left out: a later run would take it for proven.
func (w *window) habits() (h Habits) {
	h = Habits{
		Floors: w.reset.roundsDown, WholeSteps: int(w.wholeSteps), EmptyReset: w.refill.emptyReset,
		EarlyFailed: w.refill.doubtEarly.failed(), RefillFailed: w.refill.doubtRefills.failed(), BehindFailed: w.behind.failed(),
		BackAfter: w.seek.least, BackWithin: w.seek.most, BackHeld: min(w.seek.held, halveAfter),
	}
	if w.refill.refills && w.heardAt >= w.refill.provisionalTo && pace.Sane(w.refill.rate) {
		h.Refill, h.Raises = w.refill.rate, w.refill.raise.by > 0
	}
	if p := w.price; p != nil && p.known() {
		h.Price = p.memory()
	}
	return h
}

// keep has the habits of a limit be those of the window of the limit, when there is one. Of what is known already, nothing
// changes.
func (s *Server) keep(m *WindowMemory) {
	if m.any() && s.find(m.Name, m.Bucket, canonical(m.Unit)) == nil && len(s.kept) < maxWindows {
		s.kept = append(s.kept, *m)
	}
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
		w.refill.resume(now, w.stated, w.remaining, m.Refill, m.Raises, s.config.MaxHold)
	case !w.seek.resume(&m.Habits, m.OfNow):
		return
	}
	w.scheduleProbe(now, &s.config)
}

// resume takes the server for one that refills at a rate, now that so much remains of the limit.
func (r *refill) resume(now monotime.Time, limit, remaining int, rate float64, raises bool, maxHold time.Duration) {
	r.maxHold = maxHold
	full := monotime.Seconds(float64(limit) / rate)
	r.start(&outcome{now: now, limit: limit, remaining: remaining}, now, full, full)
	r.resumed = true
	if raises && limit < fewTokens {
		r.raise = raise{by: 1, from: r.rate, gap: raiseAfter}
	}
}
