package backoff

import (
	"math"
	"time"

	cenkalti "github.com/cenkalti/backoff/v4"
)

// Cenkalti returns a new BackOff of github.com/cenkalti/backoff/v4 with the delays of b, or of the zero Exponential if b is nil.
// Like all of theirs it counts and is for one operation at a time. It returns Stop if b returns a negative delay, which those of this
// package never do; their WithMaxRetries and WithContext make it end.
func Cenkalti(b Backoff) cenkalti.BackOff {
	if b == nil {
		b = Exponential{}
	}
	return &counter{backoff: b}
}

// counter remembers what a Backoff needs to know of one operation.
type counter struct {
	backoff Backoff
	n       int // retries so far
	prev    time.Duration
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

// Permanent marks err as one that another attempt cannot cure. It returns nil if err is nil.
//
// [Retry] stops at an error which has the mark anywhere in its chain and returns it as it is, with all that was wrapped around it. The mark is
// the *PermanentError of github.com/cenkalti/backoff/v4, so it is understood by their Retry, and theirs by ours.
func Permanent(err error) error {
	return cenkalti.Permanent(err)
}
