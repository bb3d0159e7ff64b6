package adaptive

import (
	"cmp"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// This file finds out whether a limit comes back token by token: refill.observe asks it in this order for each
// of the ways in which a server gives itself away, see refill.

// detect finds out whether the server gives itself away as one that refills.
func (r *refill) detect(o *outcome, after *reset) {
	since := o.missingSince(after.resolution)
	switch {
	case o.change == laterReset && o.remaining <= o.remainingBefore && (o.requests || o.remaining < o.limit):
		r.startMoved(o, after)
	case o.limit < fewTokens && o.look && o.usedUpSince != 0 && o.sent < o.lateBefore && o.guess == guessRefill && o.found() >= o.limit:
		// The whole limit is back early, and it is so small that no answer can show more.
		full := o.sent.Sub(since)
		if since != o.usedUpSince { // it is known to a round trip alone
			since, full = min(since, o.sent), max(full, o.now.Sub(o.sent))
		}
		r.start(o, since, full, 0)
		r.beginRaise(o)
	case !o.look || o.usedUpSince == 0 || o.whole() || o.vain():
	case o.sent < o.lateBefore && o.guess != guessWholeSteps, o.now < o.earlyBefore: // or a hint allowed the look
		// A part is back before the reset: so the reset is the time to full. What a round trip does not tell
		// apart is no shorter than that.
		r.startBy(o, since, max(o.lateBefore.Sub(since)+after.resolution, o.now.Sub(o.sent)), min(o.earlyBefore.Sub(since), cmp.Or(o.span, monotime.Longest)))
	default:
		r.startProvisional(o, after, since)
	}
}

// startBy is start with a span that resets say. A limit is full no sooner than the farthest of late: that of a
// log is when its oldest request is forgotten, and may come in a moment.
func (r *refill) startBy(o *outcome, since monotime.Time, full, least time.Duration) {
	r.start(o, since, max(full, r.drip.farIn), max(least, r.drip.farIn))
}

// startMoved takes the server for one that refills since the reset moves on: it is the time to full, so that
// full = time to full · limit/(limit − remaining). Of requests, the one that was answered is missing; what
// remains of another unit may be rounded up to the limit.
func (r *refill) startMoved(o *outcome, after *reset) {
	missing := max(o.limit-o.remaining, 1)
	perToken := float64(o.limit) / float64(missing)
	full, least := monotime.Seconds((after.late.Sub(o.now)+after.resolution).Seconds()*perToken), monotime.Seconds(after.early.Sub(o.now).Seconds()*perToken)
	r.startBy(o, o.now, full, least)
}

// startProvisional takes the server for one that refills since a part is back after the reset, and was missing
// since an instant. The whole limit takes the time from reset to reset; or, if the next reset is much nearer
// than this one was, the time to this one. Each of the resets was rounded, by a step at most, so that full is
// at most two steps too long.
func (r *refill) startProvisional(o *outcome, after *reset, since monotime.Time) {
	o.used = used{} // if it is a window after all, nothing has come back meanwhile, and what was used does not show others
	full, slack := after.late.Sub(o.earlyBefore), 2*after.resolution
	switch {
	case o.span > 0:
		full, slack = o.span, 0
	case after.late.Sub(o.now) < o.lateBefore.Sub(since)/2:
		full = o.lateBefore.Sub(since)
	}
	least := max(full-slack, full/8)                             // positive also where the resets are two steps apart
	r.startBy(o, min(o.lateBefore, o.sent), full+full/20, least) // a little longer: a refusal costs more than a late request
	r.provisionalSpan, r.provisionalTo = least, r.meter.from.Add(least/2)
}

// looked takes in a look before the stated reset.
func (r *refill) looked(o *outcome) {
	if o.vain() {
		r.doubtEarly.fail(0)
		r.foundAll = 0
	} else if o.whole() {
		r.foundAll++
	}
}

// outlast takes in that a look at a limit of one found it after looks that were in vain: others took what came
// back then, and may be gone. What failed beside them says nothing of the limit. And whoever comes after the
// reset, as the server says, and is too late, shares the limit with others who come sooner: so the next look
// comes after half of the usual time.
func (r *refill) outlast() {
	r.doubtEarly.skip, r.doubtRefills.skip, r.foundAll = 0, 0, max(r.foundAll, 1)
}

// startBlind takes the server for one that refills if the limit is full again within a round trip.
func (r *refill) startBlind(o *outcome) bool {
	rate, ok := r.blind.note(o)
	if !ok || r.doubtRefills.skip > 0 {
		return false
	}
	full := monotime.Seconds(float64(o.limit) / rate)
	r.start(o, o.now, full, full)
	r.blind.on, r.finds = true, proven
	return true
}

// seeMore finds out whether the limit is full again within a round trip, at whatever rate it was taken to come
// back.
func (r *refill) seeMore(o *outcome) {
	if r.blind.on || r.raise.by > 0 || r.crowd.on() {
		return
	}
	if rate, ok := r.blind.note(o); ok {
		r.rate, r.finds, r.blind.on = max(r.rate, rate), proven, true
	}
}

// sawWindow takes in an outcome, and reports whether the limit was seen to be a window lately, of which others
// take their part: what they leave, or that they leave nothing, is then no sign of a limit that comes back
// token by token. It was, if a look found far more than can have come back. Where no others are known, an
// estimated window looks like that.
func (r *refill) sawWindow(o *outcome, after *reset) bool {
	if o.others > 0 && o.look && !o.refused && o.usedUpSince != 0 && o.farMore(after) {
		r.windows = windowsIfMore
	}
	return r.windows > 0
}

// windowsIfMore is how many times that nothing remains it is no question then: who loses to others sees the
// next window after two or three.
const windowsIfMore = 2

// farMore reports whether far more is there after a reset than has come back since at the most, if it comes
// back token by token until the next reset: limit · since/(next reset − reset).
func (o *outcome) farMore(after *reset) bool {
	most, until := o.now.Sub(o.soonestBefore), after.late.Sub(o.soonestBefore)
	if most <= 0 || until <= 0 {
		return false
	}
	back := float64(o.limit) * most.Seconds() / until.Seconds()
	return float64(o.found()) > takenFactor*back+few
}

// takenFactor is by how much that may be wrong.
const takenFactor = 2
