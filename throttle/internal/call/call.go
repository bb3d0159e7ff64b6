// Package call calls functions of others that ought to return in time, and may not.
package call

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Timeout is how long a call may take.
const Timeout = 250 * time.Millisecond

// OverdueAfter is when a call that has not returned counts as failed. A function that heeds its context has returned then.
const OverdueAfter = Timeout + 50*time.Millisecond

// ErrOverdue is the error of a call that does not return.
var ErrOverdue = fmt.Errorf("throttle: the Store has not returned within %v: %w", OverdueAfter, context.DeadlineExceeded)

// ErrLeft is the error of a call that has ended its goroutine.
var ErrLeft = errors.New("throttle: the Store has ended the goroutine that called it")

// InTime calls f in a goroutine of its own, and returns its error; ErrOverdue if f does not return. It panics if f does.
func InTime(f func(ctx context.Context) error) error {
	type end struct {
		err      error
		panicked any
	}
	ended := make(chan end, 1)
	go func() {
		e := end{err: ErrLeft}
		defer func() {
			e.panicked = recover()
			ended <- e
		}()
		ctx, cancel := context.WithTimeout(context.Background(), Timeout)
		defer cancel()
		e.err = f(ctx)
	}()
	overdue := time.NewTimer(OverdueAfter)
	defer overdue.Stop()
	select {
	case <-overdue.C:
		return ErrOverdue
	case e := <-ended:
		if e.panicked != nil {
			panic(e.panicked)
		}
		return e.err
	}
}
