// Package slowstart says how many requests may be in flight while nothing is known of a server: one first, then
// more. All of it is in slowstart.go.
//
// In come requests that are granted ([Start.Take]), that are over ([Start.End]), and that were served, with how
// long that took, and whether what may go is known by then ([Start.Serve]); out comes whether one more may go
// ([Start.Open], [Start.OpenFor]), and when at the latest ([Start.Due]). Grants and answers are numbered in the
// order in which they happened, as those of an adaptive.Site are.
package slowstart

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Start bounds how many requests are in flight while nothing is known of a server, or nothing since it refused:
// one at first, and one more with each answer, so that each answer lets two requests go (the slow start of TCP,
// RFC 5681 section 3.1). Whatever is in flight when the first one is refused is refused as well. So where more
// than steep would go at once, the rate at which requests go rises by rise in each round trip at the most (as
// the congestion avoidance of TCP, section 3.2, has one more segment in flight in each). But where fewer ask to
// go than may, each answer lets one more go, whatever was in flight, which TCP calls not validated (RFC 7661):
// after 200 requests one by one, 201 may go at once. It ends with the first answer that states a limit, if it
// is known what requests cost of it, or after enough answers, when fewer ask to go than may: until then each
// answer lets one more go, so that a line that has grown meanwhile does not go all at once.
//
// A server may be slow without refusing: a long poll, or requests that are answered only together. So when
// nothing was answered for step, one more goes, and twice as many may be in flight. That is so as well where
// requests end sooner without an answer, one after the other, as their connections break or their callers wait
// no longer: nothing is learned from those. After a refusal, until something is served again, it takes
// patience, and no more may be in flight for that.
//
// Who must not wait, or not for long, would fail although the server refuses nothing. So nobody waits for a
// slow start for longer than a part of the time that it has (see Haste), and goes before those that may: each
// gets a place of its own. But where the server has refused, or was held, the slow start is strict: it delays
// everybody.
//
// The zero Start is none: all may go.
type Start struct {
	allowed    int           // requests that may be in flight; zero if there is no slow start
	began      uint64        // after how many grants and answers: only requests that were granted then or later are counted
	inFlight   int           // requests granted since it began that are not over
	grown      float64       // the part of one more that may be in flight
	answered   int           // answers to requests granted since it began
	refused    bool          // it began with a refusal, and nothing was served since
	strict     bool          // it began with a refusal or a hold, or one did since the bucket was new or had idled: nobody is hasty
	unanswered monotime.Time // since when one more is to go without an answer, see Take and Serve; zero if nothing has gone since the latest answer
}

const (
	// enough end a slow start at a server that states no limits.
	enough = 256

	// steep may be in flight before the rise is bounded. With 2, eight callers would take 0.57 s for 400
	// requests of 10 ms, of which TestLearnLiesThatDoNotSlowDown allows 0.56 s, and hardly fewer requests would
	// be refused.
	steep = 4

	// rise is by how many requests per second the rate may rise in a round trip. TestSlowStartCosts of
	// internal/tests/learning has what it costs at a server without limits, and internal/tests/matrix/tried.md
	// what it is worth at others.
	rise = 50

	// rarest is after how many answers at the most one more may be in flight, however short a round trip is.
	rarest = 64
)

// patience is for how long nothing more goes after a refusal without an answer: as long as others wait for a
// request that went ahead of them.
const patience = 5 * time.Second

// step is longer than most round trips, so that a server that refuses does so before a second request goes; and
// 100 requests at a server that answers late are all sent after seven steps.
const step = 250 * time.Millisecond

// part is which part of the time that a claim has it waits for a slow start while nothing was answered. Seven
// eighths are left for its answer, of which nobody knows how long it takes. The first answer, if it has come by
// then, took an eighth at most: then twice as much is waited for more of them, and three quarters are left.
const part = 8

// Haste returns from when on no slow start delays a claim that came at an instant and had so much time to wait,
// unless the server has refused: at once if that is negative, and never if it is zero, without a bound.
func Haste(came monotime.Time, had time.Duration) (h limit.Haste) {
	if first := max(had, 0) / part; had != 0 {
		h = limit.Haste{First: came.Add(first), Latest: came.Add(2 * first)}
	}
	return h
}

