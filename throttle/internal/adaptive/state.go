package adaptive

import (
	"cmp"
	"slices"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// This file says in numbers what people are told of a Server; belief.go says it in words.

// WindowState is what is known of one limit; see throttle.Level.
type WindowState struct {
	Name      string
	Counter   string
	Unit      string
	Limit     int
	Available int
	Reset     time.Duration
	Rate      float64
}

// Windows returns what is known of each limit that the server states, to be shown to users: by unit, and then
// by name.
func (s *Server) Windows(now monotime.Time) (states []WindowState) {
	for _, w := range s.windows {
		ws := WindowState{Name: shown(w.name), Counter: shown(w.counter), Unit: shown(w.unit), Limit: w.stated, Available: max(w.remaining-s.inFlightOn(w), 0)}
		if w.reset.late != 0 {
			ws.Reset = max(w.reset.late.Sub(now), 0)
		}
		if w.refill.refills {
			ws.Rate = w.refill.rate
		}
		states = append(states, ws)
	}
	slices.SortStableFunc(states, func(a, b WindowState) int {
		return cmp.Or(cmp.Compare(a.Unit, b.Unit), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Counter, b.Counter))
	})
	return states
}

// SlowStart returns how many requests may be in flight during a slow start, zero if there is none.
func (s *Server) SlowStart() int { return s.slowStart.Allowed() }
