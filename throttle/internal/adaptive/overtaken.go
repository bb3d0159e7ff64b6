package adaptive

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// overtaken is about a window that others use up as soon as it begins, before our look comes. Where resets are
// in whole seconds, the look comes at the end of the second that is stated; others, who have seen the window
// begin, come at its end. So the look is refused, and that says the same second again: for ever.
//
// But a window ends no sooner than its span after the window before, and no later than its span after an answer
// that speaks of it. So what was known of the end of the window before says something of the end of this one.
// Once three looks in a row were refused and told of another reset each, the next one comes in the middle
// between the soonest and the latest end. Whatever its answer is, it halves what is open: in three to five
// windows as a rule, one comes in the time in which the others use up the window. Those looks would have been
// refused at the end of the second as well. Where a look in the middle came too early, and was told of the same
// window, the next one comes at the latest end.
//
// In come outcomes (note); out comes when to look (next).
type overtaken struct {
	early, late monotime.Time // between these the window ends that is in use; zero if that is not known
	count       int           // reset.count of that window
	span        time.Duration // the longest that a reset was away, in whole steps
	row         int           // looks that came too late since one found all, enoughOvertaken at most
	vain        int           // windows in a row in which looks found nothing, though they came sooner
	lost        bool          // the latest look came too late
	doubt       doubt         // about whether looks that come sooner find anything
}

// enoughOvertaken is after how many looks in a row that came too late they come sooner.
const enoughOvertaken = 3

// mostOvertaken is in how many windows in a row these looks may find nothing. Halved so often, a second is 16
// ms: if that is not enough, too many others look.
const mostOvertaken = 6

// note takes in an outcome, and the span of the window, zero if none is stated. Plain says that what is stated
// may be a window that nothing but time begins anew. It reports whether a reset that has moved on is the one of
// the next window.
func (v *overtaken) note(o *outcome, r *reset, plain bool, span time.Duration) (next bool) {
	stated := span > 0
	if v.span = max(v.span, r.inSteps(r.early.Sub(o.sent))); !stated {
		span = v.span
	}
	if !plain || r.late == 0 || r.resolution <= time.Millisecond || span < 2*r.resolution {
		*v = overtaken{}
		return false
	}
	next, ok := v.bound(o, r, span, stated)
	if !ok { // it is no window, or none of that span
		if v.on() { // else no look came sooner: an answer of the window before may have come late
			v.doubt.fail(0)
		}
		*v = overtaken{early: r.early, late: r.late, count: r.count, doubt: v.doubt}
		return false
	}
	next = next && v.on()
	switch {
	case !o.look:
	case o.vain():
		v.miss(o.change != sameReset && o.lateBefore != 0)
	default:
		if v.lost, v.vain = false, 0; 10*o.found() >= 9*o.limit {
			v.row, v.doubt = 0, doubt{}
		}
	}
	return next
}

// bound takes in between which instants the window ends, by what is stated of its end and was known of that of
// the window before. Next reports whether this is another window, and ok whether there is such an instant.
func (v *overtaken) bound(o *outcome, r *reset, span time.Duration, stated bool) (next, ok bool) {
	early, late, same := r.early, r.late, v.count == r.count // else it may be that others have told of the reset
	v.count = r.count
	switch {
	case v.late == 0:
	case same: // it was in use when the server wrote the answer
		early, late = max(early, v.early, o.sent), min(late, v.late)
	case v.early > o.now:
		late = 0
	default:
		early, late, next = max(early, v.early.Add(span)), min(late, o.now.Add(span)), true
	}
	if early > late && same && !stated && early <= r.late { // the span is longer than any reset was away
		v.span = min(v.span+r.resolution, monotime.Longest)
		late = r.late
	}
	if early > late {
		return false, false
	}
	v.early, v.late = early, late
	return next, true
}

// miss takes in that a look found nothing, and whether it came too late: it was told of another reset.
func (v *overtaken) miss(late bool) {
	if v.lost = late; !late {
		return
	}
	if v.on() {
		v.vain++
	}
	if v.vain >= mostOvertaken {
		v.row, v.vain = 0, 0
		v.doubt.fail(0)
		return
	}
	v.row = min(v.row+1, enoughOvertaken)
	v.doubt.occasion()
}

// knows reports whether looks come sooner, and next says so of the window that ends with the reset.
func (v *overtaken) knows(r *reset) bool { return v.on() && v.count == r.count }

// on reports whether looks come sooner.
func (v *overtaken) on() bool { return v.row >= enoughOvertaken && v.doubt.skip == 0 }

// next returns when to look, later than now.
func (v *overtaken) next(now monotime.Time) monotime.Time {
	if at := v.early.Add(v.late.Sub(v.early) / 2); v.lost && at > now {
		return at
	}
	return max(v.late, now.Add(shortestLook))
}
