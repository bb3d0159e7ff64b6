package link

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Timeout is how long a call may take, unless its store is far.
const Timeout = 250 * time.Millisecond

// Grace is how long after its time a call that has not returned counts as failed. A function that heeds its
// context has returned then.
const Grace = 50 * time.Millisecond

// OverdueAfter is when a call counts as failed that may take Timeout.
const OverdueAfter = Timeout + Grace

// Overdue returns the error of a call that may take so long and does not return.
func Overdue(timeout time.Duration) error { return overdueError(timeout + Grace) }

// overdueError is the time within which a call has not returned.
type overdueError time.Duration

func (e overdueError) Error() string {
	return fmt.Sprintf("throttle: the Store has not returned within %v", time.Duration(e))
}

func (overdueError) Unwrap() error { return context.DeadlineExceeded }

// ErrLeft is the error of a call that has ended its goroutine.
var ErrLeft = errors.New("throttle: the Store has ended the goroutine that called it")

// TookTooLong reports whether an error is that of a call which has not returned, or which ended with its
// context.
func TookTooLong(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}

// InTime calls f, which may take so long, in a goroutine of its own, and returns its error; that of Overdue if
// f does not return, and an error that says so if f panics.
func InTime(timeout time.Duration, f func(ctx context.Context) error) error {
	ended := make(chan error, 1)
	go func() {
		err := ErrLeft
		defer func() { ended <- Ended(recover(), err) }()
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		err = f(ctx)
	}()
	overdue := time.NewTimer(timeout + Grace)
	defer overdue.Stop()
	select {
	case <-overdue.C:
		return Overdue(timeout)
	case err := <-ended:
		return err
	}
}
