package backoff

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func TestExponentialDelay(t *testing.T) {
	const none = NoJitter
	for _, test := range []struct {
		name    string
		backoff Backoff
		want    []time.Duration
	}{
		{"zero value", Exponential{Jitter: none}, ms(100, 200, 400, 800, 1600, 3200, 6400, 12800, 20000, 20000)},
		// Version 2.1 of the retry behavior of the AWS SDKs: 50 ms for transient failures, 20 s cap, rand = 1.
		{"AWS", Exponential{Initial: 50 * time.Millisecond, Rand: one}, ms(50, 100, 200, 400, 800, 1600, 3200, 6400, 12800, 20000, 20000)},
		{"AWS, throttled", Exponential{Initial: time.Second, Rand: one}, ms(1000, 2000, 4000, 8000, 16000, 20000, 20000)},
		// The defaults of github.com/cenkalti/backoff without their jitter.
		{"factor 1.5", Exponential{Initial: 500 * time.Millisecond, Max: time.Minute, Factor: 1.5, Jitter: none}, ms(500, 750, 1125, 1687.5, 2531.25)},
		{"factor 1.15", Exponential{Factor: 1.15, Jitter: none}, ms(100, 115, 132.25)},
		{"factor 10", Exponential{Initial: time.Millisecond, Max: time.Second, Factor: 10, Jitter: none}, ms(1, 10, 100, 1000, 1000)},
		{"factor 1", Exponential{Factor: 1, Jitter: none}, ms(100, 100, 100)},
		{"factor below 1", Exponential{Factor: 0.5, Jitter: none}, ms(100, 100, 100)},
		{"factor negative", Exponential{Factor: -2, Jitter: none}, ms(100, 100, 100)},
		{"factor NaN", Exponential{Factor: math.NaN(), Jitter: none}, ms(100, 100, 100)},
		{"factor infinite", Exponential{Factor: math.Inf(1), Jitter: none}, ms(100, 20000, 20000)},
		{"initial negative", Exponential{Initial: -1, Jitter: none}, ms(0, 0, 0)},
		{"initial negative, factor infinite", Exponential{Initial: -1, Factor: math.Inf(1), Jitter: none}, ms(0, 0, 0)},
		{"initial over max", Exponential{Initial: time.Minute, Jitter: none}, ms(20000, 20000)},
		{"max 1 s", Exponential{Max: time.Second, Jitter: none}, ms(100, 200, 400, 800, 1000, 1000)},
		{"max of the type", Exponential{Initial: 1 << 61, Max: Forever, Jitter: none}, []time.Duration{1 << 61, 1 << 62, math.MaxInt64, math.MaxInt64}},
		{"equal jitter, least", Exponential{Jitter: EqualJitter, Rand: func() float64 { return 0 }}, ms(50, 100, 200)},
		{"odd, equal jitter", Exponential{Initial: 3, Jitter: EqualJitter, Rand: one}, []time.Duration{3, 6, 12}},
	} {
		equal(t, test.name, delays(test.backoff, len(test.want)), test.want)
	}
}

func TestDecorrelatedDelay(t *testing.T) {
	half := func() float64 { return 0.5 }
	least := func() float64 { return 0 }
	for _, test := range []struct {
		name    string
		backoff Backoff
		want    []time.Duration
	}{
		{"longest", Decorrelated{Rand: one}, ms(300, 900, 2700, 8100, 20000, 20000)},
		{"shortest", Decorrelated{Rand: least}, ms(100, 100, 100)},
		// (100 + 300)/2 = 200, (100 + 600)/2 = 350, (100 + 1050)/2 = 575
		{"middle", Decorrelated{Rand: half}, ms(200, 350, 575)},
		{"initial negative", Decorrelated{Initial: -1, Rand: one}, ms(0, 0, 0)},
		{"initial over max", Decorrelated{Initial: time.Minute, Rand: least}, ms(20000, 20000)},
		{"max of the type", Decorrelated{Initial: math.MaxInt64, Max: Forever, Rand: one}, []time.Duration{math.MaxInt64, math.MaxInt64}},
		// The nearest float is below the product.
		{"not exact in floats", Decorrelated{Initial: 1<<62 + 1, Max: Forever, Rand: least}, []time.Duration{1<<62 + 1}},
		{"NaN counts as 1", Decorrelated{Rand: math.NaN}, ms(300, 900, 2700)},
		{"above 1 counts as 1", Decorrelated{Rand: func() float64 { return 2 }}, ms(300, 900, 2700)},
		{"below 0 counts as 0", Decorrelated{Rand: func() float64 { return -1 }}, ms(100, 100)},
	} {
		equal(t, test.name, delays(test.backoff, len(test.want)), test.want)
	}
	for _, prev := range []time.Duration{-1, math.MinInt64, 0, time.Millisecond} {
		if got, want := (Decorrelated{Rand: one}).Delay(1, prev), 300*time.Millisecond; got != want {
			t.Errorf("Delay after %v = %v, want %v", prev, got, want)
		}
	}
}

// The doc says that three in ten delays of a long outage are exactly Max.
func TestDecorrelatedCapped(t *testing.T) {
	b := Decorrelated{Rand: rand.New(rand.NewPCG(3, 4)).Float64}
	capped := 0
	for _, d := range delays(b, 100_000) {
		if d == defaultMax {
			capped++
		}
	}
	if capped < 28_000 || capped > 30_000 {
		t.Errorf("%d of 100000 delays are Max, want about 29000", capped)
	}
}
