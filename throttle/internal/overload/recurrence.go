package overload

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// recurrence tells the failures of a limit from those of a broken server where nothing is served for long: a
// window lets as many requests through each time, and outages do not.
//
// In come answers (take). Out comes, when nothing was served for longPhase, whether as many were served before
// as the time before that; and for how long nothing was served then (longest).
type recurrence struct {
	failingSince monotime.Time // the first failure since a request was served; zero if there is none
	long         bool          // that is longPhase ago
	row, before  int           // requests served since the latest long phase, and between the two before that
	phases       int           // long phases
	longest      time.Duration // the latest long phase that is over, or seven eighths of what that was before if that is more
	latest       monotime.Time // the latest answer
}

const (
	// longPhase is for how long nothing is served where a window is used up. Failures among requests that are
	// served are told apart by what pacing does to them.
	longPhase = time.Second
	// leastRow is how many must be served in a row to be compared, and rowsDiffer is the part by which two rows
	// may differ.
	leastRow   = 8
	rowsDiffer = 10
	// forgottenAfter is after how long without a failure all is forgotten.
	forgottenAfter = 10 * time.Minute
)

// known reports whether there is anything to compare with.
func (r *recurrence) known() bool { return r.phases > 0 }

// take takes in an answer.
func (r *recurrence) take(now monotime.Time, failed bool) (again bool) {
	switch {
	case !failed:
		if r.long {
			r.longest, r.row = max(r.latest.Sub(r.failingSince), r.longest-r.longest/8), 0
		}
		r.failingSince, r.long = 0, false
		if r.row++; r.known() && now.Sub(r.latest) > forgottenAfter {
			*r = recurrence{}
		}
		return false
	case r.failingSince == 0:
		r.failingSince = now
	}
	if r.latest = now; r.long || now.Sub(r.failingSince) < longPhase {
		return false
	}
	r.long = true
	again = r.phases > 1 && min(r.row, r.before) >= leastRow && rowsDiffer*max(r.row-r.before, r.before-r.row) <= max(r.row, r.before)
	r.before = r.row
	r.phases++
	return again
}
