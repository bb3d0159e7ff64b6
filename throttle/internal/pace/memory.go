package pace

import (
	"math"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Memory is what is kept of a Rate for a later run.
type Memory struct {
	Rate   float64       // tokens per second
	Growth float64       // share of Rate by which it grows per second
	At     monotime.Time // of the latest request
	Former float64       // the highest rate that was served for long; zero if there is none
	Burst  int           // tokens that the server serves at once, beyond Rate, when it has idled; zero if that is not known
	UpGap  time.Duration // from the latest trial of twice the pace to the next one
	UpNext monotime.Time // when that is due; zero if none is
	Limit  Limit         // a window or a log that nobody states; zero if none is known
}

// Limit is what is kept of a limit that nobody states: of a window (window.go), or of a log (sliding.go).
type Limit struct {
	Size   int           // tokens
	Slides bool          // it is a log: each token comes back as long after it went
	Least  time.Duration // the window lasts longer than that; of a log, how long a token takes
	Most   time.Duration // the window lasts no longer than that; of a log, after so long a token was served
	Slack  time.Duration // so much later than the window a turn begins
	Next   monotime.Time // when more than Size is to go, until one is refused
	Gap    time.Duration // from the latest such time to that one
	Went   []Past        // what went lately, oldest first: the turn of a window; of a log, what is not back
}

// Past is so many tokens, of which the first went at an instant, or of a log the last.
type Past struct {
	At monotime.Time
	N  int
}

// MaxPast bounds Limit.Went.
const MaxPast = slidingCells

// sane reports whether one can reckon with m, and it holds no request for longer than a token of the slowest
// rate.
func (m *Limit) sane(slowest float64) bool {
	return m.Size > 0 && m.Size <= mostCounted && m.Least > 0 && m.Least <= m.Most && m.Most <= monotime.Seconds(1/slowest) &&
		m.Slack >= 0 && m.Slack <= mostSlack && m.Gap > 0 && len(m.Went) <= MaxPast && (m.Slides || len(m.Went) > 0)
}

// gapOf returns Gap, as long at most as the gaps of a run become where the limit is back after a span: see
// rarer and retry. So no text that is read has more be tried never again.
func (m *Limit) gapOf(span time.Duration) time.Duration {
	return min(m.Gap, max(rarest(m.Size, span), span))
}

// stillDue is when that is due in this run which an earlier one had planned for an instant, a gap after the
// time before: no later than after the gap, since a clock may have been set. So many short runs try more as
// seldom as a long one.
func stillDue(now, planned monotime.Time, gap time.Duration) monotime.Time {
	return min(max(planned, now), now.Add(gap))
}

// State is what people are told of a Rate.
type State struct {
	Rate   float64       // tokens per second that are served while more are refused; zero if that is not known
	SetAt  monotime.Time // when it was measured
	Tries  float64       // the pace of a trial that is under way; zero if there is none
	Former float64       // what was served before the limit fell, and is tried at Next; zero if twice the Rate is
	Next   monotime.Time // when the next trial is due; zero if there is nothing to try
	Burst  int           // as in Memory

	Window int           // tokens that the server serves in each window that it does not state; zero if none is known
	Lasts  time.Duration // how long such a window lasts
	Slides bool          // each token comes back that long after it went, and not all at once
}

// Sane reports whether a rate can be computed with: no NaN, nothing infinite.
func Sane(rate float64) bool { return rate > 0 && rate <= math.MaxInt32 }

// Memory returns what is to be kept, and whether a rate is known. So many tokens are in flight.
func (r *Rate) Memory(inFlight int) (m Memory, known bool) {
	rate, limit := r.seen(), Limit{}
	switch {
	case r.sliding.proven():
		limit = r.sliding.memory(r.lastGrant, inFlight)
		if !Sane(rate) { // none was measured before the log was known
			rate = float64(limit.Size) / limit.Least.Seconds()
		}
	case !r.sliding.on() && r.window.known():
		limit = r.window.memory()
	}
	if !Sane(rate) {
		return Memory{}, false
	}
	m = Memory{Rate: rate, Growth: r.growth, At: r.lastGrant, Former: r.former.rate, Burst: r.burst.memory(rate), UpGap: r.former.upGap, Limit: limit}
	if r.former.up {
		m.UpNext = r.former.next
	}
	return m, true
}

// seen is the rate that the server was seen to serve, when the latest request went. The pace grows with time,
// also while nobody asks and while something else delays requests. So no more of that counts than was served
// since the latest refusal; and nothing of what is tried.
func (r *Rate) seen() float64 {
	if r.former.trial {
		return r.rate
	}
	took := max(r.lastGrant.Sub(r.episodes.measuredFrom), askingPause)
	return min(r.rateAt(r.lastGrant), max(r.rate, float64(r.episodes.servedSince)/took.Seconds()))
}

// Resume takes over what was kept, if it is not too old and says a rate, which is slowest at least. Known
// reports whether it does, and atOnce whether a burst may go.
func (r *Rate) Resume(now monotime.Time, m *Memory, slowest float64) (known, atOnce bool) {
	idle := now.Sub(m.At)
	if !Sane(m.Rate) || !(m.Growth >= 0) || idle >= Kept {
		return false, false
	}
	rate := max(m.Rate, slowest)
	*r = Rate{lastGrant: now, rate: rate, growth: min(max(m.Growth, minGrowth), maxGrowth), setAt: now, pacedTo: now}
	r.episodes.restart(now) // a short run may see no more than one refusal: that ends the measurement
	if Sane(m.Former) {
		r.former.resume(now, rate, m)
	}
	if m.Limit.sane(slowest) { // it says what may go at once
		if m.Limit.Slides {
			r.sliding.resume(now, &m.Limit)
		} else {
			r.window.resume(now, &m.Limit)
		}
		return true, false
	}
	return true, r.burst.resume(m.Burst, rate, idle)
}

// State returns what people are told.
func (r *Rate) State(now monotime.Time) State {
	if r.sliding.on() {
		return State{Window: r.sliding.size, Lasts: r.sliding.span, Slides: true, Next: r.sliding.next}
	}
	if !Sane(r.rate) {
		return State{}
	}
	pace, f := r.rateAt(now), &r.former
	s := State{Rate: r.rate, SetAt: r.setAt, Next: f.next, Burst: r.burst.memory(r.rate)}
	if size, lasts, known := r.Window(); known {
		s.Window, s.Lasts, s.Next = size, lasts, r.window.next
	}
	switch {
	case f.trial && Sane(pace):
		s.Tries = pace
	case f.again(r.rate):
		if s.Former = f.rate; f.middle && s.Window == 0 {
			s.Next = f.then
		}
	}
	return s
}

// Idle takes in that nothing went for a while. Then the rate is out of date, and all is forgotten, unless
// nothing was asked because a window is used up. Forgot reports whether there was a rate.
func (r *Rate) Idle() (forgot bool) {
	if r.sliding.on() || r.window.known() || r.row.refused != 0 && !r.episodes.latest().hinted {
		return false
	}
	forgot = r.Known()
	*r = Rate{}
	return forgot
}

// Forget forgets all that refusals said about a pace. Only the former rate is left.
func (r *Rate) Forget() { *r = Rate{former: formerRate{rate: r.former.rate}} }

// Scale makes the rate such a part of itself: that of this process, when others come or go.
func (r *Rate) Scale(part float64) {
	r.burst.scale(part)
	r.rate *= part
	r.former.rate *= part
	r.former.ceiling *= part
	r.first.scale(part)
	r.sliding.scale(part)
	r.window, r.meter = window{}, meter{}
}
