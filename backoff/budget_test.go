package backoff

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"
)

func TestBudgetZero(t *testing.T) {
	var b Budget
	balance := func(want float64) {
		t.Helper()
		if got := b.Balance(); got != want {
			t.Fatalf("balance %v, want %v", got, want)
		}
	}
	balance(10)
	b.Deposit() // full already
	balance(10)
	for range 10 {
		if !b.Withdraw() {
			t.Fatal("nothing to withdraw from the reserve")
		}
	}
	balance(0)
	for range 9 {
		b.Deposit()
		if b.Withdraw() {
			t.Fatalf("withdrawn at %v", b.Balance())
		}
	}
	balance(0.9)
	b.Deposit()
	balance(1) // ten times 0.1 is one, exactly
	if !b.Withdraw() {
		t.Fatal("ten deposits do not pay for a retry")
	}
	balance(0)
	b.Refund()
	balance(1)
}

func TestBudgetFields(t *testing.T) {
	for _, test := range []struct {
		ratio            float64
		reserve          int
		full             float64
		deposits         int // after which
		left             float64
		leftAfterOneTake bool
	}{
		{0, 0, 10, 5, 9.5, true},
		{0.2, 20, 20, 4, 19.8, true},
		{0.00013, 3, 3, 1, 2.00013, true}, // in floats a little less than 130000 nanoretries: rounded, not truncated
		{-1, 3, 3, 100, 2, true},
		{math.NaN(), 3, 3, 1, 2.1, true},
		{math.Inf(1), 3, 3, 1, 3, true},
		{math.Inf(-1), 3, 3, 1, 2, true},
		{5, 3, 3, 1, 3, true},
		{1e-9, 1, 1, 3, 3e-9, true},
		{1e-10, 1, 1, 3, 0, true}, // rounded to nothing
		{0.5, -1, 0, 3, 0, false},
		{0.5, math.MinInt, 0, 3, 0, false},
		{0.5, math.MaxInt - 1, maxReserve, 1, maxReserve - 0.5, true},
	} {
		b := &Budget{Ratio: test.ratio, Reserve: test.reserve}
		if got := b.Balance(); got != test.full {
			t.Errorf("%v, %d: balance %v, want %v", test.ratio, test.reserve, got, test.full)
		}
		if got := b.Withdraw(); got != test.leftAfterOneTake {
			t.Errorf("%v, %d: Withdraw = %v", test.ratio, test.reserve, got)
		}
		for range test.deposits {
			b.Deposit()
		}
		if got := b.Balance(); got != test.left {
			t.Errorf("%v, %d: balance %v after %d deposits, want %v", test.ratio, test.reserve, got, test.deposits, test.left)
		}
	}
}

func TestBudgetUnlimited(t *testing.T) {
	for name, b := range map[string]*Budget{"nil": nil, "NoLimit": {Reserve: NoLimit}, "of no ratio": {Reserve: NoLimit, Ratio: -1}} {
		b.Deposit()
		b.Refund()
		for range 1000 {
			if !b.Withdraw() || !math.IsInf(b.Balance(), 1) {
				t.Fatalf("%s: it limits: balance %v", name, b.Balance())
			}
		}
	}
}

// Retries never exceed the reserve and the share of the successes, in whatever order they come.
func TestBudgetConcurrent(t *testing.T) {
	const goroutines, rounds = 8, 2000
	b := &Budget{Ratio: 0.25, Reserve: 40}
	var taken, paid atomic.Int64
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for i := range rounds {
				if b.Withdraw() {
					taken.Add(1)
				}
				if i%2 == 0 {
					b.Deposit()
					paid.Add(1)
				}
			}
		})
	}
	wg.Wait()
	// A deposit into a full budget is lost, so this is an upper bound.
	if got, most := float64(taken.Load())+b.Balance(), 40+0.25*float64(paid.Load()); got > most {
		t.Errorf("%v retries withdrawn or left, want at most %v", got, most)
	}
	if taken.Load() < 1000 {
		t.Errorf("only %d withdrawn", taken.Load())
	}
}
