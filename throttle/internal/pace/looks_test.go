package pace

import (
	"testing"
	"time"
)

// TestLooks: after each look that is refused although the server said when to look, the pace rests for longer, in requests of its own, and until one is served.
func TestLooks(t *testing.T) {
	for _, test := range []struct {
		name   string
		rate   float64
		hinted bool
		served int
		rests  []time.Duration // after each refusal in a row
	}{
		{"two requests of the pace for each look", 10, true, 0, []time.Duration{200 * time.Millisecond, 400 * time.Millisecond, 600 * time.Millisecond}},
		{"no longer than longestRest", 0.5, true, 0, []time.Duration{4 * time.Second, 8 * time.Second, longestRest, longestRest}},
		{"a pace next to nothing", 1e-300, true, 0, []time.Duration{longestRest}},
		{"the server does not say when to look", 10, false, 0, []time.Duration{0, 0}},
		{"one was served after the refusal before", 10, true, 1, []time.Duration{0, 200 * time.Millisecond}},
	} {
		s := Rate{rate: test.rate, setAt: start, pacedTo: start, measuredFrom: start, servedSince: test.served, episodeCount: 1}
		s.episodes[0] = episode{start: start, lastRefusal: start, hinted: test.hinted}
		now := start
		for i, want := range test.rests {
			now = now.Add(time.Minute)
			if s.Refuse(now, test.hinted); s.pacedTo != now.Add(want) {
				t.Errorf("%s: after refusal %d, the pace rests for %v, want %v", test.name, i+1, s.pacedTo.Sub(now), want)
			}
		}
		s.serve(now.Add(time.Minute))
		now = now.Add(2 * time.Minute)
		if s.Refuse(now, test.hinted); s.pacedTo != now {
			t.Errorf("%s: after one was served, the next refusal has the pace rest for %v, want nothing", test.name, s.pacedTo.Sub(now))
		}
	}
}
