package backoff

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Why Retry stopped, besides the end of its context. They are for errors.Is.
var (
	// ErrAttempts means that the last of Options.MaxAttempts failed.
	ErrAttempts = errors.New("backoff: MaxAttempts used up")
	// ErrElapsed means that the next attempt would have begun later than Options.MaxElapsed allows.
	ErrElapsed = errors.New("backoff: next attempt would exceed MaxElapsed")
	// ErrDeadline means that the context would have ended before the next attempt. It wraps context.DeadlineExceeded,
	// although that moment is still to come.
	ErrDeadline error = deadlineError{}
	// ErrHint means that a hint asked for a longer delay than Options.MaxHint.
	ErrHint = errors.New("backoff: hint exceeds MaxHint")
	// ErrBudget means that Options.Budget had no retry left.
	ErrBudget = errors.New("backoff: local retry budget is empty")
	// ErrStopped means that the delay was negative, as is the Stop of a BackOff of Options.NewBackOff.
	ErrStopped = errors.New("backoff: the delays have come to an end")
)

// RetryError is what [Retry] returns when it stops although another attempt might have helped.
// It wraps both Cause and Err for errors.Is and errors.As.
type RetryError struct {
	// Attempts is how many were made. It is zero if the context had ended before the first.
	Attempts int
	// Elapsed is the time since Retry was called.
	Elapsed time.Duration
	// Delay is the delay that was due next; zero if it was not computed.
	Delay time.Duration
	// Cause is why Retry stopped: one of the sentinels of this package, or what ended the context (its Err, and its cause if it has one).
	Cause error
	// Err is the error of the last attempt; nil if there was none.
	Err error
}

// Error returns the cause, what was done, and the last error.
func (e *RetryError) Error() string {
	cause, plural := "stopped", "s"
	if e.Cause != nil {
		cause = strings.TrimPrefix(e.Cause.Error(), "backoff: ")
	}
	if e.Attempts == 1 {
		plural = ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "backoff: %s, %d attempt%s in %v", cause, e.Attempts, plural, e.Elapsed.Round(time.Microsecond))
	if e.Delay > 0 {
		fmt.Fprintf(&b, ", next due after %v", e.Delay.Round(time.Microsecond))
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	return b.String()
}

// Unwrap returns Cause and Err, those that are not nil.
func (e *RetryError) Unwrap() []error {
	var errs []error
	for _, err := range []error{e.Cause, e.Err} {
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// Timeout reports whether the context's deadline is the cause. Package net/url and os.IsTimeout look for it.
func (e *RetryError) Timeout() bool {
	return errors.Is(e.Cause, context.DeadlineExceeded)
}

// After attaches to err a server's hint not to come back before d has passed. It returns nil if err is nil. A negative d counts as zero.
//
// The hint is a lower bound: [Retry] waits for at least d. Callers who were given the same d would come back together, so it waits for the
// delay of its Backoff on top of d, but no more than a tenth of d for that; and for that delay if it is longer than all this. The delays that
// follow are those of the Backoff as if there had been no hint. Any error in the chain with a method RetryAfter() time.Duration
// is a hint as well; of several the longest holds.
func After(err error, d time.Duration) error {
	if err == nil {
		return nil
	}
	return &hintError{err: err, after: max(d, 0)}
}

type hintError struct {
	err   error
	after time.Duration
}

func (e *hintError) Error() string             { return e.err.Error() }
func (e *hintError) Unwrap() error             { return e.err }
func (e *hintError) RetryAfter() time.Duration { return e.after }

// hint returns the longest hint in the chain of err, zero if there is none.
func hint(err error) time.Duration {
	var longest time.Duration
	for err != nil {
		if h, ok := err.(interface{ RetryAfter() time.Duration }); ok {
			longest = max(longest, h.RetryAfter())
		}
		switch w := err.(type) { //nolint:errorlint // errors.As stops at the first hint, and this looks for the longest
		case interface{ Unwrap() error }:
			err = w.Unwrap()
		case interface{ Unwrap() []error }:
			for _, e := range w.Unwrap() {
				longest = max(longest, hint(e))
			}
			return longest
		default:
			return longest
		}
	}
	return longest
}

// deadlineError has a text which does not claim that the deadline has passed.
type deadlineError struct{}

func (deadlineError) Error() string { return "backoff: next attempt would miss the context's deadline" }
func (deadlineError) Unwrap() error { return context.DeadlineExceeded }
func (deadlineError) Timeout() bool { return true }
