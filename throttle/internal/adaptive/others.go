package adaptive

import "github.com/gopacer/pacer/throttle/internal/monotime"

// otherUsers estimates how much of a limit others use: Remaining falls faster than our
// requests explain, and the excess is theirs. What others have under way is not known, but
// how fast they used the limit up is. Without the estimate, each of several processes would
// spend all that the server says remains.
type otherUsers struct {
	began    monotime.Time // when the request went whose answer brought the limit back
	top      int           // what there was then; zero if no answer has spoken of it
	ours     int           // of that, used by requests of ours that were answered
	perOurs  float64       // what others used for each of ours
	measured bool          // over a whole window
}

// mostOthers bounds how much others are thought to use for each of ours: with more, one
// request at a time would go for long, should the others stop.
const mostOthers = 8

// count takes in an answer, after which so much is in flight, about a limit that is, or is
// not, spent.
func (u *otherUsers) count(o *outcome, inFlight int, spent bool) {
	switch back := o.probe && !o.refused && !spent; {
	case back:
		// Whoever comes first after the reset gets more than whoever comes last, in turns.
		u.perOurs = max(u.estimate(0, 0), u.perOurs/2)
		u.measured = true
		fallthrough
	case u.top == 0:
		u.began, u.top, u.ours = o.sent, o.remaining+o.n, 0
		if 10*u.top >= 9*o.limit {
			u.top = max(u.top, o.limit) // it has only just begun
		}
	}
	if !o.refused && o.sent >= u.began {
		u.ours += o.n
	}
	if o.newer && !u.measured {
		u.perOurs = u.estimate(o.remaining, inFlight)
	}
}

// estimate returns how much others have used for each of ours, what is in flight included, if
// so much remains.
func (u *otherUsers) estimate(remaining, inFlight int) float64 {
	if n := u.ours + inFlight; n >= 4 { // else it says little
		return min(max(float64(u.top-remaining)/float64(n)-1, 0), mostOthers)
	}
	return u.perOurs
}

// with returns how much may be used before n of ours are. Ours take a round trip; others have as
// much under way as they used, and send as much again before they hear of ours.
func (u *otherUsers) with(n int) int { return n + int(2*u.perOurs*float64(n)) }
