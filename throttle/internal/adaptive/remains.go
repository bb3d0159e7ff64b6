package adaptive

import (
	"math"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// remains is what remains of a limit: the least Remaining of the answers of the last two round trips. If every
// answer speaks of the limit, this never lets too much go, in whatever order answers arrive: what the server
// counted after it wrote the last of these answers is still in flight. It also follows every change at once,
// without knowing its reason: the limit was restored, some of it came back, or other clients used it.
//
// Answers may overtake one another. One is known to be written after another only if its request went after the
// other had come back. So an answer to a request granted after nextSince was written after all answers that had
// come back by nextSince, and these are out of date. The least Remaining of the answers since nextSince
// (nextRemaining) is a lower bound of what there is now, but for what is in flight.
//
// In come answers that speak of the limit (hear, renew), those that do not (charge), and what is known from
// elsewhere (lower, restore, join). Out comes what remains.
type remains struct {
	remaining     int           // least Remaining of the answers of the last two round trips
	nextRemaining int           // least Remaining of the answers since nextSince
	nextSince     sequence      // the first answer to a request granted later makes nextRemaining the least
	lastAnswer    sequence      // the latest answer that spoke of the limit
	leastThen     int           // least Remaining of the last round trip, when nextSince was set
	heardThen     monotime.Time // and when that was, at the soonest
	restored      sequence      // the latest look that found the whole limit: what went before says nothing of it
}

// hear takes in the Remaining of an answer, which has a number in the sequence as its request has (granted),
// and came at an instant, or later. It reports whether the answer is the newest: the server wrote it after all
// answers before.
func (r *remains) hear(granted sequence, remaining int, answer sequence, at monotime.Time) (newest bool) {
	if r.isBefore(granted) {
		r.lastAnswer = answer
		return false
	}
	if newest = granted >= r.lastAnswer; newest {
		// The request went after all other answers had come back, or this is the first answer.
		r.nextRemaining = remaining
	} else {
		r.remaining, r.nextRemaining = min(r.remaining, remaining), min(r.nextRemaining, remaining)
		newest = granted >= r.nextSince
	}
	if r.lastAnswer = answer; newest {
		// What is said from now on, of requests that go from now on, is written later.
		r.remaining, r.nextRemaining, r.nextSince = r.nextRemaining, math.MaxInt, answer
		r.leastThen, r.heardThen = r.remaining, at
	}
	return newest
}

// isBefore reports whether the answer to a request of that number is about the window before.
func (r *remains) isBefore(granted sequence) bool { return granted < r.restored }

// renew takes in that a request of that number found the whole limit: it is the newest.
func (r *remains) renew(granted sequence) { r.restored, r.lastAnswer = granted, granted }

// charge takes away what a request has cost whose answer does not speak of the limit.
func (r *remains) charge(n int) { r.remaining = max(r.remaining-n, 0) }

// lower takes in that no more remains than so much, as another bucket or process has heard.
func (r *remains) lower(to int) {
	r.remaining, r.nextRemaining = min(r.remaining, to), min(r.nextRemaining, to)
}

// restore takes in that so much remains, as was known elsewhere before the answer of a number.
func (r *remains) restore(remaining int, answer sequence) {
	r.remaining, r.nextRemaining, r.nextSince, r.lastAnswer = remaining, math.MaxInt, answer, answer
}

// join takes in what remained of the same limit as another bucket has heard, up to the answer of a number.
func (r *remains) join(o *remains, answer sequence) {
	r.remaining, r.nextRemaining, r.nextSince = min(r.remaining, o.remaining), min(r.nextRemaining, o.nextRemaining), answer
}
