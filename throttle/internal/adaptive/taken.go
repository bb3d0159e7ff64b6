package adaptive

import "time"

// farMore reports whether far more is there after a reset than has come back since at the most, if it comes back token
// by token until the next reset: limit · since/(next reset − reset).
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

// sawWindow takes in an outcome, and reports whether the limit was seen to be a window lately, of which others take
// their part: what they leave, or that they leave nothing, is then no sign of a limit that comes back token by token.
// It was, if a probe found far more than can have come back; or nothing, where the reset had jumped. Where no others
// are known, an estimated window looks like that.
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

// So many times that nothing remains it is no question then: who loses to others sees the next window after two or
// three.
const (
	windowsIfJumped = 4
	windowsIfMore   = 2
)

// jumped reports whether the reset cannot be the time to full of a limit of which nothing remains, since that moves on
// as time goes by: it has moved on by more than that, or has stayed where it was before. What counts as nothing may be
// a part of one token.
func (o *outcome) jumped(after *reset) bool {
	if o.leastThen > 0 || o.limit == 0 {
		return false
	}
	token := after.late.Sub(o.now) / time.Duration(o.limit)
	return after.early.Sub(o.lateBefore) > o.now.Sub(o.heardThen)+token || o.heardThen.Sub(o.spentSince) > o.lateBefore.Sub(o.earlyBefore)+token
}
