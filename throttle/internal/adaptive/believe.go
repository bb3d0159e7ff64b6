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
	return s.stating(now, unit, n, per) != nil
}

// stating returns the window that States is about, nil if there is none.
func (s *Server) stating(now monotime.Time, unit string, n int, per time.Duration) *window {
	if s.silent || s.doubted != 0 {
		return nil
	}
	for _, w := range s.windows {
		if w.lastAnswer == s.stated && w.isOf(unit, n, per) && w.remaining <= n && !w.refill.refills && (now < w.reset.late || w.remaining <= 0) {
			return w
		}
	}
	return nil
}

// Together is a Server as it counts for a quota on which all Servers of its Site draw together: what it states of one
// counter says nothing of another, and a server may count each route with the numbers that are granted to all.
type Together Server

// States implements limit.Heard. It is that of the Server, as long as no other Server of the Site hears of a limit of the
// same numbers that is not the same window.
func (t *Together) States(now monotime.Time, unit string, n int, per time.Duration) bool {
	s := (*Server)(t)
	w := s.stating(now, unit, n, per)
	if w == nil || !s.isCompared {
		return false
	}
	for _, o := range s.site.compared {
		for _, v := range o.windows {
			if v != w && v.isOf(unit, n, per) && now < v.reset.late {
				return false
			}
		}
	}
	return true
}

// isOf reports whether the window is of n tokens of a unit over a span, as far as the server says.
func (w *window) isOf(unit string, n int, span time.Duration) bool {
	return w.unit == unit && w.limit == n && w.isOver(span)
}

// isOver reports whether the window is of a span, as far as the server says.
func (w *window) isOver(span time.Duration) bool {
	if w.span != 0 || w.reset.late == 0 {
		return w.span == span
	}
	return w.reset.late.Sub(w.heardAt) <= span+w.reset.resolution
}
