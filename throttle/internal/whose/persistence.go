package whose

import (
	"math"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// persistence tells refusals that are the matter of the refused requests from those that are the matter of the
// bucket. It goes by what becomes of requests that were refused and are made again. If too much was asked of
// the server, such a request is no more likely to be refused than the others beside it; mostly it is served,
// since it comes after a hold. But a request that the server always refuses is refused again although others
// are served in between, and is never served.
//
// So nothing need tell such requests from the others before they are made, as their kind does for alone.go:
// what counts is what became of all of them.
//
// In come refusals (refuse) and what was served (serve). Out comes how a refusal is to be taken (a Verdict).
//
// The evidence is a likelihood ratio:
//   - It is multiplied by 1/p when a request is refused again although others were served. Here p is the share
//     that was refused of the requests granted since the attempt before. Requests that were under way together
//     add mostSaid to the logarithm of the ratio at most.
//   - It falls to leastRatio when a request that was refused is served.
//
// While refusals are the bucket's, the ratio grows by a factor of n once in n times at most (Ville's
// inequality).
type persistence struct {
	ratio       float64            // the logarithm of the likelihood ratio
	said        float64            // how much of it the latest flight has added, which are requests that were under way together
	flights     int                // flights of which one was refused, since a request was served
	heard       uint64             // the first refusal of the latest flight, in the sequence
	share       float64            // which was refused of recent before the first of these flights; zero if none was served
	drawn       float64            // where the latest request was drawn that went ahead; zero if none was
	othersFirst bool               // a refused claim went first and was refused again, and no refused claim was served since
	refusedAt   monotime.Time      // the latest refusal
	recent      [longestRow]result // a ring of what became of requests since the first refusal
	next        int                // in recent
}

// result is what became of a request.
type result struct {
	granted uint64 // its place in the sequence; zero if there is none
	refused bool
}

// From each of three ratios on, more is done: the more a mistake costs, the greater is the ratio.
const (
	// suspectsAbove is the ratio above which a hint is not stretched, and looks at a server that says nothing
	// come soon. A mistake costs looks that come a little sooner than they should.
	suspectsAbove = 1

	// triesFrom is the ratio from which on the next request goes at once after a refusal, to see whether others
	// are refused as well. That costs one refusal if they are. In a row of refusals, each flight after the
	// first one needs a ratio that is as many times as great as a refusal was unlikely before the row,
	// triesFrom times at most: so a row goes on where nearly all were refused before, but for longestRow
	// flights at most. That is as many as are remembered: beyond, these tell nothing else than the row itself.
	triesFrom, longestRow = 20, 32

	// ownFrom is the ratio from which on a refusal holds nobody, if it is the first since a request was served.
	// A mistake lasts until the request is served.
	ownFrom = 10_000
)

const (
	// leastRatio and mostRatio bound the ratio. Once a request that was refused has been served (leastRatio),
	// two more must be refused again than if none was: a narrow limit beside a wide one, of which nobody tells,
	// refuses a request up to three times before its turn comes.
	leastRatio, mostRatio = 0.0001, 10 * ownFrom

	// unservedFor is for how long after a refusal it is remembered what becomes of requests, or of those of one
	// kind.
	unservedFor = 10 * time.Minute

	// mostSaid bounds what the refusals of one flight add to the logarithm of the ratio, since a window that is
	// used up refuses the whole flight. It is more than triesFrom needs (its logarithm is 3.0). Without it, 63
	// callers of a window of 29 were taken for requests that are always refused, and a hundred were refused in
	// 2 s.
	mostSaid = 3.2
)

// Verdict is how a refusal is to be taken.
type Verdict int

// The ways to take a refusal.
const (
	OfBucket   Verdict = iota // it holds the bucket
	TryAnother                // another request goes at once, alone: its answer shows whether the bucket is held
	OfRequest                 // it holds nobody
)

// refuse takes in a refusal of a request, and says how to take it. The places in the sequence are these:
// granted of its grant, heard of its answer, and before of the grant of its claim the last time, if that was
// refused, else zero. First says that the request went ahead of all others; known, that its claim is known to
// hold nobody. Found says that it is this refusal which shows that refusals are the matter of requests.
func (p *persistence) refuse(now monotime.Time, before, granted, heard uint64, first, known bool) (v Verdict, found bool) {
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
		p.othersFirst = p.othersFirst || first
	}
	if p.refusedAt = now; known || before != 0 && p.ratio >= own {
		return OfRequest, found
	}
	if p.flights == 0 {
		if share, ok := p.shareRefused(0); ok {
			p.share = share
		}
	}
	p.note(result{granted, true})
	if p.flights == 0 || anew {
		p.flights++
	}
	switch {
	case p.ratio >= own && p.flights == 1:
		return OfRequest, found
	case p.flights <= longestRow && p.ratio >= math.Log(triesFrom)+p.row():
		return TryAnother, found
	}
	return OfBucket, found
}

// row is the logarithm of how unlikely it is that all flights since a request was served, but the first one,
// were refused for their own sake. The share that was refused before says so of one.
func (p *persistence) row() float64 {
	return float64(p.flights-1) * min(-math.Log(p.share), math.Log(triesFrom))
}

// serve takes in that a request was served; granted is the place of its grant in the sequence. Again says that
// its claim was refused before.
func (p *persistence) serve(granted uint64, again bool) {
	if again {
		p.ratio, p.othersFirst = math.Log(leastRatio), false
	}
	p.flights = 0
	p.note(result{granted, false})
}

// trying reports whether another request goes at once after a refusal (triesFrom), and a request was refused
// since one was served.
func (p *persistence) trying() bool {
	return p != nil && p.flights > 0 && p.ratio >= math.Log(triesFrom)
}

// suspects reports whether there is evidence at all (suspectsAbove).
func (p *persistence) suspects() bool { return p != nil && p.ratio > math.Log(suspectsAbove) }

// draw returns where in line the request stands that is drawn, as a part of the line. The first draw is by
// chance. The golden ratio has the next ones far from each other. Requests of one batch stand together: so a
// batch that is a tenth of the line is found within 16 draws.
func (p *persistence) draw(random func() float64) float64 {
	if p == nil {
		return random()
	} else if p.drawn == 0 {
		p.drawn = random()
	}
	_, p.drawn = math.Modf(p.drawn + math.Phi)
	return p.drawn
}

// any reports whether a request was refused lately: then it matters what becomes of others.
func (p *persistence) any(now monotime.Time) bool { return now < p.refusedAt.Add(unservedFor) }

// note keeps what became of a request.
func (p *persistence) note(r result) {
	p.recent[p.next] = r
	p.next = (p.next + 1) % len(p.recent)
}

// shareRefused is which share was refused of the requests granted after a place in the sequence. It is not ok
// if none was served: then it says nothing of the request that was granted at that place.
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
