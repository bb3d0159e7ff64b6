package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"text/tabwriter"
	"time"

	cenkalti "github.com/cenkalti/backoff/v4"

	"github.com/gopacer/pacer/backoff"
	"github.com/gopacer/pacer/headers"
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

// A delay that would end after the context's deadline is not begun.
func ExampleRetry_deadline() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, err := backoff.Retry(ctx, flaky(errBusy), &backoff.Options{
		Backoff: backoff.Constant{Interval: time.Minute, Jitter: backoff.NoJitter},
	})
	fmt.Println(errors.Is(err, backoff.ErrDeadline), errors.Is(err, context.DeadlineExceeded), errors.Is(err, errBusy))
	// Output: true true true
}

// An Error says why there was no other attempt. Its Err is the error of the last attempt.
func ExampleError() {
	_, err := backoff.Retry(context.Background(), flaky(errBusy, errBusy), &backoff.Options{
		Backoff: backoff.Constant{Interval: -1}, MaxAttempts: 2,
	})
	var gaveUp *backoff.Error
	if errors.As(err, &gaveUp) {
		fmt.Println("attempts:", gaveUp.Attempts)
		fmt.Println("because:", gaveUp.Because)
		fmt.Println("last error:", gaveUp.Err)
	}
	fmt.Println(errors.Is(err, backoff.ErrAttempts), errors.Is(err, errBusy))
	// Output:
	// attempts: 2
	// because: backoff: MaxAttempts used up
	// last error: server is busy
	// true true
}

// If the context ends, errors.Is finds its error and its cause.
func ExampleError_context() {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("the user has closed the window"))
	err := backoff.Do(ctx, func(context.Context) error { return errBusy }, nil)
	var gaveUp *backoff.Error
	if errors.As(err, &gaveUp) {
		fmt.Println(gaveUp.Because)
	}
	fmt.Println(errors.Is(err, context.Canceled), errors.Is(err, context.Cause(ctx)))
	// Output:
	// context canceled: the user has closed the window
	// true true
}

func ExampleDo() {
	attempts := 0
	err := backoff.Do(context.Background(), func(context.Context) error {
		if attempts++; attempts < 3 {
			return errBusy
		}
		return nil
	}, &backoff.Options{Backoff: backoff.Constant{Interval: time.Millisecond}})
	fmt.Println(attempts, "attempts,", err)
	// Output: 3 attempts, <nil>
}

// Each attempt has 10 ms. The deadline of an attempt is no reason to stop. The operation must read the
// whole answer, too, since the answer ends with the context of its attempt.
func ExampleRetry_attemptTimeout() {
	hangs := true
	ask := func(ctx context.Context) (string, error) {
		if hangs {
			hangs = false
			<-ctx.Done()
			return "", context.Cause(ctx)
		}
		return "answer", nil
	}
	v, err := backoff.Retry(context.Background(), func(ctx context.Context) (string, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, 10*time.Millisecond, errors.New("no answer in 10ms"))
		defer cancel()
		return ask(ctx)
	}, &backoff.Options{
		Backoff: backoff.Constant{Interval: time.Millisecond, Jitter: backoff.NoJitter},
		Notify:  show,
	})
	fmt.Println(v, err)
	// Output:
	// attempt 1: no answer in 10ms; next in 1ms
	// answer <nil>
}

// Only an error that is known to pass is worth another attempt.
func ExampleOptions_retryIf() {
	errUnknown := errors.New("no such user")
	o := &backoff.Options{
		Backoff: backoff.Constant{Interval: time.Millisecond, Jitter: backoff.NoJitter},
		RetryIf: func(err error) bool { return errors.Is(err, errBusy) },
		Notify:  show,
	}
	_, err := backoff.Retry(context.Background(), flaky(errBusy, errUnknown), o)
	fmt.Println(err)
	// Output:
	// attempt 1: server is busy; next in 1ms
	// no such user
}

// Only the time bounds these attempts, not their number. A negative bound is a bound of zero: Retry does
// not wait for what a server asks.
func ExampleOptions_noLimit() {
	attempts := 0
	err := backoff.Do(context.Background(), func(context.Context) error {
		if attempts++; attempts < 1000 {
			return errBusy
		}
		return backoff.After(errBusy, time.Second)
	}, &backoff.Options{
		Backoff:     backoff.Constant{Interval: -1},
		MaxAttempts: backoff.NoLimit,
		MaxElapsed:  time.Minute,
		MaxHint:     -1,
	})
	fmt.Println(attempts, "attempts;", errors.Is(err, backoff.ErrHint))
	// Output: 1000 attempts; true
}

// Notify keeps the errors of all attempts. Here they are few.
func ExampleOptions_notify() {
	var all []error
	_, err := backoff.Retry(context.Background(), flaky(errBusy, errors.New("connection reset"), errors.New("disk is full")), &backoff.Options{
		Backoff: backoff.Constant{Interval: -1},
		Notify:  func(r backoff.Retrying) { all = append(all, r.Err) },
	})
	var last *backoff.Error
	if errors.As(err, &last) {
		all = append(all, last.Err)
	}
	fmt.Println(errors.Join(all...))
	// Output:
	// server is busy
	// connection reset
	// disk is full
}

