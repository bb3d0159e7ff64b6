package backoff

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	cenkalti "github.com/cenkalti/backoff/v4"
)

var errFailed = errors.New("failed")

// exact has delays of 100, 200, 400 ms and so on.
var exact = Exponential{Jitter: NoJitter}

// run is one Retry in a bubble: op fails with the errors given, the last of them for ever, and succeeds at a nil one.
type run struct {
	calls    []time.Duration // when op was called
	notified []Retrying
	value    int // what Retry returned: the number of the last call
	err      error
	took     time.Duration
}

func retry(ctx context.Context, o *Options, errs ...error) *run {
	r := &run{}
	start := time.Now()
	var own Options
	if o != nil {
		own = *o
	}
	own.Notify = func(n Retrying) { r.notified = append(r.notified, n) }
	r.value, r.err = Retry(ctx, func(context.Context) (int, error) {
		r.calls = append(r.calls, time.Since(start))
		return len(r.calls), errs[min(len(r.calls), len(errs))-1]
	}, &own)
	r.took = time.Since(start)
	return r
}

// stopped checks the error of a Retry that gave up.
func (r *run) stopped(t *testing.T, attempts int, elapsed time.Duration, cause error) *RetryError {
	t.Helper()
	var e *RetryError
	if !errors.As(r.err, &e) {
		t.Fatalf("error %v of type %T, want a *RetryError", r.err, r.err)
	}
	if e.Attempts != attempts || e.Elapsed != elapsed || !errors.Is(e, cause) {
		t.Errorf("%v: attempts %d, elapsed %v, want %d, %v, %v", e, e.Attempts, e.Elapsed, attempts, elapsed, cause)
	}
	if len(r.calls) != attempts || r.took != elapsed {
		t.Errorf("%d calls took %v, want %d and %v", len(r.calls), r.took, attempts, elapsed)
	}
	if attempts > 0 && !errors.Is(e, errFailed) {
		t.Errorf("%v does not wrap the error of the last attempt", e)
	}
	return e
}

func TestRetrySuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := retry(t.Context(), nil, nil)
		equal(t, "calls", r.calls, ms(0))
		if r.err != nil || r.value != 1 || r.notified != nil {
			t.Errorf("got %d, %v, notified %v", r.value, r.err, r.notified)
		}
		r = retry(t.Context(), &Options{Backoff: exact}, errFailed, errFailed, nil)
		equal(t, "calls", r.calls, ms(0, 100, 300))
		if r.err != nil || r.value != 3 {
			t.Errorf("got %d, %v", r.value, r.err)
		}
		if want := (Retrying{Attempt: 2, Err: errFailed, Delay: 200 * time.Millisecond}); len(r.notified) != 2 || r.notified[1] != want {
			t.Errorf("notified %+v, want two, the last %+v", r.notified, want)
		}
	})
}

func TestRetryAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := retry(t.Context(), &Options{Backoff: exact}, errFailed)
		e := r.stopped(t, 3, 300*time.Millisecond, ErrAttempts)
		if r.value != 3 || e.Timeout() || e.Delay != 0 || !errors.Is(e.Err, errFailed) || len(r.notified) != 2 {
			t.Errorf("got %d, %+v, notified %v", r.value, e, r.notified)
		}
		retry(t.Context(), &Options{MaxAttempts: 1}, errFailed).stopped(t, 1, 0, ErrAttempts)
		// 100 ms doubled to 12.8 s, then 20 s each.
		errs := make([]error, 50)
		for i := range 49 {
			errs[i] = errFailed
		}
		r = retry(t.Context(), &Options{Backoff: exact, MaxAttempts: -1}, errs...)
		if want := 25500*time.Millisecond + 41*20*time.Second; r.err != nil || r.value != 50 || r.took != want {
			t.Errorf("without a limit: %d, %v after %v, want 50 after %v", r.value, r.err, r.took, want)
		}
	})
}

// The zero Options wait for full jitter, never above the table.
func TestRetryDefaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 100 {
			r := retry(t.Context(), nil, errFailed)
			if d := r.notified[0].Delay; len(r.notified) != 2 || d < 0 || d > 100*time.Millisecond {
				t.Fatalf("notified %+v", r.notified)
			}
			if d := r.notified[1].Delay; d < 0 || d > 200*time.Millisecond {
				t.Fatalf("notified %+v", r.notified)
			}
		}
	})
}

