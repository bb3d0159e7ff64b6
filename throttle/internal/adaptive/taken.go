package adaptive

// taken reports whether what is missing after a reset was taken by others who came before us, as at a window. Others are known to use the limit; and
//
//   - far more is there than has come back since, if it comes back token by token until the next reset: limit · since/(next reset − reset);
//   - no more is missing than was used in as much time before, when what there was then was used up: was · since/(time that this took).
//
// Since is the most that it may be for the one, and the least for the other, by what is known of the reset. Without this, the second and third of
// several processes take each window for a limit that comes back token by token.
func (o *outcome) taken(after *reset) bool {
	most, least := o.now.Sub(o.earlyBefore), max(o.now.Sub(o.lateBefore), o.now.Sub(o.sent))
	until, usedUp := after.late.Sub(o.earlyBefore), o.spentSince.Sub(o.used.since)
	if o.others == 0 || o.used.since == 0 || most <= 0 || until <= 0 || usedUp <= 0 {
		return false
	}
	there, limit := float64(o.remaining+o.n), float64(o.limit)
	was := float64(o.used.all + o.remaining)
	back, used := limit*most.Seconds()/until.Seconds(), was*least.Seconds()/usedUp.Seconds()
	return there > takenFactor*back+few && limit-there <= takenFactor*used+few
}

// takenFactor is by how much these two may be wrong: others may be faster than before, by as much again.
const takenFactor = 2
