package adaptive

import (
	"math"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/pace"
)

// drip is at which rate a limit comes back, as its resets say: that of a bucket is the time until what is
// missing is back, so that rate = missing/reset. Where so few tokens are there that Remaining hides what comes
// back between two requests, nothing else shows it.
//
// What is missing is known to one token, and the reset to its step. So each answer says an interval, and all of
// them are intersected. Where they do not meet, the limit does not come back at an even rate, as a window does
// not, or the rate has changed: then the latest interval counts. The rate is known if the reset that was stated
// first has come meanwhile.
type drip struct {
	least, most float64       // tokens per second
	known       monotime.Time // from when on the rate is known, if the intervals meet until then
	met         int           // so many intervals in a row do, of those that say the rate to a factor of two
	uneven      bool          // those of the latest reset do not: it is not the time until what is missing is back

	farIn time.Duration // the farthest reset that was stated of late: the limit takes no less time to come back, whatever is stated of the last tokens of a log
	farTo monotime.Time // until then, after two such times
}

// measuredShare is the share that is used of a rate that was measured: servers round, and a
// refusal costs more than the share that is left over.
const measuredShare = 0.97

// drifts is by which share intervals may miss one another: clocks are not exact.
const drifts = 1.02

// enoughMet is how many intervals that say the rate to a factor of two meet in a row if it is even.
const enoughMet = 6

// note takes in an answer that states a reset. As elsewhere, it was rounded up, unless it is known that the
// server rounds down. After is the reset as the answer left it.
func (d *drip) note(o *outcome, after *reset) {
	if o.resetIn <= 0 {
		return
	}
	late := o.resetIn
	if after.roundsDown {
		late += o.resetStep
	}
	d.meet(o, o.now.Add(o.resetIn), late-o.resetStep, late)
}

// noteInstant is note for a reset that is stated as an instant.
func (d *drip) noteInstant(o *outcome) {
	if o.resetIn != 0 || o.inMost <= 0 {
		return
	}
	half := o.now.Sub(o.sent) / 2
	d.meet(o, o.now.Add(o.inMost+half), o.inLeast-half, o.inMost+half)
}

// meet intersects what was known with an answer: what is missing comes back between early and late. If it does
// not meet that, the rate is known from the reset on.
func (d *drip) meet(o *outcome, reset monotime.Time, early, late time.Duration) {
	missing := float64(o.limit - o.remaining)
	same := d.known != 0 && o.change == sameReset && !o.otherLimit
	d.uneven = d.uneven && same
	if o.limit <= 0 || missing < 1 {
		return
	}
	rounded := float64(max(o.grain, 1) - 1)
	surely := max(missing-1-rounded, 0) // Remaining is cut to whole tokens, or rounded to many
	if !o.refused && !o.unpriced {
		surely = min(max(surely, float64(o.n)), missing) // what the request took is missing, whatever had been there
	}
	least, most := surely/late.Seconds(), math.Inf(1)
	if early > 0 {
		most = (missing + rounded) / early.Seconds()
	}
	if d.known == 0 || least > d.most*drifts || most*drifts < d.least {
		d.least, d.most, d.known, d.met, d.uneven = least, most, reset, 0, same
		return
	}
	d.least, d.most = max(d.least, least), min(d.most, most)
	if most <= 2*least {
		d.met = min(d.met+1, enoughMet)
	}
}

// noteFar takes in an answer, and the reset as it left it.
func (d *drip) noteFar(o *outcome, after *reset) {
	if in := after.early.Sub(o.now); in > d.farIn || o.now > d.farTo || o.otherLimit {
		d.farIn, d.farTo = max(in, 0), o.now.Add(2*max(in, 0))
	}
}

// bounds returns between which bounds the rate is: zero and infinity if it is not known.
func (d *drip) bounds(now monotime.Time) (least, most float64) {
	if !d.knows(now) {
		return 0, math.Inf(1)
	}
	return d.least, d.most
}

func (d *drip) knows(now monotime.Time) bool { return d.known != 0 && now >= d.known }

// within reports whether the limit was full when the request came, and is full again within a round trip; and
// at which rate it comes back then. Whoever has no more under way than remain uses a part of that. A log may
// have its next reset as near, but then it is not full.
func (d *drip) within(o *outcome) (rate float64, ok bool) {
	if o.resetIn <= 0 || o.resetIn > o.now.Sub(o.sent) || o.refused || o.found() < o.limit {
		return 0, false
	}
	rate, _ = d.bounds(o.now)
	rate *= measuredShare
	return rate, pace.Sane(rate)
}
