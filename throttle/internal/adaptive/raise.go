package adaptive

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// raise is how the rate of a limit below fewTokens grows: Remaining never shows how many more tokens come back, so the rate grows with
// each answer until a request is refused, and again some time later.
//
// In come rates (again, fell) and refusals (refused). Out comes by what the rate is multiplied with each served answer (by).
type raise struct {
	by   float64       // above 1 while the rate is raised, 1 between that, and zero where it never is
	from float64       // the rate when it began to be raised again
	at   monotime.Time // when it is to be raised again; zero if that is not known yet
	gap  time.Duration // until then from when the raise ended
}

const (
	// firstRaise is by what the rate is first multiplied with each served answer.
	firstRaise = 1.25

	// laterRaise is the same for when the rate is raised again, after the raise has ended: the limit may have risen. That is after
	// raiseAfter, and later each time, as with trials of a pace (see formerRate), unless the rate has doubled.
	laterRaise = 1.125
	raiseAfter = 15 * time.Second
)

// on reports whether the rate is raised now.
func (ra *raise) on() bool { return ra.by > 1 }

// again begins to raise a rate again, when it is time for that.
func (ra *raise) again(now monotime.Time, rate float64) {
	switch {
	case ra.on() || ra.by == 0:
		return
	case ra.at == 0:
		if rate >= 2*ra.from {
			ra.gap = raiseAfter
		}
		ra.at = now.Add(ra.gap)
	case now >= ra.at:
		ra.by, ra.from, ra.at = laterRaise, rate, 0
		ra.gap = min(time.Duration(upGrowth*float64(ra.gap)), longestUp)
	}
}

// refused takes in a refusal while the rate is raised, and returns by what the rate is multiplied: the last two raises are taken back. The
// raises that follow are smaller.
func (ra *raise) refused() (factor float64) {
	factor = 1 / (ra.by * ra.by)
	if ra.by = 1 + (ra.by-1)/4; ra.by < 1.01 {
		ra.by = 1
	}
	return factor
}

// fell takes in that a refusal has lowered a rate that was not being raised: the limit has fallen, perhaps for a moment, if that is far
// below where the raise began. Then the rate is raised again soon.
func (ra *raise) fell(rate float64) {
	if rate < fallen*ra.from {
		ra.gap, ra.at = raiseAfter, 0
	}
}
