package backoff

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// fails returns n failures and then a success.
func fails(n int) []error {
	errs := make([]error, n+1)
	for i := range n {
		errs[i] = errFailed
	}
	return errs
}

func TestOptionsMaxAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for most, want := range map[int]int{0: 3, 1: 1, 2: 2, 7: 7, -1: 1, -7: 1, math.MinInt: 1} {
			retry(t.Context(), &Options{Backoff: none, MaxAttempts: most}, errFailed).stopped(t, want, 0, ErrAttempts)
			if r := retry(t.Context(), &Options{Backoff: none, MaxAttempts: most}, fails(want-1)...); r.err != nil || r.value != want {
				t.Errorf("MaxAttempts %d: %d, %v, want success of attempt %d", most, r.value, r.err, want)
			}
		}
		for _, most := range []int{NoLimit, math.MaxInt - 1} {
			if r := retry(t.Context(), &Options{Backoff: none, MaxAttempts: most}, fails(10_000)...); r.err != nil || r.value != 10_001 {
				t.Errorf("MaxAttempts %d: %d, %v", most, r.value, r.err)
			}
		}
		// Not even as many attempts as an int can count are a limit.
		l := loop{options: Options{MaxAttempts: NoLimit, Backoff: none}, attempts: math.MaxInt}
		if err := l.next(t.Context(), errFailed); err != nil {
			t.Errorf("after %d attempts: %v", l.attempts, err)
		}
	})
}

func TestOptionsMaxElapsed(t *testing.T) {
	hourly := Constant{Interval: time.Hour, Jitter: NoJitter}
	synctest.Test(t, func(t *testing.T) {
		for _, most := range []time.Duration{0, Forever} {
			if r := retry(t.Context(), &Options{Backoff: hourly, MaxAttempts: NoLimit, MaxElapsed: most}, fails(9000)...); r.err != nil || r.took != 9000*time.Hour {
				t.Errorf("MaxElapsed %d: %v after %v", most, r.err, r.took)
			}
		}
		for _, most := range []time.Duration{-1, -time.Hour, math.MinInt64} {
			for _, b := range []Backoff{none, hourly} { // even where no time has passed, and none will
				budget := &Budget{}
				e := retry(t.Context(), &Options{Backoff: b, MaxElapsed: most, Budget: budget}, errFailed).stopped(t, 1, 0, ErrElapsed)
				if e.Delay != b.Delay(1, 0) || budget.Balance() != 10 {
					t.Errorf("MaxElapsed %d: %+v, balance %v", most, e, budget.Balance())
				}
			}
			if r := retry(t.Context(), &Options{MaxElapsed: most}, nil); r.err != nil || r.value != 1 {
				t.Errorf("MaxElapsed %d: %v of the first attempt", most, r.err)
			}
		}
		// The last attempt begins exactly at the bound.
		for _, most := range []time.Duration{1, time.Hour - 1, time.Hour, 2*time.Hour - 1} {
			want := int(most/time.Hour) + 1
			retry(t.Context(), &Options{Backoff: hourly, MaxElapsed: most}, errFailed).stopped(t, want, time.Duration(want-1)*time.Hour, ErrElapsed)
		}
	})
}

func TestOptionsMaxHint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			most          time.Duration
			waits, refuse time.Duration // the longest hint that is waited for, and the shortest that is not; zero if there is none
		}{
			{0, 2 * time.Minute, 2*time.Minute + 1},
			{1, 1, 2},
			{time.Hour, time.Hour, time.Hour + 1},
			{-1, 0, 1},
			{math.MinInt64, 0, 1},
			{Forever, 100 * 365 * 24 * time.Hour, 0},
		} {
			o := &Options{Backoff: none, MaxHint: test.most}
			if r := retry(t.Context(), o, After(errFailed, test.waits), nil); r.err != nil || r.took != test.waits {
				t.Errorf("MaxHint %d: %v after %v, want success after %v", test.most, r.err, r.took, test.waits)
			}
			if test.refuse > 0 {
				e := retry(t.Context(), o, After(errFailed, test.refuse)).stopped(t, 1, 0, ErrHint)
				if e.Delay != test.refuse {
					t.Errorf("MaxHint %d: %+v, want a delay of %v", test.most, e, test.refuse)
				}
			}
		}
	})
}

