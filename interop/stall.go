package interop

import (
	"context"
	"time"
)

// A machine that is shared stands still at times, and then nothing is late but it. How
// long that was is seen by a timer that does nothing else: beat is how often it goes, and a
// run in which it was late by more than stalled is repeated, up to tries times in all.
const (
	beat    = 10 * time.Millisecond
	stalled = 50 * time.Millisecond
	tries   = 4
)

// watch returns a function that ends the watching and returns by how much the timer was
// late at worst.
func watch() (end func() time.Duration) {
	ctx, cancel := context.WithCancel(context.Background())
	worst := make(chan time.Duration)
	go func() {
		var most time.Duration
		for last := time.Now(); pause(ctx, beat) == nil; {
			now := time.Now()
			most, last = max(most, now.Sub(last)-beat), now
		}
		worst <- most
	}()
	return func() time.Duration {
		cancel()
		return <-worst
	}
}

// steady measures the cell, again if the machine stood still, and returns the result with
// the least of that.
func (c Cell) steady(ctx context.Context, logs string) (best Result, err error) {
	for try := range tries {
		r, err := c.Run(ctx, logs)
		if err != nil {
			return r, err
		}
		if try == 0 || r.Stall < best.Stall {
			best = r
		}
		best.Tries = try + 1
		if best.Stall <= stalled {
			break
		}
	}
	return best, nil
}
