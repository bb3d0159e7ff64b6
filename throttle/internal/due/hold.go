package due

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Hold is until when nothing goes in a bucket, whatever may go else. It is on before that instant, and over
// from then on. The zero Hold is over. One that is over keeps its end for a while, since what goes may count
// from up to limit.Lag ago: see Forget.
type Hold struct {
	until monotime.Time // nothing goes before this instant
	began monotime.Time
	said  monotime.Time // until when a server said so; until is earlier if MaxHold has cut that
}

// Until is when the hold ends, or has ended; zero if there was none, or it was forgotten.
func (h *Hold) Until() monotime.Time { return h.until }

// On reports whether the hold is on.
func (h *Hold) On(now monotime.Time) bool { return h.until > now }

// Left is for how long the hold is still on; zero if it is over.
func (h *Hold) Left(now monotime.Time) time.Duration { return max(h.until.Sub(now), 0) }

// Rest is how much is left of a hold of so long that began when this one did: zero or negative if nothing is.
func (h *Hold) Rest(now monotime.Time, long time.Duration) time.Duration {
	return h.began.Add(min(long, monotime.Longest)).Sub(now)
}

// Extend has the hold last until at, or begins one, unless it lasts for longer already; and reports whether it
// did. Said is until when a server said, where MaxHold has cut that.
func (h *Hold) Extend(at, said, now monotime.Time) (extended bool) {
	if !h.On(now) {
		h.said, h.began = 0, now
	}
	h.said = max(h.said, said)
	if extended = at > h.until && at > now; extended {
		h.until = at
	}
	return extended
}

// Restate has the hold that is on last until at, if that is later, and by so little that it is the same hold,
// as another tells of it; and reports whether it is.
func (h *Hold) Restate(at, now monotime.Time, little time.Duration) (same bool) {
	if same = h.On(now) && at > h.until && at.Sub(h.until) <= little; same {
		h.until = at
	}
	return same
}

// End ends the hold.
func (h *Hold) End(now monotime.Time) { h.until = min(h.until, now) }

// Forget forgets a hold that is over for so long that nothing counts from an earlier instant.
func (h *Hold) Forget(now monotime.Time) {
	if h.until <= now.Add(-limit.Lag) {
		h.until = 0
	}
}

// due sets d to t, or to when the hold ends if that is later.
func (h *Hold) due(d *limit.Due, t monotime.Time) {
	if *d = (limit.Due{At: t}); h.until > t {
		d.Until(h.until, h.said, limit.Hold, "")
	}
}
