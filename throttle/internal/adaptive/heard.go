package adaptive

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// This file says whether the server's own count of a limit counts in place of a quota that the user has told
// so.

// States implements limit.Heard: it reports whether what the server says of a limit of n tokens in per
// counts in place of a quota that the user has told so. That is the case
//
//   - while the latest answer that states anything states a limit of n over per, of which no more than
//     n remains; or of n over no span, with a reset within per;
//   - until that reset. After it, a window may have begun anew, and is not known. Of one that was used up, one
//     request goes to find out, and nothing else until the answer states the limit again;
//   - unless the limit is taken for one that the server refills token by token: then the rate at which it
//     comes back is a guess, and no count;
//   - unless several answers in a row that were served state nothing: a few may come from a cache;
//   - unless a refusal came that no used-up window explains. The server is believed again when a request
//     that was granted after this refusal is served, and its answer states something.
func (s *Server) States(now monotime.Time, unit string, n int64, per time.Duration) bool {
	return s.stating(now, unit, n, per) != nil
}

// stating returns the window that States is about, nil if there is none.
func (s *Server) stating(now monotime.Time, unit string, n int64, per time.Duration) *window {
	if s.silent > maxSilent || s.doubted != 0 {
		return nil
	}
	for _, w := range s.windows {
		if w.lastAnswer == s.statedAt && w.isOf(unit, n, per) && int64(w.remaining) <= n && !w.refill.refills &&
			(now < w.reset.late || w.remaining <= 0 && w.lookSent < w.reset.late) {
			return w
		}
	}
	return nil
}

// maxSilent is how many answers in a row may state nothing while what was stated before is believed.
const maxSilent = 3

// StatesForAll is States for a quota on which all Servers of the Site draw together: what is stated of one
// counter says nothing of another, and a server may count each route with the numbers that are granted to all.
// So it is false if the server has a name for the counter, if another Server hears of a limit of the same
// numbers by another window, or if one has not been answered yet, which may come to hear of such a limit.
func (s *Server) StatesForAll(now monotime.Time, unit string, n int64, per time.Duration) bool {
	w := s.stating(now, unit, n, per)
	if w == nil || w.counter != "" || s.apart.has(w.limitName) || !s.isCompared || s.site.unheard > 0 {
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
func (w *window) isOf(unit string, n int64, span time.Duration) bool {
	return w.unit == unit && int64(w.stated) == n && w.isOver(span)
}

// isOver reports whether the window is of a span, as far as the server says.
func (w *window) isOver(span time.Duration) bool {
	if w.span != 0 || w.reset.late == 0 {
		return w.span == span
	}
	return w.reset.late.Sub(w.heardAt) <= span+w.reset.resolution
}
