package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	cenkalti "github.com/cenkalti/backoff/v4"

	"github.com/gopacer/pacer/backoff"
)

var errBusy = errors.New("server is busy")

// flaky returns an operation that fails with the given errors, one after the other, and then succeeds.
func flaky(errs ...error) func(context.Context) (string, error) {
	return func(context.Context) (string, error) {
		if len(errs) == 0 {
			return "done", nil
		}
		err := errs[0]
		errs = errs[1:]
		return "", err
	}
}

// show prints what Retry is about to wait for.
func show(r backoff.Retrying) {
	fmt.Printf("attempt %d: %v; next in %v\n", r.Attempt, r.Err, r.Delay)
}

func ExampleRetry() {
	v, err := backoff.Retry(context.Background(), flaky(errBusy, errBusy), &backoff.Options{
		Backoff: backoff.Exponential{Initial: 10 * time.Millisecond, Jitter: backoff.NoJitter}, // so that the output is the same each time
		Notify:  show,
	})
	fmt.Println(v, err)
	// Output:
	// attempt 1: server is busy; next in 10ms
	// attempt 2: server is busy; next in 20ms
	// done <nil>
}

// A delay that the context would not survive is not begun.
func ExampleRetry_deadline() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, err := backoff.Retry(ctx, flaky(errBusy), &backoff.Options{
		Backoff: backoff.Constant{Interval: time.Minute, Jitter: backoff.NoJitter},
	})
	fmt.Println(errors.Is(err, backoff.ErrDeadline), errors.Is(err, context.DeadlineExceeded), errors.Is(err, errBusy))
	// Output: true true true
}

func ExamplePermanent() {
	errUnknown := errors.New("no such user")
	_, err := backoff.Retry(context.Background(), flaky(fmt.Errorf("looking up: %w", backoff.Permanent(errUnknown))), nil)
	fmt.Println(err)
	// Output: looking up: no such user
}

// The server asked for 30 ms: the delay of the policy is shorter, and does not count.
func ExampleAfter() {
	v, err := backoff.Retry(context.Background(), flaky(backoff.After(errBusy, 30*time.Millisecond)), &backoff.Options{
		Backoff: backoff.Exponential{Initial: time.Millisecond},
		Notify:  show,
	})
	fmt.Println(v, err)
	// Output:
	// attempt 1: server is busy; next in 30ms
	// done <nil>
}

// Twenty operations against a server that is down: 4 retries in all, where 3 attempts each would be 40.
func ExampleBudget() {
	o := &backoff.Options{
		Backoff: backoff.Exponential{Initial: time.Millisecond},
		Budget:  &backoff.Budget{Reserve: 4},
	}
	calls := 0
	var err error
	for range 20 {
		_, err = backoff.Retry(context.Background(), func(context.Context) (string, error) {
			calls++
			return "", errBusy
		}, o)
	}
	fmt.Println(calls, "calls,", o.Budget.Balance(), "retries left")
	fmt.Println(errors.Is(err, backoff.ErrBudget))

	// Ten successes pay for one retry.
	for range 10 {
		backoff.Retry(context.Background(), flaky(), o)
	}
	fmt.Println(o.Budget.Balance(), "retries left")
	// Output:
	// 24 calls, 0 retries left
	// true
	// 1 retries left
}

// The delays in the loop of github.com/cenkalti/backoff.
func ExampleCenkalti() {
	b := backoff.Cenkalti(backoff.Linear{Initial: time.Millisecond, Increment: 2 * time.Millisecond, Jitter: backoff.NoJitter})
	err := cenkalti.RetryNotify(func() error { return errBusy }, cenkalti.WithMaxRetries(b, 3), func(err error, d time.Duration) {
		fmt.Println("retrying in", d)
	})
	fmt.Println(err)
	// Output:
	// retrying in 1ms
	// retrying in 3ms
	// retrying in 5ms
	// server is busy
}

// A policy of cenkalti/backoff here, a new one for each call.
func ExampleOptions_newBackOff() {
	v, err := backoff.Retry(context.Background(), flaky(errBusy, errBusy), &backoff.Options{
		NewBackOff: func() cenkalti.BackOff {
			return cenkalti.NewExponentialBackOff(
				cenkalti.WithInitialInterval(2*time.Millisecond),
				cenkalti.WithRandomizationFactor(0),
			)
		},
		Notify: show,
	})
	fmt.Println(v, err)
	// Output:
	// attempt 1: server is busy; next in 2ms
	// attempt 2: server is busy; next in 3ms
	// done <nil>
}

// The longest delays of each policy.
func ExampleBackoff() {
	longest := func() float64 { return 1 } // in place of a random number from 0 to 1
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, p := range []struct {
		name    string
		backoff backoff.Backoff
	}{
		{"Exponential", backoff.Exponential{Rand: longest}},
		{"Exponential, factor 1.5", backoff.Exponential{Factor: 1.5, Rand: longest}},
		{"Linear", backoff.Linear{Rand: longest}},
		{"Constant", backoff.Constant{Rand: longest}},
		{"Decorrelated", backoff.Decorrelated{Rand: longest}},
	} {
		fmt.Fprint(w, p.name)
		var prev time.Duration
		for n := 1; n <= 7; n++ {
			prev = p.backoff.Delay(n, prev)
			fmt.Fprint(w, "\t", prev.Round(time.Millisecond))
		}
		fmt.Fprintln(w)
	}
	w.Flush()
	// Output:
	// Exponential              100ms  200ms  400ms  800ms  1.6s   3.2s   6.4s
	// Exponential, factor 1.5  100ms  150ms  225ms  338ms  506ms  759ms  1.139s
	// Linear                   100ms  200ms  300ms  400ms  500ms  600ms  700ms
	// Constant                 1s     1s     1s     1s     1s     1s     1s
	// Decorrelated             300ms  900ms  2.7s   8.1s   20s    20s    20s
}
