package pacertest

import (
	"slices"
	"time"
)

// maxEvents bounds the memory of Stats. It is enough for any test that looks at
// single requests; the counts go on beyond it.
const maxEvents = 1 << 16

// Stats is what a Server has seen. Requests are counted when the verdict is made, so
// that the counts do not depend on what a client makes of the answers.
type Stats struct {
	// Admitted and Refused count the requests that a quota admitted and refused.
	// Faulted counts the requests that a Fault answered or dropped before.
	Admitted, Refused, Faulted int

	// First and Last are the instants at which the first and the last request was
	// admitted. They are zero if none was.
	First, Last time.Time

	// Events are the requests in the order of their verdicts. Only the first 65536
	// are kept.
	Events []Event
}

// Event is one request.
type Event struct {
	// Time is the instant of the verdict.
	Time time.Time

	// Key is what Server.Key returned for the request, or empty.
	Key string

	// Status is 200 for a request that was admitted, whatever a Handler then answers.
	// It is the status of the refusal or of the Fault for other requests, and 0 for
	// DropBefore.
	Status int

	// Dropped reports whether a Fault dropped the connection.
	Dropped bool
}

// clone returns a copy that does not change when requests come.
func (s *Stats) clone() Stats {
	c := *s
	c.Events = slices.Clone(c.Events)
	return c
}

// verdict counts a request on which a quota decided.
func (s *Stats) verdict(e Event, accepted bool) {
	if accepted {
		if s.Admitted == 0 {
			s.First = e.Time
		}
		s.Last = e.Time
		s.Admitted++
	} else {
		s.Refused++
	}
	s.keep(e)
}

// fault counts a request that a Fault ended before any quota was asked.
func (s *Stats) fault(now time.Time, f Fault) {
	e := Event{Time: now, Status: f.Status, Dropped: f.Drop.drops()}
	if f.Drop == DropBefore {
		e.Status = 0
	}
	s.Faulted++
	s.keep(e)
}

func (s *Stats) keep(e Event) {
	if len(s.Events) < maxEvents {
		s.Events = append(s.Events, e)
	}
}