// What Max, Initial, Increment and Interval mean, where they are not plain.
func TestPolicyBounds(t *testing.T) {
	const huge, longest = time.Duration(1 << 60), time.Duration(math.MaxInt64)
	for _, test := range []struct {
		backoff Backoff
		want    []time.Duration
	}{
		{Exponential{Initial: huge, Rand: one}, ms(20_000, 20_000)},
		{Exponential{Initial: huge, Max: -1, Rand: one}, ms(0, 0)},
		{Exponential{Initial: huge, Max: math.MinInt64, Factor: 3, Rand: one}, ms(0, 0)},
		{Exponential{Max: -1, Factor: 1, Jitter: EqualJitter}, ms(0, 0)},
		{Exponential{Initial: huge, Max: Forever, Factor: 4, Rand: one}, []time.Duration{huge, 4 * huge, longest}},
		{Exponential{Initial: -1, Max: Forever, Rand: one}, ms(0, 0)},
		{Linear{Initial: huge, Rand: one}, ms(20_000, 20_000)},
		{Linear{Initial: huge, Max: -1, Rand: one}, ms(0, 0)},
		{Linear{Max: math.MinInt64, Jitter: EqualJitter}, ms(0, 0)},
		{Linear{Initial: huge, Increment: huge, Max: Forever, Rand: one}, []time.Duration{huge, 2 * huge, 3 * huge}},
		{Linear{Initial: math.MinInt64, Rand: one}, ms(0, 100, 200)},
		{Linear{Increment: math.MinInt64, Rand: one}, ms(100, 100)},
		{Decorrelated{Initial: huge, Rand: one}, ms(20_000, 20_000)},
		{Decorrelated{Initial: huge, Max: -1, Rand: one}, ms(0, 0)},
		{Decorrelated{Max: math.MinInt64, Rand: one}, ms(0, 0)},
		{Decorrelated{Initial: huge, Max: Forever, Rand: one}, []time.Duration{3 * huge, longest}},
		{Decorrelated{Initial: math.MinInt64, Rand: one}, ms(0, 0)},
		{Constant{Interval: math.MinInt64, Rand: one}, ms(0, 0)},
		{Constant{Interval: huge, Rand: one}, []time.Duration{huge, huge}},
	} {
		equal(t, fmt.Sprintf("%#v", test.backoff), delays(test.backoff, len(test.want)), test.want)
	}
}

// A context that ends while Retry is under way is found by errors.Is, with its Err and its Cause.
func TestRetryContextCauses(t *testing.T) {
	quit := errors.New("user quit")
	wrapping := fmt.Errorf("the program ends: %w", context.Canceled)
	for _, test := range []struct {
		name  string
		begin func(context.Context) (context.Context, func())
		err   error
		cause error
	}{
		{"canceled", func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithCancel(ctx)
			return ctx, cancel
		}, context.Canceled, context.Canceled},
		{"with a cause", func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithCancelCause(ctx)
			return ctx, func() { cancel(quit) }
		}, context.Canceled, quit},
		{"with a cause that wraps Canceled", func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithCancelCause(ctx)
			return ctx, func() { cancel(wrapping) }
		}, context.Canceled, wrapping},
		{"deadline", func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			return ctx, func() { time.Sleep(2 * time.Second); cancel() }
		}, context.DeadlineExceeded, context.DeadlineExceeded},
		{"deadline with a cause", func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithTimeoutCause(ctx, time.Second, quit)
			return ctx, func() { time.Sleep(2 * time.Second); cancel() }
		}, context.DeadlineExceeded, quit},
		{"above", func(ctx context.Context) (context.Context, func()) {
			above, cancel := context.WithCancelCause(ctx)
			ctx, cancelBelow := context.WithCancel(above)
			return ctx, func() { cancel(quit); cancelBelow() }
		}, context.Canceled, quit},
	} {
		// When it ends: before the first attempt, while there is one, or before a delay.
		for when, attempts := range map[string]int{"before": 0, "during": 1, "after": 1} {
			t.Run(test.name+", "+when, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, end := test.begin(t.Context())
					at := func(now string) {
						if now == when {
							end()
							synctest.Wait()
						}
					}
					at("before")
					_, err := Retry(ctx, func(context.Context) (int, error) {
						at("during")
						return 0, errFailed
					}, &Options{Backoff: none, Notify: func(Retrying) { at("after") }})
					var e *Error
					if !errors.As(err, &e) || e.Attempts != attempts || !errors.Is(err, test.err) || !errors.Is(err, test.cause) ||
						!errors.Is(e.Because, test.err) || !errors.Is(e.Because, test.cause) || e.Timeout() != errors.Is(test.err, context.DeadlineExceeded) {
						t.Errorf("got %v", err)
					}
					if last := e.Err; attempts > 0 && !errors.Is(last, errFailed) || attempts == 0 && last != nil {
						t.Errorf("the last error is %v", last)
					}
				})
			})
		}
	}
}
