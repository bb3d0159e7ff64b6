package adaptive

import (
	"math"
	"testing"
	"time"
)

// TestGrid: by how much instants move says the rate, within the bounds that are known, if enough were seen of
// late, and they agree.
func TestGrid(t *testing.T) {
	const ms = time.Millisecond
	inf := math.Inf(1)
	for _, test := range []struct {
		name        string
		moves       []time.Duration // between resets, over and over
		seen        int
		agreed      int
		least, most float64
		from, to    float64
	}{
		{"tokens of 20 ms", []time.Duration{40 * ms, 20 * ms, 0, -60 * ms}, 20, enoughAgreed, 0, inf, 1000.0 / 21, 1000.0 / 19},
		{"what is known is not widened", []time.Duration{20 * ms}, 20, enoughAgreed, 49, 51, 49, 51},
		{"what is known contradicts that", []time.Duration{20 * ms}, 20, enoughAgreed, 53, 60, 0, inf},
		{"resets do not agree", []time.Duration{20 * ms}, 20, enoughAgreed - 1, 0, inf, 0, inf},
		{"too few", []time.Duration{20 * ms}, enoughAgreed, enoughAgreed, 0, inf, 0, inf},
		{"the same, rounded", []time.Duration{ms, -ms, 0}, 60, enoughAgreed, 0, inf, 0, inf},
		{"many", []time.Duration{20 * ms}, 2*gridSeen + 1, enoughAgreed, 0, inf, 1000.0 / 21, 1000.0 / 19},
	} {
		var g grid
		at := start
		for i := range test.seen {
			g.note(&outcome{resetLate: at})
			at = at.Add(test.moves[i%len(test.moves)])
		}
		if from, to := g.within(test.least, test.most, test.agreed); math.Abs(from-test.from) > 1e-9 || to != test.to && math.Abs(to-test.to) > 1e-9 {
			t.Errorf("%s: from %v to %v, want from %v to %v", test.name, from, to, test.from, test.to)
		}
	}
	var g grid
	at := start
	move := func(by time.Duration, n int) {
		for range n {
			at = at.Add(by)
			g.note(&outcome{resetLate: at})
		}
	}
	move(20*ms, gridSeen)
	if move(40*ms, 2*gridSeen); g.before != 40*ms {
		t.Errorf("tokens of %v after they took twice as long, want 40ms", g.before)
	}
	before := g
	g.note(&outcome{resetIn: time.Second, resetLate: at.Add(ms)})
	if g.note(&outcome{}); g != before {
		t.Errorf("%+v after resets that are no instants, want %+v", g, before)
	}
}
