package adaptive

import (
	"math"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/pace"
)

// This file measures the rate at which a limit comes back token by token, once that is believed: served
// requests raise it, and refusals lower it.

// servedInRow is after how many served requests in a row the rate follows what the resets say, see follow.
const servedInRow = 8

// remeasure has the rate be measured anew, from an instant on at which so much was left.
func (r *refill) remeasure(from monotime.Time, left int) {
	r.meter = meter{from: from, left: left}
}

// measure takes in an answer of a server that refills: of a limit that is shared as a stock, or of one that is
// ours.
func (r *refill) measure(o *outcome) {
	if o.requests {
		r.seeStock(o)
	}
	if r.shared() {
		r.shareStock(o)
		return
	}
	r.measureRate(o)
}

// measureRate raises the rate to what was measured, lowers it after a refusal, and finds out whether the server
// does not refill after all.
func (r *refill) measureRate(o *outcome) {
	since := o.sent >= r.meter.from
	if o.refused {
		if since {
			r.measureRefused(o)
		}
		return
	}
	if r.meter.serve(o); !since {
		return
	}
	r.served++
	r.find(o)
	if r.crowd.on() {
		r.share(o)
		return
	}
	if o.usedUpSince != 0 {
		r.seeFaster(o)
	}
	if o.limit < fewTokens {
		r.raiseWhole(o)
		r.raise.serve(o.sent, o.now.Sub(o.sent), o.limit, o.paced, r.rate)
	}
	r.rate = min(r.blind.grow(o, r.rate*r.raise.grow(o.now, r.rate, r.served)), math.MaxInt32) // see pace.Sane
	if r.blind.on {
		r.atMost = max(r.atMost, r.rate)
	}
	r.follow(o)
	if !o.newest {
		return
	}
	back, took := r.meter.back(o.remaining), o.now.Sub(r.meter.from)
	switch {
	case took < r.provisionalSpan/2 && 4*back > 3*o.limit:
		r.wrong()
	case o.unpriced: // the price was learned from this rate
	case took >= r.span/2:
		r.measured(back, took)
	}
}

// measured takes in that so much came back in some time: Remaining shows what this rate leaves over, and it is
// spent.
func (r *refill) measured(back int, took time.Duration) {
	r.rate = max(r.rate, measuredShare*float64(back)/took.Seconds())
	r.atMost = max(r.rate, r.guessed, float64(back+2+r.meter.late)/took.Seconds())
}

// measureRefused is measureRate after a refusal.
func (r *refill) measureRefused(o *outcome) {
	if r.awaitReset(o.now, o.lateBefore) {
		return
	}
	if r.resetLooks > 0 && o.sent == r.pacedWent && o.sent < r.pacedBefore.Add(r.timeFor(1, false)) { // a look says nothing of the rate
		r.resetLooks, r.pacedFrom = r.resetLooks-1, o.now
		return
	}
	if taken := o.taken(); o.limit >= fewTokens && (o.change == laterReset || taken) { // others took what came back, or what was left
		r.crowd.refuse(refusalFactor*r.rate, taken)
	}
	if o.change != laterReset {
		r.doubt()
	}
	r.slowDown()
	r.pacedFrom, r.served, r.blind.refused = o.now, 0, true
	if r.raise.by > 0 { // others took the token, or the pace was too fast: it is back after that of one, however slow the pace is
		r.nextAt(o.now.Add(r.token()))
	}
	r.remeasure(o.now, o.remaining)
}

// seeFaster finds out, after a request that went when nothing remained, whether the whole limit was there,
// though not half of it can have come back at the rate since then. Then it comes back faster than it did: that
// is measured anew, and requests look at the reset.
func (r *refill) seeFaster(o *outcome) {
	if !o.paced {
		return
	}
	if !r.slowerThan(1) { // a token comes soon
		r.resetLooks = 0
		return
	}
	explained := 2*(r.rate*o.now.Sub(o.usedUpSince).Seconds()+1) > float64(o.limit)
	if o.found() < o.limit || o.limit >= fewTokens && explained {
		r.resetLooks = 0
		return
	}
	if r.resetLooks = mostResetLooks; o.now.Sub(r.meter.from) >= r.span/2 {
		r.remeasure(o.now, o.remaining)
	}
}

