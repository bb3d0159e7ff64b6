package adaptive

import (
	"math"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// servedRate is the rate at which a server that says nothing about its limits serves requests
// while it also refuses some: the server allows that, whatever it counts. Where nothing else
// is known, requests are paced just under that rate. The pace rises slowly, to find out
// whether more is allowed, and ever more slowly the more often a rise was refused.
type servedRate struct {
	since  monotime.Time // of the last refusal, or of the end of a pause in asking
	got    int           // served since
	asked  monotime.Time // when something was asked for last
	rate   float64       // tokens per second, at from; zero if it is not known
	from   monotime.Time
	growth float64       // of the rate, per second
	paced  monotime.Time // what went last counts from here

	episodes [measured]episode // the latest
	known    int               // how many there are
	more     int               // refusals since the latest, soon after one another
	guessed  bool              // the rate is from less than an episode
	vain     int               // how often the pace was lowered, and soon refused again
}

// episode is refusals in a row, which are one signal, and what follows until the next: some
// time in which nothing is served, and what was served then.
type episode struct {
	at     monotime.Time // of the first refusal
	last   monotime.Time // of the last one
	open   monotime.Time // when something was served again; zero if nothing was
	hinted bool          // the server said for how long it would refuse
	served int
}

// took returns how long the episode lasted until end. Where nobody was told when the server
// would serve again, it began to at some time between the last refusal and the first request
// that was served.
func (e *episode) took(end monotime.Time) time.Duration {
	d := end.Sub(e.at)
	if !e.hinted && e.open > e.last {
		d -= e.open.Sub(e.last) / 2
	}
	return d
}

const (
	// under is the share that is asked for of the served rate: at exactly the server's rate,
	// the jitter of the network alone would have requests refused.
	under = 0.95
	// fastest and slowest are how fast the pace begins to rise after the first refusal, and
	// in the end: by a fifth and by a two thousandth a second. It halves each time.
	fastest, slowest = 0.2, 0.0005
	// surge is by which share of itself the growth grows in a second without a refusal, at
	// first; it halves too. With more, the windows of a server are overrun in turns with its
	// holds.
	surge = 0.15
	// pause is for how long nothing is asked before a measurement starts anew: a rate is what
	// a server serves while more is asked for.
	pause = time.Second
	// measured is over how many episodes a rate is measured: what a window let through, and
	// the time until the next one, are part of it.
	measured = 4
	// few is how many are served between refusals that are one episode still: a window that
	// opens lets some through before it is full again.
	few = 8
	// proven is how many are served at a pace that was right when it began to rise.
	proven = 16
	// mostVain is how often the pace is lowered if that does not help. What is measured is
	// what was served, so that the pace soon suffices, if it is the reason at all.
	mostVain = 4
	// overdone is by how much of what was served the pace at which that was refused is
	// believed to tell something.
	overdone = 1.25
)

// at returns the rate at t. The longer nothing is refused, the faster it rises: what was
// measured may have been far too low, if the server was not serving then.
func (s *servedRate) at(t monotime.Time) float64 {
	d := max(t.Sub(s.from), 0).Seconds()
	return s.rate * math.Exp(s.growth*d*(1+surge*s.growth/fastest*d))
}

// due returns when n may go, not before t, if ahead tokens go before.
func (s *servedRate) due(t monotime.Time, ahead, n int) monotime.Time {
	if s.rate == 0 {
		return t
	}
	return max(t, s.paced.Add(monotime.Seconds(float64(ahead+n)/s.at(t))))
}

// take counts a grant of n that was asked for then.
func (s *servedRate) take(now, asked monotime.Time, n int) {
	if s.since == 0 {
		return
	}
	if asked.Sub(s.asked) > pause && asked.Sub(s.since) > pause {
		s.since, s.got = now, 0
		s.begin(now)
	}
	s.asked = now
	if s.rate > 0 {
		// A late timer does not slow it down.
		s.paced = max(s.paced.Add(monotime.Seconds(float64(n)/s.at(now))), now.Add(-quota.Lag))
	}
}

// begin begins a measurement.
func (s *servedRate) begin(now monotime.Time) {
	s.episodes[0], s.known, s.more = episode{at: now, last: now, open: now}, 1, 0
}

// serve counts what was served.
func (s *servedRate) serve(now monotime.Time, n int) {
	s.got += n
	if s.known > 0 {
		e := &s.episodes[s.known-1]
		e.served += n
		if e.open == 0 {
			e.open = now
		}
	}
}

// refused takes in a refusal. Hinted says that the server told for how long.
func (s *servedRate) refused(now monotime.Time, hinted bool) {
	switch {
	case s.known == 0:
		s.begin(now)
		s.episodes[0].open, s.episodes[0].hinted = 0, hinted
	case s.got < few && (s.got == 0 || s.more < measured):
		s.goOn(now)
	case now > s.episodes[s.known-1].at:
		s.measure(now)
		if s.known == measured {
			copy(s.episodes[:], s.episodes[1:])
			s.known--
		}
		s.episodes[s.known] = episode{at: now, last: now, hinted: hinted}
		s.known++
		s.more = 0
	}
	s.since, s.got = now, 0
}

// goOn takes in a refusal that belongs to the latest episode.
func (s *servedRate) goOn(now monotime.Time) {
	e := &s.episodes[s.known-1]
	e.last, e.open = now, 0
	if s.got > 0 {
		s.more++
	}
	switch {
	case s.rate > 0:
		s.from, s.paced = now, now
	case e.served > 0 && now > e.at:
		// It is too early to tell, but better than nothing.
		s.rate, s.growth, s.from, s.paced = under*float64(e.served)/now.Sub(e.at).Seconds(), fastest, now, now
		s.guessed = true
	}
}

// measure sets the rate when an episode ends.
func (s *servedRate) measure(end monotime.Time) {
	var served int
	var took, last time.Duration
	for i := range s.known {
		e, end := &s.episodes[i], end
		if i < s.known-1 {
			end = s.episodes[i+1].at
		}
		last = e.took(end)
		took += last
		served += e.served
	}
	if served == 0 || last <= 0 {
		return
	}
	rate := max(float64(served)/took.Seconds(), float64(s.episodes[s.known-1].served)/last.Seconds())
	if s.rate > 0 && s.got >= proven {
		// What was served while the pace rose is less than what is allowed, and the pace at
		// which it was refused is more.
		rate = math.Sqrt(rate * min(max(s.at(end), rate), overdone*rate))
	}
	rate *= under
	switch {
	case s.got >= proven:
		s.vain = 0
	case rate >= s.rate || s.guessed:
	case s.vain >= mostVain:
		rate = s.rate // it is not the pace that is refused
	default:
		s.vain++
	}
	if s.growth = max(s.growth/2, slowest); s.rate == 0 || s.guessed {
		s.growth = fastest
	}
	s.rate, s.from, s.paced, s.guessed = rate, end, end, false
}
