package adaptive

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// TestRoomIsNotMade: answers that leave Remaining as it was, to requests that went before a look was needed,
// make no room at a limit that needs a look for each request.
func TestRoomIsNotMade(t *testing.T) {
	for name, slow := range map[string]func(w *window){
		"others use it": func(w *window) { w.others.perOurToken = 8; w.others.measured = true },
		"a crowd":       func(w *window) { w.refill.refills, w.refill.crowd.left, w.refill.crowd.leaves = true, 1, true },
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
			if !s.Count(of, numbers(13), 3, &flight[i], &kind) {
				t.Errorf("%s: not counted", name)
			}
			if s.OpenSteady(3, 5, &kind) != s.allSteadyOpen(3, 5, &kind) {
				t.Errorf("%s: %d in flight: open is %v without a look, and %v with one", name, s.inFlight, s.OpenSteady(3, 5, &kind), s.allSteadyOpen(3, 5, &kind))
			}
		}
	}
}

// TestNoRoomWhereAllIsSpread: where the whole limit is spread, each request needs a look, also while more is in
// flight than remains.
func TestNoRoomWhereAllIsSpread(t *testing.T) {
	for remaining := 1; remaining < 20; remaining++ {
		s := &Server{}
		s.Init(&Site{}, Config{MaxHold: time.Minute, Spend: Even, Random: func() float64 { return 0 }})
		flight, kind := make([]Ticket, 12), Kind{}
		for i := range flight {
			flight[i].N = 1
			s.Take(1, 1, &limit.Demand{Claims: 1, N: 1}, &kind, 0, &flight[i])
		}
		s.End(&flight[11], nil)
		s.Learn(2, &flight[11], kind, &Answer{Statements: []quota.Statement{{Limit: 100, Remaining: int64(remaining), Reset: time.Hour, ResetKnown: true, Resolution: time.Second}}})
		if !s.Steady() {
			t.Fatalf("%d remain: not steady", remaining)
		}
		if s.room > 0 || s.OpenSteady(3, 1, &kind) {
			t.Errorf("%d remain, %d in flight: room for %d requests without a look", remaining, s.inFlight, s.room)
		}
	}
}

// TestRoomOfTokens: as many requests as there is room for may go, of whatever kind and price, and of whatever
// kinds those in flight are.
func TestRoomOfTokens(t *testing.T) {
	const full = 100_000
	roomy := 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 9))
		s := &Server{}
		s.Init(&Site{}, Config{MaxHold: time.Minute, Random: func() float64 { return 0 }})
		kinds := []Kind{{Verb: "GET", Path: "/cheap"}, {Verb: "POST", Path: "/dear"}, {Verb: "PUT", Path: "/new"}}
		cost := []int{r.IntN(3), 1 + r.IntN(400), 50}
		now, left := monotime.Time(1), full/3
		if seed%2 == 0 { // one kind, of which little remains
			kinds, cost, left = kinds[1:], cost[1:], 65*cost[1]
		}
		for step := range 40 {
			which := r.IntN(len(kinds) - 1)
			tk := Ticket{N: 1, Sent: now}
			s.Take(now, now, &limit.Demand{Claims: 1, N: 1}, &kinds[which], 0, &tk)
			now = now.Add(time.Millisecond)
			if left -= cost[which]; cost[which] > 0 {
				left -= r.IntN(cost[which])
			}
			if left <= 0 {
				break
			}
			said := []quota.Statement{{Unit: "tokens", Limit: full, Remaining: int64(left), Reset: time.Hour, ResetKnown: true, Resolution: time.Second}}
			s.End(&tk, nil)
			s.Learn(now, &tk, kinds[which], &Answer{Statements: said})
			if step < 20 {
				continue
			}
			s.Add(r.IntN(20))
			if !s.Steady() {
				t.Fatalf("seed %d: not steady", seed)
			}
			for _, kind := range kinds {
				if s.room > 0 && !s.Open(now, &limit.Demand{Claims: 1, N: s.room}, &kind, 0) {
					t.Fatalf("seed %d, step %d: %d requests of kind %v may go without a look, and not with one", seed, step, s.room, kind)
				}
			}
			if s.room > 0 {
				roomy++
			}
			s.Add(-s.inFlight)
		}
	}
	if roomy < 1000 {
		t.Errorf("%d times there was room, want more", roomy)
	}
}
