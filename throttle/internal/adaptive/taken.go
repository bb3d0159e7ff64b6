package adaptive

import "time"

// taken reports whether what is missing after a reset was taken by others who came before us, as at a window. Others are known to use the limit; and
//
//   - far more is there than has come back since;
//   - no more is missing than was used in as much time before, when what there was then was used up: was · since/(time that this took).
//
// Since is the least that it may be, by what is known of the reset. Without this, the second and third of several processes take each window for a limit
// that comes back token by token.
func (o *outcome) taken(after *reset) bool {
	least, usedUp := max(o.now.Sub(o.lateBefore), o.now.Sub(o.sent)), o.spentSince.Sub(o.used.since)
	if o.others == 0 || o.used.since == 0 || usedUp <= 0 || !o.farMore(after) {
		return false
	}
	used := float64(o.used.all+o.remaining) * least.Seconds() / usedUp.Seconds()
	return float64(o.limit-o.remaining-o.n) <= takenFactor*used+few
}

// farMore reports whether far more is there after a reset than has come back since at the most, if it comes back token by token until the next reset:
// limit · since/(next reset − reset).
func (o *outcome) farMore(after *reset) bool {
	most, until := o.now.Sub(o.soonestBefore), after.late.Sub(o.soonestBefore)
	if most <= 0 || until <= 0 {
		return false
	}
	back := float64(o.limit) * most.Seconds() / until.Seconds()
	return float64(o.remaining+o.n) > takenFactor*back+few
}

// takenFactor is by how much these two may be wrong: others may be faster than before, by as much again.
const takenFactor = 2

// sawWindow takes in an outcome, and reports whether the limit was seen to be a window lately, of which others take their part: what they leave, or that they
// leave nothing, is then no sign of a limit that comes back token by token. It was, if a probe found far more than can have come back; or nothing, where the
// reset had jumped. Where no others are known, an estimated window looks like that.
func (r *refill) sawWindow(o *outcome, after *reset) bool {
	switch {
	case o.others == 0 || !o.probe || o.spentSince == 0:
	case o.refused && o.resetMoved && o.remaining == 0 && o.jumped(after):
		r.windows = windowsIfJumped
	case !o.refused && o.farMore(after):
		r.windows = max(r.windows, windowsIfMore)
	}
	return r.windows > 0
}

// So many times that nothing remains it is no question then: who loses to others sees the next window after two or three.
const (
	windowsIfJumped = 4
	windowsIfMore   = 2
)

// jumped reports whether the reset cannot be the time to full of a limit of which nothing remains, since that moves on as time goes by: it has moved on by
// more than that, or has stayed where it was before. What counts as nothing may be a part of one token.
func (o *outcome) jumped(after *reset) bool {
	if o.leastThen > 0 || o.limit == 0 {
		return false
	}
	token := after.late.Sub(o.now) / time.Duration(o.limit)
	return after.early.Sub(o.lateBefore) > o.now.Sub(o.heardThen)+token || o.heardThen.Sub(o.spentSince) > o.lateBefore.Sub(o.earlyBefore)+token
}