// Begin begins a slow start after so many grants and answers, and whatever was there before is forgotten.
// Refused says that it begins with a refusal. Strict says that it delays everybody, as one that begins with a
// refusal does.
func (s *Start) Begin(after uint64, refused, strict bool) {
	*s = Start{allowed: 1, began: after, refused: refused, strict: refused || strict}
}

// Allowed is how many requests may be in flight; zero if there is no slow start.
func (s *Start) Allowed() int { return s.allowed }

// Lenient reports whether a slow start is on that does not delay who is hasty.
func (s *Start) Lenient() bool { return s.allowed > 0 && !s.strict }

// Hasty returns from when on the slow start does not delay a claim in such haste, as it looks now; zero if it
// always may.
func (s *Start) Hasty(h limit.Haste) monotime.Time {
	if s.answered > 0 {
		return h.Latest
	}
	return h.First
}

// Open reports whether a request in such haste may go now.
func (s *Start) Open(now monotime.Time, h limit.Haste) bool {
	return s.allowed == 0 || s.inFlight < s.allowed || now >= s.nextAnyway() || s.passes(now, h)
}

// passes reports whether a request in such haste goes now, whatever is in flight.
func (s *Start) passes(now monotime.Time, h limit.Haste) bool {
	return h.Latest != 0 && now >= s.Hasty(h) && !s.strict
}

// OpenFor reports whether so many requests may go before an answer comes.
func (s *Start) OpenFor(n int) bool { return s.allowed == 0 || s.inFlight+n <= s.allowed }

// nextAnyway is when one more may go without an answer.
func (s *Start) nextAnyway() monotime.Time {
	if s.refused {
		return s.unanswered.Add(patience)
	}
	return s.unanswered.Add(step)
}

// Due puts d off, if that is earlier, for the slow start, if ahead requests go before one in such haste. An
// optimist expects the answers that are awaited to come at once.
func (s *Start) Due(d *limit.Due, ahead int, h limit.Haste, optimist bool) {
	at := s.nextAnyway()
	switch {
	case s.allowed == 0, s.inFlight+ahead < s.allowed, ahead == 0 && d.At >= at, s.passes(d.At, h):
		return
	case s.passes(at, h):
		at = s.Hasty(h)
	}
	if d.Cause == "" {
		d.Cause = limit.SlowStart
	}
	if s.inFlight >= s.allowed && at > d.At && !optimist {
		d.Until(at, at, limit.SlowStart, "")
	}
}

// First reports whether a request that goes now is the first one after a refusal.
func (s *Start) First() bool { return s.refused && s.allowed == 1 && s.inFlight == 0 }

// Take counts a grant to a request in such haste. The time without an answer begins with the first one after an
// answer, with each that goes anyway, and with one that goes after a pause: nothing was in flight then, and
// nobody asked to go when one more might have gone.
func (s *Start) Take(now monotime.Time, h limit.Haste) {
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

// End counts the end of a request.
func (s *Start) End(granted uint64) {
	if s.allowed > 0 && granted >= s.began {
		s.inFlight = max(s.inFlight-1, 0)
	}
}

// Serve takes in that a request was served after a round trip, and whether it is known now what may go.
func (s *Start) Serve(now monotime.Time, granted uint64, trip time.Duration, known bool) {
	if s.allowed == 0 || granted < s.began {
		return
	}
	s.answered++
	s.refused = false
	if s.unanswered = now; s.inFlight == 0 {
		s.unanswered = 0
	}
	bound, free := s.inFlight+1 >= s.allowed, s.answered >= enough
	if s.grown += s.growth(trip, bound && !free); s.grown >= 1 {
		s.allowed++
		s.grown--
	}
	if known || free && !bound {
		s.allowed = 0
	}
}

// growth returns how many more may be in flight after an answer: one, unless the rise is to be bounded.
func (s *Start) growth(trip time.Duration, bounded bool) float64 {
	if s.allowed < steep || !bounded {
		return 1
	}
	return min(max(rise*trip.Seconds()/float64(s.allowed), 1.0/rarest), 1)
}
