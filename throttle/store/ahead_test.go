package store

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestStoreBeforeSlotsAhead: a slot far ahead does not keep what comes back from being used until then.
func TestStoreBeforeSlotsAhead(t *testing.T) {
	const late, start = 10 * time.Millisecond, time.Second
	for _, c := range []struct {
		quotas string
		ahead  time.Duration // of the slot for which there is no room
		free   int           // slots of 1 that are to be had at once when 4 of 10 came back
	}{
		{"10/m log", time.Minute + late - start, 4},
		{"10/m window", time.Minute + late - start, 4},
		{"10/m sliding", time.Minute + late - start, 3},
		{"10/m window grid", 59 * time.Second, 4},
		{"10/m estimate", 59*time.Second + 3*time.Second + 1, 3},
		{"20/s burst 11, 10/m log", time.Minute + late - start, 4},
		{"10/m log, 10/s window grid", time.Minute + late - start, 4},
	} {
		t.Run(c.quotas, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := script{t: t}
				for _, q := range quotas(t, c.quotas) {
					s.qs = append(s.qs, plain(q))
				}
				cost := []int{1, 1}[:len(s.qs)]
				ask := func(n int) []Ask { return []Ask{{Cost: cost, Count: n, Within: -1}} }
				a := s.exchange(Request{Member: "a", Serial: 1, Asks: ask(10)})
				time.Sleep(start)
				if b := s.exchange(Request{Member: "b", Serial: 1, Asks: ask(1)}); b.Slots[0].In != c.ahead {
					t.Errorf("the eleventh in %v, want %v", b.Slots[0].In, c.ahead)
				}
				back := []int{4, 4}[:len(s.qs)]
				r := s.exchange(Request{Member: "a", Serial: 2, Back: []Part{{a.Slots[0].ID, back}}, Asks: ask(8)})
				free := 0
				for _, d := range in(r) {
					if d == 0 {
						free++
					}
				}
				if free != c.free {
					t.Errorf("%d free, want %d: %v", free, c.free, in(r))
				}
			})
		})
	}
}
