// The program retries operations of a flaky service, with package backoff alone. It shows delays that
// grow, a hint of the server, an error that another attempt cannot cure, a deadline, and a budget. It
// runs offline and takes about a second.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/gopacer/pacer/backoff"
)

var (
	errUnavailable = errors.New("service unavailable")
	errNoSuchOrder = errors.New("no such order")
)

// service is a service that fails with the given errors, one after the other, and then succeeds.
type service struct {
	failures []error // still to come
	calls    int     // so far
}

// order returns an order.
func (s *service) order(context.Context) (string, error) {
	s.calls++
	if len(s.failures) > 0 {
		err := s.failures[0]
		s.failures = s.failures[1:]
		return "", err
	}
	return "3 apples", nil
}

func main() {
	run(context.Background(), os.Stdout)
}

func run(ctx context.Context, out io.Writer) {
	options := &backoff.Options{
		MaxAttempts: 5,
		Notify: func(r backoff.Retrying) {
			fmt.Fprintf(out, "  attempt %d: %v; next in %v\n", r.Attempt, r.Err, r.Delay.Round(time.Millisecond))
		},
	}

	fmt.Fprintln(out, "Two failures, random delays of up to 100 ms and 200 ms:")
	s := &service{failures: []error{errUnavailable, errUnavailable}}
	report(out)(backoff.Retry(ctx, s.order, options))

	fmt.Fprintln(out, "The server asks for 300 ms:")
	s = &service{failures: []error{backoff.After(errUnavailable, 300*time.Millisecond)}}
	report(out)(backoff.Retry(ctx, s.order, options))

	fmt.Fprintln(out, "The server asks for a week:")
	s = &service{failures: []error{backoff.After(errUnavailable, 7*24*time.Hour)}}
	report(out)(backoff.Retry(ctx, s.order, options))

	fmt.Fprintln(out, "An answer that another attempt does not change:")
	s = &service{failures: []error{backoff.Permanent(errNoSuchOrder)}}
	report(out)(backoff.Retry(ctx, s.order, options))

	fmt.Fprintln(out, "A deadline that the next delay would miss:")
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	s = &service{failures: []error{backoff.After(errUnavailable, time.Second)}}
	report(out)(backoff.Retry(short, s.order, options))

	fmt.Fprintln(out, "Ten orders while the service is down, under a budget of 3 retries:")
	s = &service{}
	limited := &backoff.Options{
		Backoff: backoff.Exponential{Initial: 10 * time.Millisecond},
		Budget:  &backoff.Budget{Reserve: 3},
	}
	var err error
	for range 10 {
		s.failures = []error{errUnavailable, errUnavailable, errUnavailable}
		_, err = backoff.Retry(ctx, s.order, limited)
	}
	fmt.Fprintf(out, "  %d calls where 3 attempts each are 30; the last says: %v\n", s.calls, err)
}

// report returns a function that prints the result of Retry.
func report(out io.Writer) func(v string, err error) {
	return func(v string, err error) {
		if err != nil {
			fmt.Fprintln(out, "  failed:", err)
			return
		}
		fmt.Fprintln(out, "  got", v)
	}
}
