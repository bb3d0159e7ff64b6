package warmup

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errDeadline is why a call fails at once whose wait would end after the deadline.
var errDeadline = fmt.Errorf("past the deadline of the context: %w", context.DeadlineExceeded)

// Error says why [Limiter.Wait] did not grant tokens: the context has ended, or
// its deadline would have passed before the end of the wait. The caller has no
// tokens. errors.Is finds the Err and the Cause of the context.
type Error struct {
	Wait time.Duration // how long the wait would have been; zero if the context has ended
	Err  error         // wraps the Err and the Cause of the context
}

// Error implements error.
func (e *Error) Error() string {
	if e.Wait > 0 {
		return fmt.Sprintf("warmup: not granted: would wait %v: %v", e.Wait, e.Err)
	}
	return fmt.Sprintf("warmup: not granted: %v", e.Err)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Timeout reports whether the reason is the deadline of the context, which has
// passed or would have passed during the wait. net.Error and url.Error ask for it.
func (e *Error) Timeout() bool { return errors.Is(e.Err, context.DeadlineExceeded) }

// canceled returns the error for a context that has ended.
func canceled(ctx context.Context) error {
	err := ctx.Err()
	if cause := context.Cause(ctx); !errors.Is(cause, err) {
		err = fmt.Errorf("%w: %w", err, cause)
	} else {
		err = cause
	}
	return &Error{Err: err}
}

// check returns an error if the caller could go only at an instant that is too
// late: the wait must end before the deadline of ctx. A caller that could go now is
// never too late.
func check(ctx context.Context, now, at time.Time) error {
	if deadline, ok := ctx.Deadline(); ok && at.After(now) && !at.Before(deadline) {
		return &Error{Wait: at.Sub(now), Err: errDeadline}
	}
	return nil
}
