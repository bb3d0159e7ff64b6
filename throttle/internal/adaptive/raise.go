package adaptive

import (
	"math"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/pace"
)

// raise is how the rate of a limit below fewTokens grows: Remaining never shows how many more tokens come back, so the rate grows with
// each answer until a request is refused, and again some time later.
//
// After a refusal the rate is just under what was served before it (held), and what it is raised by is smaller. Below that, the rate grows a little with each
// answer. A refusal at a pace that is well below held is not about the pace: others took the token, or the limit has fallen. Then the rate hardly falls, and
// held falls with it.
//
// In come rates (again), what was served (serve) and refusals (refused, fell). Out comes by what the rate is multiplied with each served answer (grow), and after a
// refusal (refused), and how long one token takes at most (held).
type raise struct {
	by   float64       // above 1 while the rate is raised, 1 between that, and zero where it never is
	from float64       // the rate when it began to be raised again
	at   monotime.Time // when it is to be raised again; zero if that is not known yet
	gap  time.Duration // until then from when the raise ended

	held   float64          // the highest rate at which requests were served one after the other; zero if that is not known
	went   [3]monotime.Time // when the latest ones went that were served while nothing remained
	others int              // others are likely to share the limit until so many more are served
	trips  float64          // so many requests go in a round trip at the rate, if that is more than one; zero before the first was served
	blind  bool             // a round trip is longer than one token takes: so it may vary by as much
}

const (
	// firstRaise is by what the rate of a limit of one is first multiplied with each served answer, or with all of a round trip where several are on their way. It is
	// gentleRaise at more, which may be a window of a second after all.
	firstRaise  = 2.0
	gentleRaise = 1.25

	// laterRaise is the same for when the rate is raised again, after the raise has ended: the limit may have risen. That is after
	// raiseAfter, and later each time, as with trials of a pace (see package pace), unless the rate has doubled.
	laterRaise = 1.06
	raiseAfter = 15 * time.Second

	// leastRaise is a raise that is worth a refusal.
	leastRaise = 1.02

	// A pace that is below othersBelow of one that was held is not the reason of a refusal.
	othersBelow = 0.9
	othersShare = 0.9  // by what the rate, and what was held, are multiplied then
	othersRaise = 1.01 // and the rate with each served answer after that

	// A refusal after chanceAfter requests that were served at a pace has lowered it enough if that is multiplied by chanceShare: the network has brought two
	// requests nearer to each other. After fewer it is multiplied by soonShare, and if not even two were served by refusalFactor.
	chanceAfter = 8
	chanceShare = 0.96
	soonShare   = 0.9
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
		ra.gap = pace.Later(ra.gap)
	}
}

// serve takes in that a request was served at a rate, which was sent then and answered after so long; spent says that nothing remained. Of a limit of one, two intervals of requests that found one token each are two tokens. Of more than one,
// up to a token may have been there when nothing remained first.
func (ra *raise) serve(sent monotime.Time, took time.Duration, limit int, spent bool, rate float64) {
	ra.trips = took.Seconds() * rate
	if ra.blind = ra.trips > 1; !ra.blind { // or it is no number
		ra.trips = 1
	}
	from := ra.went[0]
	if limit == 1 {
		from = ra.went[1]
	}
	switch {
	case !spent:
		ra.went = [3]monotime.Time{}
		return
	case from != 0 && sent > from && !ra.blind:
		ra.held = max(ra.held, 2/sent.Sub(from).Seconds())
	}
	ra.went[0], ra.went[1], ra.went[2] = ra.went[1], ra.went[2], sent
}

// grow takes in that a request was served, and returns by what the rate is multiplied: beside others, it grows up to what was held, and alone, where a
// refusal costs more than the rest, up to othersBelow of that.
func (ra *raise) grow(now monotime.Time, rate float64) float64 {
	switch {
	case ra.by == 0:
		return 1
	case ra.others == 0:
		if ra.again(now, rate); !ra.on() && !ra.blind {
			return max(1, min(othersRaise, othersBelow*ra.held/rate))
		}
		return math.Pow(ra.by, 1/max(ra.trips, 1)) // what is on its way was sent at a lower rate
	}
	if ra.others--; ra.others == 0 {
		ra.at = now
	}
	return max(1, min(othersRaise, ra.held/rate))
}

// refused takes in a refusal at a rate, after so many that were served, and returns by what the rate is multiplied. While it is raised, the last two raises
// are taken back, but for what was held, and the raises that follow are smaller. Later, held falls by half as much as the rate.
func (ra *raise) refused(rate float64, served int) (factor float64) {
	by, held := ra.by, ra.held/rate
	ra.went = [3]monotime.Time{}
	switch {
	case !ra.blind && rate < othersBelow*ra.held && (ra.others > 0 || served < crowdFor):
		ra.by, ra.others, ra.held = 1, crowdFor, othersShare*ra.held
		return othersShare
	case ra.on():
		if ra.by = 1 + (by-1)/4; ra.by < leastRaise {
			ra.by = 1
		}
		return max(1/(by*by), min(1/by, held))
	case ra.blind || served < 2:
		return refusalFactor
	case served < chanceAfter:
		factor = soonShare
	default:
		factor = chanceShare
	}
	ra.held *= (1 + factor) / 2
	return factor
}

// fell takes in that a refusal has lowered a rate that was not being raised: the limit has fallen, perhaps for a moment, if that is far
// below where the raise began. Then the rate is raised again soon.
func (ra *raise) fell(rate float64) {
	if pace.Fallen(rate, ra.from) {
		ra.gap, ra.at = raiseAfter, 0
	}
}
