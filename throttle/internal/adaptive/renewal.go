package adaptive

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// renewal is about a server at which a refused request begins the window anew, as @fastify/rate-limit does with
// continueExceeding. A process that is alone waits for the reset that its own refusal stated, and is served. Of
// several processes that do not know of each other, each looks a window after its own latest refusal. That is
// less than a window after the latest refusal of any of them. So the look is refused, and begins the window
// anew for the others: for ever.
//
// Each refusal of such a server states that a whole window is to come, and asks to be left alone for as long.
// If a look at the reset gets such a refusal, there may be another reason: others have begun a window before
// us, and used it up. So the server is known by one such look that came too soon after the reset for that, or
// by two such looks in a row; and others must have been seen to use the limit. A refusal that states less than
// a window shows that the window was not begun anew.
//
// From then on, a look comes later than a window after the latest refusal:
//
//   - By a sixteenth of a window, at first. All processes find out within that time that nothing is left, so
//     that the first look finds the next window.
//   - After a second look that is refused, by half a window to a whole one; after a third, by one to two; and
//     then by two to four. So there is a time of a whole window in which nobody looks.
//
// In come outcomes (note); out comes when to look (next).
type renewal struct {
	renews  bool
	refuted int           // how often it was believed and found to be wrong
	span    time.Duration // the longest reset that was stated: about how long a window is
	took    time.Duration // how long something was left of the latest window
	row     int           // looks in a row that were refused, each told of a whole window
	late    int           // those of them since renews
	from    monotime.Time // the window began anew at the latest
}

const (
	lateFirst = 16 // part of a window by which looks come late
	mostLate  = 4  // refused looks after which that grows no more

	// proofs is how many more looks in a row must be refused, for each time that the belief was refuted, before
	// it is held again.
	proofs = 4
)

// heeds reports whether note is to be told of an outcome: others change nothing.
func (r *renewal) heeds(o *outcome) bool {
	return o.refused || o.remaining <= 0 || o.remainingBefore <= o.idle || o.resetIn > r.span || o.otherLimit
}

// note takes in an outcome. Hinted says that a refusal asked to be left alone until the reset; others says that
// others use the limit, too. Began is when the window began that is in use.
func (r *renewal) note(o *outcome, hinted, others bool, began monotime.Time) {
	before, step := r.span, o.resetStep
	r.span = max(before, o.resetIn, o.span)
	look := o.remainingBefore <= o.idle && o.lateBefore != 0 && o.sent >= o.lateBefore
	switch {
	case o.refused && o.resetIn > 0:
		// A reset of one step stands for any time within it. And the longest reset so far may have been the
		// rest of a window: so it must have been stated before.
		r.refuse(o, look && others, hinted && r.span > step && r.span < before+step && o.resetIn > r.span-step)
	case look && !o.refused:
		r.row, r.late = 0, 0
	}
	if o.remaining <= 0 && o.usedUpSince == 0 {
		r.took, r.from = o.now.Sub(began), o.now
	}
}

// refuse takes in a refusal, of a look or of another request, which tells of a whole window or not.
func (r *renewal) refuse(o *outcome, look, whole bool) {
	if !whole {
		if r.renews {
			r.refuted++
		}
		r.renews, r.row, r.late = false, 0, 0
		return
	}
	if look {
		r.row++
		reset := max(o.lateBefore, r.from.Add(r.span))
		quick := o.now.Sub(reset) < 2*r.took+o.now.Sub(o.sent)
		if r.renews = r.renews || quick && r.refuted == 0 || r.row > 1+proofs*r.refuted; r.renews {
			r.late = min(r.late+1, mostLate)
		}
	}
	if r.from = o.now; r.row == 1 && o.usedUpSince != 0 {
		r.from = max(r.from, o.usedUpSince.Add(r.span)) // others were refused then, and look a window later, too
	}
}

// next returns when to look.
func (r *renewal) next(random func() float64) monotime.Time {
	late := r.span / lateFirst
	if r.late > 1 {
		late += monotime.Seconds(float64(doubled(1, r.late-1)) / 2 * (1 + random()) * r.span.Seconds())
	}
	return r.from.Add(r.span + late)
}