func TestRetryPermanent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, err := range []error{
			Permanent(errFailed),
			cenkalti.Permanent(errFailed),
			fmt.Errorf("outer: %w", Permanent(fmt.Errorf("inner: %w", errFailed))),
			errors.Join(errors.New("other"), Permanent(errFailed)),
			After(Permanent(errFailed), time.Second),
		} {
			r := retry(t.Context(), &Options{Backoff: exact}, errors.New("first"), err)
			if r.err != err || r.value != 2 || r.took != 100*time.Millisecond { //nolint:errorlint // the same, nothing around it
				t.Errorf("got %d, %v after %v, want 2, %v as it was after 100ms", r.value, r.err, r.took, err)
			}
		}
		// Also when there would have been another reason to stop.
		ctx, cancel := context.WithCancel(t.Context())
		_, err := Retry(ctx, func(context.Context) (int, error) {
			cancel()
			return 0, Permanent(errFailed)
		}, &Options{MaxAttempts: 1})
		if err.Error() != "failed" {
			t.Errorf("got %v", err)
		}
		if Permanent(nil) != nil {
			t.Error("Permanent(nil) is not nil")
		}
	})
}

func TestRetryHint(t *testing.T) {
	const s = time.Second
	after := func(d time.Duration) error { return After(errFailed, d) }
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			name string
			err  error
			want time.Duration // until the second call
		}{
			{"longer", after(7 * s), 7 * s},
			{"shorter", after(time.Millisecond), 100 * time.Millisecond},
			{"negative", after(-s), 100 * time.Millisecond},
			{"wrapped", fmt.Errorf("x: %w", after(7*s)), 7 * s},
			{"two, longer outside", After(after(3*s), 5*s), 5 * s},
			{"two, longer inside", After(after(5*s), 3*s), 5 * s},
			{"joined", errors.Join(after(s), nil, fmt.Errorf("x: %w, %w", after(4*s), errFailed), after(2*s)), 4 * s},
			{"a type of one's own", fmt.Errorf("x: %w", slowDownError(9*s)), 9 * s},
			{"as long as it may be", after(2 * time.Minute), 2 * time.Minute},
		} {
			r := retry(t.Context(), &Options{Backoff: exact}, test.err, nil)
			if r.err != nil || r.took != test.want {
				t.Errorf("%s: %v after %v, want success after %v", test.name, r.err, r.took, test.want)
			}
		}
		// The policy goes on as if there had been no hint.
		r := retry(t.Context(), &Options{Backoff: Decorrelated{Rand: one}}, after(10*s), errFailed, nil)
		equal(t, "calls", r.calls, ms(0, 10_000, 10_900))

		over := 2*time.Minute + 1
		if e := retry(t.Context(), nil, after(over)).stopped(t, 1, 0, ErrHint); e.Delay != over || e.Timeout() {
			t.Errorf("got %+v", e)
		}
		retry(t.Context(), nil, after(math.MaxInt64)).stopped(t, 1, 0, ErrHint)
		retry(t.Context(), &Options{MaxHint: s}, after(s+1)).stopped(t, 1, 0, ErrHint)
		// MaxHint is about hints: a long policy is the program's own will.
		if r := retry(t.Context(), &Options{Backoff: Constant{Interval: time.Hour, Jitter: NoJitter}}, after(s), nil); r.took != time.Hour {
			t.Errorf("took %v, want 1h", r.took)
		}
		if r := retry(t.Context(), &Options{MaxHint: -1}, after(50*time.Hour), nil); r.took != 50*time.Hour {
			t.Errorf("took %v, want 50h", r.took)
		}
	})
	if After(nil, s) != nil {
		t.Error("After(nil) is not nil")
	}
	if got := after(s).Error(); got != "failed" {
		t.Errorf("text %q", got)
	}
}

type slowDownError time.Duration

func (slowDownError) Error() string               { return "slow down" }
func (d slowDownError) RetryAfter() time.Duration { return time.Duration(d) }

// A Backoff that breaks its promise.
func TestRetryNegativeDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, d := range []time.Duration{-1, -5, math.MinInt64} {
			retry(t.Context(), &Options{Backoff: always(d)}, errFailed).stopped(t, 3, 0, ErrAttempts)
		}
	})
}

type always time.Duration

func (d always) Delay(int, time.Duration) time.Duration { return time.Duration(d) }

func TestRetryPanics(t *testing.T) {
	reason := func(f func()) (r any) {
		defer func() { r = recover() }()
		f()
		return nil
	}
	if got, want := reason(func() { Retry[int](t.Context(), nil, nil) }), "backoff: nil operation"; got != want {
		t.Errorf("panic %v, want %v", got, want)
	}
	op := func(context.Context) (int, error) { return 0, nil }
	if got, want := reason(func() { Retry(nil, op, nil) }), "backoff: nil context"; got != want { //nolint:staticcheck // this is what is tested
		t.Errorf("panic %v, want %v", got, want)
	}
}
