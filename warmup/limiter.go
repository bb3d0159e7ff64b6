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
//
// A caller that wakes late, by up to 2 ms, counts as having gone when it was due.
// So late timers do not make the rate lower; at most the tokens of 2 ms may go as a
// burst.
type Limiter struct {
	// Ramp is the configuration, and must not be changed after the first use: the
	// Limiter has a copy from then on, whose rate SetRate changes. Its Rate must be
	// set: if Ramp.Validate returns an error, Wait returns that error, and Allow is
	// false.
	Ramp Ramp

	mu     sync.Mutex // protects the fields below
	ramp   *Ramp      // nil before the first use: see lock
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
// wraps that of ctx. If Ramp.Validate returns an error, so does Wait. Zero n counts
// as one; negative n and a nil ctx panic.
func (l *Limiter) Wait(ctx context.Context, n int) error {
	mustNotBeNegative(n)
	if ctx == nil {
		panic("warmup: nil context")
	}
	if ctx.Err() != nil {
		return canceled(ctx)
	}
	e, err := l.join(ctx, max(n, 1))
	if e == nil || err != nil {
		return err
	}
	return l.stand(ctx, e)
}

// Allow reports whether n tokens are granted now, and takes them if so. It never
// blocks, and does not overtake callers that wait. If Ramp.Validate returns an
// error, Allow grants nothing. Zero n counts as one; negative n panics.
func (l *Limiter) Allow(n int) bool {
	mustNotBeNegative(n)
	l.lock()
	defer l.mu.Unlock()
	if l.line.Len() > 0 || l.ramp.Validate() != nil {
		return false
	}
	now := time.Now()
	if l.ramp.Next(now, 0).After(now) {
		return false
	}
	l.ramp.Reserve(now, max(n, 1))
	return true
}

// SetRate changes the rate, as [Ramp.SetRate] does. Tokens that were granted are
// paid at the old rate: so the first caller in line still goes when it was due,
// and the callers behind it go at the new rate. A caller that is then too late
// fails when it becomes the first in line, if not earlier. If rate is not
// positive, or NaN, SetRate returns an error and changes nothing: callers would
// wait for 292 years.
func (l *Limiter) SetRate(rate float64) error {
	if err := (&Ramp{Rate: rate}).Validate(); err != nil {
		return err
	}
	l.lock()
	defer l.mu.Unlock()
	l.ramp.SetRate(time.Now(), rate)
	return nil
}

// Chill makes the limiter cold, as [Ramp.Chill] does, for a server that pushed
// back: all callers in line but the first go as slowly as after idling.
func (l *Limiter) Chill() {
	l.lock()
	defer l.mu.Unlock()
	l.ramp.Chill(time.Now())
}

// lock locks mu, and makes the copy of the Ramp unless it is there.
func (l *Limiter) lock() {
	l.mu.Lock()
	if l.ramp == nil {
		r := l.Ramp
		l.ramp = &r
	}
}

// join takes n tokens if the caller may go now; it then returns no element. If
// not, it puts the caller in line and returns the element there, or it returns an
// error if the wait would be too long.
func (l *Limiter) join(ctx context.Context, n int) (*list.Element, error) {
	l.lock()
	defer l.mu.Unlock()
	if err := l.ramp.Validate(); err != nil {
		return nil, err
	}
	// The clock is read with mu held, so that no instant is older than the state.
	now := time.Now()
	at := l.ramp.next(now, l.queued)
	if err := check(ctx, now, at); err != nil {
		return nil, err
	}
	if l.line.Len() == 0 && !at.After(now) {
		l.ramp.Reserve(now, n)
		return nil, nil
	}
	w := &waiter{n: n, first: make(chan struct{})}
	if l.line.Len() == 0 {
		close(w.first)
	}
	l.queued += float64(n)
	return l.line.PushBack(w), nil
}

// stand waits in line. Only the first caller in line has a timer.
func (l *Limiter) stand(ctx context.Context, e *list.Element) error {
	select {
	case <-e.Value.(*waiter).first:
	case <-ctx.Done():
		return l.quit(ctx, e)
	}
	for {
		wait, err := l.release(ctx, e)
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
func (l *Limiter) release(ctx context.Context, e *list.Element) (time.Duration, error) {
	l.lock()
	defer l.mu.Unlock()
	now := time.Now()
	at := l.ramp.Next(now, 0)
	if at.After(now) {
		err := check(ctx, now, at)
		if err != nil {
			l.leave(e)
		}
		return at.Sub(now), err
	}
	// A caller that waited was due when the debt before it was paid. Reserve counts
	// from that instant, unless it lies before the instant that it is given.
	l.ramp.Reserve(now.Add(-lag), e.Value.(*waiter).n)
	l.leave(e)
	return 0, nil
}

// quit takes a caller whose context has ended out of the line.
func (l *Limiter) quit(ctx context.Context, e *list.Element) error {
	l.lock()
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
