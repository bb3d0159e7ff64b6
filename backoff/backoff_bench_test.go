package backoff

import (
	"context"
	"errors"
	"testing"
	"time"

	cenkalti "github.com/cenkalti/backoff/v4"
)

func BenchmarkDelay(b *testing.B) {
	for _, test := range []struct {
		name    string
		backoff Backoff
	}{
		{"Exponential", Exponential{}},
		{"ExponentialEqual", Exponential{Jitter: EqualJitter}},
		{"ExponentialNone", Exponential{Jitter: NoJitter}},
		{"ExponentialFactor1.5", Exponential{Factor: 1.5}},
		{"Linear", Linear{}},
		{"Constant", Constant{}},
		{"Decorrelated", Decorrelated{}},
	} {
		b.Run(test.name, func(b *testing.B) {
			b.ReportAllocs()
			n, prev := 0, time.Duration(0)
			for b.Loop() {
				n = n&7 + 1
				prev = test.backoff.Delay(n, prev)
			}
		})
	}
	// The peer: one delay of a BackOff that exists already.
	b.Run("CenkaltiNextBackOff", func(b *testing.B) {
		b.ReportAllocs()
		theirs := cenkalti.NewExponentialBackOff(cenkalti.WithMaxElapsedTime(0))
		for b.Loop() {
			theirs.NextBackOff()
		}
	})
}

// One operation with eight retries.
func BenchmarkOperation(b *testing.B) {
	b.Run("Exponential", func(b *testing.B) {
		b.ReportAllocs()
		var backoff Backoff = Exponential{}
		for b.Loop() {
			var prev time.Duration
			for n := 1; n <= 8; n++ {
				prev = backoff.Delay(n, prev)
			}
		}
	})
	b.Run("Cenkalti", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			theirs := cenkalti.NewExponentialBackOff(cenkalti.WithMaxElapsedTime(0))
			for range 8 {
				theirs.NextBackOff()
			}
		}
	})
}

func BenchmarkRetry(b *testing.B) {
	ok := func(context.Context) (int, error) { return 1, nil }
	b.Run("Success", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Retry(b.Context(), ok, nil)
		}
	})
	b.Run("SuccessBudget", func(b *testing.B) {
		b.ReportAllocs()
		o := &Options{Budget: &Budget{}}
		for b.Loop() {
			Retry(b.Context(), ok, o)
		}
	})
	b.Run("CenkaltiSuccess", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			cenkalti.RetryWithData(func() (int, error) { return 1, nil }, cenkalti.NewExponentialBackOff())
		}
	})
	failed := errors.New("failed")
	b.Run("ThreeFailures", func(b *testing.B) {
		b.ReportAllocs()
		o := &Options{Backoff: Exponential{Initial: -1}}
		for b.Loop() {
			Retry(b.Context(), func(context.Context) (int, error) { return 0, failed }, o)
		}
	})
}

func BenchmarkBudget(b *testing.B) {
	b.Run("WithdrawRefund", func(b *testing.B) {
		b.ReportAllocs()
		var budget Budget
		for b.Loop() {
			budget.Withdraw()
			budget.Refund()
		}
	})
	b.Run("DepositFullParallel", func(b *testing.B) {
		b.ReportAllocs()
		var budget Budget
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				budget.Deposit()
			}
		})
	})
	b.Run("WithdrawDepositParallel", func(b *testing.B) {
		b.ReportAllocs()
		budget := Budget{Ratio: 1}
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				budget.Withdraw()
				budget.Deposit()
			}
		})
	})
}
