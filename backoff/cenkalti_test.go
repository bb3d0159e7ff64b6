package backoff

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	cenkalti "github.com/cenkalti/backoff/v4"
)

func TestCenkaltiDelays(t *testing.T) {
	b := SequenceOf(exact)
	next := func() []time.Duration {
		var ds []time.Duration
		for range 4 {
			ds = append(ds, b.NextBackOff())
		}
		return ds
	}
	equal(t, "new", next(), ms(100, 200, 400, 800))
	b.Reset()
	equal(t, "after Reset", next(), ms(100, 200, 400, 800))

	// The previous delay is remembered, and forgotten.
	b = SequenceOf(Decorrelated{Rand: one})
	equal(t, "decorrelated", next(), ms(300, 900, 2700, 8100))
	b.Reset()
	equal(t, "decorrelated after Reset", next(), ms(300, 900, 2700, 8100))

	for _, d := range []time.Duration{-1, -2, math.MinInt64} {
		b = SequenceOf(always(d))
		if got := b.NextBackOff(); got != cenkalti.Stop {
			t.Errorf("a delay of %d: %d, want Stop", d, got)
		}
	}

	b = SequenceOf(nil)
	if d := b.NextBackOff(); d < 0 || d > 100*time.Millisecond {
		t.Errorf("nil: %v, want 0 to 100ms", d)
	}
	b = &counter{backoff: exact, n: math.MaxInt}
	if d := b.NextBackOff(); d != 20*time.Second {
		t.Errorf("after the last n: %v, want 20s", d)
	}
}

// The loop of cenkalti/backoff waits for delays of this package.
func TestCenkaltiRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := func(b cenkalti.BackOff) (calls []time.Duration) {
			start := time.Now()
			err := cenkalti.Retry(func() error {
				calls = append(calls, time.Since(start))
				return errFailed
			}, b)
			if !errors.Is(err, errFailed) && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			return calls
		}
		equal(t, "calls", calls(cenkalti.WithMaxRetries(SequenceOf(exact), 4)), ms(0, 100, 300, 700, 1500))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		equal(t, "calls until the deadline", calls(cenkalti.WithContext(SequenceOf(exact), ctx)), ms(0, 100, 300, 700))

		// Permanent of this package stops the Retry of cenkalti/backoff.
		attempts := 0
		err := cenkalti.Retry(func() error {
			attempts++
			return Permanent(errFailed)
		}, SequenceOf(exact))
		if attempts != 1 || !errors.Is(err, errFailed) {
			t.Errorf("%d attempts, %v", attempts, err)
		}
	})
}

// A mark does not make two errors the same one, and both packages understand it.
func TestPermanentIs(t *testing.T) {
	a, b := errors.New("a"), errors.New("b")
	wrapped := fmt.Errorf("op: %w", Permanent(fmt.Errorf("a, %w", a)))
	for _, test := range []struct {
		err, target error
		want        bool
	}{
		{Permanent(a), Permanent(b), false},
		{Permanent(a), Permanent(a), true},
		{wrapped, Permanent(b), false},
		{wrapped, Permanent(a), true},
		{wrapped, a, true},
		{wrapped, b, false},
		{Permanent(a), wrapped, false},
		{Permanent(Permanent(a)), Permanent(a), true},
		{Permanent(a), Permanent(Permanent(a)), false}, // nothing in a is that mark
		{a, Permanent(a), false},
		{Permanent(a), cenkalti.Permanent(b), false},
		{Permanent(a), cenkalti.Permanent(a), true},
		{Permanent(a), &cenkalti.PermanentError{}, true}, // as that package asks whether there is a mark
		{cenkalti.Permanent(a), Permanent(b), false},
		{fmt.Errorf("%w, %w", b, Permanent(a)), Permanent(b), false},
	} {
		if got := errors.Is(test.err, test.target); got != test.want {
			t.Errorf("errors.Is(%#v, %#v) is %v, want %v", test.err, test.target, got, test.want)
		}
	}
	var mark *cenkalti.PermanentError
	if !errors.As(wrapped, &mark) || !errors.Is(mark.Err, a) || mark.Error() != "a, a" {
		t.Errorf("errors.As found %v", mark)
	}
	if Permanent(nil) != nil {
		t.Error("nil is marked")
	}
	if got := wrapped.Error(); got != "op: a, a" {
		t.Errorf("the text is %q", got)
	}
}

