package pace

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// catchUp is what a hold has kept back that the server asked for. Hints are whole seconds as a rule, and a
// token comes back in less: so something has come back when the hold ends, and would be lost at the pace. Half
// of what the pace would have let go goes at once then: with all of it, a bucket would be as empty again as the
// refusal found it. But no more goes than half of what the server is known to serve at once after idling; and
// nothing where that is less than leastRow. Half as much goes after the next hold if a request is refused
// before that has gone; or no later after the hold than the hold was long, as a window or a log refuses in
// which too much went. That says nothing while the pace may be the reason: where another refusal came shortly
// before the hold. It is forgotten when no more was refused after many holds.
type catchUp struct {
	from   monotime.Time // the refusal, until something goes after it; zero if nothing is kept back
	steady bool          // nothing was refused for long before it
	by     time.Duration // so far the pace may be behind
	until  monotime.Time // as long after the hold as the hold was; zero if nothing was made up for
	misses int           // how often too much went, less one for each healedBy holds that were made up for well
	well   int           // how many of these, since misses has changed
}

const (
	// mostMisses is how often a hold is made up for by half as much each time; a hold has fewer nanoseconds
	// than 1<<mostMisses.
	mostMisses = 60
	// healedBy is after how many holds that were made up for well twice as much is: with four, a window of a
	// second was refused half as often again.
	healedBy = 16
	// steadyFor is for how long nothing was refused where the pace is not the reason of the next refusal:
	// longer than from one trial to the next, firstUp.
	steadyFor = 15 * time.Second
)

// refuse takes in a refusal: whether the hold after it is made up for, and for how long nothing was refused
// before.
func (h *catchUp) refuse(now monotime.Time, counts bool, since time.Duration) {
	switch {
	case h.until == 0:
	case h.by > 0, now < h.until && h.steady:
		h.misses, h.well = min(h.misses+1, mostMisses), 0
	case now < h.until:
	default:
		if h.well++; h.well == healedBy {
			h.misses, h.well = max(h.misses-1, 0), 0
		}
	}
	if h.from, h.steady, h.by, h.until = 0, since >= steadyFor, 0, 0; counts {
		h.from = now
	}
}

// behind returns by how much the pace may be behind when a request goes now, where the server serves so many at
// once, beyond the rate. Caught says that it is not behind any more.
func (h *catchUp) behind(now monotime.Time, caught bool, burst int, rate float64) time.Duration {
	if h.from != 0 {
		if burst >= leastRow {
			hold := now.Sub(h.from)
			h.by, h.until = min(hold, monotime.Seconds(float64(burst)/rate))>>(1+h.misses), now.Add(hold)
		}
		h.from = 0
	}
	if caught {
		h.by = 0
	}
	return h.by
}
