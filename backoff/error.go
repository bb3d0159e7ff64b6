package backoff

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Why Retry gives up, if its context has not ended: Error.Because is one of these errors, which
// errors.Is finds.
var (
	// ErrAttempts means that as many attempts failed as Options.MaxAttempts allows.
	ErrAttempts = errors.New("backoff: MaxAttempts used up")
	// ErrElapsed means that the next attempt would begin later than Options.MaxElapsed allows.
	ErrElapsed = errors.New("backoff: next attempt would exceed MaxElapsed")
	// ErrDeadline means that the context's deadline would pass before the next attempt. It wraps
	// context.DeadlineExceeded, although the deadline is still to come.
	ErrDeadline error = deadlineError{}
	// ErrHint means that a hint (see After) is longer than Options.MaxHint.
	ErrHint = errors.New("backoff: hint exceeds MaxHint")
	// ErrBudget means that Options.Budget had no retry left.
	ErrBudget = errors.New("backoff: local retry budget is empty")
	// ErrStopped means that the computed delay was negative: there are no more retries. The Stop of
	// a Sequence from Options.NewSequence is such a delay.
	ErrStopped = errors.New("backoff: the delays have come to an end")
)

// Error is the error with which [Retry] gives up although another attempt might help. errors.Is
// and errors.As find what Because and Err wrap. If the context has ended, errors.Is finds both its Err
// and its Cause.
type Error struct {
	// Attempts is how many attempts were made: zero if the context had ended before the first one.
	Attempts int
	// Elapsed is the time from the call of Retry until it stopped.
	Elapsed time.Duration
	// Delay is the delay that was due next; zero if it was not computed.
	Delay time.Duration
	// Because is why there is no other attempt: one of the errors of this package, such as ErrAttempts,
	// or, if the context has ended, an error that wraps the Err and the Cause of the context.
	Because error
	// Err is the error of the last attempt; nil if there was no attempt.
	Err error

	bound string // what Because says was missed, in brackets; empty if that is no time
}

// Error says why there is no other attempt, with the MaxElapsed or MaxHint if one of these is why, the number
// of attempts, the time that they took, the delay that was due next, and the last error.
func (e *Error) Error() string {
	because, plural := "stopped", "s"
	if e.Because != nil {
		because = strings.TrimPrefix(e.Because.Error(), "backoff: ")
	}
	if e.Attempts == 1 {
		plural = ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "backoff: %s%s, %d attempt%s in %v", because, e.bound, e.Attempts, plural, e.Elapsed.Round(time.Microsecond))
	if e.Delay > 0 {
		fmt.Fprintf(&b, ", next due after %v", e.Delay.Round(time.Microsecond))
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	return b.String()
}

// Unwrap returns Because and Err, as far as they are not nil.
func (e *Error) Unwrap() []error {
	var errs []error
	for _, err := range []error{e.Because, e.Err} {
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// Timeout reports whether Retry gave up because of the context's deadline. Package net/url and
// os.IsTimeout call it.
func (e *Error) Timeout() bool {
	return errors.Is(e.Because, context.DeadlineExceeded)
}

// After attaches a hint to err: a server asked not to come back before d has passed. After returns nil
// if err is nil. A negative d counts as zero.
//
// The hint is a lower bound. With the delay b of its Backoff, [Retry] waits for
//
//	max(b, d + min(b, d/10))
//
// The term min(b, d/10) spreads callers that were given the same d, since b has jitter: without it
// they would come back together. Later delays are those of the Backoff, as if there had been no
// hint. Any error in the chain with a method RetryAfter() time.Duration is a hint, too. If there are
// several hints, the longest counts.
func After(err error, d time.Duration) error {
	if err == nil {
		return nil
	}
	return &hintError{err: err, after: max(d, 0)}
}

// hintError is an error with a hint.
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
		switch w := err.(type) { //nolint:errorlint // errors.As finds the first hint, and not the longest
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

// deadlineError wraps context.DeadlineExceeded, but its text does not say that the deadline has passed.
type deadlineError struct{}

func (deadlineError) Error() string { return "backoff: next attempt would miss the context's deadline" }
func (deadlineError) Unwrap() error { return context.DeadlineExceeded }
func (deadlineError) Timeout() bool { return true }
