package adaptive

import (
	"math"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/pace"
)

// raise is how the rate of a limit below fewTokens grows. Remaining never shows that more tokens come back. So
// the rate grows with each answer until a request is refused, and again some time later.
//
// After a refusal the rate is just under what was served before it (best), and further raises are smaller.
// Others who take tokens lower best, too, and have it
// forgotten. So the highest that it was at a limit of one (seen) is kept, until a lower rate is refused while
// it is raised: a rate far below seen is raised again as soon as enough was served at it.
//
// In come rates (again), what was served (serve) and refusals (refused, fell). Out come the factors by which
// the rate is multiplied with each served answer (grow) and after a refusal (refused), and the highest rate
// that was seen (best).
type raise struct {
	by   float64       // above 1 while the rate is raised, 1 between two raises, and zero if it is never raised
	from float64       // the rate when it began to be raised again
	at   monotime.Time // when it is to be raised again; zero if that is not known yet
	gap  time.Duration // from the end of a raise to the next one

	best  float64          // the highest rate at which requests were served one after the other; zero if not known
	seen  float64          // the highest that best was at a limit of one, whatever others did to it since
	went  [3]monotime.Time // when the latest three went that were served while nothing remained
	trips float64          // how many requests go in a round trip at the rate, 1 at least; zero if none was served yet
	blind bool             // a round trip is longer than one token takes: so it may vary by as much as a token takes
}

const (
	// fewTokens: with fewer tokens, a look at (time to the reset)/limit is not early, if the time
	// is rounded up. A limit of 1 that is back after 25 ms states "in 1 s", and the look would
	// go after 1 s. So it goes after half the time.
	fewTokens = 4

	// refusalFactor is by what the rate is multiplied after a refusal. AWS's adaptive retry
	// mode multiplies its guessed rates by 0.7; 0.8 was found to be best in simulations.
	refusalFactor = 0.8

	// firstRaise is the factor of a first raise at a limit of one token, for each served answer; where several
	// requests are on their way, for all answers of a round trip together. At a limit of more tokens, which may
	// be a window of a second after all, the factor is gentleRaise.
	firstRaise  = 2.0
	gentleRaise = 1.25

	// laterRaise is the factor of each raise after that, since the limit may have risen. It comes raiseAfter
	// after the first raise has ended, and later each time, as trials of a pace do (see package pace); if the
	// rate has doubled meanwhile, after raiseAfter again.
	laterRaise = 1.06
	raiseAfter = 15 * time.Second

	// leastRaise is the least factor that is worth a refusal: below it, the raise has ended.
	leastRaise = 1.02

	// After a refusal, the rate is multiplied by chanceShare if chanceAfter requests were served at it before:
	// then the network has brought two requests nearer to each other. If fewer were served, it is multiplied by
	// soonShare, and if not even two were, by refusalFactor.
	chanceAfter = 8
	chanceShare = 0.96
	soonShare   = 0.9
)

// on reports whether the rate is raised now.
func (ra *raise) on() bool { return ra.by > 1 }

// again begins to raise a rate again, when it is time for that, or after so many were served at it.
func (ra *raise) again(now monotime.Time, rate float64, served int) {
	switch {
	case ra.on() || ra.by == 0:
		return
	case served >= chanceAfter && !ra.blind && pace.Fallen(rate, ra.seen):
		ra.by, ra.from, ra.at = gentleRaise, rate, 0
	case ra.at == 0:
		if rate >= 2*ra.from {
			ra.gap = raiseAfter
		}
		ra.at = now.Add(ra.gap)
	case now >= ra.at:
		ra.by, ra.from, ra.at = laterRaise, rate, 0
		ra.gap = pace.Later(ra.gap)
	}
}

// serve takes in that a request was served at a rate: when it was sent, how long its answer took, and whether
// nothing remained (usedUp).
//
// The rate of two tokens is held, over a time in which these surely came back: at a limit of one, that of two
// intervals between requests that found one token each; at a limit of more, that of three, since up to one
// token may have been there when nothing remained first.
func (ra *raise) serve(sent monotime.Time, took time.Duration, limit int, usedUp bool, rate float64) {
	ra.trips = took.Seconds() * rate
	if ra.blind = ra.trips > 1; !ra.blind { // or it is no number
		ra.trips = 1
	}
	from := ra.went[0]
	if limit == 1 {
		from = ra.went[1]
	}
	switch {
	case !usedUp:
		ra.went = [3]monotime.Time{}
		return
	case from != 0 && sent > from && !ra.blind:
		ra.best = max(ra.best, 2/sent.Sub(from).Seconds())
		if limit == 1 {
			ra.seen = max(ra.seen, ra.best)
		}
	}
	ra.went[0], ra.went[1], ra.went[2] = ra.went[1], ra.went[2], sent
}

// grow takes in that a request was served at a rate, as so many were since a refusal, and returns by what the
// rate is multiplied.
func (ra *raise) grow(now monotime.Time, rate float64, served int) float64 {
	if ra.again(now, rate, served); ra.by == 0 {
		return 1
	}
	return math.Pow(ra.by, 1/max(ra.trips, 1)) // what is on its way was sent at a lower rate
}

// refused takes in a refusal at a rate at which so many requests were served before, and returns by what the
// rate is multiplied. If the rate is being raised, the last two raises are taken back, though not below best,
// and the raises that follow are smaller. If it is not, best falls by half as much as the rate.
func (ra *raise) refused(rate float64, served int) (factor float64) {
	by, best := ra.by, ra.best/rate
	ra.went = [3]monotime.Time{}
	switch {
	case ra.on():
		ra.seen = min(ra.seen, max(ra.best, rate))
		if ra.by = 1 + (by-1)/4; ra.by < leastRaise {
			ra.by = 1
		}
		return max(1/(by*by), min(1/by, best))
	case ra.blind || served < 2:
		return refusalFactor
	case served < chanceAfter:
		factor = soonShare
	default:
		factor = chanceShare
	}
	ra.best *= (1 + factor) / 2
	return factor
}

// fell takes in that a refusal has lowered a rate that was not being raised. If the rate is far below where the
// latest raise began, the limit has fallen, perhaps for a moment. Then the rate is raised again soon.
func (ra *raise) fell(rate float64) {
	if pace.Fallen(rate, ra.from) {
		ra.gap, ra.at = raiseAfter, 0
	}
}
