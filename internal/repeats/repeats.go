// Package repeats ends the grants of requests whose answers say what one before said, but for what remains of each limit. Most
// answers of a server that counts are such.
//
// In come answers that were read as a whole (Of, Note), and those that were not yet (End). Out comes whether an answer needs no
// further reading. The package does not know what is sent, or to whom.
package repeats

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gopacer/pacer/headers"
	"github.com/gopacer/pacer/throttle"
)

// Answers are those of one bucket. The zero Answers repeat nothing. It is safe for concurrent use, and must not be copied.
type Answers struct{ latest atomic.Pointer[Answer] }

// Answer is one that others may repeat.
type Answer struct {
	*headers.Counts
	stated *throttle.Stated
	until  time.Duration // by the clock of grants
}

// Latest returns the answer that others may repeat, nil if there is none.
func (as *Answers) Latest() *Answer { return as.latest.Load() }

// End ends the grant of a request that was served if its answer repeats this one. Current is false if this one is of too long ago.
func (a *Answer) End(g *throttle.Grant, r *headers.Reader, header http.Header) (ended, current bool) {
	if !a.current(g) {
		return false, false
	}
	var left [headers.MaxCounts]int
	n := a.Read(r, header, &left)
	if n == 0 {
		return false, true
	}
	return g.Count(a.stated, left[:n]), true
}

// current reports whether all headers were looked at less than 10 ms before a grant.
func (a *Answer) current(g *throttle.Grant) bool {
	return uint64(a.until-g.Elapsed()-1) < uint64(headers.CountsLast) // which is false, too, of a grant that is too old
}

// Of returns what reads answers that repeat this one, of which a habit has read the limits and a hint, and has a ask for what counts
// them. It returns nil if no answer can, or may, or if those to come are read already.
func (as *Answers) Of(may bool, g *throttle.Grant, h *headers.Habit, header http.Header, limits []headers.Limit, hint headers.Retry, a *throttle.Answer) *headers.Counts {
	if old := as.latest.Load(); !may || old != nil && old.current(g) || len(a.Statements) != len(limits) {
		return nil
	}
	for i := range limits {
		if int64(a.Statements[i].Remaining) != limits[i].Remaining.N {
			return nil // it stands for more than one, or was cut
		}
	}
	c := h.Counts(header, limits, hint, g.Elapsed())
	a.Repeats = c != nil
	return c
}

// Note notes what Of has returned for an answer, and what the bucket says of the same.
func (as *Answers) Note(g *throttle.Grant, c *headers.Counts, stated *throttle.Stated) {
	if c != nil && stated != nil {
		as.latest.Store(&Answer{c, stated, g.Elapsed() + c.Lasts()})
	}
}
