package adaptive

import (
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// reset is when a limit will be restored, as an interval.
//
// In come statements of a reset (narrow), each of which is an interval: the stated time was
// rounded, up or down, and the answer was on its way for a while. The true reset lies in all of
// the intervals, so they are intersected. Most servers round up, and all are taken to, until a
// server states a reset of zero while nothing remains, or a look after the reset is refused. If a
// statement does not meet the interval, it speaks of another reset and takes the place of what was
// known.
type reset struct {
	early, late   monotime.Time // the reset is in [early, late]; zero if it is not known
	resolution    time.Duration // the step in which the server states resets
	roundsDown    bool          // the server rounds resets down
	statesAll     bool          // it has stated one while something remained
	statesSome    bool          // it has stated one when nothing remained that was a step away or more
	doubtUp       doubt         // about whether it does not
	opened        monotime.Time // when the server wrote the first answer about this reset: about the start of the window
	halfRoundTrip time.Duration // opened may be wrong by as much
	trip          time.Duration // a short round trip of late: it grows by a part with each reset (tripGrows)
	soonerDoubt   doubt         // about whether a look may go so much sooner
	spanMost      time.Duration // no window lasts longer, as is stated or a look has shown; zero if that is not known
	count         int           // how many different resets were stated
	before        monotime.Time // the late of the reset before, if that was earlier; else zero
	clocks        skew          // if resets are instants
	drift         drift
}

// tripGrows: so many resets after a short round trip, one of twice as long or so is short.
const tripGrows = 32

// resetChange is what a statement says about a reset, compared with what was known.
type resetChange int

const (
	sameReset    resetChange = iota
	anotherReset             // the known one has come, or one of the clocks was set
	laterReset               // the known one has not come yet, and has moved on
	earlierReset             // likewise, and it has moved back
)

// narrow takes in a statement about a limit of so many tokens. The request was sent at the instant
// sent, and its answer came now.
func (r *reset) narrow(sent, now monotime.Time, st *quota.Statement, limit int) (change resetChange) {
	r.clocks.set = false
	if trip := now.Sub(sent); r.trip == 0 || trip < r.trip {
		r.trip = trip
	}
	if !st.ResetKnown {
		if st = r.withinAStep(now, st.Remaining); st == nil {
			if r.late <= now {
				r.early, r.late = 0, 0
			}
			return change
		}
	}
	r.resolution = min(max(st.Resolution, 0), monotime.Longest)
	r.noteWhen(st)
	set := r.compareClocks(sent, now, st, limit)
	early, late := r.interval(sent, now, st, limit)
	passed := st.Reset > 0 && sent >= r.late
	if r.late == 0 || passed || early > r.late || late < r.early || r.follows(early, now) {
		moved := r.hasMoved(early, now, limit, passed)
		switch change = anotherReset; {
		case set:
		case moved:
			change = laterReset
		case late < r.early && now < r.early:
			change = earlierReset
		}
		r.halfRoundTrip = now.Sub(sent) / 2
		r.begin(early, late, now.Add(-r.halfRoundTrip))
		return change
	}
	r.early = max(r.early, early)
	if late < r.late {
		r.late = late
	}
	return change
}

// noteWhen notes how much remains where resets are stated, and whether that shows that they are rounded down.
func (r *reset) noteWhen(st *quota.Statement) {
	r.statesAll = r.statesAll || st.Remaining > 0 && st.Reset > 0
	r.statesSome = r.statesSome || st.Remaining <= 0 && st.Reset >= r.resolution
	if !r.roundsDown && st.Reset <= 0 && st.Remaining <= 0 && r.resolution > 0 {
		r.roundDown()
	}
}

// withinAStep is what an answer says that states no reset while so much remains, where resets are rounded down:
// that it is less than a step away. Package headers leaves out a reset of zero then, since other servers write
// one that have none. It is nil where that is not so, or the known reset is further away; where resets are
// instants, which half of the answers in such a step state; and where those that are a step away or more are
// stated only when nothing remains.
func (r *reset) withinAStep(now monotime.Time, remaining int64) *quota.Statement {
	switch {
	case remaining <= 0, r.statesSome && !r.statesAll:
		return nil
	case !r.roundsDown, r.clocks.known, r.resolution <= 0, r.early > now.Add(r.resolution):
		return nil
	}
	return &quota.Statement{ResetKnown: true, Remaining: remaining, Resolution: r.resolution}
}

// come takes in that the reset had come at an instant, whatever was stated.
func (r *reset) come(at monotime.Time) { r.early, r.late = min(r.early, at), min(r.late, at) }

// compareClocks takes in how the server's clock differs from ours, where a statement gives an instant. It
// reports whether one of them was set: what resets have said was by another clock.
func (r *reset) compareClocks(sent, now monotime.Time, st *quota.Statement, limit int) (set bool) {
	if !st.Absolute {
		return false
	}
	if r.clocks.note(st.Skew, writtenWithin(st, limit), now.Sub(sent)) && r.late != 0 {
		least, most := r.clocks.bounds()
		r.early, r.late = r.early.Add(least), r.late.Add(most)
	}
	if r.clocks.set {
		r.roundsDown = false
	}
	return r.clocks.set
}

// follows reports whether a reset that is at early at the soonest is the next one: it only touches the known
// one, which may have come. Instants in whole steps do that, as what was rounded up is not at the early end of
// its step; taken for the same reset, both would be where the two touch.
func (r *reset) follows(early, now monotime.Time) bool {
	return r.resolution > 0 && early == r.late && now >= r.early
}

// hasMoved reports whether the known reset has not come, and has moved on: another one is stated, which is at
// early at the soonest. The known one has passed if that says so.
func (r *reset) hasMoved(early, now monotime.Time, limit int, passed bool) bool {
	moved := movedOn(r.late, early, now, limit)
	if !r.drift.note(r.late, now, !passed && early > r.late && !moved) {
		return moved
	}
	return movedOn(r.drift.from, early, now, limit) && early.Sub(r.drift.from) > now.Sub(r.drift.since)/clocksDrift
}

// movedOn reports whether a reset that was at late at the latest, and has not come, has moved on: its earliest
// instant is later than that, by more than half the time of one token, (late − now)/(2 · limit). Less may be
// two clocks that drift apart.
func movedOn(late, early, now monotime.Time, limit int) bool {
	return now < late && float64(early-late)*2*float64(limit) > float64(late-now)
}

// drift is a reset that moves on by so little each time that it may be two clocks that drift apart: from where,
// and since when. Clocks drift apart by a thousandth or so; what moves on by more than a tenth of the time that
// passes is the reset.
type drift struct{ from, since monotime.Time }

const clocksDrift = 10

// note takes in that a reset which was at late at the latest is another one, and whether it has moved on by
// little. It reports whether it had done so before, too.
func (d *drift) note(late, now monotime.Time, little bool) (again bool) {
	switch again = little && d.from != 0; {
	case !little:
		*d = drift{}
	case !again:
		*d = drift{late, now}
	}
	return again
}

// begin puts another reset in the place of what was known. The server first wrote of it at the instant opened.
func (r *reset) begin(early, late, opened monotime.Time) {
	if r.before = r.late; late <= r.late {
		r.before = 0
	}
	r.trip += r.trip / tripGrows
	r.early, r.late, r.opened = early, late, opened
	r.count++
}

// restore takes over what is known elsewhere of a reset, which is at late at the latest: no more than the step
// in which resets are stated, if this one is not.
func (r *reset) restore(now, late monotime.Time, o *reset, stated bool) {
	if r.resolution = min(max(o.resolution, 0), monotime.Longest); stated {
		r.begin(min(o.early, late), late, min(o.opened, now))
		r.halfRoundTrip = o.halfRoundTrip
	}
}

// isOver reports whether what another process was told of the reset at an instant is about the one before:
// where resets follow each other within seconds, no more tells the two apart than which is nearer.
func (r *reset) isOver(at monotime.Time) bool {
	return r.before != 0 && r.late.Sub(r.before) >= max(r.resolution, shortest) && at.Sub(r.before).Abs() < at.Sub(r.late).Abs()
}

// shortest is how far apart two resets must be for that: less may be what answers take.
const shortest = 500 * time.Millisecond

// interval returns the instants before and after which the reset of a statement cannot be: from
// sent + reset − resolution to now + reset; or, if the reset was computed from the answer's Date
// (Absolute), what the difference of the clocks leaves open, see skew.
func (r *reset) interval(sent, now monotime.Time, st *quota.Statement, limit int) (early, late monotime.Time) {
	in, step := min(max(st.Reset, 0), monotime.Longest), min(max(st.Resolution, 0), monotime.Longest)
	if st.Absolute {
		clocks := r.clocks.noted(st.Skew, writtenWithin(st, limit), now.Sub(sent))
		early, late = clocks.absolute(sent, st.Skew, in, step)
	} else {
		early, late = sent.Add(in-step), now.Add(in)
	}
	if r.roundsDown {
		early, late = early.Add(step), late.Add(step)
	}
	return early, late
}

// inSteps returns the longest that a reset may be away, in whole steps, if it was stated to be away for d at
// least.
func (r *reset) inSteps(d time.Duration) time.Duration {
	if r.resolution <= 0 {
		return 0
	}
	if steps := d.Truncate(r.resolution); !r.roundsDown || steps < d {
		return steps + r.resolution
	}
	return d
}

// roundDown notes that the server rounds resets down: they come up to a step later than stated.
func (r *reset) roundDown() {
	r.roundsDown = true
	r.doubtUp.failAgain(6) // few servers change
	if r.late != 0 {
		r.early, r.late = r.early.Add(r.resolution), r.late.Add(r.resolution)
	}
}

// tryUpAgain notes that the limit is used up: an occasion to find out whether resets are rounded up after all,
// since nobody looks before the step is over that rounding down leaves open. If that is so large a part of the
// window that it is worth a refusal, they are taken to be rounded up, until a look at one is refused.
func (r *reset) tryUpAgain(now monotime.Time) {
	r.doubtUp.occasion()
	if late := r.late.Add(-r.resolution); r.roundsDown && r.doubtUp.skip == 0 && late > now && r.resolution > late.Sub(r.opened)/worthARefusal {
		r.roundsDown = false
		r.early, r.late = r.early.Add(-r.resolution), late
	}
}

// ends returns when the window ends, if it began with its first request, of which the first answer told, and
// lasts whole steps, see guessWholeSteps; zero if that is not known. Where resets are rounded to the nearest
// step, and so are taken to be rounded down, half of the windows seem to last a step longer than the others:
// none does.
func (r *reset) ends() monotime.Time {
	seems, tell := r.late.Sub(r.opened), 2*r.halfRoundTrip < r.resolution // else the steps tell nothing of when it began
	switch {
	case r.resolution <= 0 || r.opened == 0 || seems < r.resolution: // no window lasts for no step at all
		return 0
	case tell && r.spanMost > 0 && r.spanMost < seems && r.opened.Add(r.spanMost) > r.least():
		return r.opened.Add(r.spanMost) // else it lasts longer than the windows before
	case tell && seems%r.resolution > r.resolution-r.halfRoundTrip: // it may have begun a step before, and end at the reset
		return 0
	}
	return r.opened.Add(seems.Truncate(r.resolution))
}

// least is before the reset, also if some are rounded up.
func (r *reset) least() monotime.Time {
	if r.roundsDown {
		return r.early.Add(-r.resolution)
	}
	return r.early
}

// sooner returns by how much a look may go sooner than when the window is over for sure, see ends: that began
// within a round trip, and no look is answered sooner than requests were of late. It may not where that is so
// small a part of the window that it is not worth a refusal.
func (r *reset) sooner() time.Duration {
	roundTrip := 2 * r.halfRoundTrip
	if r.soonerDoubt.skip > 0 || roundTrip >= r.resolution || roundTrip < r.ends().Sub(r.opened)/worthARefusal {
		return 0
	}
	return min(r.trip, roundTrip)
}

// worthARefusal: a refusal is what a look costs that goes too soon, and now and then a window; a round trip of
// more than such a part of the window is what it gains each time.
const worthARefusal = 32

// soonest returns when the reset comes at the soonest. If it is the end of such a window, that is when it ends.
func (r *reset) soonest(window bool) monotime.Time {
	if !window {
		return r.early
	}
	return max(r.early, r.ends())
}
