package backoff

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// Random operations are compared with a few lines of arithmetic.
func TestRetryModel(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	pick := func(ns ...float64) time.Duration { return ms(ns[rnd.IntN(len(ns))])[0] }
	type attempt struct {
		work, hint time.Duration
		ok         bool
	}
	for range 500 {
		script := make([]attempt, 12)
		for i := range script {
			script[i] = attempt{pick(0, 0, 1, 70), pick(0, 0, 0, 150, 1000), rnd.IntN(8) == 0}
		}
		script[len(script)-1].ok = true
		o := &Options{
			Backoff:     []Backoff{exact, Linear{Jitter: NoJitter}, always(50 * time.Millisecond)}[rnd.IntN(3)],
			MaxAttempts: rnd.IntN(14) - 1,
			MaxElapsed:  pick(0, 0, 0, 500, 500, 2000, 2000, -1),
			MaxHint:     pick(0, 0, 500, 500, -1),
			Budget:      &Budget{Ratio: 0.5, Reserve: 1 + rnd.IntN(8)},
		}
		// What the bounds mean: zero is a default, negative a bound of zero.
		attempts, hint := o.MaxAttempts, max(o.MaxHint, 0)
		switch attempts {
		case 12:
			o.MaxAttempts = NoLimit
		case 0:
			attempts = 3
		}
		if o.MaxHint == 0 {
			hint = 2 * time.Minute
		}
		deadline, cancelAt := pick(0, 0, 300, 1001, 3000), pick(0, 0, 555, 1555)

		var now time.Duration
		var calls []time.Duration
		var because error
		budget := float64(o.Budget.Reserve)
		for n := 1; ; n++ {
			calls = append(calls, now)
			a := script[n-1]
			now += a.work
			delay := max(o.Backoff.Delay(n, 0), a.hint+min(o.Backoff.Delay(n, 0), a.hint/10))
			if a.ok {
				budget = min(budget+0.5, float64(o.Budget.Reserve))
				break
			}
			switch {
			case deadline > 0 && now >= deadline:
				because = context.DeadlineExceeded
			case cancelAt > 0 && now >= cancelAt:
				because = context.Canceled
			case n >= attempts:
				because = ErrAttempts
			case a.hint > hint:
				because = ErrHint
			case o.MaxElapsed < 0, o.MaxElapsed > 0 && now+delay > o.MaxElapsed:
				because = ErrElapsed
			case deadline > 0 && now+delay >= deadline:
				because = ErrDeadline
			case budget < 1:
				because = ErrBudget
			case cancelAt > 0 && now+delay >= cancelAt:
				now, because = cancelAt, context.Canceled
			}
			if because != nil {
				break
			}
			budget--
			now += delay
		}
		if deadline > 0 && cancelAt > 0 && errors.Is(because, context.DeadlineExceeded) && now >= cancelAt && cancelAt < deadline {
			because = context.Canceled // whichever came first during the last attempt
		}

		synctest.Test(t, func(t *testing.T) {
			ctx := t.Context()
			start := time.Now()
			if deadline > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, deadline)
				defer cancel()
			}
			if cancelAt > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithCancel(ctx)
				defer time.AfterFunc(cancelAt, cancel).Stop()
				defer cancel()
			}
			var got []time.Duration
			_, err := Retry(ctx, func(context.Context) (int, error) {
				got = append(got, time.Since(start))
				a := script[len(got)-1]
				time.Sleep(a.work)
				synctest.Wait() // what falls due with the end of the attempt comes first
				if a.ok {
					return 0, nil
				}
				return 0, After(errFailed, a.hint)
			}, o)
			took := time.Since(start)
			equal(t, "calls", got, calls)
			if !errors.Is(err, because) || took != now || o.Budget.Balance() != budget {
				t.Errorf("%v after %v, balance %v; want %v after %v, %v", err, took, o.Budget.Balance(), because, now, budget)
			}
		})
		if t.Failed() {
			t.Fatalf("options %+v, deadline %v, cancelled at %v, script %v", o, deadline, cancelAt, script)
		}
	}
}
