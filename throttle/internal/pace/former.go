package pace

import (
	"cmp"
	"math"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// formerRate has the pace try more than what was measured. First, a rate that was served before, after the
// limit of a silent server fell: nobody says when it rises. The trials come at growing distances. So a trial
// comes at most half as long after a rise as the fall lasted, and the one after it not much later than that
// again; and there are few: nine in five minutes, and 23 in five hours. In a trial, the pace doubles each
// second, from what is known to be served up to the former rate. Only time in which requests waited for the
// pace counts: of a pace for which nobody asks, a trial shows nothing. A refusal ends the trial, and the pace
// is what it was before.
//
// A limit may also rise above all that was ever served, and what was measured may be too low. So where no
// former rate is to be tried, twice the pace is: 30 seconds after a rate was measured, and half as long again
// after each trial that fails, up to five minutes, or until perUp are served.
//
// After a fall, what was measured is often too low: a bucket of few tokens is full again long before a hold of
// a second is over. Then nothing but trials is refused for minutes. So the middle of the pace and of what was
// refused (ceiling) is tried, each time soon after the pace fell or a trial ended, until the ceiling is near.
// It is the pace if it is served for middleServed, and else the ceiling. A ceiling may be too low, as a refusal
// may have another reason: a trial that goes far beyond it sets it anew.
//
// In come measured rates (note, seen), what was granted in a trial (take), and what became of it (fail,
// succeed). Out comes when a trial is due (due), which pace it has (during), and whether it has shown enough
// (succeeds).
type formerRate struct {
	rate      float64       // the highest that was served for servedFor, in tokens per second; zero if there is none
	next      monotime.Time // when the next trial is due; zero if there is nothing to try
	gap       time.Duration // from the latest trial to the next one
	latest    monotime.Time // when the latest trial ended, or the pace fell
	trial     bool          // a trial is under way
	tried     float64       // for how many seconds requests have gone as fast as the trial allows
	succeeded bool          // the latest trial ended well, and no rate was measured since
	up        bool          // what is to be tried is twice the pace
	before    float64       // what the pace had grown to when the trial began
	upGap     time.Duration // from a measured rate, or the latest trial, to a trial of twice the pace; zero if there was none yet
	middle    bool          // what is to be tried is the middle of the pace and of ceiling
	ceiling   float64       // the lowest pace that was refused since the pace was measured, then included, the former rate at most; zero if none was
	then      monotime.Time // when the former rate is tried, after the middle
	owedTo    monotime.Time // until when nothing goes if the next request is refused, too, as a trial took more than the rate; zero once one was served
}

const (
	// servedFor is for how long a rate must be served to count: what is served of a burst is no rate.
	servedFor = 20 * time.Second
	// fallen is the share of the former rate below which the former rate is tried. Above it, the pace rises
	// soon enough by itself.
	fallen = 0.8
	// firstGap is how long after a fall the first trial is due; or as long as firstTokens take, if that is
	// longer. Each further gap is gapGrowth times as long, up to longestGap.
	firstGap    = 8 * time.Second
	firstTokens = 8
	gapGrowth   = 1.35
	longestGap  = 24 * time.Hour
	// riseBy is how many times the pace is tried where no former rate is. firstUp, upGrowth and longestUp are
	// firstGap, gapGrowth and longestGap for that: of a dozen an hour each may be refused five times, and that
	// is a refusal a minute.
	riseBy    = 2
	firstUp   = 30 * time.Second
	upGrowth  = 1.5
	longestUp = 5 * time.Minute
	// gapForgotten is how long after the latest trial a fall counts as a new one, after which the first trial
	// comes soon, where no trial has succeeded meanwhile. It bounds the trials of a former rate that was never
	// right: a dozen an hour.
	gapForgotten = 10 * time.Minute
	// longRow is how many times the pace before a trial must have been served in it, beyond what goes at once
	// after idling, if the trial is refused, to be taken for the rate. Less may have gathered before.
	longRow = 1.3
	// wide is how many times the pace the ceiling must be for the middle to be tried, middleGap after the pace
	// fell or a trial ended, or after firstTokens. The middle must be served for middleServed to be the pace.
	// Where the pace has not fallen, no ceiling is so far above it: wide · fallen is 1.
	wide         = 1.25
	middleGap    = 4 * time.Second
	middleServed = 4 * time.Second
	// beyond is how many times the ceiling a trial must have reached to show that the ceiling was too low.
	beyond = 2
)

// note takes in that a rate was measured over so long, which pace is set, and which one was refused; zero if
// none was.
func (f *formerRate) note(now monotime.Time, rate float64, over time.Duration, pace, refused float64) {
	switch {
	case over < servedFor:
	case f.succeeded: // the trial may have used up what had gathered before
		f.rate, f.succeeded = max(rate, fallen*f.rate), false
	default:
		f.rate = max(f.rate, rate)
	}
	f.endMiddle()
	f.ceiling = min(refused, f.rate)
	switch {
	case !f.fallenTo(pace):
		f.upGap = max(f.upGap, firstUp, monotime.Seconds(firstTokens/pace))
		f.up = true
		f.next = now.Add(f.upGap)
	case f.next == 0 || f.up:
		if f.gap == 0 || now.Sub(f.latest) > max(gapForgotten, 4*f.gap) {
			f.gap = max(firstGap, monotime.Seconds(firstTokens/pace))
		}
		f.latest, f.up = now, false
		f.next = now.Add(f.gap)
	}
	f.tryMiddle(now, pace)
}

// seen takes in a rate that was served for so long, from one refusal to the next one: so nothing that had
// gathered before is in it.
func (f *formerRate) seen(rate float64, over time.Duration) {
	if over >= servedFor {
		f.rate = max(f.rate, rate)
	}
}

// fallenTo reports whether a pace is so much below the former rate that the former rate is tried.
func (f *formerRate) fallenTo(pace float64) bool { return Fallen(pace, f.rate) }

// Fallen reports whether a rate is so much below a former one that it will not soon rise to that by itself.
func Fallen(rate, former float64) bool { return rate < fallen*former }

// Later returns how long after a failed trial of more than was ever served the next one comes, if that was so
// long before.
func Later(gap time.Duration) time.Duration {
	return min(time.Duration(upGrowth*float64(gap)), longestUp)
}

// again reports whether the former rate is tried, and not twice the pace. The middle may have raised the pace
// so near to the former rate that it has not fallen any more: the former rate is tried next all the same.
func (f *formerRate) again(pace float64) bool { return f.fallenTo(pace) || !f.up && pace < f.rate }

// goal is what is tried if the pace is so much.
func (f *formerRate) goal(pace float64) float64 {
	if f.middle {
		return max(math.Sqrt(pace*f.ceiling), pace)
	}
	if f.again(pace) {
		return f.rate
	}
	return riseBy * pace
}

// due reports whether a trial is to begin.
func (f *formerRate) due(now monotime.Time) bool { return f.next != 0 && !f.trial && now >= f.next }

// begin begins a trial at a pace. One that is not below the former rate any more, by the middle or since it has
// grown, is doubled: then the trials after it come as such ones do, and not ever more seldom for a day.
func (f *formerRate) begin(pace float64) {
	if f.trial, f.tried = true, 0; !f.middle && !f.again(pace) {
		f.up, f.upGap = true, cmp.Or(f.upGap, firstUp)
	}
}

// take takes in a grant in a trial, of tokens that the pace has waited for so many seconds.
func (f *formerRate) take(seconds float64) { f.tried += seconds }

// during returns the pace in a trial, after d seconds of it, if it began at a pace.
func (f *formerRate) during(pace, d float64) float64 {
	return min(pace*math.Exp2(d), f.goal(pace))
}

// fail ends a trial that was refused at a rate. The pace is so much from now on.
func (f *formerRate) fail(now monotime.Time, rate, pace float64) {
	f.trial = false
	if f.up {
		f.upGap = rarer(f.upGap, 1, monotime.Seconds(1/pace))
		f.next = now.Add(f.upGap)
		return
	}
	if rate < f.ceiling || rate > beyond*f.ceiling {
		f.ceiling = rate
	}
	if !f.endMiddle() {
		f.latest = now
		f.gap = min(time.Duration(gapGrowth*float64(f.gap)), longestGap)
		f.next = now.Add(f.gap)
	}
	f.tryMiddle(now, pace)
}

// tryMiddle has the middle tried before the former rate, if the ceiling is far above the pace and there is time
// for it.
func (f *formerRate) tryMiddle(now monotime.Time, pace float64) {
	if next := now.Add(max(middleGap, monotime.Seconds(firstTokens/pace))); f.ceiling > wide*pace && next < f.next {
		f.middle, f.then, f.next = true, f.next, next
	}
}

// endMiddle has the former rate tried next, and reports whether it was the middle before.
func (f *formerRate) endMiddle() bool {
	if !f.middle {
		return false
	}
	f.middle, f.next = false, f.then
	return true
}

// succeed ends a trial that was not refused: the pace is so much from now on. If it was of the former rate, the
// next fall is a new one, however soon it comes: a neighbour that comes and goes would else have the trials
// come ever later.
func (f *formerRate) succeed(now monotime.Time, pace float64) {
	f.trial = false
	if f.endMiddle() {
		f.tryMiddle(now, pace)
		return
	}
	if f.up {
		f.upGap = firstUp
	} else {
		f.succeeded, f.latest, f.up, f.upGap, f.gap = true, now, true, cmp.Or(f.upGap, firstUp), 0
	}
	f.next = now.Add(f.upGap)
}

// succeeds reports whether a trial that began at a pace has shown that the server serves at the former rate.
func (f *formerRate) succeeds(pace float64, served int) bool {
	least := servedFor
	if f.middle {
		least = middleServed
	}
	return f.during(pace, f.tried) >= f.goal(pace) && served >= provenServed && f.tried >= least.Seconds()
}

// resume takes over what an earlier run has kept, which has ended at a pace.
func (f *formerRate) resume(now monotime.Time, pace float64, m *Memory) {
	*f = formerRate{rate: m.Former, upGap: min(max(m.UpGap, 0), rarest(1, monotime.Seconds(1/pace)))}
	if f.note(now, m.Former, 0, pace, 0); f.up && m.UpNext != 0 {
		f.next = stillDue(now, m.UpNext, f.upGap)
	}
}
