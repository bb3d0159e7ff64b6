package pace

import (
	"testing"
	"time"
)

// TestCatchUp: half of what a hold has kept back goes at once after it, if the server is known to serve as much
// at once, and half as much after each time that is refused.
func TestCatchUp(t *testing.T) {
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
		s := Rate{rate: 10, setAt: start, pacedTo: start, episodes: episodes{servedSince: sameEpisode - 1, count: 1, list: [maxEpisodes]episode{{start: start, lastRefusal: start}}}, burst: burst{lent: test.burst}}
		s.catchUp.misses = test.misses
		s.Refuse(start, test.hinted)
		now, got := start.Add(4*time.Second), -1
		for ; s.Due(now, 0, 1, 0, false) == now; got++ {
			s.Take(now, now, 1)
		}
		if got != test.want {
			t.Errorf("%s: %d go at once, want %d", test.name, got, test.want)
		}
		if s.catchUp.by != 0 && test.want == 0 {
			t.Errorf("%s: the pace may be behind by %v, want nothing", test.name, s.catchUp.by)
		}
	}
}

// TestCatchUpIsRefused: less is made up for if a request is refused before all of it has gone, and as much if
// one is refused long afterwards.
func TestCatchUpIsRefused(t *testing.T) {
	for _, test := range []struct {
		gone   int
		after  time.Duration
		misses int
	}{{1, 0, 1}, {20, 0, 1}, {20, 4 * time.Second, 1}, {21, 0, 1}, {21, 4 * time.Second, 0}} {
		s := Rate{rate: 10, setAt: start, pacedTo: start, episodes: episodes{servedSince: sameEpisode - 1, count: 1, list: [maxEpisodes]episode{{start: start, lastRefusal: start}}}, burst: burst{lent: 40}}
		s.Refuse(start, true)
		now := start.Add(4 * time.Second)
		for range test.gone {
			s.Take(now, now, 1)
		}
		now = now.Add(test.after)
		if s.Refuse(now, true); s.catchUp.misses != test.misses || s.catchUp.by != 0 || s.catchUp.from != now {
			t.Errorf("%d gone, refused after %v: %+v, want %d misses, and another hold", test.gone, test.after, s.catchUp, test.misses)
		}
	}
}

// TestCatchUpIsRefusedSoon: less is made up for if a request is refused no later after a hold than the hold was
// long, unless another refusal came shortly before the hold.
func TestCatchUpIsRefusedSoon(t *testing.T) {
	const hold = 2 * time.Second
	for _, test := range []struct {
		name         string
		since, after time.Duration // the refusal before, the refusal after the hold
		by           time.Duration // is left of what is made up for
		before, want catchUp
	}{
		{"soon", steadyFor, hold - 1, 0, catchUp{misses: 1, well: 3}, catchUp{misses: 2}},
		{"not as soon", steadyFor, hold, 0, catchUp{misses: 1, well: 3}, catchUp{misses: 1, well: 4}},
		{"soon, after another refusal", steadyFor - 1, hold - 1, 0, catchUp{misses: 1, well: 3}, catchUp{misses: 1, well: 3}},
		{"before all has gone, after another refusal", steadyFor - 1, hold - 1, 1, catchUp{misses: 1, well: 3}, catchUp{misses: 2}},
		{"before all has gone, and late", steadyFor, hold, 1, catchUp{misses: 1}, catchUp{misses: 2}},
		{"the last of those that heal", steadyFor, hold, 0, catchUp{misses: 2, well: healedBy - 1}, catchUp{misses: 1}},
		{"nothing to heal", steadyFor, hold, 0, catchUp{well: healedBy - 1}, catchUp{}},
		{"no more than mostMisses", steadyFor, hold - 1, 0, catchUp{misses: mostMisses}, catchUp{misses: mostMisses}},
	} {
		h := test.before
		h.refuse(start, true, test.since)
		end := start.Add(hold)
		h.behind(end, false, leastRow, 1)
		h.by = test.by
		h.refuse(end.Add(test.after), false, time.Hour)
		if h.steady = false; h != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, h, test.want)
		}
	}
	nothing := catchUp{misses: 1, well: 3}
	nothing.refuse(start, true, time.Hour)
	nothing.behind(start.Add(hold), false, leastRow-1, 1)
	if nothing.refuse(start.Add(hold), false, 0); nothing != (catchUp{misses: 1, well: 3}) {
		t.Errorf("%+v, want nothing learned of a hold that is not made up for", nothing)
	}
}

// TestCatchUpOnce: what a hold has kept back is known when the first request goes after it, and does not grow.
func TestCatchUpOnce(t *testing.T) {
	const s = time.Second
	var h catchUp
	h.refuse(start, true, 0)
	for _, after := range []time.Duration{4 * s, 5 * s, 6 * s} {
		if by := h.behind(start.Add(after), false, 100, 10); by != 2*s || h.until != start.Add(8*s) {
			t.Errorf("after %v the pace may be %v behind until %v, want 2 s until %v", after, by, h.until, start.Add(8*s))
		}
	}
	if by := h.behind(start.Add(7*s), true, 100, 10); by != 0 {
		t.Errorf("the pace may be %v behind once it was not", by)
	}
}
