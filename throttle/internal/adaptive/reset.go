package adaptive

import (
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// reset is when a limit will be restored, as an interval. Every statement is an interval:
// nobody says whether it was rounded up or down, and the answer was on its way for a while.
// The truth is in all of them, so they are intersected. As most servers round up, all are
// taken to, until a server says that nothing remains and that the reset is now, or is seen
// not to keep its word. A statement that does not meet what was known speaks of another
// reset and takes its place.
type reset struct {
	early, late   monotime.Time // the reset is not before early and not after late; zero if nothing is known
	resolution    time.Duration // the step in which the server states it
	roundsDown    bool          // what it states is rounded down
	opened        monotime.Time // when the first answer that spoke of this reset was written
	halfRoundTrip time.Duration // by how much opened may be off
	resets        int           // how many were spoken of
}

// news is what a statement says of a reset beside what was known.
type news struct {
	another bool // it speaks of another reset
	moved   bool // the reset moved on before it came
}

// narrow takes in the statement of an answer that came now to a request that was sent then,
// about a limit of so many tokens.
func (r *reset) narrow(sent, now monotime.Time, st *quota.Statement, limit int) (n news) {
	if !st.ResetKnown {
		if r.late <= now {
			r.early, r.late = 0, 0
		}
		return n
	}
	r.resolution = min(max(st.Resolution, 0), monotime.Longest)
	if !r.roundsDown && st.Reset <= 0 && st.Remaining <= 0 && r.resolution > 0 {
		r.roundDown()
	}
	early, late := r.interval(sent, now, st)
	passed := st.Reset > 0 && sent >= r.late
	if r.late == 0 || passed || early > r.late || late < r.early {
		// By less than half of what one token amounts to, clocks drift apart.
		n.another, n.moved = true, now < r.late && float64(early-r.late)*2*float64(limit) > float64(r.late-now)
		r.early, r.late, r.halfRoundTrip = early, late, now.Sub(sent)/2
		r.opened = now.Add(-r.halfRoundTrip)
		r.resets++
		return n
	}
	r.early = max(r.early, early)
	if late < r.late {
		r.late = late
	}
	return n
}

// interval returns before and after which the reset is not that a statement speaks of.
func (r *reset) interval(sent, now monotime.Time, st *quota.Statement) (early, late monotime.Time) {
	in, step := min(max(st.Reset, 0), monotime.Longest), min(max(st.Resolution, 0), monotime.Longest)
	early, late = sent.Add(in-step), now.Add(in)
	switch {
	case !st.Absolute:
	case -now.Sub(sent) <= st.Skew && st.Skew <= time.Second:
		late = sent.Add(in - st.Skew)
		early = late.Add(-step)
	default:
		early = early.Add(-time.Second)
	}
	if r.roundsDown {
		early, late = early.Add(step), late.Add(step)
	}
	return early, late
}

// roundDown notes that resets are rounded down, and so come up to a step later than stated.
func (r *reset) roundDown() {
	r.roundsDown = true
	if r.late != 0 {
		r.early, r.late = r.early.Add(r.resolution), r.late.Add(r.resolution)
	}
}