// Delays that grow like the numbers of Fibonacci, computed from n alone.
func ExampleFunc() {
	fibonacci := backoff.Func(func(n int, _ time.Duration) time.Duration {
		a, b := time.Millisecond, time.Millisecond
		for range min(n, 10) - 1 { // 55 ms from retry 10 on
			a, b = b, a+b
		}
		return a
	})
	_, err := backoff.Retry(context.Background(), flaky(errBusy, errBusy, errBusy, errBusy), &backoff.Options{
		Backoff: fibonacci, MaxAttempts: 5, Notify: show,
	})
	fmt.Println(err)
	// Output:
	// attempt 1: server is busy; next in 1ms
	// attempt 2: server is busy; next in 1ms
	// attempt 3: server is busy; next in 2ms
	// attempt 4: server is busy; next in 3ms
	// <nil>
}

func ExamplePermanent() {
	errUnknown := errors.New("no such user")
	_, err := backoff.Retry(context.Background(), flaky(fmt.Errorf("looking up: %w", backoff.Permanent(errUnknown))), nil)
	fmt.Println(err)
	// Output: looking up: no such user
}

// The server asked for 30 ms. The delay of the Backoff, but at most a tenth of 30 ms, is added: if it
// has jitter, callers do not come back all at once.
func ExampleAfter() {
	v, err := backoff.Retry(context.Background(), flaky(backoff.After(errBusy, 30*time.Millisecond)), &backoff.Options{
		Backoff: backoff.Constant{Interval: time.Millisecond, Jitter: backoff.NoJitter},
		Notify:  show,
	})
	fmt.Println(v, err)
	// Output:
	// attempt 1: server is busy; next in 31ms
	// done <nil>
}

// The delay for which an HTTP server asks, in any of the headers that package headers reads.
func ExampleAfter_http() {
	attempts := 0
	err := backoff.Do(context.Background(), func(context.Context) error {
		if attempts++; attempts > 1 {
			return nil
		}
		header := http.Header{"Retry-After-Ms": {"20"}} // of a response
		return backoff.After(errBusy, headers.Parse(header, time.Now()).Retry.After)
	}, &backoff.Options{Backoff: backoff.Constant{Interval: -1}, Notify: show})
	fmt.Println(err)
	// Output:
	// attempt 1: server is busy; next in 20ms
	// <nil>
}

// Twenty operations against a server that is down make 4 retries together. Without a budget, 3 attempts
// each would be 40 retries.
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

// A loop of one's own pays for its retries.
func ExampleBudget_Withdraw() {
	budget := &backoff.Budget{Reserve: 2}
	call := flaky(errBusy, errBusy, errBusy, errBusy)
	for calls := 1; ; calls++ {
		if _, err := call(context.Background()); err == nil {
			budget.Deposit()
			break
		}
		if !budget.Withdraw() {
			fmt.Println("no retry is left after", calls, "calls")
			break
		}
	}
	// Output: no retry is left after 3 calls
}

// The loop of github.com/cenkalti/backoff waits for delays of this package.
func ExampleSequenceOf() {
	b := backoff.SequenceOf(backoff.Linear{Initial: time.Millisecond, Increment: 2 * time.Millisecond, Jitter: backoff.NoJitter})
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

// Retry waits for the delays of a BackOff of cenkalti/backoff, a new one for each call.
func ExampleOptions_newBackOff() {
	v, err := backoff.Retry(context.Background(), flaky(errBusy, errBusy), &backoff.Options{
		NewSequence: func() backoff.Sequence {
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

// Delays from 50 ms up to a second, each of them at least one half of what is computed.
func ExampleExponential() {
	random := func() float64 { return 0.5 } // so that the output is the same each time
	b := backoff.Exponential{Initial: 50 * time.Millisecond, Max: time.Second, Factor: 3, Jitter: backoff.EqualJitter, Rand: random}
	for n := 1; n <= 5; n++ {
		fmt.Print(b.Delay(n, 0), " ")
	}
	// Output: 37.5ms 112.5ms 337.5ms 750ms 750ms
}

// What the three kinds of jitter make of a delay of one second.
func ExampleJitter() {
	for _, j := range []backoff.Jitter{backoff.FullJitter, backoff.EqualJitter, backoff.NoJitter} {
		fmt.Print(j)
		for _, random := range []float64{0, 0.5, 1} {
			b := backoff.Constant{Jitter: j, Rand: func() float64 { return random }}
			fmt.Print(" ", b.Delay(1, 0))
		}
		fmt.Println()
	}
	// Output:
	// full 0s 500ms 1s
	// equal 500ms 750ms 1s
	// none 1s 1s 1s
}

// The longest delays of each Backoff.
func ExampleBackoff() {
	longest := func() float64 { return 1 } // in place of a random number below 1
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
