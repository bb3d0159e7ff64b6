package adaptive

import (
	"math"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// persistence tells refusals that are the matter of the refused requests from those of the bucket by what becomes of requests
// that were refused and are made again. If too much was asked of the server, such a request is no more likely to be refused than
// the others beside it; mostly it is served, since it comes after a hold. But what the server always refuses is refused again
// although others are served in between, and is never served. So nothing need tell such requests from the others before they
// are made, as evidence of kinds does: what counts is what became of all of them.
//
// In come refusals (refuse) and what was served (serve). Out comes how a refusal is to be taken (a verdict).
//
// The evidence is a likelihood ratio:
//   - It is multiplied by 1/p when a request is refused again although others were served. Here p is the share of the requests granted
//     since its attempt before that were refused. All that were under way together add mostSaid to its logarithm at most.
//   - It falls to leastRatio when a request that was refused is served.
//
// While refusals are the bucket's, the ratio grows by a factor of n once in n times at most (Ville's inequality).
type persistence struct {
	ratio     float64       // its logarithm
	said      float64       // of the logarithm, by the latest of these
	flights   int           // refusals since a request was served: those that were under way when one of them came count as one
	heard     uint64        // when the first refusal of the latest of these came
	vain      bool          // a claim that was refused went first and was refused again, and none that was refused was served since
	refusedAt monotime.Time // the latest refusal
	recent    [32]result    // a ring of what became of requests since the first refusal
	next      int           // in recent
}

// result is what became of a request.
type result struct {
	granted uint64 // its place in the sequence; zero if there is none
	refused bool
}

const (
	// looksFrom is the ratio from which on the next request goes at once after a refusal, to see whether that holds for others.
	// That costs one refusal if it is in vain; so many times as much evidence lets as many more look.
	looksFrom = 20

	// ownFrom is the ratio from which on a refusal holds nobody, if the one before did not come right before it.
	ownFrom = 10_000

	// leastRatio and mostRatio bound the ratio. Where a request that was refused was served once, two more must be refused again
	// than where none was. A narrow limit beside a wide one, which nobody tells, refuses a request up to three times in each of
	// its turns.
	leastRatio, mostRatio = 0.0001, 10 * ownFrom

	// unservedFor is for how long it is remembered after a refusal what becomes of requests, or of those of a kind.
	unservedFor = 10 * time.Minute

	// mostSaid bounds what requests that were refused again say together if they were under way together, since a window that is used
	// up refuses all of them: more than for a look, and no more. Without it, 63 callers of a window of 29 were taken for requests
	// that are always refused, and a hundred were refused in 2 s.
	mostSaid = 3.2
)

// verdict is how a refusal is to be taken.
type verdict int

const (
	ofBucket  verdict = iota // it holds the bucket
	looks                    // another request is to go at once, alone, before it is said what holds the bucket
	ofRequest                // it holds nobody
)

// refuse takes in a refusal of a request that was granted then, and says how to take it. First says that it went ahead of all
// others; before is when its claim was granted the last time, if that was refused, else zero; heard is the place of the answer
// in the sequence. Known says that the claim is known to hold nobody. Found says that this refusal shows that refusals are the
// matter of requests.
func (p *persistence) refuse(now monotime.Time, before, granted, heard uint64, first, known bool) (v verdict, found bool) {
	own, anew := math.Log(ownFrom), granted > p.heard
	if anew {
		p.heard, p.said = heard, 0
	}
	if before != 0 {
		was := p.ratio
		if share, ok := p.shareRefused(before); ok {
			says := min(-math.Log(share), mostSaid-p.said)
			p.said += says
			p.ratio = min(p.ratio+says, math.Log(mostRatio))
		}
		found = was < own && p.ratio >= own
		p.vain = p.vain || first
	}
	if p.refusedAt = now; known || before != 0 && p.ratio >= own {
		return ofRequest, found
	}
	p.note(result{granted, true})
	if p.flights == 0 || anew {
		p.flights++
	}
	switch {
	case p.ratio >= own && p.flights == 1:
		return ofRequest, found
	case p.ratio >= math.Log(looksFrom)*float64(p.flights):
		return looks, found
	}
	return ofBucket, found
}

// serve takes in that a request was served that was granted then. Again says that its claim was refused before.
func (p *persistence) serve(granted uint64, again bool) {
	if again {
		p.ratio, p.vain = math.Log(leastRatio), false
	}
	p.flights = 0
	p.note(result{granted, false})
}

// any reports whether a request was refused lately, so that it matters what becomes of others.
func (p *persistence) any(now monotime.Time) bool { return now < p.refusedAt.Add(unservedFor) }

// note keeps what became of a request.
func (p *persistence) note(r result) {
	p.recent[p.next] = r
	p.next = (p.next + 1) % len(p.recent)
}

// shareRefused is the share of the requests granted since then that were refused; not ok if none was served: that says nothing
// of the one that was granted then.
func (p *persistence) shareRefused(since uint64) (share float64, ok bool) {
	served, refused := 0, 0
	for _, r := range p.recent {
		switch {
		case r.granted <= since:
		case r.refused:
			refused++
		default:
			served++
		}
	}
	return float64(refused+1) / float64(refused+served+2), served > 0
}
