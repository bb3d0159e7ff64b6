package expect

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Answer is how long an answer is expected to take: of those of late, nine of ten took no longer. The zero
// value knows of none, and expects it at once; so it does again after a minute in which none was heard.
//
// It is a quantile, found step by step (H. Robbins and S. Monro, A Stochastic Approximation Method, 1951): an
// answer that took longer raises it by nine times as much as one that took less lowers it. So it does not need
// to keep what answers took, and a few that take for ever do not raise it.
type Answer struct {
	takes time.Duration
	heard monotime.Time // when the latest answer was that said something
	short uint          // how many of the latest, one after the other, took less than half of what was expected
}

const (
	// quantile is how many answers took no longer, for one that did.
	quantile = 9

	// grain is by how much the time falls, as a part of it, for an answer that took less: it halves in 44.
	grain = 1.0 / 64

	// row is how many answers in a row are below half of it once in a hundred times, if one of ten takes
	// longer. Where so many were, the time falls twice as fast, and so on: from 5 s to 10 ms in 133 answers and
	// not in 321.
	row = 44

	// finest is the least step, so that the time rises from zero.
	finest = time.Millisecond

	// memory is for how long what was heard says something: by then, a bucket starts slowly again. Many more
	// answers may have come meanwhile, to requests that did not wait, and are not heard.
	memory = time.Minute
)

// Note takes in that an answer came now to a request that was sent then; or, if it was lost, that none came
// until now. If it is not known when the request was sent, that says nothing, and nor does a refusal: a server
// may need less time for it. All instants go by the time for which the machine was awake, as deadlines do.
func (a *Answer) Note(sent, now monotime.Time, known, refused, lost bool) {
	took, step := now.Sub(sent), max(time.Duration(grain*float64(a.takes)), finest)
	fades := now.Sub(a.heard) > memory
	if !known || refused || lost && took < a.takes/2 && !fades {
		return
	}
	if a.heard, a.short = now, a.short+1; lost || took >= a.takes/2 {
		a.short = 0
	}
	switch {
	case a.takes == 0 || fades:
		a.takes = took
	case lost || took > a.takes:
		a.takes += quantile * step
	case took < a.takes:
		a.takes = max(a.takes-step<<min(a.short/row, 6), 0)
	}
}

// Before returns the instant before which a claim must go, for its answer to come before the deadline, and how
// long the answer is expected to take; a deadline of zero is none. Since is when the claim was first made: at
// most half of its time is kept for the answer. So some claims wait also where answers are thought to take
// longer than all of them have, and it is seen when answers come sooner. If the deadline is not that of the
// answer, nothing is kept for it. If all have more time than memory, so do the answers to them.
func (a *Answer) Before(deadline, since monotime.Time, ofAnswer bool) (at monotime.Time, takes time.Duration) {
	if deadline == 0 || !ofAnswer || since.Sub(a.heard) > max(memory, deadline.Sub(since)) {
		return deadline, 0
	}
	takes = min(a.takes, max(deadline.Sub(since)/2, 0))
	return deadline.Add(-takes), takes
}
