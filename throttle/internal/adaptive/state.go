package adaptive

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// WindowState is what is known of one limit; see throttle.WindowState.
type WindowState struct {
	Name      string
	Bucket    string
	Unit      string
	Limit     int
	Available int
	Reset     time.Duration
	Rate      float64
}

// Windows returns what is known of the limits that the server speaks of.
func (s *Server) Windows(now monotime.Time) (states []WindowState) {
	for _, w := range s.windows {
		ws := WindowState{Name: w.name, Bucket: w.bucket, Unit: w.unit, Limit: w.limit, Available: max(w.remaining-s.under(w), 0)}
		if w.reset.late != 0 {
			ws.Reset = max(w.reset.late.Sub(now), 0)
		}
		if w.refill.refills {
			ws.Rate = w.refill.rate
		}
		states = append(states, ws)
	}
	return states
}

// SlowStart returns how many requests may be in flight while the bucket starts slowly, zero if it
// does not.
func (s *Server) SlowStart() int { return s.slowStart.most }
