package adaptive

import (
	"math"
	"time"

	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// servedRate paces requests to a server that refuses some and states nothing that explains it.
// The rate at which the server serves while it also refuses is a rate that it allows, whatever
// it counts. So requests go at just under this rate. The pace rises, to find out whether more is
// allowed, and it rises more slowly each time a rise was refused.
//
// In come refusals (addRefusal), what was served (addServed) and grants (take); out comes when a
// request may go (due). Nothing is known before the first refusal.
type servedRate struct {
	measuredFrom monotime.Time // the latest refusal, or the end of a pause in asking
	servedSince  int           // tokens served since measuredFrom
	lastGrant    monotime.Time // of the latest request

	rate    float64       // tokens per second at setAt; zero if it is not known
	setAt   monotime.Time // when the rate was set
	growth  float64       // share of the rate by which it grows per second
	pacedTo monotime.Time // until when the granted requests have used up the rate

	episodes      [maxEpisodes]episode // the latest, oldest first
	episodeCount  int
	extraRefusals int  // refusals after a few served requests, counted to the same episode
	provisional   bool // the rate is from less than an episode
	uselessCuts   int  // how often in a row the pace was lowered and soon refused again

	row    row        // what is served in a row, and the hold after it
	former formerRate // is tried again after a fall
	burst  burst      // may go at once when the server has idled
}

// episode is the unit in which a rate is measured: refusals in a row, which are one signal, and
// what follows until the next refusal: some time in which nothing is served, and then what is
// served.
type episode struct {
	start       monotime.Time // the first refusal
	lastRefusal monotime.Time
	servedFrom  monotime.Time // when something was served again; zero if nothing was
	hinted      bool          // the server said for how long it would refuse
	served      int           // tokens
}

// lasted returns how long the episode lasted until end. If the server did not say when it would
// serve again, it began to at some instant between the last refusal and the first request that
// was served: half of that time is left out.
func (e *episode) lasted(end monotime.Time) time.Duration {
	d := end.Sub(e.start)
	if !e.hinted && e.servedFrom > e.lastRefusal {
		d -= e.servedFrom.Sub(e.lastRefusal) / 2
	}
	return d
}

const (
	// paceShare is the share of the served rate at which requests go: at exactly the server's
	// rate, the jitter of the network alone would have requests refused.
	paceShare = 0.95
	// maxGrowth is how fast the pace begins to rise: by a fifth per second. It is halved with
	// each episode, down to minGrowth, a two-thousandth per second.
	maxGrowth, minGrowth = 0.2, 0.0005
	// acceleration is by which share of itself the growth grows in a second without a refusal,
	// while it is maxGrowth; it is halved with the growth. With more, the pace overruns the
	// server's windows again and again.
	acceleration = 0.15
	// askingPause is after how long without a request a measurement begins anew: a rate can
	// only be measured while requests ask for more than it.
	askingPause = time.Second
	// maxEpisodes is over how many episodes a rate is measured: what a window lets through at
	// once is part of it, and so is the wait for the next window.
	maxEpisodes = 4
	// sameEpisode: with fewer tokens served between two refusals, the refusals belong to one
	// episode. A window that opens lets some through before it is full again.
	sameEpisode = 8
	// maxExtraRefusals is how many such refusals an episode may have. At a server that never
	// serves sameEpisode in a row, an episode would else not end, and no rate be measured.
	maxExtraRefusals = 4
	// provenServed is how many tokens served show that a pace was right when it was set.
	provenServed = 16
	// maxUselessCuts is how often in a row the pace is lowered although that does not help. The
	// pace follows what was served, so it is soon low enough, if the pace is the reason at all.
	maxUselessCuts = 4
	// longestDebt bounds for how long nothing goes because more went before than the rate.
	longestDebt = 10 * time.Second
	// maxOverPace bounds the pace that was refused, as a multiple of the served rate, where
	// both are averaged.
	maxOverPace = 1.25
)

// rateAt returns the rate at t: rate · exp(growth · d · (1 + acceleration · growth/maxGrowth · d)),
// d seconds after it was set. It rises the faster the longer nothing is refused: the measured rate
// may be far too low, if the server was not serving then.
func (s *servedRate) rateAt(t monotime.Time) float64 {
	if s.former.trial {
		return s.former.during(s.rate, s.former.tried)
	}
	return s.rate * s.grown(max(t.Sub(s.setAt), 0).Seconds())
}

// seen is the rate that the server was seen to serve, when the latest request went. The pace grows with time, also while nobody asks and while
// something else delays requests. So no more of that counts than was served since the latest refusal; and nothing of what is tried.
func (s *servedRate) seen() float64 {
	if s.former.trial {
		return s.rate
	}
	took := max(s.lastGrant.Sub(s.measuredFrom), askingPause)
	return min(s.rateAt(s.lastGrant), max(s.rate, float64(s.servedSince)/took.Seconds()))
}

// grown returns by what the rate grows in d seconds.
func (s *servedRate) grown(d float64) float64 {
	return math.Exp(s.growth * d * (1 + acceleration*s.growth/maxGrowth*d))
}

// mostAt returns the highest rate that is possible at t. If a trial of the former rate is under way, or due by then, it is not
// refused, and the rate grows afterwards.
func (s *servedRate) mostAt(t monotime.Time) float64 {
	d := max(t.Sub(s.setAt), 0).Seconds()
	switch {
	case s.former.trial:
		return s.former.during(s.rate, d) * s.grown(d)
	case s.former.due(t):
		return s.former.during(s.rate, t.Sub(s.former.next).Seconds()) * s.grown(d)
	}
	return s.rate * s.grown(d)
}

// due returns when n tokens may go, not before t, if ahead tokens go before. The rate rises meanwhile, until something is refused: an
// optimist expects that of the time in which others go before, too.
func (s *servedRate) due(t monotime.Time, ahead, n int, optimist bool) monotime.Time {
	if s.rate == 0 || s.burst.allows(ahead+n) {
		return t
	}
	need := float64(ahead + n)
	least, in := 0.0, need/s.rateAt(t)
	if s.pacedTo.Add(monotime.Seconds(in)) <= t {
		return t
	}
	rateAt, from := s.rateAt, s.pacedTo
	optimist = optimist && ahead > 0
	if optimist {
		rateAt, from = s.mostAt, max(s.pacedTo, t)
	}
	// What is needed, over the rate at an end of the search, is an end from the other side. Mostly one step is left between these.
	low := need / rateAt(from.Add(monotime.Seconds(in)))
	high := need / rateAt(from.Add(monotime.Seconds(low)))
	for range 16 { // they go when d · rateAt(d) is what they need, at the soonest, since the rate is lower until then
		if d := (least + in) / 2; d < low || d <= high && d*rateAt(from.Add(monotime.Seconds(d))) < need {
			least = d
		} else {
			in = d
		}
	}
	if optimist {
		in = least
	}
	return max(t, s.pacedTo.Add(monotime.Seconds(in)))
}

// take counts a grant, now, of n tokens to a request that came at the instant asked.
func (s *servedRate) take(now, asked monotime.Time, n int) {
	s.burst.take(now, n)
	if s.measuredFrom == 0 {
		return
	}
	if asked.Sub(s.lastGrant) > askingPause && asked.Sub(s.measuredFrom) > askingPause {
		s.setAt = s.setAt.Add(max(asked.Sub(max(s.lastGrant, s.setAt)), 0) - askingPause) // the pace does not rise for longer while nobody asks
		s.measuredFrom, s.servedSince = now, 0
		s.beginMeasuring(now)
	}
	s.lastGrant = now
	if s.rate > 0 {
		if s.former.due(now) {
			s.try(now)
		}
		// A timer that is late by up to limit.Lag does not lower the rate.
		took := float64(n) / s.rateAt(now)
		paced, lag := s.pacedTo.Add(monotime.Seconds(took)), now.Add(-limit.Lag)
		if s.former.trial && paced >= lag {
			s.former.take(took)
		}
		s.pacedTo = max(paced, lag)
	}
}

// try begins a trial of the former rate.
func (s *servedRate) try(now monotime.Time) {
	pace := s.rateAt(now)
	if s.former.up { // the pace may have grown to the limit, where more are refused: so it grows again afterwards
		pace = s.rate
	}
	s.rate, s.setAt = pace, now
	s.former.begin()
	s.measuredFrom, s.servedSince = now, 0
	s.beginMeasuring(now)
}

// beginMeasuring begins a measurement, with an episode that is being served.
func (s *servedRate) beginMeasuring(now monotime.Time) {
	s.episodes[0], s.episodeCount, s.extraRefusals = episode{start: now, lastRefusal: now, servedFrom: now}, 1, 0
}

// addServed counts n tokens that were served. Late says that the request was on its way when the latest refusal came. If the server
// did not say for how long it refuses, it belongs to the row before, and the episode begins when the last of these is answered.
func (s *servedRate) addServed(now monotime.Time, n int, late bool) {
	s.burst.serve(n)
	if late && s.episodeCount > 0 && !s.former.trial {
		if e := &s.episodes[s.episodeCount-1]; !e.hinted {
			if e.served == 0 {
				e.start, e.lastRefusal, s.measuredFrom = now, now, now
			}
			return
		}
	}
	s.row.serve(now, n)
	s.servedSince += n
	if s.former.trial && s.former.holds(s.rate, s.servedSince) {
		s.rate, s.setAt = s.former.goal(s.rate), now
		s.uselessCuts = 0 // it may have held too soon: then the pace is the reason for refusals
		s.former.hold(now)
	}
	if s.episodeCount > 0 {
		e := &s.episodes[s.episodeCount-1]
		e.served += n
		if e.servedFrom == 0 {
			e.servedFrom = now
		}
	}
}

// addRefusal takes in a refusal: it is the first of all, or belongs to the latest episode, or ends
// that and begins the next. Hinted says that the server said for how long it would refuse.
func (s *servedRate) addRefusal(now monotime.Time, hinted bool) {
	s.burst.refuse(now)
	s.row.refuse(now)
	switch {
	case s.former.trial:
		s.endTrial(now)
		fallthrough
	case s.episodeCount == 0:
		s.beginMeasuring(now)
		s.episodes[0].servedFrom, s.episodes[0].hinted = 0, hinted
	case s.servedSince < sameEpisode && (s.servedSince == 0 || s.extraRefusals < maxExtraRefusals):
		s.continueEpisode(now)
	case now > s.episodes[s.episodeCount-1].start:
		s.measure(now)
		if s.episodeCount == maxEpisodes {
			copy(s.episodes[:], s.episodes[1:])
			s.episodeCount--
		}
		s.episodes[s.episodeCount] = episode{start: now, lastRefusal: now, hinted: hinted}
		s.episodeCount++
		s.extraRefusals = 0
	}
	s.measuredFrom, s.servedSince = now, 0
}

// endTrial ends a trial of the former rate with a refusal. The rate is what it was before; or, after a long row, that of the
// row: then the limit has risen, but not as far.
func (s *servedRate) endTrial(now monotime.Time) {
	row, before := paceShare*float64(s.servedSince), s.rate*now.Sub(s.setAt).Seconds()
	owed := max(row-before, 0) // what went beyond the rate: of a window, that is missing now
	if s.servedSince >= provenServed && before > 0 && row > longRow*before && (!s.former.up || s.former.tried >= heldFor.Seconds()) {
		s.rate *= row / before
		owed = 0
	}
	s.setAt, s.pacedTo = now, now.Add(min(monotime.Seconds(owed/s.rate), longestDebt))
	s.former.fail(now)
}

// continueEpisode takes in a refusal that belongs to the latest episode.
func (s *servedRate) continueEpisode(now monotime.Time) {
	e := &s.episodes[s.episodeCount-1]
	e.lastRefusal, e.servedFrom = now, 0
	if s.servedSince > 0 {
		s.extraRefusals++
	}
	switch {
	case s.rate > 0:
		s.setAt, s.pacedTo = now, now
	case e.served > 0 && now > e.start:
		// A rate from less than an episode is better than none.
		s.rate, s.growth, s.setAt, s.pacedTo = paceShare*float64(e.served)/now.Sub(e.start).Seconds(), maxGrowth, now, now
		s.provisional = true
	}
}

// measure sets the rate at the end of an episode: to the rate over all episodes or over the latest
// one, whichever is higher.
func (s *servedRate) measure(end monotime.Time) {
	var served int
	var total, last time.Duration
	for i := range s.episodeCount {
		e, until := &s.episodes[i], end
		if i < s.episodeCount-1 {
			until = s.episodes[i+1].start
		}
		last = e.lasted(until)
		total += last
		served += e.served
	}
	if served == 0 || last <= 0 {
		return
	}
	all := float64(served) / total.Seconds()
	rate := float64(s.episodes[s.episodeCount-1].served) / last.Seconds()
	if s.extraRefusals < maxExtraRefusals { // else one row after another was refused: the limit has fallen
		rate = max(rate, all)
	}
	if s.rate > 0 && s.servedSince >= provenServed {
		// The rate served while the pace rose is below what the server allows, and the pace that
		// was refused is above: the geometric mean of both.
		rate = math.Sqrt(rate * min(max(s.rateAt(end), rate), maxOverPace*rate))
	}
	rate *= paceShare
	switch {
	case s.servedSince >= provenServed:
		s.uselessCuts = 0
	case rate >= s.rate || s.provisional:
	case s.uselessCuts >= maxUselessCuts:
		rate = s.rate // the pace is not the reason of the refusals
	default:
		s.uselessCuts++
	}
	if s.growth = max(s.growth/2, minGrowth); s.rate == 0 || s.provisional {
		s.growth = maxGrowth
	}
	if s.episodes[0].servedFrom == s.episodes[0].start {
		total = 0 // it did not begin with a refusal: the server may have had a window or a bucket to give away
	}
	s.former.note(end, all, total, rate)
	s.rate, s.setAt, s.pacedTo, s.provisional = rate, end, end, false
}
