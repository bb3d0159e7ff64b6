package pace

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// episodes are what a rate is measured over: the latest episodes, and what was served since the latest refusal.
//
// In come what was served (serve, serveLate) and refusals (begin, next, carryOn). Out come the rates (rates).
type episodes struct {
	measuredFrom monotime.Time // the latest refusal, or the end of a pause in asking; zero before the first refusal
	servedSince  int           // tokens served since measuredFrom

	list  [maxEpisodes]episode // oldest first
	count int
	extra int // refusals after a few served requests, counted to the same episode
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

const (
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
	// longEpisode is how long an episode lasts, from the latest refusal on, that counts as one whatever was
	// served.
	longEpisode = 20 * time.Second
	// tookFor is for how long after a refused trial what the trial took beyond the rate may be missing. With 8
	// s, more are refused where a limit was halved, and no more adapt: see internal/tests/matrix/tried.md.
	tookFor = 4 * time.Second
	// provenServed is how many tokens served show that a pace was right when it was set.
	provenServed = 16
)

// Kept is for how long a rate is kept that nobody asks for. As long after a refusal, while requests are served,
// the beginnings of a measurement are out of date.
const Kept = 24 * time.Hour

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

// latest returns the latest episode, nil if there is none.
func (s *episodes) latest() *episode {
	if s.count == 0 {
		return nil
	}
	return &s.list[s.count-1]
}

// begin begins with a first episode.
func (s *episodes) begin(e episode) { s.list[0], s.count, s.extra = e, 1, 0 }

// restart begins anew now, with an episode that is being served.
func (s *episodes) restart(now monotime.Time) {
	s.measuredFrom, s.servedSince = now, 0
	s.begin(episode{start: now, lastRefusal: now, servedFrom: now})
}

// next begins the next episode.
func (s *episodes) next(e episode) {
	if s.count == maxEpisodes {
		copy(s.list[:], s.list[1:])
		s.count--
	}
	s.list[s.count] = e
	s.count++
	s.extra = 0
}

// goesOn reports whether a refusal that comes now belongs to the latest episode. Where nobody else takes what
// comes back (unshared), what was served since the refusal before is all that did, however few that were.
func (s *episodes) goesOn(now monotime.Time, unshared bool) bool {
	few := !unshared && s.extra < maxExtraRefusals && now.Sub(s.latest().lastRefusal) < longEpisode
	return s.servedSince < sameEpisode && (s.servedSince == 0 || few)
}

// carryOn takes in a refusal that belongs to the latest episode, and returns that.
func (s *episodes) carryOn(now monotime.Time) *episode {
	e := s.latest()
	e.lastRefusal, e.servedFrom = now, 0
	if s.servedSince > 0 {
		s.extra++
	}
	return e
}

// serve takes in that n tokens were served.
func (s *episodes) serve(now monotime.Time, n int) {
	s.servedSince += n
	if e := s.latest(); e != nil {
		e.served += n
		if e.servedFrom == 0 {
			e.servedFrom = now
		}
	}
}

// serveLate takes in that a request was served which was on its way when the latest refusal came. It reports
// whether that belongs to the row before: where the server did not say for how long it refuses. Then the
// episode begins when the last of these is answered.
func (s *episodes) serveLate(now monotime.Time) bool {
	e := s.latest()
	if e == nil || e.hinted {
		return false
	}
	if e.served == 0 {
		e.start, e.lastRefusal, s.measuredFrom = now, now, now
	}
	return true
}

// takeBack takes back what was served since the latest refusal.
func (s *episodes) takeBack() {
	s.latest().served -= s.servedSince
	s.servedSince = 0
}

// rates returns the rate over the latest episode, which ends now, and over all, and how long these lasted.
func (s *episodes) rates(now monotime.Time) (latest, all float64, over time.Duration) {
	var served int
	var last time.Duration
	for i := range s.count {
		until := now
		if i < s.count-1 {
			until = s.list[i+1].start
		}
		last = s.list[i].lasted(until)
		over += last
		served += s.list[i].served
	}
	return float64(s.latest().served) / last.Seconds(), float64(served) / over.Seconds(), over
}

// alike reports whether the latest two episodes, the second of which ends now, were long and served as many
// each: what is refused at random differs.
func (s *episodes) alike(now monotime.Time) bool {
	return s.count > 1 && s.list[s.count-2].served == s.latest().served && now.Sub(s.latest().start) >= longEpisode
}

// followsTrial reports whether the latest episode, which ends now, is the first one after a trial that was
// refused with a hint, tookFor long at most: then it says too little, as what the trial took is missing in it.
func (s *episodes) followsTrial(now monotime.Time) bool {
	return s.count == 1 && s.list[0].hinted && now.Sub(s.list[0].start) < tookFor
}

// isServedFirst reports whether the first episode did not begin with a refusal: the server may have had a
// window or a bucket to give away.
func (s *episodes) isServedFirst() bool { return s.list[0].servedFrom == s.list[0].start }
