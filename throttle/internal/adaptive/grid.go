package adaptive

import (
	"math"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// grid is at which rate a bucket comes back whose resets are instants in milliseconds. How long all takes to
// come back, such a reset says no better than the two clocks and the way of an answer are known (drip). But
// each token that anybody takes moves it on by the time in which one comes back, whatever clock it is by: so
// resets differ by multiples of that, and the least difference of late is that of one token, if two were seen
// that were granted one after the other.
//
// In come outcomes (note); out comes between which bounds the rate is (within).
type grid struct {
	last   monotime.Time // the latest reset, by the server's clock
	least  time.Duration // the least difference of the latest resets, fewer than gridSeen; zero if there was none
	before time.Duration // that of gridSeen resets before these
	seen   int           // so many these are
}

const (
	gridSeen = 32               // resets are remembered
	gridStep = time.Millisecond // in which they are stated

	// enoughAgreed is how many of the intervals in which the rate is are to meet in a row: those of a log,
	// whose resets differ by anything, do not.
	enoughAgreed = 8
)

// note takes in an answer.
func (g *grid) note(o *outcome) {
	if o.resetIn != 0 || o.resetLate == 0 {
		return
	}
	by := o.resetLate.Sub(g.last).Abs()
	if g.last != 0 && by > gridStep {
		if g.seen++; g.least == 0 || by < g.least {
			g.least = by
		}
		if g.seen == gridSeen {
			g.before, g.least, g.seen = g.least, 0, 0
		}
	}
	g.last = o.resetLate
}

// within narrows down between which bounds the rate is, after so many intervals in a row that met. It returns
// zero and infinity if that is not known.
func (g *grid) within(least, most float64, agreed int) (from, to float64) {
	token := g.least
	if token == 0 || g.before != 0 && g.before < token {
		token = g.before
	}
	if token == 0 || agreed < enoughAgreed || g.before == 0 && g.seen < enoughAgreed {
		return 0, math.Inf(1)
	}
	if from, to = max(least, 1/(token+gridStep).Seconds()), min(most, 1/(token-gridStep).Seconds()); from > to {
		return 0, math.Inf(1)
	}
	return from, to
}
