package adaptive

import (
	"math"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/pace"
)

// This file finds out whether others share a limit that comes back token by token, and how: each looks for its
// part of the rate (crowd), or where resets say that, the limit is shared as a stock.

const (
	// surelySteps is how many steps of stated resets a limit takes at least to come back, so that its rate is
	// known well enough for the pace of what is kept back for others. If all is back within a step, the rate
	// may be many times as high.
	surelySteps = 4

	// leastLikely is of how many tokens a limit is at least that is shared as a stock where others are only
	// likely. With fewer, one process whose requests cost three tokens of five each, which nobody says, used
	// 0.71 and not 0.96 of what came back.
	leastLikely = 8
)

// joinCrowd has our part of the rate be that of what was used so far, if most of it was not ours. So much has
// come back per second meanwhile.
func (r *refill) joinCrowd(o *outcome, back float64) {
	if part := o.used.part(o.now, back); part < crowdPart && o.limit >= fewTokens {
		r.crowd.begin(r.rate)
		r.rate = max(part*r.rate, r.crowd.least(slowestRate(r.maxHold)))
	}
}

// unshared reports whether what was used of the limit so far was ours, however much has come back meanwhile.
// Few missing tokens say nothing: others may have used what came back.
func (r *refill) unshared(o *outcome) bool {
	back := r.rate
	if _, most := r.drip.bounds(o.now); pace.Sane(most) {
		back = most
	}
	return o.requests && o.used.all >= maxPerOurToken && o.used.part(o.now, back) >= stockAway
}

// seeOthers joins the crowd that shows when nothing remains first: too little was used to tell when the belief
// began. What is missing was used, whatever came back meanwhile.
func (r *refill) seeOthers(o *outcome) {
	if o.remaining <= 0 && o.remainingBefore > 0 && !r.crowd.on() {
		r.joinCrowd(o, 0)
	}
}

// share takes in that a request was served in a crowd. What is left over is not ours alone, so that no rate is
// measured from it.
func (r *refill) share(o *outcome) {
	if r.crowd.serve(o.remaining, o.limit) {
		r.rate = max(r.rate, min(r.rate*crowdRaise, r.crowd.most))
		r.atMost = max(r.atMost, r.rate)
	}
	if !r.crowd.on() {
		r.remeasure(o.now, o.remaining)
	}
}

// shared reports whether the limit is shared as a stock: others are seen, and it comes back at an even rate.
func (r *refill) shared() bool {
	return r.refills && r.stock.on && r.crowd.on() && r.crowd.leaves && r.stock.even
}

// seeStock takes in an answer of a limit that may be a stock, and has it be shared as one as soon as others are
// certain or likely.
func (r *refill) seeStock(o *outcome) {
	if !r.crowd.on() {
		r.stock.on = false
	}
	least, most := r.evenRate(o.now, o.limit)
	if certain := r.stock.note(o, least, most); (certain || r.stock.even && r.othersLikely(o)) && !r.stock.on {
		r.stock.begin(o.now)
		r.crowd.stay()
	}
}

// othersLikely reports whether others are so likely to share a limit of an even rate that it is shared as a
// stock, though no reset has shown them for certain: where resets are coarse, or a busy process has too much
// under way to tell its own tokens from those of others. What answers say of long ago shows others by a refusal
// whose reset has moved on.
func (r *refill) othersLikely(o *outcome) bool {
	switch {
	case !r.crowd.on() || !r.crowd.leaves:
		return false
	case r.coarse():
		return true
	case r.stock.stale:
		return o.refused && o.change == laterReset
	}
	return o.limit >= leastLikely
}

// evenSooner is by how many times sooner than was found a limit may come back at an even rate, since it may
// have changed. The last tokens of a log say that it comes back far sooner.
const evenSooner = 16

// evenRate returns between which bounds the rate is, if it is even, as resets say: zero and infinity if that is
// not known.
func (r *refill) evenRate(now monotime.Time, limit int) (least, most float64) {
	d := &r.drip
	if d.known == 0 {
		d = &r.instants
	}
	least, most = d.bounds(now)
	if d.met < enoughMet || least <= 0 || !pace.Sane(most) || least*r.span.Seconds() > evenSooner*float64(limit) {
		return 0, math.Inf(1)
	}
	return least, most
}

// coarse reports whether resets are stated in steps that are no milliseconds.
func (r *refill) coarse() bool { return r.step > time.Millisecond }

// shareStock takes in an answer where the limit is shared as a stock, until others are likely to be gone.
func (r *refill) shareStock(o *outcome) {
	if r.coarse() && !r.believe(o) {
		return
	}
	if o.refused {
		r.pacedFrom, r.served = o.now, 0
	}
	rate := r.stock.rate()
	r.rate = r.stock.part * rate
	r.crowd.share(rate, r.stock.part < stockAway)
	if !r.crowd.on() {
		r.rate = rate
		r.remeasure(o.now, o.remaining)
	}
}

// believe takes in an answer where coarse resets leave it open whether what is shared comes back token by
// token, and reports whether that is believed still.
func (r *refill) believe(o *outcome) bool {
	switch {
	case o.refused && o.change != laterReset:
		r.doubt()
	case !o.refused:
		r.refusalsInRow = 0 // what is shared as a stock is served out of what remains
		r.find(o)
	}
	return r.refills
}
