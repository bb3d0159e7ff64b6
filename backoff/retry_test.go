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

// none has no delays.
var none = Constant{Interval: -1}

// run makes one Retry in a bubble. Op fails with the given errors, one after the other and with the last one
// for ever; a nil error is a success.
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
func (r *run) stopped(t *testing.T, attempts int, elapsed time.Duration, because error) *Error {
	t.Helper()
	var e *Error
	if !errors.As(r.err, &e) {
		t.Fatalf("error %v of type %T, want an *Error", r.err, r.err)
	}
	if e.Attempts != attempts || e.Elapsed != elapsed || !errors.Is(e, because) {
		t.Errorf("%v: attempts %d, elapsed %v, want %d, %v, %v", e, e.Attempts, e.Elapsed, attempts, elapsed, because)
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
		r = retry(t.Context(), &Options{Backoff: exact, MaxAttempts: NoLimit}, errs...)
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
		// Permanent counts even if there is another reason to stop.
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
			{"longer", after(7 * s), 7100 * time.Millisecond},                             // and the delay of the Backoff
			{"a little longer", after(101 * time.Millisecond), 111100 * time.Microsecond}, // and a tenth of it
			{"as long", after(100 * time.Millisecond), 110 * time.Millisecond},
			{"a little shorter", after(99 * time.Millisecond), 108900 * time.Microsecond},
			{"a tenth shorter", after(90 * time.Millisecond), 100 * time.Millisecond},
			{"shorter", after(time.Millisecond), 100 * time.Millisecond},
			{"negative", after(-s), 100 * time.Millisecond},
			{"wrapped", fmt.Errorf("x: %w", after(7*s)), 7100 * time.Millisecond},
			{"two, longer outside", After(after(3*s), 5*s), 5100 * time.Millisecond},
			{"two, longer inside", After(after(5*s), 3*s), 5100 * time.Millisecond},
			{"joined", errors.Join(after(s), nil, fmt.Errorf("x: %w, %w", after(4*s), errFailed), after(2*s)), 4100 * time.Millisecond},
			{"a type of one's own", fmt.Errorf("x: %w", slowDownError(9*s)), 9100 * time.Millisecond},
			{"as long as it may be", after(2 * time.Minute), 2*time.Minute + 100*time.Millisecond},
		} {
			r := retry(t.Context(), &Options{Backoff: exact}, test.err, nil)
			if r.err != nil || r.took != test.want {
				t.Errorf("%s: %v after %v, want success after %v", test.name, r.err, r.took, test.want)
			}
		}
		// The Backoff goes on as if there had been no hint.
		r := retry(t.Context(), &Options{Backoff: Decorrelated{Rand: one}}, after(10*s), errFailed, nil)
		equal(t, "calls", r.calls, ms(0, 10_300, 11_200))

		over := 2*time.Minute + 1
		if e := retry(t.Context(), nil, after(over)).stopped(t, 1, 0, ErrHint); e.Delay < over || e.Delay > over+100*time.Millisecond || e.Timeout() {
			t.Errorf("got %+v", e)
		}
		retry(t.Context(), nil, after(math.MaxInt64)).stopped(t, 1, 0, ErrHint)
		forever := &Options{Backoff: exact, MaxHint: Forever, MaxElapsed: math.MaxInt64 - 1}
		if e := retry(t.Context(), forever, after(math.MaxInt64)).stopped(t, 1, 0, ErrElapsed); e.Delay != math.MaxInt64 {
			t.Errorf("got %+v", e)
		}
		retry(t.Context(), &Options{MaxHint: s}, after(s+1)).stopped(t, 1, 0, ErrHint)
		// MaxHint is for hints: a long delay of the Backoff is what the program wants.
		if r := retry(t.Context(), &Options{Backoff: Constant{Interval: time.Hour, Jitter: NoJitter}}, after(s), nil); r.took != time.Hour {
			t.Errorf("took %v, want 1h", r.took)
		}
		if r := retry(t.Context(), &Options{Backoff: none, MaxHint: Forever}, after(50*time.Hour), nil); r.took != 50*time.Hour {
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

func TestRetryIf(t *testing.T) {
	other := errors.New("other")
	synctest.Test(t, func(t *testing.T) {
		var asked []error
		o := &Options{Backoff: exact, Budget: &Budget{}, RetryIf: func(err error) bool {
			asked = append(asked, err)
			return errors.Is(err, errFailed)
		}}
		wrapped := fmt.Errorf("x: %w", other)
		r := retry(t.Context(), o, errFailed, After(errFailed, time.Second), wrapped)
		if r.err != wrapped || r.value != 3 || r.took != 1200*time.Millisecond || len(asked) != 3 { //nolint:errorlint // the same, nothing around it
			t.Errorf("got %d, %v after %v, asked %d times, want 3, %v as it was after 1.2s, 3", r.value, r.err, r.took, len(asked), wrapped)
		}
		if got := o.Budget.Balance(); got != 8 {
			t.Errorf("balance %v, want 8", got)
		}
		asked = nil
		retry(t.Context(), o, errFailed).stopped(t, 3, 300*time.Millisecond, ErrAttempts)
		if len(asked) != 3 {
			t.Errorf("asked %d times, want 3", len(asked))
		}
		// RetryIf is not called when there is nothing to decide: the cause with which the context ended is not
		// lost.
		asked = nil
		retry(t.Context(), o, Permanent(other))
		quit := errors.New("user quit")
		ctx, cancel := context.WithCancelCause(t.Context())
		_, err := Retry(ctx, func(ctx context.Context) (int, error) {
			cancel(quit)
			return 0, ctx.Err()
		}, o)
		if len(asked) != 0 || !errors.Is(err, quit) || !errors.Is(err, context.Canceled) {
			t.Errorf("asked about %v, got %v", asked, err)
		}
	})
}

func TestDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var calls []time.Duration
		op := func(context.Context) error {
			calls = append(calls, time.Since(start))
			if len(calls) == 3 {
				return nil
			}
			return errFailed
		}
		if err := Do(t.Context(), op, &Options{Backoff: exact}); err != nil {
			t.Errorf("got %v", err)
		}
		equal(t, "calls", calls, ms(0, 100, 300))
		err := Do(t.Context(), func(context.Context) error { return errFailed }, nil)
		if !errors.Is(err, ErrAttempts) || !errors.Is(err, errFailed) {
			t.Errorf("got %v", err)
		}
	})
}
