package backoff

import (
	"context"
	"math"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	cenkalti "github.com/cenkalti/backoff/v4"
)

// A negative delay, by an overflow or as the Stop of cenkalti/backoff, must not lead to attempts without a
// delay and without an end.
func TestRetryNegativeDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := &Budget{}
		for _, d := range []time.Duration{cenkalti.Stop, -5, math.MinInt64} {
			e := retry(t.Context(), &Options{Backoff: always(d), MaxAttempts: NoLimit, Budget: budget}, After(errFailed, time.Second)).stopped(t, 1, 0, ErrStopped)
			if e.Delay != 0 || budget.Balance() != 10 {
				t.Errorf("got %+v, balance %v", e, budget.Balance())
			}
		}
		twice := Func(func(n int, prev time.Duration) time.Duration {
			if n > 2 {
				return -1
			}
			return prev + time.Second
		})
		r := retry(t.Context(), &Options{Backoff: twice, MaxAttempts: NoLimit}, errFailed)
		r.stopped(t, 3, 3*time.Second, ErrStopped)
		equal(t, "calls", r.calls, ms(0, 1000, 3000))
	})
}

// A retry that was withdrawn and is not made goes back to the budget, even if the goroutine panics or exits.
func TestRetryNotifyPanics(t *testing.T) {
	budget := &Budget{}
	for _, end := range []func(){func() { panic("notify") }, runtime.Goexit} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer func() { _ = recover() }()
			Do(t.Context(), func(context.Context) error { return errFailed }, &Options{Budget: budget, Notify: func(Retrying) { end() }})
		}()
		<-done
		if got := budget.Balance(); got != 10 {
			t.Errorf("balance %v, want 10", got)
		}
	}
}

// A Backoff or an operation that panics does so in the goroutine of the caller, and takes nothing from the
// budget.
func TestRetryPanicsOfOthers(t *testing.T) {
	budget := &Budget{}
	bad := Func(func(int, time.Duration) time.Duration { panic("policy") })
	failing := func(context.Context) error { return errFailed }
	for want, f := range map[string]func(){
		"policy":    func() { Do(t.Context(), failing, &Options{Backoff: bad, Budget: budget}) },
		"operation": func() { Do(t.Context(), func(context.Context) error { panic("operation") }, &Options{Budget: budget}) },
	} {
		func() {
			defer func() {
				if got := recover(); got != want || budget.Balance() != 10 {
					t.Errorf("panic %v, balance %v, want %v, 10", got, budget.Balance(), want)
				}
			}()
			f()
		}()
	}
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
	if got, want := reason(func() { Do(t.Context(), nil, nil) }), "backoff: nil operation"; got != want {
		t.Errorf("panic %v, want %v", got, want)
	}
	op := func(context.Context) (int, error) { return 0, nil }
	if got, want := reason(func() { Retry(nil, op, nil) }), "backoff: nil context"; got != want { //nolint:staticcheck // this is what is tested
		t.Errorf("panic %v, want %v", got, want)
	}
}
