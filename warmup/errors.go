package warmup

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrMaxWait is why TryWait refuses: the wait would be longer than maxWait.
var ErrMaxWait = errors.New("longer than may be waited for")

// errDeadline is why a call fails before its deadline.
var errDeadline = fmt.Errorf("past the deadline of the context: %w", context.DeadlineExceeded)

// Error says why a [Limiter] did not grant. It holds no token.
type Error struct {
	Wait time.Duration // how long it would have taken; zero if the context ended
	Err  error         // ErrMaxWait, or wraps the error and the cause of the context
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

// Timeout reports whether the deadline of the context is why, as net.Error and
// url.Error ask: it has passed, or would have.
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

// bounds are the instants at which a caller gives up; the zero instant is none.
type bounds struct {
	deadline time.Time // of the context: the wait must end before it
	latest   time.Time // the wait must not end after it
}

func newBounds(ctx context.Context, now time.Time, maxWait time.Duration) bounds {
	var b bounds
	b.deadline, _ = ctx.Deadline()
	if maxWait >= 0 {
		b.latest = now.Add(maxWait)
	}
	return b
}

// check returns an error if at, an instant at which the caller could go, is too
// late. What need not be waited for is never too late.
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
