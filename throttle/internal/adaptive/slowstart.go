package adaptive

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// slowStart bounds how many requests are in flight while nothing is known: one at first, and one more with each
// answer, so that each answer lets two requests go (the slow start of TCP, RFC 5681 section 3.1). Whatever is
// in flight when the first one is refused is refused as well. So where more than slowStartSteep would go at
// once, the rate at which requests go rises by slowStartRise in each round trip at the most (as the congestion
// avoidance of TCP, section 3.2, has one more segment in flight in each). But where fewer ask to go than may,
// each answer lets one more go, whatever was in flight, which TCP calls not validated (RFC 7661): after 200
// requests one by one, 201 may go at once. It ends with the first answer that states a limit, if it is known
// what requests cost of it, or after slowStartAnswers answers, when fewer ask to go than may: until then each
// answer lets one more go, so that a line that has grown meanwhile does not go all at once.
//
// A server may be slow without refusing: a long poll, or requests that are answered only together. So when
// nothing was answered for slowStartStep, one more goes, and twice as many may be in flight. That is so as well
// where requests end sooner without an answer, one after the other, as their connections break or their callers
// wait no longer: nothing is learned from those. After a refusal, until something is served again, it takes
// Patience, and no more may be in flight for that.
//
// Who must not wait, or not for long, would fail although the server refuses nothing. So nobody waits for a
// slow start for longer than a part of the time that it has (see Haste), and goes before those that may: each
// gets a place of its own.
// But where the server has refused, or was held, the slow start is strict: it delays everybody.
type slowStart struct {
	allowed    int           // requests that may be in flight; zero if there is no slow start
	restart    sequence      // when it began: only requests granted later are counted
	inFlight   int           // requests granted since restart that are not over
	grown      float64       // the part of one more that may be in flight
	answered   int           // answers to requests granted since restart
	refused    bool          // it began with a refusal, and nothing was served since
	strict     bool          // it began with a refusal or a hold, or one did since the bucket was new or had idled: nobody is hasty
	unanswered monotime.Time // since when one more is to go without an answer, see take and serve; zero if nothing has gone since the latest answer
}

const (
	// slowStartAnswers end a slow start at a server that states no limits.
	slowStartAnswers = 256

	// slowStartSteep may be in flight before the rise is bounded. With 2, eight callers would take 0.57 s for
	// 400 requests of 10 ms, of which TestLearnLiesThatDoNotSlowDown allows 0.56 s, and hardly fewer requests
	// would be refused.
	slowStartSteep = 4

	// slowStartRise is by how many requests per second the rate may rise in a round trip. TestSlowStartCosts of
	// internal/tests/learning has what it costs at a server without limits, and internal/tests/matrix/tried.md
	// what it is worth at others.
	slowStartRise = 50

	// slowStartLeast is after how many answers at the most one more may be in flight, however short a round
	// trip is.
	slowStartLeast = 64
)

// slowStartStep is longer than most round trips, so that a server that refuses does so before a second
// request goes; and 100 requests at a server that answers late are all sent after seven steps.
const slowStartStep = 250 * time.Millisecond

// slowStartPart is which part of the time that a claim has it waits for a slow start while nothing was
// answered. Seven eighths are left for its answer, of which nobody knows how long it takes. The first answer,
// if it has come by then, took an eighth at most: then twice as much is waited for more of them, and three
// quarters are left.
const slowStartPart = 8

// Haste returns from when on no slow start delays a claim that came at an instant and had so much time to wait,
// unless the server has refused: at once if that is negative, and never if it is zero, without a bound.
func Haste(came monotime.Time, had time.Duration) (h limit.Haste) {
	if part := max(had, 0) / slowStartPart; had != 0 {
		h = limit.Haste{First: came.Add(part), Latest: came.Add(2 * part)}
	}
	return h
}