// The loop of cenkalti/backoff starts a timer of the user with the delays that the Backoff computed.
func TestCenkaltiTimer(t *testing.T) {
	timer := &instant{c: make(chan time.Time, 1)}
	err := cenkalti.RetryNotifyWithTimer(func() error { return errFailed }, cenkalti.WithMaxRetries(SequenceOf(exact), 3), nil, timer)
	if !errors.Is(err, errFailed) {
		t.Errorf("got %v", err)
	}
	equal(t, "timer", timer.started, ms(100, 200, 400))
}

// instant is a timer that fires at once.
type instant struct {
	c       chan time.Time
	started []time.Duration
}

func (i *instant) Start(d time.Duration) {
	i.started = append(i.started, d)
	i.c <- time.Time{}
}
func (i *instant) Stop()               {}
func (i *instant) C() <-chan time.Time { return i.c }

// Retry waits for delays of cenkalti/backoff.
func TestRetryNewSequence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		factory := func(opts ...cenkalti.ExponentialBackOffOpts) func() Sequence {
			return func() Sequence {
				return cenkalti.NewExponentialBackOff(append(opts, cenkalti.WithRandomizationFactor(0))...)
			}
		}
		o := &Options{Backoff: always(0), NewSequence: factory(), MaxAttempts: 4}
		for range 2 { // each has its own
			r := retry(t.Context(), o, errFailed)
			r.stopped(t, 4, 2375*time.Millisecond, ErrAttempts)
			equal(t, "calls", r.calls, ms(0, 500, 1250, 2375))
		}

		// The bounds of that BackOff: 500 ms + 750 ms fit into 2 s, 1125 ms more do not.
		o = &Options{NewSequence: factory(cenkalti.WithMaxElapsedTime(2 * time.Second)), MaxAttempts: NoLimit}
		retry(t.Context(), o, errFailed).stopped(t, 3, 1250*time.Millisecond, ErrStopped)
		o.NewSequence = func() Sequence { return cenkalti.WithMaxRetries(&cenkalti.ZeroBackOff{}, 5) }
		retry(t.Context(), o, errFailed).stopped(t, 6, 0, ErrStopped)
		o.NewSequence = func() Sequence { return &cenkalti.StopBackOff{} }
		e := retry(t.Context(), o, After(errFailed, time.Second)).stopped(t, 1, 0, ErrStopped)
		if e.Delay != 0 {
			t.Errorf("got %+v", e)
		}

		// An ExponentialBackOff may have another Stop.
		o.NewSequence = factory(cenkalti.WithMaxElapsedTime(time.Second), cenkalti.WithRetryStopDuration(-2))
		retry(t.Context(), o, errFailed).stopped(t, 2, 500*time.Millisecond, ErrStopped)
		o.MaxAttempts = 3
		// A BackOff must be reset before the first use.
		o.NewSequence = func() Sequence {
			used := SequenceOf(exact)
			used.NextBackOff()
			return used
		}
		retry(t.Context(), o, errFailed).stopped(t, 3, 300*time.Millisecond, ErrAttempts)
		o.NewSequence = func() Sequence { return nil }
		o.Backoff = exact
		retry(t.Context(), o, errFailed).stopped(t, 3, 300*time.Millisecond, ErrAttempts)
	})
}

// Many goroutines use one Options, and each gets the whole sequence of delays.
func TestRetryShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &Options{MaxAttempts: 5, NewSequence: func() Sequence { return SequenceOf(exact) }, Budget: &Budget{Reserve: 1000}}
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				retry(t.Context(), o, fmt.Errorf("x: %w", errFailed)).stopped(t, 5, 1500*time.Millisecond, ErrAttempts)
			})
		}
		wg.Wait()
		if got := o.Budget.Balance(); got != 600 {
			t.Errorf("balance %v, want 600", got)
		}
	})
}
