package adaptive

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
// It was, if a probe found far more than can have come back. Where no others are known, an estimated window looks like
// that.
func (r *refill) sawWindow(o *outcome, after *reset) bool {
	if o.others > 0 && o.probe && !o.refused && o.spentSince != 0 && o.farMore(after) {
		r.windows = windowsIfMore
	}
	return r.windows > 0
}

// windowsIfMore is how many times that nothing remains it is no question then: who loses to others sees the next window
// after two or three.
const windowsIfMore = 2
