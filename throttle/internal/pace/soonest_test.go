package pace

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// TestSoonest: the instant is the first, to the nanosecond, however fast the pace rises meanwhile, and is found
// after few looks at the pace: all who wait in a line are told such an instant.
func TestSoonest(t *testing.T) {
	const draws = 2000
	r, looks := rand.New(rand.NewPCG(1, 2)), 0
	for i := range draws {
		s := Rate{rate: math.Exp(r.Float64()*12 - 4), growth: maxGrowth / float64(int(1)<<r.IntN(9)), setAt: start}
		s.former.ceiling = s.rate * (1 + 10*r.Float64())
		s.former.next = start.Add(monotime.Seconds(100 * r.Float64()))
		s.former.trial = i%4 == 0
		from, ahead, rateAt := start.Add(monotime.Seconds(60*r.Float64())), 1+r.IntN(1000), s.mostAt
		if i%4 == 1 {
			rateAt = s.rateAt
		}
		n := 0
		takes := func(d time.Duration) time.Duration {
			n++
			return monotime.Seconds(float64(ahead) / rateAt(from.Add(d)))
		}
		d := soonest(takes)
		if looks, n = looks+n, 0; takes(d) > d || d > 0 && takes(d-1) <= d-1 {
			t.Fatalf("%d of %+v at %v: %v, which takes %v, and a nanosecond less takes %v", ahead, s, from, d, takes(d), takes(d-1))
		}
	}
	if most := 8 * draws; looks > most {
		t.Errorf("%d looks for %d instants, want %d at most", looks, draws, most)
	}
	for _, edge := range []time.Duration{0, 1, 2, monotime.Longest} {
		if got := soonest(func(time.Duration) time.Duration { return edge }); got != edge {
			t.Errorf("%v, which never changes: %v", edge, got)
		}
		step := func(d time.Duration) time.Duration {
			if d < edge {
				return monotime.Longest
			}
			return 0
		}
		if got := soonest(step); got != edge {
			t.Errorf("nothing from %v on: %v", edge, got)
		}
	}
}