// mostResetLooks is how many looks at the reset in a row find nothing, until requests are paced at the rate
// again: at the first one, an estimated window may have nothing.
const mostResetLooks = 2

// beginRaise has the rate of a limit of few tokens grow with each answer. At a limit of one, that begins with
// this answer, and what was seen before is taken for held; or if the token was there as soon as the user says,
// the rate is just under what he says.
func (r *refill) beginRaise(o *outcome) {
	switch r.raise.by = firstRaise; {
	case o.limit != 1:
		r.raise.by = gentleRaise
	case o.sent.Sub(o.usedUpSince) < firstRaise*r.spacing:
		r.rate = measuredShare / r.spacing.Seconds()
		r.raise = raise{by: 1, from: r.rate, gap: raiseAfter, best: r.rate}
	default:
		r.rate, r.raise.best = firstRaise*r.rate, r.raise.seen
		r.raise.went = [3]monotime.Time{2: o.sent}
	}
}

// raiseWhole begins to raise the rate where a paced request finds all of a limit of two or three, so that more
// may have come back than Remaining can say: if the steps of resets say nothing of the rate either, and
// requests go as slowly as a look at half a step.
func (r *refill) raiseWhole(o *outcome) {
	if r.raise.by == 0 && !r.blind.on && o.limit > 1 && r.served > 1 && o.paced && o.found() >= o.limit && 2*o.resetStep.Seconds()*r.rate >= 1 {
		r.raise.by = gentleRaise
	}
}

// awaitReset takes in that a paced request was refused, and reports whether that is no reason for a doubt. An
// earlier run saw how the limit comes back, and that a reset brought nothing: as at an estimated window, of
// which nothing comes back before the first reset if nothing was used before. So the first refusal has requests
// be paced from that reset on.
func (r *refill) awaitReset(now, late monotime.Time) bool {
	first := r.resumed && r.emptyReset && late > now
	if r.resumed = false; first {
		r.nextAt(late)
		r.remeasure(late, 0)
	}
	return first
}

// follow has the rate follow what the resets say: it is not above that. Where Remaining does not show what
// comes back, at a limit of few tokens, and where the limit is full again within a round trip, a rate below
// that is raised with each answer, once so many were served in a row that others are not likely to share the
// limit. So it is at a limit of another unit, of which what comes back is not measured.
func (r *refill) follow(o *outcome) {
	d := &r.drip
	if o.unpriced && o.resetIn == 0 {
		d = &r.instants
	}
	if r.rate > d.most { // rarely, once that is known
		if _, most := d.bounds(o.now); r.rate > most {
			r.rate = max(measuredShare*most, slowestRate(r.maxHold))
		}
	}
	if o.limit >= fewTokens && !o.unpriced {
		if _, within := r.drip.within(o); !within {
			return
		}
	}
	if least := measuredShare * d.least; r.served > servedInRow && r.rate < least && pace.Sane(least) && d.knows(o.now) {
		r.rate = min(gentleRaise*r.rate, least)
	}
	if r.rate > r.atMost {
		r.atMost = r.rate
	}
}

// slowDown lowers the rate after a refusal.
func (r *refill) slowDown() {
	factor, least := refusalFactor, slowestRate(r.maxHold)
	if r.crowd.wasRefused() {
		factor, least = crowdShare, min(r.crowd.least(least), r.rate)
	}
	if r.raise.by > 0 {
		factor = r.raise.refused(r.rate, r.served)
	}
	r.rate = max(r.rate*factor, least)
	if factor == refusalFactor {
		r.raise.fell(r.rate)
	}
}
