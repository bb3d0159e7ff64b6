package expect

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Answer is how long an answer is expected to take: of those of late, nine of ten took no longer. The zero value
// knows of none, and expects it at once.
//
// It is a quantile, found step by step (H. Robbins and S. Monro, A Stochastic Approximation Method, 1951): an
// answer that took longer raises it by nine times as much as one that took less lowers it. So it does not need
// to keep what answers took, and a few that take for ever do not raise it.
type Answer struct{ takes time.Duration }

const (
	// quantile is how many answers took no longer, for one that did.
	quantile = 9

	// grain is by how much the time falls, as a part of it, for an answer that took less: it halves in 44.
	grain = 1.0 / 64

	// finest is the least step, so that the time rises from zero.
	finest = time.Millisecond
)

// Note takes in how long an answer took; or, if it was lost, for how long none came. A refusal says nothing: a
// server may need less time for it.
func (a *Answer) Note(took time.Duration, refused, lost bool) {
	step := max(time.Duration(grain*float64(a.takes)), finest)
	switch {
	case refused || lost && took < a.takes/2:
	case a.takes == 0:
		a.takes = took
	case lost || took > a.takes:
		a.takes += quantile * step
	case took < a.takes:
		a.takes = max(a.takes-step, 0)
	}
}

// Before returns the instant before which a claim must go, for its answer to come before the deadline, and how
// long the answer is expected to take; a deadline of zero is none. Since is when the claim was first made: at
// most half of its time is kept for the answer. So some claims wait also where answers are thought to take
// longer than all of them have, and it is seen when answers come sooner. If the deadline is not that of the
// answer, nothing is kept for it.
func (a *Answer) Before(deadline, since monotime.Time, ofAnswer bool) (at monotime.Time, takes time.Duration) {
	if deadline == 0 || !ofAnswer {
		return deadline, 0
	}
	takes = min(a.takes, max(deadline.Sub(since)/2, 0))
	return deadline.Add(-takes), takes
}