// hasty returns from when on the slow start does not delay a claim in such haste, as it looks now; zero if it
// always may.
func (s *slowStart) hasty(h limit.Haste) monotime.Time {
	if s.answered > 0 {
		return h.Latest
	}
	return h.First
}

// open reports whether a request in such haste may go now.
func (s *slowStart) open(now monotime.Time, h limit.Haste) bool {
	return s.allowed == 0 || s.inFlight < s.allowed || now >= s.nextAnyway() || s.passes(now, h)
}

// passes reports whether a request in such haste goes now, whatever is in flight.
func (s *slowStart) passes(now monotime.Time, h limit.Haste) bool {
	return h.Latest != 0 && now >= s.hasty(h) && !s.strict
}

// openFor reports whether so many requests may go before an answer comes.
func (s *slowStart) openFor(n int) bool { return s.allowed == 0 || s.inFlight+n <= s.allowed }

// nextAnyway is when one more may go without an answer.
func (s *slowStart) nextAnyway() monotime.Time {
	if s.refused {
		return s.unanswered.Add(Patience)
	}
	return s.unanswered.Add(slowStartStep)
}

// due puts d off, if that is earlier, for the slow start, if ahead requests go before one in such haste. An
// optimist expects the answers that are awaited to come at once.
func (s *slowStart) due(d *limit.Due, ahead int, h limit.Haste, optimist bool) {
	at := s.nextAnyway()
	switch {
	case s.allowed == 0, s.inFlight+ahead < s.allowed, ahead == 0 && d.At >= at, s.passes(d.At, h):
		return
	case s.passes(at, h):
		at = s.hasty(h)
	}
	if d.Cause == "" {
		d.Cause = limit.SlowStart
	}
	if s.inFlight >= s.allowed && at > d.At && !optimist {
		d.Until(at, at, limit.SlowStart, "")
	}
}

// first reports whether a request that goes now is the first one after a refusal.
func (s *slowStart) first() bool { return s.refused && s.allowed == 1 && s.inFlight == 0 }

// take counts a grant to a request in such haste. The time without an answer begins with the first one after an
// answer, with each that goes anyway, and with one that goes after a pause: nothing was in flight then, and
// nobody asked to go when one more might have gone.
func (s *slowStart) take(now monotime.Time, h limit.Haste) {
	if s.allowed == 0 {
		return
	}
	if s.inFlight >= s.allowed && s.passes(now, h) {
		s.allowed++
	}
	anyway := s.inFlight >= s.allowed
	if anyway && !s.refused {
		s.allowed *= 2
	}
	if anyway || s.unanswered == 0 || s.inFlight == 0 && now > s.nextAnyway() {
		s.unanswered = now
	}
	s.inFlight++
}

// end counts the end of a request.
func (s *slowStart) end(granted sequence) {
	if s.allowed > 0 && granted >= s.restart {
		s.inFlight = max(s.inFlight-1, 0)
	}
}

// serve takes in that a request was served after a round trip, and whether it is known now what may go.
func (s *slowStart) serve(now monotime.Time, granted sequence, trip time.Duration, known bool) {
	if s.allowed == 0 || granted < s.restart {
		return
	}
	s.answered++
	s.refused = false
	if s.unanswered = now; s.inFlight == 0 {
		s.unanswered = 0
	}
	bound, free := s.inFlight+1 >= s.allowed, s.answered >= slowStartAnswers
	if s.grown += s.growth(trip, bound && !free); s.grown >= 1 {
		s.allowed++
		s.grown--
	}
	if known || free && !bound {
		s.allowed = 0
	}
}

// growth returns how many more may be in flight after an answer: one, unless the rise is to be bounded.
func (s *slowStart) growth(trip time.Duration, bounded bool) float64 {
	if s.allowed < slowStartSteep || !bounded {
		return 1
	}
	return min(max(slowStartRise*trip.Seconds()/float64(s.allowed), 1.0/slowStartLeast), 1)
}
