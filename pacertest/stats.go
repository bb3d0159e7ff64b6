package pacertest

import (
	"slices"
	"time"
)

// maxEvents bounds the memory that Stats take. It is enough for any test that
// looks at single requests; counts go on beyond.
const maxEvents = 1 << 16

// Stats is what a Server has seen. It is counted where the verdict falls, so
// it does not depend on what a client makes of it.
type Stats struct {
	// Accepted and Refused count the requests that the quota admitted and
	// refused; Faulted those that a Fault answered or dropped before.
	Accepted, Refused, Faulted int

	// First and Last are the instants at which the first and the last request
	// were admitted.
	First, Last time.Time

	// Events are the requests in the order of their verdicts. Only the first
	// 65536 are kept.
	Events []Event
}

// Event is one request.
type Event struct {
	// Time is the instant at which the verdict fell.
	Time time.Time

	// Key is whose quota the request drew on, empty if none.
	Key string

	// Status is 200 for a request that was admitted, whatever a Handler then
	// answers, or that of the refusal or Fault, or 0 for DropBefore.
	Status int

	// Dropped reports whether a Fault dropped the connection.
	Dropped bool
}

// Stats returns what the server has seen so far.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := s.stats
	stats.Events = slices.Clone(stats.Events)
	return stats
}

// add counts a request on which a quota decided.
func (s *Stats) add(e Event, accepted bool) {
	if accepted {
		if s.Accepted == 0 {
			s.First = e.Time
		}
		s.Last = e.Time
		s.Accepted++
	} else {
		s.Refused++
	}
	s.keep(e)
}

func (s *Stats) keep(e Event) {
	if len(s.Events) < maxEvents {
		s.Events = append(s.Events, e)
	}
}
