package pacertest

import (
	"net/http"
	"slices"
	"time"
)

// A Fault is what goes wrong with one request. The zero value is nothing.
type Fault struct {
	// Status, if not zero, is answered instead of asking the quota: nothing is
	// charged, no limit is announced, and the Handler does not run.
	Status int

	// Header is set over what the Dialect wrote, to lie or to add. An empty
	// list of values removes the field, the Date included.
	Header http.Header

	// Drop closes the connection without an answer.
	Drop Drop

	// Delay comes on top of the Server's Latency.
	Delay time.Duration

	// Skew is by how much the clock is ahead of the client's with which the
	// answer is written: its Date, and the resets that are stated as an
	// instant. It is behind if Skew is negative.
	Skew time.Duration
}

// Drop is when a connection is dropped. The client sees an error either way,
// and cannot tell which it was. Note that http.Transport itself sends an
// idempotent request again if the connection had served another one before.
type Drop int

// The moments of a drop.
const (
	NoDrop     Drop = iota
	DropBefore      // before anything is done: nothing is charged
	DropAfter       // after everything was done: only the answer is lost
)

// fault returns what goes wrong with r.
func (s *Server) fault(r *http.Request) Fault {
	if s.Faults == nil {
		return Fault{}
	}
	s.mu.Lock()
	n := s.seen
	s.seen++
	s.mu.Unlock()
	return s.Faults(n, r)
}

// count counts a request that did not get to a quota.
func (s *Server) count(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := Event{Time: time.Now(), Status: f.Status, Dropped: f.Drop != NoDrop}
	if f.Drop == DropBefore {
		e.Status = 0
	}
	s.stats.Faulted++
	s.stats.keep(e)
}

// setHeader puts the fault's fields over those of h. net/http adds no Date
// where the field is present, with or without a value.
func (f Fault) setHeader(h http.Header) {
	if f.Skew != 0 {
		h.Set("Date", time.Now().Add(f.Skew).UTC().Format(http.TimeFormat))
	}
	for name, values := range f.Header {
		h[http.CanonicalHeaderKey(name)] = slices.Clone(values)
	}
}

// discard is the ResponseWriter of an answer that is lost.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}
