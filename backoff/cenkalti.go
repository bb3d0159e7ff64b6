package backoff

import (
	"errors"
	"math"
	"time"

	cenkalti "github.com/cenkalti/backoff/v4"
)

// Sequence is the delays of one operation, one after the other: a BackOff of github.com/cenkalti/backoff,
// whatever its version. What needs such a BackOff takes a Sequence, and the other way round. It has state, and
// is for one operation at a time.
type Sequence interface {
	// NextBackOff returns the next delay. A negative one, such as Stop of that package, means that there is no
	// retry.
	NextBackOff() time.Duration

	// Reset begins a new operation.
	Reset()
}

// SequenceOf returns a new Sequence of the delays of b, for what takes a BackOff of
// github.com/cenkalti/backoff. If b is nil, they are those of Exponential{}. It counts retries. It returns Stop
// of that package if b returns a negative delay, which no type of this package does. The WithMaxRetries and
// WithContext of that package make it end.
func SequenceOf(b Backoff) Sequence {
	if b == nil {
		b = Exponential{}
	}
	return &counter{backoff: b}
}

// counter is a BackOff. It remembers what a Backoff must be told of one operation.
type counter struct {
	backoff Backoff
	n       int           // retries so far
	prev    time.Duration // the delay before the last one
}

// NextBackOff returns the delay before the next retry.
func (c *counter) NextBackOff() time.Duration {
	if c.n < math.MaxInt {
		c.n++
	}
	d := c.backoff.Delay(c.n, c.prev)
	if d < 0 {
		return cenkalti.Stop
	}
	c.prev = d
	return d
}

// Reset begins a new operation.
func (c *counter) Reset() {
	c.n, c.prev = 0, 0
}

// Permanent marks err as an error that another attempt cannot cure. It returns nil if err is nil.
//
// [Retry] stops at an error that has the mark anywhere in its chain, and returns the whole error,
// with everything that was wrapped around the mark. errors.As finds the *PermanentError of
// github.com/cenkalti/backoff/v4 in the mark. So each of the two Retry functions stops at the marks of
// both packages.
//
// The mark says nothing about which error it is: errors.Is(Permanent(a), Permanent(b)) is
// errors.Is(a, b). Between two marks of that other package errors.Is is always true, so Permanent does
// not return one.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

// permanentError is an error with the mark of Permanent.
type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }

// Unwrap returns the error that is marked.
func (e *permanentError) Unwrap() error { return e.err }

// Is makes errors.Is compare what two marks are about. The mark of cenkalti/backoff without an error
// stands for all marks, as it does there.
func (e *permanentError) Is(target error) bool {
	switch t := target.(type) {
	case *permanentError:
		return errors.Is(e.err, t.err)
	case *cenkalti.PermanentError:
		return t.Err == nil || errors.Is(e.err, t.Err)
	}
	return false
}

// As makes errors.As find a *PermanentError of cenkalti/backoff.
func (e *permanentError) As(target any) bool {
	t, ok := target.(**cenkalti.PermanentError)
	if ok {
		*t = &cenkalti.PermanentError{Err: e.err}
	}
	return ok
}
