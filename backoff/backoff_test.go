package backoff

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// one is the largest Rand: every delay is the longest.
func one() float64 { return 1 }

// zero is the smallest Rand: every delay is the shortest.
func zero() float64 { return 0 }

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

// The table of delays in the package doc has the delays that each Backoff returns.
func TestDocTable(t *testing.T) {
	src, err := os.ReadFile("backoff.go")
	if err != nil {
		t.Fatal(err)
	}
	columns := []int{1, 2, 3, 4, 5, 6, 8, 10}
	var want strings.Builder
	row := func(name string, cell func(n int) string) {
		line := fmt.Sprintf("//\t%-27s", name)
		for _, n := range columns {
			line += fmt.Sprintf("%-12s", cell(n))
		}
		want.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	row("retry", strconv.Itoa)
	for _, p := range []struct {
		name           string
		least, longest Backoff
	}{
		{"Exponential{}", Exponential{Rand: zero}, Exponential{Rand: one}},
		{"  Jitter: EqualJitter", Exponential{Jitter: EqualJitter, Rand: zero}, Exponential{Jitter: EqualJitter, Rand: one}},
		{"  Jitter: NoJitter", Exponential{Jitter: NoJitter, Rand: zero}, Exponential{Jitter: NoJitter, Rand: one}},
		{"Linear{}", Linear{Rand: zero}, Linear{Rand: one}},
		{"Constant{}", Constant{Rand: zero}, Constant{Rand: one}},
		{"Decorrelated{}", Decorrelated{Rand: zero}, Decorrelated{Rand: one}},
	} {
		least, longest := delays(p.least, 10), delays(p.longest, 10)
		row(p.name, func(n int) string { return between(least[n-1], longest[n-1]) })
	}
	if !strings.Contains(string(src), want.String()) {
		t.Errorf("the package doc lacks this table:\n%s", want.String())
	}
}

// between writes a range, with one unit if both ends have the same: "50–100ms".
func between(from, to time.Duration) string {
	switch {
	case from == to:
		return to.String()
	case from == 0:
		return "0–" + to.String()
	case to < time.Second:
		return strings.TrimSuffix(from.String(), "ms") + "–" + to.String()
	default:
		return strconv.FormatFloat(from.Seconds(), 'g', -1, 64) + "–" + to.String()
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
		{"", 0.25, s / 4},
		{"other", 0.25, s / 4},
		{"other", 0, 0},
		// A Rand that returns what it must not return.
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
			t.Errorf("%q.spread(1s) with %v = %v, want %v", test.jitter, test.rand, got, test.want)
		}
		if got := test.jitter.spread(0, r); got != 0 {
			t.Errorf("%q.spread(0) with %v = %v, want 0", test.jitter, test.rand, got)
		}
		if got := test.jitter.spread(math.MaxInt64, r); got < 0 {
			t.Errorf("%q.spread(max) with %v = %v, want at least 0", test.jitter, test.rand, got)
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

// Up to a million retries, and at the largest n, delays are never negative, never above the cap, and never
// less than before.
func TestMonotone(t *testing.T) {
	const huge = math.MaxInt64
	for _, test := range []struct {
		backoff Backoff
		limit   time.Duration
		last    time.Duration // at n = math.MaxInt
	}{
		{Exponential{Jitter: NoJitter}, 20 * time.Second, 20 * time.Second},
		{Exponential{Jitter: NoJitter, Max: Forever}, huge, huge},
		{Exponential{Jitter: NoJitter, Factor: 1.5, Max: time.Hour}, time.Hour, time.Hour},
		{Exponential{Jitter: NoJitter, Factor: 1.5, Max: Forever}, huge, huge},
		{Exponential{Jitter: NoJitter, Factor: 1, Max: time.Hour}, time.Hour, 100 * time.Millisecond},
		{Exponential{Jitter: NoJitter, Initial: time.Hour}, 20 * time.Second, 20 * time.Second},
		{Linear{Jitter: NoJitter}, 20 * time.Second, 20 * time.Second},
		{Linear{Jitter: NoJitter, Increment: huge / 3, Max: Forever}, huge, huge},
		{Constant{Jitter: NoJitter}, time.Second, time.Second},
		{Decorrelated{Rand: one}, 20 * time.Second, 20 * time.Second},
		{Decorrelated{Rand: one, Max: Forever}, huge, huge},
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
