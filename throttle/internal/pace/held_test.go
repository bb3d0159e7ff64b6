package pace

import (
	"testing"
	"time"
)

// TestHeld: half of what a hold has kept back goes at once after it, if the server is known to serve as much at once, and half as much after each time that is refused.
func TestHeld(t *testing.T) {
	for _, test := range []struct {
		name   string
		hinted bool
		misses int
		burst  int
		want   int // go at once when the hold of 4 s ends, at 10/s, beyond the one that goes anyway
	}{
		{"half of the hold", true, 0, 40, 20},
		{"no more than half of the burst", true, 0, 30, 15},
		{"a burst of fewer than a row", true, 0, leastRow - 1, 0},
		{"a burst of a row", true, 0, leastRow, leastRow / 2},
		{"the server does not say for how long", false, 0, 40, 0},
		{"refused once", true, 1, 40, 10},
		{"refused twice", true, 2, 40, 5},
		{"refused often", true, mostMisses, 40, 0},
	} {
		s := Rate{rate: 10, setAt: start, pacedTo: start, servedSince: sameEpisode - 1, episodeCount: 1, burst: burst{lent: test.burst}}
		s.held.misses = test.misses
		s.Refuse(start, test.hinted)
		now, got := start.Add(4*time.Second), -1
		for ; s.Due(now, 0, 1, false) == now; got++ {
			s.Take(now, now, 1)
		}
		if got != test.want {
			t.Errorf("%s: %d go at once, want %d", test.name, got, test.want)
		}
		if s.held.by != 0 && test.want == 0 {
			t.Errorf("%s: the pace may be behind by %v, want nothing", test.name, s.held.by)
		}
	}
}

// TestHeldIsRefused: less is made up for if a request is refused before all of it has gone, and as much if one is refused afterwards.
func TestHeldIsRefused(t *testing.T) {
	for _, test := range []struct {
		gone   int
		misses int
	}{{1, 1}, {20, 1}, {21, 0}} {
		s := Rate{rate: 10, setAt: start, pacedTo: start, servedSince: sameEpisode - 1, episodeCount: 1, burst: burst{lent: 40}}
		s.Refuse(start, true)
		now := start.Add(4 * time.Second)
		for range test.gone {
			s.Take(now, now, 1)
		}
		if s.Refuse(now, true); s.held.misses != test.misses || s.held.by != 0 || s.held.from != now {
			t.Errorf("%d gone: %+v, want %d misses, and another hold", test.gone, s.held, test.misses)
		}
	}
	full := held{by: 1, misses: mostMisses}
	if full.refuse(start, false); full != (held{misses: mostMisses}) {
		t.Errorf("%+v, want no more than %d misses, and no hold", full, mostMisses)
	}
}
