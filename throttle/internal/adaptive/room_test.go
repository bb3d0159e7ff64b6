package adaptive

import (
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
)

// TestRoomIsNotMade: answers that leave Remaining as it was, to requests that went before a look was needed, make no room at a limit
// that needs a look for each request.
func TestRoomIsNotMade(t *testing.T) {
	for name, slow := range map[string]func(w *window){
		"others use it": func(w *window) { w.others.perOurToken = 8; w.others.measured = true },
		"a crowd":       func(w *window) { w.refill.refills, w.refill.crowd, w.refill.crowded = true, 1, true },
	} {
		s := &Server{}
		s.Init(&Site{}, Config{MaxHold: time.Minute, Random: func() float64 { return 0 }})
		flight, kind := make([]Ticket, 12), Kind{}
		for i := range flight {
			flight[i].N = 1
			s.Take(1, 1, &limit.Demand{Claims: 1, N: 1}, &kind, 0, &flight[i])
		}
		said := []quota.Statement{{Limit: 100, Remaining: 13, Reset: time.Hour, ResetKnown: true, Resolution: time.Second}}
		s.End(&flight[11], nil)
		s.Learn(2, &flight[11], kind, &Answer{Statements: said})
		slow(s.windows[0])
		of := s.Stated(said)
		if !s.Steady() {
			t.Fatalf("%s: not steady", name)
		}
		for i := range 10 {
			if !s.Count(3, &flight[i], &kind, of, []int{13}) {
				t.Errorf("%s: not counted", name)
			}
			if s.OpenSteady(3, 5, &kind) != s.allSteadyOpen(3, 5, &kind) {
				t.Errorf("%s: %d in flight: open is %v without a look, and %v with one", name, s.inFlight, s.OpenSteady(3, 5, &kind), s.allSteadyOpen(3, 5, &kind))
			}
		}
	}
}
