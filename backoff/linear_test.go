package backoff

import (
	"math"
	"testing"
	"time"
)

func TestLinearDelay(t *testing.T) {
	const s, none = time.Second, NoJitter
	for _, test := range []struct {
		name    string
		backoff Backoff
		want    []time.Duration
	}{
		{"zero value", Linear{Jitter: none}, ms(100, 200, 300, 400)},
		{"fields", Linear{Initial: s, Increment: 2 * s, Max: 6 * s, Jitter: none}, ms(1000, 3000, 5000, 6000, 6000)},
		{"reaches max exactly", Linear{Initial: s, Increment: s, Max: 3 * s, Jitter: none}, ms(1000, 2000, 3000, 3000)},
		{"initial negative", Linear{Initial: -1, Increment: s, Jitter: none}, ms(0, 1000, 2000)},
		{"increment negative", Linear{Increment: -1, Jitter: none}, ms(100, 100, 100)},
		{"initial over max", Linear{Initial: time.Hour, Jitter: none}, ms(20000, 20000)},
		{"initial over max, no growth", Linear{Initial: time.Hour, Increment: -1, Jitter: none}, ms(20000, 20000)},
		{
			"max of the type",
			Linear{Initial: 1, Increment: math.MaxInt64 / 2, Max: Forever, Jitter: none},
			[]time.Duration{1, 1 + math.MaxInt64/2, math.MaxInt64, math.MaxInt64},
		},
		{"longest", Linear{Rand: one}, ms(100, 200, 300)},
		{"least of equal", Linear{Jitter: EqualJitter, Rand: func() float64 { return 0 }}, ms(50, 100, 150)},
	} {
		equal(t, test.name, delays(test.backoff, len(test.want)), test.want)
	}
}

func TestConstantDelay(t *testing.T) {
	for _, test := range []struct {
		name    string
		backoff Backoff
		want    []time.Duration
	}{
		{"zero value", Constant{Jitter: NoJitter}, ms(1000, 1000, 1000)},
		{"interval", Constant{Interval: 5 * time.Millisecond, Jitter: NoJitter}, ms(5, 5, 5)},
		{"negative", Constant{Interval: -5}, ms(0, 0)},
		{"longest", Constant{Rand: one}, ms(1000, 1000)},
		{"longest of the type", Constant{Interval: math.MaxInt64, Rand: one}, []time.Duration{math.MaxInt64}},
	} {
		equal(t, test.name, delays(test.backoff, len(test.want)), test.want)
	}
}
