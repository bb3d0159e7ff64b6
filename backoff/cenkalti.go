package backoff

import (
	"math"
	"time"

	cenkalti "github.com/cenkalti/backoff/v4"
)

// Cenkalti returns a new BackOff of github.com/cenkalti/backoff/v4 with the delays of b. If b is nil,
// it has the delays of Exponential{}. Like every BackOff of that package it counts retries, and is for
// one operation at a time. It returns Stop if b returns a negative delay, which no type of this
// package does. The WithMaxRetries and WithContext of that package make it end.
func Cenkalti(b Backoff) cenkalti.BackOff {
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
// with everything that was wrapped around the mark. The mark is the *PermanentError of
// github.com/cenkalti/backoff/v4. So each of the two Retry functions stops at the marks of both
// packages.
func Permanent(err error) error {
	return cenkalti.Permanent(err)
}
