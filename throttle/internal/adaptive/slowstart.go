package adaptive

import (
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// slowStart bounds how many requests are in flight while nothing is known: one at first, and
// one more with each answer, so that each answer lets two requests go (the slow start of TCP,
// RFC 5681 section 3.1). It ends with the first answer that states a limit, or after
// slowStartAnswers answers that state none.
type slowStart struct {
	allowed   int           // requests that may be in flight; zero if there is no slow start
	restart   sequence      // when it began: only requests granted later are counted
	inFlight  int           // requests granted since restart that are not over
	answered  int           // answers to requests granted since restart
	lastGrant monotime.Time // while there was a slow start
}

// slowStartAnswers end a slow start at a server that states no limits: five round trips of
// doubling.
const slowStartAnswers = 32

// open reports whether a request may go now.
func (s *slowStart) open(now monotime.Time) bool {
	return s.allowed == 0 || s.inFlight < s.allowed || now >= s.lastGrant.Add(patience)
}

// due returns from, or what comes later because of the slow start, if ahead requests go before.
// An optimist expects the answers that are awaited to come at once.
func (s *slowStart) due(from limit.Due, ahead int, optimist bool) limit.Due {
	if s.allowed == 0 || s.inFlight+ahead < s.allowed {
		return from
	}
	if from.Cause == "" {
		from.Cause = limit.SlowStart
	}
	if at := s.lastGrant.Add(patience); s.inFlight >= s.allowed && at > from.At && !optimist {
		return from.Until(at, at, limit.SlowStart, "")
	}
	return from
}

// take counts a grant.
func (s *slowStart) take(now monotime.Time) {
	if s.allowed > 0 {
		s.inFlight++
		s.lastGrant = now
	}
}

// end counts the end of a request.
func (s *slowStart) end(granted sequence) {
	if s.allowed > 0 && granted >= s.restart {
		s.inFlight = max(s.inFlight-1, 0)
	}
}

// serve takes in that a request was served, and whether the answer stated a limit.
func (s *slowStart) serve(granted sequence, stated bool) {
	if s.allowed == 0 || granted < s.restart {
		return
	}
	s.answered++
	s.allowed++
	if stated || s.answered >= slowStartAnswers {
		s.allowed = 0
	}
}
