package backoff

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	cenkalti "github.com/cenkalti/backoff/v4"
)

const (
	// defaultMaxAttempts is the number of attempts in the AWS SDKs and in Google's SRE book, "Handling Overload".
	defaultMaxAttempts = 3
	// defaultMaxHint is the longest Retry-After that OpenAI's Python SDK waits for; beyond it, it does not retry.
	defaultMaxHint = 2 * time.Minute
)

// Options are the bounds of [Retry] and its delays. The zero value, and nil, mean the defaults.
// Retry only reads it, so that one may be shared between goroutines.
type Options struct {
	// Backoff computes the delays. If nil, Exponential{}.
	Backoff Backoff
	// NewBackOff makes a BackOff of github.com/cenkalti/backoff/v4 for each call of Retry, to be used in place of Backoff. It must be a
	// new one each time, since theirs have state. Its Stop, as any negative delay, ends the retries.
	// If nil, or if it returns nil, Backoff is used.
	NewBackOff func() cenkalti.BackOff
	// MaxAttempts is the number of attempts, the first included. If zero, 3. If negative, there is no limit.
	MaxAttempts int
	// MaxElapsed is how long after the call of Retry an attempt may begin. If zero or negative, there is no limit.
	MaxElapsed time.Duration
	// MaxHint is the longest hint that is waited for (see [After]): beyond it Retry stops, since servers were seen to ask for years and
	// an earlier attempt would be refused. If zero, 2 minutes. If negative, there is no limit.
	MaxHint time.Duration
	// RetryIf reports whether another attempt may help after an error; if not, Retry returns that error as it is. It is not asked about
	// what [Permanent] marks, nor once the context has ended. If nil, another attempt may help after all other errors.
	RetryIf func(error) bool
	// Budget pays for the retries, and gets a deposit for a success. If nil, there is no limit.
	Budget *Budget
	// Notify is called before each delay, in the caller's goroutine: to log, to count, or to keep the errors of all attempts,
	// of which Retry returns the last. If nil, it is not called.
	Notify func(Retrying)
}

// Retrying is what [Options].Notify is told.
type Retrying struct {
	// Attempt is the number of the attempt that failed, from 1.
	Attempt int
	// Err is its error.
	Err error
	// Delay is how long Retry is about to wait.
	Delay time.Duration
}

// Retry calls op until it returns no error, and returns what the last call returned.
//
// Between the calls it waits for the delays of o. It stops, with that last value and an error,
//   - at an error that is marked by [Permanent], or that RetryIf has no hope for, which it returns as it is;
//   - when ctx ends, also during a delay;
//   - when attempts or the budget are used up, or when the delay would end after the deadline of ctx, or later than o allows: at once,
//     without waiting in vain.
//
// The error of all but the first is a *[RetryError], which wraps the cause and the last error of op. If ctx has ended already, op is not
// called. An error of a context that op derived from ctx, to bound one attempt, is one like any other.
//
// It runs in the caller's goroutine and starts no other. It panics if ctx or op is nil.
func Retry[T any](ctx context.Context, op func(context.Context) (T, error), o *Options) (T, error) {
	if ctx == nil {
		panic("backoff: nil context")
	}
	if op == nil {
		panic("backoff: nil operation")
	}
	l := loop{start: time.Now()}
	if o != nil {
		l.options = *o
	}
	if ctx.Err() != nil {
		var none T
		return none, l.stop(ended(ctx), 0, nil)
	}
	for {
		v, err := op(ctx)
		if err == nil {
			l.options.Budget.Deposit()
			return v, nil
		}
		if err = l.next(ctx, err); err != nil {
			return v, err
		}
	}
}

// Do is [Retry] for an operation that returns nothing but an error.
func Do(ctx context.Context, op func(context.Context) error, o *Options) error {
	if op == nil {
		panic("backoff: nil operation")
	}
	_, err := Retry(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, op(ctx) }, o)
	return err
}

// loop is the state of one Retry, apart from its type parameter.
type loop struct {
	options  Options
	start    time.Time
	attempts int
	backoff  cenkalti.BackOff // nil until the first failure
}

// next waits until another attempt may follow the one that failed with err, or returns the error that Retry ends with.
func (l *loop) next(ctx context.Context, err error) error {
	if l.attempts < math.MaxInt {
		l.attempts++
	}
	var permanent *cenkalti.PermanentError
	if errors.As(err, &permanent) {
		return err
	}
	if ctx.Err() != nil {
		return l.stop(ended(ctx), 0, err)
	}
	if l.options.RetryIf != nil && !l.options.RetryIf(err) {
		return err
	}
	if most := l.options.maxAttempts(); most > 0 && l.attempts >= most {
		return l.stop(ErrAttempts, 0, err)
	}
	delay, cause := l.delay(ctx, err)
	if cause == nil && !l.options.Budget.Withdraw() {
		cause = ErrBudget
	}
	if cause != nil {
		return l.stop(cause, delay, err)
	}
	if !l.wait(ctx, err, delay) {
		return l.stop(ended(ctx), delay, err)
	}
	return nil
}

// wait waits and reports whether ctx is still alive. A retry that is not made, also because Notify panics, goes back to the budget.
func (l *loop) wait(ctx context.Context, err error, delay time.Duration) (alive bool) {
	defer func() {
		if !alive {
			l.options.Budget.Refund()
		}
	}()
	if l.options.Notify != nil {
		l.options.Notify(Retrying{Attempt: l.attempts, Err: err, Delay: delay})
	}
	return sleep(ctx, delay)
}

// delay returns the delay before the next attempt, and the cause if it must not be begun.
func (l *loop) delay(ctx context.Context, err error) (time.Duration, error) {
	if l.backoff == nil {
		l.backoff = l.options.newBackOff()
	}
	delay := l.backoff.NextBackOff()
	if delay < 0 {
		return 0, ErrStopped
	}
	asked := hint(err)
	delay = max(delay, asked+min(delay, asked/10, math.MaxInt64-asked))
	if most := l.options.maxHint(); most > 0 && asked > most {
		return delay, ErrHint
	}
	now := time.Now()
	// The sum with delay may overflow, these differences do not.
	if most := l.options.MaxElapsed; most > 0 && delay > most-now.Sub(l.start) {
		return delay, ErrElapsed
	}
	// At the deadline itself the context has ended.
	if deadline, ok := ctx.Deadline(); ok && delay >= deadline.Sub(now) {
		return delay, ErrDeadline
	}
	return delay, nil
}

func (l *loop) stop(cause error, delay time.Duration, err error) error {
	return &RetryError{Attempts: l.attempts, Elapsed: time.Since(l.start), Delay: delay, Cause: cause, Err: err}
}

// sleep waits for d and reports whether ctx is still alive.
func sleep(ctx context.Context, d time.Duration) bool {
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	// Both may have happened: then the context decides, always.
	return ctx.Err() == nil
}

// ended returns what ended ctx. A cause of its own does not hide whether it was the deadline.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

func (o *Options) newBackOff() cenkalti.BackOff {
	if o.NewBackOff != nil {
		if b := o.NewBackOff(); b != nil {
			b.Reset() // as their own loop does
			return b
		}
	}
	return Cenkalti(o.Backoff)
}

func (o *Options) maxAttempts() int {
	if o.MaxAttempts == 0 {
		return defaultMaxAttempts
	}
	return o.MaxAttempts
}

func (o *Options) maxHint() time.Duration {
	if o.MaxHint == 0 {
		return defaultMaxHint
	}
	return o.MaxHint
}
