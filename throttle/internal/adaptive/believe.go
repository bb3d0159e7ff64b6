package adaptive

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// States implements limit.Heard: it reports whether what the server says of a limit of n tokens in per
// counts in place of a quota that the user has told so. That is the case
//
//   - while the latest answer that states anything states a limit of n over per, of which no more than
//     n remains; or of n over no span, with a reset within per;
//   - until that reset. After it, a window of which something remained may have begun anew, and is not
//     known; of one that was used up, one request at a time goes to find out, and nothing else;
//   - unless the limit is taken for one that the server refills bit by bit: then the rate at which it
//     comes back is a guess, and no count;
//   - unless the latest answer that was served states nothing, or a refusal came that no used-up
//     window explains, since which no request was granted and served with a statement.
func (s *Server) States(now monotime.Time, unit string, n int, per time.Duration) bool {
	if s.silent || s.doubted != 0 {
		return false
	}
	for _, w := range s.windows {
		if w.lastAnswer == s.stated && w.unit == unit && w.limit == n && w.remaining <= n && !w.refill.refills && w.isOver(per) && (now < w.reset.late || w.remaining <= 0) {
			return true
		}
	}
	return false
}

// isOver reports whether the window is of a span, as far as the server says.
func (w *window) isOver(span time.Duration) bool {
	if w.span != 0 || w.reset.late == 0 {
		return w.span == span
	}
	return w.reset.late.Sub(w.heardAt) <= span+w.reset.resolution
}
