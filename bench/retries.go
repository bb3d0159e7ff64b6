package bench

import (
	"context"
	"errors"
	"testing"
	"time"

	avast "github.com/avast/retry-go/v5"
	cenkalti4 "github.com/cenkalti/backoff/v4"
	cenkalti5 "github.com/cenkalti/backoff/v5"
	sethvargo "github.com/sethvargo/go-retry"

	"github.com/gopacer/pacer/backoff"
)

// Retrier calls a function again until the function returns no error, 3 times at most.
type Retrier struct {
	Name string
	// Do calls the function with exponential delays from 100 ms to 20 s and jitter, as far as the
	// Retrier has them.
	Do func(ctx context.Context, f func() error) error
	// DoAtOnce calls the function with the shortest delays that the Retrier has.
	DoAtOnce func(ctx context.Context, f func() error) error
	// Delays returns a function that returns the delays of Do, one after the other. It is nil if the
	// Retrier does not give them away.
	Delays func() func() time.Duration
}

// Backoff is the name of the Retrier with which the others are compared.
const Backoff = "pacer/backoff"

const (
	firstDelay = 100 * time.Millisecond
	mostDelay  = 20 * time.Second
	attempts   = 3
	noDelay    = 1 // ns, for a Retrier that does not accept zero
)

var errFails = errors.New("bench: fails")

// Retriers returns the Retriers that are compared, each used as its documentation says.
func Retriers() []Retrier { //nolint:funlen // a flat table
	return []Retrier{
		{
			Name: Backoff,
			Do: func(ctx context.Context, f func() error) error {
				return backoff.Do(ctx, func(context.Context) error { return f() }, nil)
			},
			DoAtOnce: func(ctx context.Context, f func() error) error {
				o := backoff.Options{Backoff: backoff.Constant{Interval: -1}}
				return backoff.Do(ctx, func(context.Context) error { return f() }, &o)
			},
			Delays: func() func() time.Duration {
				n, prev := 0, time.Duration(0)
				return func() time.Duration {
					n++
					prev = backoff.Exponential{}.Delay(n, prev)
					return prev
				}
			},
		},
		{
			Name: "cenkalti/backoff v4",
			Do: func(ctx context.Context, f func() error) error {
				return cenkalti4.Retry(f, cenkalti4.WithContext(cenkalti4.WithMaxRetries(newCenkalti4(), attempts-1), ctx))
			},
			DoAtOnce: func(ctx context.Context, f func() error) error {
				return cenkalti4.Retry(f, cenkalti4.WithContext(cenkalti4.WithMaxRetries(&cenkalti4.ZeroBackOff{}, attempts-1), ctx))
			},
			Delays: func() func() time.Duration { return newCenkalti4().NextBackOff },
		},
		{
			Name: "cenkalti/backoff v5",
			Do: func(ctx context.Context, f func() error) error {
				return doCenkalti5(ctx, f, newCenkalti5())
			},
			DoAtOnce: func(ctx context.Context, f func() error) error {
				return doCenkalti5(ctx, f, &cenkalti5.ZeroBackOff{})
			},
			Delays: func() func() time.Duration { return newCenkalti5().NextBackOff },
		},
		{
			Name: "sethvargo/go-retry",
			Do: func(ctx context.Context, f func() error) error {
				return doSethvargo(ctx, f, newSethvargo())
			},
			DoAtOnce: func(ctx context.Context, f func() error) error {
				return doSethvargo(ctx, f, sethvargo.NewConstant(noDelay))
			},
			Delays: func() func() time.Duration {
				b := newSethvargo()
				return func() time.Duration {
					d, _ := b.Next()
					return d
				}
			},
		},
		{
			Name: "avast/retry-go v5",
			Do: func(ctx context.Context, f func() error) error {
				return avast.New(avast.Context(ctx), avast.Attempts(attempts), avast.Delay(firstDelay), avast.MaxDelay(mostDelay)).Do(f)
			},
			DoAtOnce: func(ctx context.Context, f func() error) error {
				return avast.New(avast.Context(ctx), avast.Attempts(attempts), avast.Delay(0), avast.DelayType(avast.FixedDelay)).Do(f)
			},
		},
	}
}

func newCenkalti4() *cenkalti4.ExponentialBackOff {
	return cenkalti4.NewExponentialBackOff(cenkalti4.WithInitialInterval(firstDelay), cenkalti4.WithMaxInterval(mostDelay), cenkalti4.WithMaxElapsedTime(0))
}

func newCenkalti5() *cenkalti5.ExponentialBackOff {
	b := cenkalti5.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = firstDelay, mostDelay
	b.Reset()
	return b
}

func doCenkalti5(ctx context.Context, f func() error, b cenkalti5.BackOff) error {
	_, err := cenkalti5.Retry(ctx, func() (struct{}, error) { return struct{}{}, f() }, cenkalti5.WithBackOff(b), cenkalti5.WithMaxTries(attempts))
	return err
}

func newSethvargo() sethvargo.Backoff {
	return sethvargo.WithFullJitter(sethvargo.WithCappedDuration(mostDelay, sethvargo.NewExponential(firstDelay)))
}

// doSethvargo marks every error as one that may be retried, as the package asks for.
func doSethvargo(ctx context.Context, f func() error, b sethvargo.Backoff) error {
	return sethvargo.Do(ctx, sethvargo.WithMaxRetries(attempts-1, b), func(context.Context) error {
		return sethvargo.RetryableError(f())
	})
}

// Success measures the call of a function that succeeds at once.
func (r Retrier) Success(b *testing.B) {
	b.ReportAllocs()
	ctx := b.Context()
	for b.Loop() {
		if err := r.Do(ctx, func() error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

// Failures measures the call of a function that succeeds the third time, with hardly a delay.
func (r Retrier) Failures(b *testing.B) {
	b.ReportAllocs()
	ctx := b.Context()
	for b.Loop() {
		n := 0
		err := r.DoAtOnce(ctx, func() error {
			if n++; n < attempts {
				return errFails
			}
			return nil
		})
		if err != nil || n != attempts {
			b.Fatal(n, err)
		}
	}
}

// Delay measures the computation of one delay, if the Retrier gives its delays away.
func (r Retrier) Delay(b *testing.B) {
	b.ReportAllocs()
	if r.Delays == nil {
		b.Skip("it does not give its delays away")
	}
	next := r.Delays()
	for b.Loop() {
		if next() < 0 {
			next = r.Delays()
		}
	}
}
