package backoff

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestRetryDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
		defer cancel()
		// Attempts at 0, 100 and 300 ms; at 700 ms, when the next one is due, the context has ended.
		e := retry(ctx, &Options{Backoff: exact, MaxAttempts: NoLimit}, errFailed).stopped(t, 3, 300*time.Millisecond, ErrDeadline)
		if !errors.Is(e, context.DeadlineExceeded) || !e.Timeout() || e.Delay != 400*time.Millisecond || ctx.Err() != nil {
			t.Errorf("got %+v with context %v", e, ctx.Err())
		}

		ctx, cancel = context.WithTimeout(t.Context(), 700*time.Millisecond+1)
		defer cancel()
		if r := retry(ctx, &Options{Backoff: exact, MaxAttempts: NoLimit}, errFailed, errFailed, errFailed, nil); r.err != nil || r.value != 4 {
			t.Errorf("1 ns before the deadline: %v", r.err)
		}

		// A hint beyond the deadline.
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		retry(ctx, nil, After(errFailed, time.Minute)).stopped(t, 1, 0, context.DeadlineExceeded)
		retry(ctx, &Options{MaxHint: Forever}, After(errFailed, math.MaxInt64)).stopped(t, 1, 0, context.DeadlineExceeded)
	})
}

func TestRetryElapsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &Options{Backoff: exact, MaxAttempts: NoLimit, MaxElapsed: 700 * time.Millisecond}
		// At 700 ms an attempt may still begin, later none.
		e := retry(t.Context(), o, errFailed).stopped(t, 4, 700*time.Millisecond, ErrElapsed)
		if e.Timeout() || e.Delay != 800*time.Millisecond {
			t.Errorf("got %+v", e)
		}
		o.MaxElapsed--
		retry(t.Context(), o, errFailed).stopped(t, 3, 300*time.Millisecond, ErrElapsed)
		o.MaxHint = Forever
		retry(t.Context(), o, After(errFailed, math.MaxInt64)).stopped(t, 1, 0, ErrElapsed)

		// The attempts count as well as the delays.
		start := time.Now()
		calls := 0
		_, err := Retry(t.Context(), func(context.Context) (int, error) {
			calls++
			time.Sleep(time.Second)
			return 0, errFailed
		}, &Options{Backoff: exact, MaxElapsed: time.Second})
		if calls != 1 || time.Since(start) != time.Second || !errors.Is(err, ErrElapsed) {
			t.Errorf("%d calls, %v after %v", calls, err, time.Since(start))
		}
	})
}

func TestRetryCancel(t *testing.T) {
	quit := errors.New("user quit")
	synctest.Test(t, func(t *testing.T) {
		budget := &Budget{}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(250*time.Millisecond, func() { cancel(quit) })
		// Attempts at 0 and 100 ms; the context is canceled during the delay of 200 ms. Retry stops at once,
		// and the retry that is not made goes back to the budget.
		e := retry(ctx, &Options{Backoff: exact, Budget: budget}, errFailed).stopped(t, 2, 250*time.Millisecond, quit)
		if !errors.Is(e, context.Canceled) || e.Timeout() || budget.Balance() != 9 {
			t.Errorf("got %v, balance %v, want 9", e, budget.Balance())
		}

		// Before the first attempt.
		r := retry(ctx, nil, nil)
		if e := r.stopped(t, 0, 0, quit); e.Err != nil || r.value != 0 {
			t.Errorf("got %d, %+v", r.value, e)
		}

		// During an attempt, which fails because of it.
		ctx, cancel = context.WithCancelCause(t.Context())
		calls := 0
		_, err := Retry(ctx, func(ctx context.Context) (int, error) {
			calls++
			cancel(quit)
			<-ctx.Done()
			return 0, ctx.Err()
		}, nil)
		if calls != 1 || !errors.Is(err, quit) || !errors.Is(err, context.Canceled) {
			t.Errorf("%d calls, %v", calls, err)
		}

		// At the instant when the delay ends.
		ctx, cancel = context.WithCancelCause(t.Context())
		time.AfterFunc(100*time.Millisecond, func() { cancel(nil) })
		if r := retry(ctx, &Options{Backoff: exact}, errFailed); len(r.calls) > 2 || !errors.Is(r.err, context.Canceled) {
			t.Errorf("%d calls, %v", len(r.calls), r.err)
		}

		// Without a delay.
		ctx, cancel = context.WithCancelCause(t.Context())
		calls = 0
		_, err = Retry(ctx, func(context.Context) (int, error) {
			calls++
			return 0, errFailed
		}, &Options{Backoff: Constant{Interval: -1}, MaxAttempts: NoLimit, Notify: func(r Retrying) {
			if r.Attempt == 5 {
				cancel(nil)
			}
		}})
		if calls != 5 || !errors.Is(err, context.Canceled) || !errors.Is(err, errFailed) {
			t.Errorf("%d calls, %v", calls, err)
		}
	})
}

// The deadline can also pass during an attempt; a cause of its own is joined to DeadlineExceeded.
func TestRetryDeadlinePassed(t *testing.T) {
	slow := errors.New("too slow")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, slow)
		defer cancel()
		_, err := Retry(ctx, func(context.Context) (int, error) {
			time.Sleep(2 * time.Second)
			return 0, errFailed
		}, nil)
		var e *Error
		if !errors.As(err, &e) || !e.Timeout() || !errors.Is(e, slow) || !errors.Is(e, context.DeadlineExceeded) || !errors.Is(e, errFailed) {
			t.Errorf("got %v", err)
		}
		if got, want := err.Error(), "backoff: context deadline exceeded: too slow, 1 attempt in 2s: failed"; got != want {
			t.Errorf("text %q, want %q", got, want)
		}
		// The time limit of an attempt is no reason to stop.
		calls := 0
		_, err = Retry(t.Context(), func(ctx context.Context) (int, error) {
			calls++
			ctx, cancel := context.WithTimeout(ctx, time.Millisecond)
			defer cancel()
			<-ctx.Done()
			return 0, ctx.Err()
		}, nil)
		if calls != 3 || !errors.Is(err, ErrAttempts) {
			t.Errorf("%d calls, %v", calls, err)
		}
	})
}

func TestRetryBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := &Budget{Reserve: 3}
		o := &Options{Backoff: exact, Budget: budget}
		retry(t.Context(), o, errFailed).stopped(t, 3, 300*time.Millisecond, ErrAttempts)
		e := retry(t.Context(), o, errFailed).stopped(t, 2, 100*time.Millisecond, ErrBudget)
		if !strings.Contains(e.Error(), "local retry budget") || e.Delay != 200*time.Millisecond {
			t.Errorf("got %v", e)
		}
		retry(t.Context(), o, errFailed).stopped(t, 1, 0, ErrBudget)
		for range 10 {
			retry(t.Context(), o, nil)
		}
		if got := budget.Balance(); got != 1 {
			t.Fatalf("balance %v after ten successes, want 1", got)
		}
		// A Retry that stops for another reason takes nothing from the budget.
		retry(t.Context(), &Options{Budget: budget, MaxAttempts: 1}, errFailed)
		retry(t.Context(), &Options{Budget: budget, MaxHint: time.Second}, After(errFailed, time.Minute))
		retry(t.Context(), &Options{Budget: budget}, Permanent(errFailed))
		if got := budget.Balance(); got != 1 {
			t.Errorf("balance %v, want 1", got)
		}
	})
}
