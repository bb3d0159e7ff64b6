package throttle

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gopacer/pacer/throttle/internal/limit"
)

// Why a Limiter did not grant. An [*Error] wraps one of them.
var (
	// ErrWait: it could go, but not now, and the caller did not want to wait.
	ErrWait = errors.New("would have to wait")
	// ErrMaxWait: the wait is over MaxWait.
	ErrMaxWait = errors.New("wait over MaxWait")
	// ErrDeadline: the wait would end after the context's deadline.
	ErrDeadline = errors.New("wait past the context's deadline")
	// ErrQueueFull: MaxQueue callers wait already.
	ErrQueueFull = errors.New("queue is full")
	// ErrTooLarge: the cost is above what a quota ever grants at once, its burst or
	// its N, so no wait helps.
	ErrTooLarge = errors.New("cost above what the quota grants at once: never")
	// ErrCanceled: the caller's context or cancel channel ended the wait.
	ErrCanceled = errors.New("canceled while waiting")
)

// errDismissed says that a claim belongs in another bucket.
var errDismissed = errors.New("throttle: dismissed from the line")

// Cause is what a caller has to wait for.
type Cause string

// The causes of a wait.
const (
	CausePace      = Cause(limit.Pace)      // a configured quota
	CauseWarmUp    = Cause(limit.WarmUp)    // a configured quota that is still cold
	CauseInFlight  = Cause(limit.InFlight)  // a configured quota of what is under way
	CauseHold      = Cause(limit.Hold)      // the server told everybody to wait, or Pause was called
	CauseWindow    = Cause(limit.Window)    // the server says that nothing remains of a limit
	CauseSlowStart = Cause(limit.SlowStart) // one goes first, the others follow what it learns
)

// Error says that the limiter, not the server, refused a call, and why.
//
// errors.Is finds the sentinel in Err; where the context ended the wait, or its
// deadline would have, it finds that error of package context too, and Timeout
// reports whether it was a deadline.
type Error struct {
	Bucket string        // name of the Limiter that stood in the way
	Quota  string        // the quota or limit that did, as text; empty if none in particular
	Cause  Cause         // what was to be waited for
	Wait   time.Duration // how long the wait would have been from the moment of refusal, as far as known
	At     time.Time     // when it would have gone, as far as known
	Cost   int           // tokens asked for
	Err    error         // ErrWait, ErrMaxWait, …
	ctxErr error         // what ended, or would have ended, the context
	bound  time.Duration // the bound that the wait is over
}

// Error implements error.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("pacer/throttle: ")
	if e.Bucket != "" {
		b.WriteString(e.Bucket + ": ")
	}
	b.WriteString("not sent: ")
	b.WriteString(e.Err.Error())
	switch {
	case errors.Is(e.Err, ErrMaxWait):
		fmt.Fprintf(&b, " (%v)", round(e.bound))
	case errors.Is(e.Err, ErrDeadline):
		fmt.Fprintf(&b, " (in %v)", round(e.bound))
	case errors.Is(e.Err, ErrQueueFull):
		fmt.Fprintf(&b, " (%d)", int(e.bound))
	}
	if e.Cause != "" {
		b.WriteString(": " + string(e.Cause))
	}
	if e.Quota != "" {
		fmt.Fprintf(&b, " %q", e.Quota)
	}
	if errors.Is(e.Err, ErrTooLarge) {
		fmt.Fprintf(&b, ", cost %d", e.Cost)
	} else if e.Wait > 0 {
		fmt.Fprintf(&b, ", could go in %v", round(e.Wait))
	}
	if e.ctxErr != nil && errors.Is(e.Err, ErrCanceled) {
		b.WriteString(": " + e.ctxErr.Error())
	}
	return b.String()
}

// Unwrap returns the sentinel and, where there is one, the context's error.
func (e *Error) Unwrap() []error {
	if e.ctxErr == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.ctxErr}
}

// Timeout reports whether a deadline is the reason, as net.Error and
// url.Error ask.
func (e *Error) Timeout() bool { return errors.Is(e.ctxErr, context.DeadlineExceeded) }

// round keeps three digits or so of a duration: enough for a person.
func round(d time.Duration) time.Duration {
	switch {
	case d > time.Minute:
		return d.Round(time.Second)
	case d > time.Second:
		return d.Round(10 * time.Millisecond)
	case d > time.Millisecond:
		return d.Round(10 * time.Microsecond)
	}
	return d
}
