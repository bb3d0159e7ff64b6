// Package repeats remembers the answer that others repeat, which say the same but for what remains of each
// limit. Most answers of a server that counts are such.
//
// In come answers that were read as a whole (Next, Note). Out comes what reads, and counts, those that repeat
// the latest of them (Latest). The package does not know what is sent, or to whom.
package repeats

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gopacer/pacer/headers"
	"github.com/gopacer/pacer/internal/habit"
	"github.com/gopacer/pacer/internal/inside"
	"github.com/gopacer/pacer/quota"
)

// Answers are those of one bucket. The zero Answers repeat nothing. It is safe for concurrent use, and must not
// be copied.
type Answers struct{ latest atomic.Pointer[Answer] }

// Answer is one that others may repeat.
type Answer struct {
	*habit.Repeat              // reads what repeats this one
	Mark          *inside.Mark // for throttle.Inside to count it, which ends the grant of a request that was served
}

// Latest returns the answer that others may repeat, nil if there is none.
func (as *Answers) Latest() *Answer { return as.latest.Load() }

// Next returns what is to read answers that repeat this one, whose grant was at an instant, and of which a
// habit has read the limits and a hint. It returns nil if no answer can, or if those to come are read already;
// if answers come so slowly that none would be; or if a statement is of more than one limit, or was cut.
func (as *Answers) Next(now time.Duration, h *habit.Habit, header http.Header, limits []headers.Limit, hint headers.Retry, statements []quota.Statement) *habit.Repeat {
	var before *habit.Repeat
	if old := as.latest.Load(); old != nil {
		before = old.Repeat
	}
	if before != nil && before.Current(now) || len(statements) != len(limits) {
		return nil
	}
	for i := range limits {
		if statements[i].Remaining != limits[i].Remaining.N {
			return nil
		}
	}
	return h.Repeat(before, header, limits, hint, now)
}

// Note notes what Next has returned for an answer, and the mark that the bucket has given it.
func (as *Answers) Note(c *habit.Repeat, mark *inside.Mark) {
	if c != nil && mark != nil {
		as.latest.Store(&Answer{c, mark})
	}
}
