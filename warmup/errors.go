package warmup

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrMaxWait is why TryWait refuses: the wait would be longer than its maxWait.
var ErrMaxWait = errors.New("longer than maxWait")

// errDeadline is why a call fails at once whose wait would end after the deadline.
var errDeadline = fmt.Errorf("past the deadline of the context: %w", context.DeadlineExceeded)

// Error says why a [Limiter] did not grant tokens. The caller has none.
type Error struct {
	Wait time.Duration // how long the wait would have been; zero if the context ended
	Err  error         // ErrMaxWait, or an error that wraps the error and the cause of the context
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

// bounds are the latest instants at which a wait may end; the zero instant means
// no bound.
type bounds struct {
	deadline time.Time // the context's deadline: the wait must end before it
	latest   time.Time // now + maxWait: the wait must not end after it
}

// newBounds returns the bounds of a call. A negative maxWait means no bound.
func newBounds(ctx context.Context, now time.Time, maxWait time.Duration) bounds {
	var b bounds
	b.deadline, _ = ctx.Deadline()
	if maxWait >= 0 {
		b.latest = now.Add(maxWait)
	}
	return b
}

// check returns an error if the caller could go only at an instant that is too
// late. A caller that could go now is never too late.
func (b bounds) check(now, at time.Time) error {
	switch {
	case !at.After(now):
		return nil
	case !b.deadline.IsZero() && !at.Before(b.deadline):
		return &Error{Wait: at.Sub(now), Err: errDeadline}
	case !b.latest.IsZero() && at.After(b.latest):
		return &Error{Wait: at.Sub(now), Err: ErrMaxWait}
	}
	return nil
}
