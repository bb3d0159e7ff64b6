package adaptive

import (
	"math"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// A span is how long a limit takes to come back as a whole: from reset to reset of a window, or until a bucket
// that was used up is full. The server may state it (window.span). Else each rule has its own bound of it,
// since some may be too long, others too short, and a few hold for a while alone:
//
//	spanSeen.least   no shorter: for projections
//	reset.spanMost   no longer, as is stated or a look has shown: a window that whole steps end
//	overtaken.span   the longest that a reset was away, in whole steps, longer where that was proven wrong
//	renewal.span     the longest that a reset was away, also where refusals alone have stated it
//	rare.span        the longest that a reset was away in this row of looks in vain
//	drip.farIn       the longest that a reset was away of late: it is forgotten after two such times
//	refill.span      by the rate that was measured, or believed
//	seek.least, most the span between two looks, where no reset is stated

// spanSeen is what was seen of the span of a window, from reset to reset, where the server does not state it.
//
// In come resets (note); out comes how long at least windows take that are still to come (timeFor). Both are
// for projections, which must not say that a request goes later than it may.
type spanSeen struct {
	least time.Duration // the span is not shorter: from an answer about a reset to that reset
	whole bool          // after a reset, the whole limit was there: it does not come back token by token
}

// note takes in that an answer is the first to speak of a reset.
func (s *spanSeen) note(o *outcome, r *reset) {
	s.least = max(s.least, r.early.Sub(r.opened))
	if o.lateBefore != 0 { // nor is it longer than from one reset to the next
		s.least = min(s.least, max(r.late.Sub(o.earlyBefore), 0))
	}
	if o.look && !o.refused && o.sent >= o.lateBefore && o.lateBefore != 0 {
		s.whole = 10*o.found() >= 9*o.limit
	}
}

// timeFor returns how long so many windows take, or parts of them, if the server states the span (zero if it
// does not). What comes back token by token comes back in such a part of the span, and else at its end.
func (s *spanSeen) timeFor(windows float64, stated time.Duration) time.Duration {
	span := stated
	if span == 0 {
		span = s.least
	}
	if s.whole {
		windows = math.Ceil(windows)
	}
	return monotime.Seconds(windows * span.Seconds())
}
