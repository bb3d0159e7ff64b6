package backoff

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// one is the largest Rand: every delay is the longest.
func one() float64 { return 1 }

// delays returns the first n delays of one operation.
func delays(b Backoff, n int) []time.Duration {
	var ds []time.Duration
	var prev time.Duration
	for i := range n {
		prev = b.Delay(i+1, prev)
		ds = append(ds, prev)
	}
	return ds
}

func ms(ns ...float64) []time.Duration {
	var ds []time.Duration
	for _, n := range ns {
		ds = append(ds, time.Duration(n*float64(time.Millisecond)))
	}
	return ds
}

// The table of delays in the package doc is what the zero values return.
func TestDocTable(t *testing.T) {
	src, err := os.ReadFile("backoff.go")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	row := func(name string, cells ...any) {
		line := fmt.Sprintf("//\t%-14s", name)
		for _, c := range cells {
			line += fmt.Sprintf("%-7v", c)
		}
		want.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	row("retry", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	for _, b := range []Backoff{Exponential{Rand: one}, Linear{Rand: one}, Constant{Rand: one}, Decorrelated{Rand: one}} {
		var cells []any
		for _, d := range delays(b, 10) {
			cells = append(cells, d)
		}
		row(strings.TrimPrefix(fmt.Sprintf("%T", b), "backoff."), cells...)
	}
	if !strings.Contains(string(src), want.String()) {
		t.Errorf("the package doc lacks this table:\n%s", want.String())
	}
}

func TestJitterSpread(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		jitter Jitter
		rand   float64
		want   time.Duration
	}{
		{FullJitter, 0, 0},
		{FullJitter, 0.25, s / 4},
		{FullJitter, 1, s},
		{EqualJitter, 0, s / 2},
		{EqualJitter, 0.5, s * 3 / 4},
		{EqualJitter, 1, s},
		{NoJitter, 0, s},
		{NoJitter, 0.5, s},
		{Jitter(7), 0.25, s / 4},
		{Jitter(-1), 0, 0},
		// A Rand that breaks its promise.
		{FullJitter, -3, 0},
		{FullJitter, 2, s},
		{FullJitter, math.Inf(1), s},
		{FullJitter, math.Inf(-1), 0},
		{FullJitter, math.NaN(), s},
		{EqualJitter, -3, s / 2},
		{EqualJitter, 2, s},
		{EqualJitter, math.NaN(), s},
	} {
		r := func() float64 { return test.rand }
		if got := test.jitter.spread(s, r); got != test.want {
			t.Errorf("%v.spread(1s) with %v = %v, want %v", test.jitter, test.rand, got, test.want)
		}
		if got := test.jitter.spread(0, r); got != 0 {
			t.Errorf("%v.spread(0) with %v = %v, want 0", test.jitter, test.rand, got)
		}
		if got := test.jitter.spread(math.MaxInt64, r); got < 0 {
			t.Errorf("%v.spread(max) with %v = %v, want at least 0", test.jitter, test.rand, got)
		}
	}
}

func TestJitterString(t *testing.T) {
	for j, want := range map[Jitter]string{0: "FullJitter", 1: "EqualJitter", 2: "NoJitter", 7: "Jitter(7)", -1: "Jitter(-1)"} {
		if got := j.String(); got != want {
			t.Errorf("Jitter(%d).String() = %q, want %q", int(j), got, want)
		}
	}
}

// In 10000 delays every tenth of the range gets about 1000: within 4 deviations of √(10000·0.1·0.9) = 30. The source is seeded.
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
		{"nanoseconds", Constant{Interval: 10, Rand: r}, 1, 0, 0, 10},
	} {
		var tenths [10]int
		for range 10_000 {
			d := test.backoff.Delay(test.n, test.prev)
			if d < test.from || d >= test.to {
				t.Fatalf("%s: delay %v outside [%v, %v)", test.name, d, test.from, test.to)
			}
			tenths[(d-test.from)*10/(test.to-test.from)]++
		}
		for i, n := range tenths {
			if n < 880 || n > 1120 {
				t.Errorf("%s: %d of 10000 delays in tenth %d, want 1000±120: %v", test.name, n, i, tenths)
			}
		}
	}
}

// The source of math/rand/v2 cannot be seeded, so only the bounds hold for sure.
func TestDefaultRand(t *testing.T) {
	seen := map[time.Duration]bool{}
	for range 1000 {
		d := Exponential{}.Delay(1, 0)
		if d < 0 || d > 100*time.Millisecond {
			t.Fatalf("delay %v, want 0 to 100ms", d)
		}
		seen[d] = true
	}
	if len(seen) < 900 {
		t.Errorf("%d different delays in 1000", len(seen))
	}
}

// Up to a million retries, and at the largest n that there is: never negative, never above the cap, never less than before.
func TestMonotone(t *testing.T) {
	const huge = math.MaxInt64
	for _, test := range []struct {
		backoff Backoff
		limit   time.Duration
		last    time.Duration // at n = math.MaxInt
	}{
		{Exponential{Jitter: NoJitter}, 20 * time.Second, 20 * time.Second},
		{Exponential{Jitter: NoJitter, Max: -1}, huge, huge},
		{Exponential{Jitter: NoJitter, Factor: 1.5, Max: time.Hour}, time.Hour, time.Hour},
		{Exponential{Jitter: NoJitter, Factor: 1.5, Max: -1}, huge, huge},
		{Exponential{Jitter: NoJitter, Factor: 1, Max: time.Hour}, time.Hour, 100 * time.Millisecond},
		{Exponential{Jitter: NoJitter, Initial: time.Hour}, 20 * time.Second, 20 * time.Second},
		{Linear{Jitter: NoJitter}, 20 * time.Second, 20 * time.Second},
		{Linear{Jitter: NoJitter, Increment: huge / 3, Max: -1}, huge, huge},
		{Constant{Jitter: NoJitter}, time.Second, time.Second},
		{Decorrelated{Rand: one}, 20 * time.Second, 20 * time.Second},
		{Decorrelated{Rand: one, Max: -1}, huge, huge},
	} {
		var prev time.Duration
		check := func(n int) {
			d := test.backoff.Delay(n, prev)
			if d < 0 || d > test.limit || d < prev {
				t.Fatalf("%+v: retry %d: %v after %v, limit %v", test.backoff, n, d, prev, test.limit)
			}
			prev = d
		}
		for n := 1; n <= 1_000_000; n += 1 + n/1000 { // each up to 1000, then ever fewer
			check(n)
		}
		for n := math.MaxInt - 3; n < math.MaxInt; n++ {
			check(n)
		}
		check(math.MaxInt)
		if prev != test.last {
			t.Errorf("%+v: retry %d: %v, want %v", test.backoff, math.MaxInt, prev, test.last)
		}
		for _, n := range []int{0, -1, math.MinInt} {
			if got, want := test.backoff.Delay(n, 0), test.backoff.Delay(1, 0); got != want {
				t.Errorf("%+v: retry %d: %v, want %v as retry 1", test.backoff, n, got, want)
			}
		}
	}
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
