package backoff

import (
	"math"
	"testing"
	"time"
)

// No Backoff returns a delay below zero or above its cap, or panics, whatever its fields are.
func FuzzDelay(f *testing.F) {
	f.Add(int64(0), int64(0), int64(0), 0.0, 0, 0.5, 1, int64(0))
	f.Add(int64(math.MaxInt64), int64(math.MaxInt64), int64(-1), 1.0000001, 1, math.NaN(), math.MaxInt, int64(math.MaxInt64))
	f.Add(int64(math.MinInt64), int64(math.MinInt64), int64(math.MinInt64), math.Inf(-1), 2, math.Inf(1), math.MinInt, int64(math.MinInt64))
	f.Add(int64(1), int64(1), int64(math.MaxInt64), math.NaN(), -5, 1.0, 64, int64(1))
	f.Fuzz(func(t *testing.T, initial, increment, limit int64, factor float64, jitter int, random float64, n int, prev int64) {
		r := func() float64 { return random }
		spread := []Jitter{FullJitter, EqualJitter, NoJitter, "", "other"}[uint(jitter)%5]
		first, most, step := time.Duration(initial), time.Duration(limit), time.Duration(increment)
		least := min(orElse(first, defaultInitial), ceiling(most))
		for _, test := range []struct {
			backoff  Backoff
			from, to time.Duration
		}{
			{Exponential{first, most, factor, spread, r}, 0, ceiling(most)},
			{Exponential{first, most, factor, NoJitter, r}, least, ceiling(most)},
			{Exponential{first, most, 2, EqualJitter, r}, least / 2, ceiling(most)},
			{Exponential{first, most, factor, FullJitter, nil}, 0, ceiling(most)},
			{Linear{first, step, most, spread, r}, 0, ceiling(most)},
			{Linear{first, step, most, NoJitter, r}, least, ceiling(most)},
			{Constant{first, spread, r}, 0, orElse(first, defaultInterval)},
			{Decorrelated{first, most, r}, least, ceiling(most)},
			{Decorrelated{first, most, nil}, least, ceiling(most)},
		} {
			if d := test.backoff.Delay(n, time.Duration(prev)); d < test.from || d > test.to {
				t.Errorf("%#v: Delay(%d, %d) = %d, want %d to %d", test.backoff, n, prev, d, test.from, test.to)
			}
		}
	})
}

// A Budget is the same as a count of nanoretries that is kept between zero and the reserve, or as none
// if the reserve is NoLimit.
func FuzzBudget(f *testing.F) {
	f.Add(0.0, 0, []byte("wwwwwwwwwwwwddddddddddddwwr"))
	f.Add(0.3, 1, []byte("wdddwdwddddw"))
	f.Add(math.NaN(), -1, []byte("wdr"))
	f.Add(math.Inf(1), math.MaxInt, []byte("wwwd"))
	f.Add(-1.0, math.MinInt, []byte("dwd"))
	f.Add(0.5, math.MaxInt-1, []byte("wwwd"))
	f.Fuzz(func(t *testing.T, ratio float64, reserve int, ops []byte) {
		b := &Budget{Ratio: ratio, Reserve: reserve}
		full, share := b.reserve(), b.ratio()
		if full < 0 || share < 0 {
			t.Fatalf("reserve %d, ratio %d", full, share)
		}
		left := full
		balance := func() float64 {
			if reserve == NoLimit {
				left = full // nothing is taken
				return math.Inf(1)
			}
			return float64(left) / whole
		}
		for i, op := range ops {
			switch op {
			case 'w':
				want := left >= whole
				if want {
					left -= whole
				}
				if got := b.Withdraw(); got != want {
					t.Fatalf("%+v after %q: Withdraw = %v, want %v", ratio, ops[:i], got, want)
				}
			case 'd':
				b.Deposit()
				left = min(left+share, full)
			case 'r':
				b.Refund()
				left = min(left+whole, full)
			}
			if got, want := b.Balance(), balance(); got != want {
				t.Fatalf("%v, %d after %q: balance %v, want %v", ratio, reserve, ops[:i+1], got, want)
			}
		}
	})
}
