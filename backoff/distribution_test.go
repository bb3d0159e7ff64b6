package backoff

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// The formulas of "Exponential Backoff And Jitter", AWS Architecture Blog, 2015:
//
//	full:         random_between(0, min(cap, base·2^attempt))
//	equal:        temp/2 + random_between(0, temp/2), where temp = min(cap, base·2^attempt)
//	decorrelated: min(cap, random_between(base, sleep·3)), where sleep is the delay before
//
// The article's first attempt is 0, ours is 1. Every random_between is uniform. The test of Kolmogorov and
// Smirnov judges that: nowhere may the distribution function of 10000 delays be further than 1.628/√10000 from
// that of the range. The source is seeded, so that the outcome is the same each time; one seed in a hundred
// would fail.
func TestDistribution(t *testing.T) {
	const s = time.Second
	r := rand.New(rand.NewPCG(1, 2)).Float64
	for _, test := range []struct {
		name     string
		backoff  Backoff
		n        int
		prev     time.Duration
		from, to time.Duration
	}{
		{"full", Exponential{Initial: s, Rand: r}, 3, 0, 0, 4 * s},
		{"full, capped", Exponential{Initial: s, Rand: r}, 99, 0, 0, 20 * s},
		{"equal", Exponential{Initial: s, Jitter: EqualJitter, Rand: r}, 3, 0, 2 * s, 4 * s},
		{"equal, capped", Exponential{Initial: s, Jitter: EqualJitter, Rand: r}, 99, 0, 10 * s, 20 * s},
		{"constant, full", Constant{Rand: r}, 9, 0, 0, s},
		{"linear, equal", Linear{Initial: s, Increment: s, Jitter: EqualJitter, Rand: r}, 4, 0, 2 * s, 4 * s},
		{"decorrelated, first", Decorrelated{Initial: s, Rand: r}, 1, 0, s, 3 * s},
		{"decorrelated", Decorrelated{Initial: s, Rand: r}, 5, 5 * s, s, 15 * s},
	} {
		ds := make([]time.Duration, 10_000)
		for i := range ds {
			ds[i] = test.backoff.Delay(test.n, test.prev)
			if ds[i] < test.from || ds[i] >= test.to {
				t.Fatalf("%s: delay %v outside [%v, %v)", test.name, ds[i], test.from, test.to)
			}
		}
		if d := distance(ds, test.from, test.to); d > critical(len(ds)) {
			t.Errorf("%s: the distribution is %.4f off that of %v to %v, want at most %.4f", test.name, d, test.from, test.to, critical(len(ds)))
		}
		// The test rejects other distributions.
		if d := distance(ds, test.from, test.to+test.to/20); d < critical(len(ds)) {
			t.Errorf("%s: the distribution is only %.4f off that of a range which is a twentieth longer", test.name, d)
		}
	}
}

// critical is the distance that n samples do not exceed in 99 of 100 cases: √(ln(2/0.01)/2)/√n, for large n.
func critical(n int) float64 { return math.Sqrt(math.Log(2/0.01) / 2 / float64(n)) }

// distance is the largest distance between the distribution function of the delays and that of the uniform
// distribution over a range.
func distance(ds []time.Duration, from, to time.Duration) (most float64) {
	ds = slices.Sorted(slices.Values(ds))
	n := float64(len(ds))
	for i, d := range ds {
		u := float64(d-from) / float64(to-from)
		most = max(most, u-float64(i)/n, float64(i+1)/n-u)
	}
	return most
}

// Each delay is uniform over a range that the delay before sets, and does not otherwise depend on that.
func TestDistributionDecorrelated(t *testing.T) {
	const whole = time.Hour
	b := Decorrelated{Rand: rand.New(rand.NewPCG(5, 6)).Float64}
	var all []time.Duration // where in its range each was, as a part of an hour
	var after [2][]time.Duration
	prev, last := defaultInitial, time.Duration(0)
	for range 100_000 {
		d := b.Delay(1, prev)
		if 3*prev <= defaultMax { // it was not capped
			at := time.Duration(float64(whole) * float64(d-defaultInitial) / float64(3*prev-defaultInitial))
			all = append(all, at)
			if half := 2 * last / whole; half < 2 {
				after[half] = append(after[half], at)
			}
			last = at
		}
		prev = d
	}
	for _, ds := range [][]time.Duration{all, after[0], after[1]} {
		if d := distance(ds, 0, whole); len(ds) < 10_000 || d > critical(len(ds)) {
			t.Errorf("%d delays are %.4f off the uniform distribution, want at most %.4f", len(ds), d, critical(len(ds)))
		}
	}
}

// A delay of 10 ns has ten values. The test of χ² judges them: with 9 degrees of freedom, one case in 100
// exceeds 21.67.
func TestDistributionNanoseconds(t *testing.T) {
	b := Constant{Interval: 10, Rand: rand.New(rand.NewPCG(1, 2)).Float64}
	var seen [10]float64
	for range 10_000 {
		seen[b.Delay(1, 0)]++
	}
	sum := 0.0
	for _, n := range seen {
		sum += (n - 1000) * (n - 1000) / 1000
	}
	if sum > 21.67 {
		t.Errorf("χ² of %v is %.2f, want at most 21.67", seen, sum)
	}
}
