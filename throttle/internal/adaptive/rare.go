package adaptive

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// rare is about looks that were refused again and again. Others come first each time; or the server counts
// refused requests as well, and the looks of all who share the limit are what uses it up: ten processes that
// look at a log of 11 in 2 s each second are never served again. No answer tells the two apart. So after many
// looks in vain, looks become as rare as the limit calls for: twice as rare with each of them, up to one in the
// time in which mostRare tokens come back. Then the looks of ten processes take less than a third of the limit.
//
// At a limit of hundreds of tokens, that is sooner than the next reset, and changes nothing.
//
// In come looks in vain (miss); out comes from.
type rare struct {
	from monotime.Time // the next look comes no sooner
	span time.Duration // how long the limit takes to come back: its window, or the longest reset in this row
}

const (
	// manyVain is how many looks in a row are refused before they become rare. Where others use up each window
	// before our look, sooner looks have been tried by then, and have ended (overtaken). After three, buckets
	// of few tokens and windows of 25 in a second took up to twice as long, as chance says there who comes
	// first.
	manyVain = enoughOvertaken + mostOvertaken

	// mostRare is in the time of how many tokens one look comes at least, if that is not more than
	// longestStretch.
	mostRare = 64

	// leastRare is of how many tokens a limit is at least where that counts. Where there are fewer, who looks
	// less often is served less often.
	leastRare = 8
)

// miss takes in that so many looks in a row were refused, at a limit of so many requests, that comes back in
// so long a span. A random part of up to half parts those that look.
func (r *rare) miss(now monotime.Time, vain, limit int, span time.Duration, random func() float64) {
	r.span = max(r.span, span)
	if vain <= manyVain || limit < leastRare {
		return
	}
	token := min(r.span/time.Duration(limit), longestStretch)
	most := min(token*time.Duration(min(mostRare, 1<<min(vain-manyVain, 16))), longestStretch)
	r.from = now.Add(most - time.Duration(random()*float64(most/2)))
}
