package pace

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// held is what a hold has kept back that the server asked for. Hints are whole seconds as a rule, and a token comes back in less: so something has come back when the hold
// ends, and would be lost at the pace. Half of what the pace would have let go goes at once then: with all of it, a bucket would be as empty again as the refusal found it.
// But no more goes than half of what the server is known to serve at once after idling; and nothing where that is less than leastRow. If a request is refused
// before that has gone, half as much goes after the next hold.
type held struct {
	from   monotime.Time // the refusal, until something goes after it; zero if nothing is kept back
	by     time.Duration // so far the pace may be behind
	misses int           // how often that was refused
}

// mostMisses is how often a hold is made up for by half as much each time; a hold has fewer nanoseconds than 1<<mostMisses.
const mostMisses = 60

// refuse takes in a refusal, and whether the hold after it is made up for.
func (h *held) refuse(now monotime.Time, counts bool) {
	if h.by > 0 {
		h.misses = min(h.misses+1, mostMisses)
	}
	if h.from, h.by = 0, 0; counts {
		h.from = now
	}
}

// behind returns by how much the pace may be behind when a request goes now, where the server serves so many at once, beyond the rate. Caught says that it is not behind any more.
func (h *held) behind(now monotime.Time, caught bool, burst int, rate float64) time.Duration {
	if h.from != 0 {
		if burst >= leastRow {
			h.by = min(now.Sub(h.from), monotime.Seconds(float64(burst)/rate)) >> (1 + h.misses)
		}
		h.from = 0
	}
	if caught {
		h.by = 0
	}
	return h.by
}
