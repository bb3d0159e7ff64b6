package warmup

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// lag is how late a waiter may wake and still count as having gone when it was
// due, so that late timers do not make the rate slower than it is set. Go's
// timers fire 0.5 ms late in the median and 1.1 ms at the 99th percentile
// (measured on Linux). It is a burst of at most 2 ms.
const lag = 2 * time.Millisecond

// A Limiter makes callers wait, first in, first out, for what its Ramp grants.
// It is safe for concurrent use, must not be copied once used, has no goroutine
// of its own and needs no Close.
//
// A caller is charged when it goes. Who stops waiting has taken nothing, and
// everybody behind it moves up at once; and when the rate changes, those who
// wait go at the new one. Without either, callers go at the instants at which
// they would with Guava's RateLimiter, where everybody is charged on arrival.
type Limiter struct {
	// Ramp is the configuration, read at the first use, and then the state. It
	// must not be touched after that. Its Rate must be set: if Ramp.Validate has
	// an error, every call returns it.
	Ramp Ramp

	mu     sync.Mutex // protects Ramp and the fields below
	line   list.List  // of *waiter, in order of arrival
	queued float64    // tokens that they ask for together
}

// waiter is one caller in line.
type waiter struct {
	n     int
	first chan struct{} // closed when it is first in line
}

// Wait blocks until n tokens are granted or ctx ends. If the wait cannot end
// before ctx's deadline, it fails at once. The error is an [*Error], which
// wraps that of ctx. Zero n counts as one; negative panics.
func (l *Limiter) Wait(ctx context.Context, n int) error {
	return l.acquire(ctx, n, -1)
}

// TryWait is Wait for a caller who waits for at most maxWait: if it would take
// longer, it fails at once with [ErrMaxWait], and takes nothing. Zero or less
// means that it must go now.
func (l *Limiter) TryWait(ctx context.Context, n int, maxWait time.Duration) error {
	return l.acquire(ctx, n, max(maxWait, 0))
}

// SetRate changes the rate, as [Ramp.SetRate]: what has gone is paid for at the
// old rate, so that who is first in line still goes when it was due, and all
// behind it go at the new one. Those who would then be too late fail when they
// are first, if not earlier. If rate is not positive, or NaN, SetRate returns an
// error and changes nothing.
func (l *Limiter) SetRate(rate float64) error {
	if err := (&Ramp{Rate: rate}).Validate(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Ramp.SetRate(time.Now(), rate)
	return nil
}

// Chill makes the limiter cold, as [Ramp.Chill], for a server which pushed back:
// all who wait, but the first, go as slowly as after idling.
func (l *Limiter) Chill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Ramp.Chill(time.Now())
}

// acquire waits for at most maxWait; negative means no bound.
func (l *Limiter) acquire(ctx context.Context, n int, maxWait time.Duration) error {
	mustNotBeNegative(n)
	n = max(n, 1)
	if ctx.Err() != nil {
		return canceled(ctx)
	}
	e, b, err := l.join(ctx, n, maxWait)
	if e == nil || err != nil {
		return err
	}
	return l.stand(ctx, e, b)
}

// join takes n tokens if they may go now, else it puts the caller in line, where
// that makes sense.
func (l *Limiter) join(ctx context.Context, n int, maxWait time.Duration) (*list.Element, bounds, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.Ramp.Validate(); err != nil {
		return nil, bounds{}, err
	}
	// The clock is read with mu held, so that no caller brings an instant older
	// than the state.
	now := time.Now()
	b := newBounds(ctx, now, maxWait)
	at := l.Ramp.after(now, l.queued)
	if err := b.check(now, at); err != nil {
		return nil, b, err
	}
	if l.line.Len() == 0 && !at.After(now) {
		l.Ramp.Reserve(now, n)
		return nil, b, nil
	}
	w := &waiter{n: n, first: make(chan struct{})}
	if l.line.Len() == 0 {
		close(w.first)
	}
	l.queued += float64(n)
	return l.line.PushBack(w), b, nil
}

// stand waits in line. Only who is first has a timer.
func (l *Limiter) stand(ctx context.Context, e *list.Element, b bounds) error {
	select {
	case <-e.Value.(*waiter).first:
	case <-ctx.Done():
		return l.quit(ctx, e)
	}
	for {
		wait, err := l.advance(e, b)
		if wait <= 0 || err != nil {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return l.quit(ctx, e)
		}
	}
}

// advance lets the caller, who is first in line, go if it may, and else says how
// long it must wait.
func (l *Limiter) advance(e *list.Element, b bounds) (time.Duration, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	at := l.Ramp.Next(now)
	if at.After(now) {
		err := b.check(now, at)
		if err != nil {
			l.leave(e)
		}
		return at.Sub(now), err
	}
	// Whoever waited was due when the debt before it was paid. That is the
	// instant which Reserve takes, as long as it is not before the one given.
	l.Ramp.Reserve(now.Add(-lag), e.Value.(*waiter).n)
	l.leave(e)
	return 0, nil
}

// quit takes a caller whose context has ended out of the line.
func (l *Limiter) quit(ctx context.Context, e *list.Element) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leave(e)
	return canceled(ctx)
}

// leave takes a caller out of the line, and tells who is first now; l.mu is held.
func (l *Limiter) leave(e *list.Element) {
	wasFirst := l.line.Front() == e
	l.line.Remove(e)
	l.queued = max(l.queued-float64(e.Value.(*waiter).n), 0)
	next := l.line.Front()
	switch {
	case next == nil:
		l.queued = 0 // whatever the sum of huge numbers lost
	case wasFirst:
		close(next.Value.(*waiter).first)
	}
}
