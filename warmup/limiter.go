package warmup

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// lag is how late a waiter may wake and still count as having gone when it was
// due, so that late timers do not make the rate lower than it is set. Go's timers
// fire 0.5 ms late in the median and 1.1 ms at the 99th percentile (measured on
// Linux). The price is a burst of at most the tokens of 2 ms.
const lag = 2 * time.Millisecond

// A Limiter makes callers wait, first in, first out, for what its Ramp grants.
// It is safe for concurrent use, must not be copied once used, has no goroutine
// of its own and needs no Close.
//
// A caller is charged when it goes. A caller that stops waiting has taken nothing,
// and every caller behind it moves up at once. When the rate changes, the callers
// that wait go at the new rate. If neither happens, callers go at the same
// instants as with Guava's RateLimiter, which charges every caller on arrival.
type Limiter struct {
	// Ramp is the configuration until the first use, and the state after it. It
	// must not be read or changed after the first use. Its Rate must be set: if
	// Ramp.Validate returns an error, every call returns that error.
	Ramp Ramp

	mu     sync.Mutex // protects Ramp and the fields below
	line   list.List  // of *waiter, in order of arrival
	queued float64    // tokens that all waiters in line ask for
}

// waiter is one caller in line.
type waiter struct {
	n     int           // tokens that it asks for
	first chan struct{} // closed when the waiter is first in line
}

// Wait blocks until n tokens are granted or ctx ends. If the wait cannot end
// before the deadline of ctx, Wait fails at once. The error is an [*Error], which
// wraps the error of ctx. Zero n counts as one; negative n panics.
func (l *Limiter) Wait(ctx context.Context, n int) error {
	return l.acquire(ctx, n, -1)
}

// TryWait is Wait for a caller that waits for maxWait at most. If the wait would be
// longer, TryWait fails at once with [ErrMaxWait] and takes nothing. Zero or
// negative maxWait means that the caller does not wait at all.
func (l *Limiter) TryWait(ctx context.Context, n int, maxWait time.Duration) error {
	return l.acquire(ctx, n, max(maxWait, 0))
}

// SetRate changes the rate, as [Ramp.SetRate] does. Tokens that were granted are
// paid at the old rate: so the first caller in line still goes when it was due,
// and the callers behind it go at the new rate. A caller that is then too late
// fails when it becomes the first in line, if not earlier. If rate is not
// positive, or NaN, SetRate returns an error and changes nothing.
func (l *Limiter) SetRate(rate float64) error {
	if err := (&Ramp{Rate: rate}).Validate(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Ramp.SetRate(time.Now(), rate)
	return nil
}

// Chill makes the limiter cold, as [Ramp.Chill] does, for a server that pushed
// back: all callers in line but the first go as slowly as after idling.
func (l *Limiter) Chill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Ramp.Chill(time.Now())
}

// acquire waits for maxWait at most; negative means no bound.
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

// join takes n tokens if the caller may go now; it then returns no element. If
// not, it puts the caller in line and returns the element there, or it returns an
// error if the wait would be too long.
func (l *Limiter) join(ctx context.Context, n int, maxWait time.Duration) (*list.Element, bounds, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.Ramp.Validate(); err != nil {
		return nil, bounds{}, err
	}
	// The clock is read with mu held, so that no instant is older than the state.
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

// stand waits in line. Only the first caller in line has a timer.
func (l *Limiter) stand(ctx context.Context, e *list.Element, b bounds) error {
	select {
	case <-e.Value.(*waiter).first:
	case <-ctx.Done():
		return l.quit(ctx, e)
	}
	for {
		wait, err := l.release(e, b)
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

// release grants the first caller in line its tokens, if it may go now. If not, it
// returns how long the caller must wait, or an error if that is too long.
func (l *Limiter) release(e *list.Element, b bounds) (time.Duration, error) {
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
	// A caller that waited was due when the debt before it was paid. Reserve counts
	// from that instant, unless it lies before the instant that it is given.
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

// leave takes a caller out of the line, and wakes the caller that is first then.
// It requires that l.mu is held.
func (l *Limiter) leave(e *list.Element) {
	wasFirst := l.line.Front() == e
	l.line.Remove(e)
	l.queued = max(l.queued-float64(e.Value.(*waiter).n), 0)
	next := l.line.Front()
	switch {
	case next == nil:
		l.queued = 0 // the sum of huge numbers may have lost some bits
	case wasFirst:
		close(next.Value.(*waiter).first)
	}
}
