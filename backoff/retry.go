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
	// defaultMaxAttempts is the number of attempts in the AWS SDKs, and in Google's SRE book
	// ("Handling Overload").
	defaultMaxAttempts = 3
	// defaultMaxHint is the longest Retry-After for which OpenAI's Python SDK waits. After a longer
	// one it does not retry.
	defaultMaxHint = 2 * time.Minute
)

// Options are the bounds of [Retry] and its delays. The zero value, and nil, mean the defaults. Retry
// only reads Options, so that several goroutines may use the same.
type Options struct {
	// Backoff computes the delays. If nil, Exponential{}.
	Backoff Backoff
	// NewSequence returns a Sequence, such as a BackOff of github.com/cenkalti/backoff, which is used in place
	// of Backoff. Retry calls it once, after the first failure. It must return a new one each time,
	// since these have state. A negative delay, such as Stop of that package, ends the retries. If
	// NewSequence is nil or returns nil, Backoff is used.
	NewSequence func() Sequence
	// MaxAttempts is the number of attempts, the first included. If zero, 3, as in the AWS SDKs. If
	// negative, 1: the first attempt is always made. If NoLimit, there is no limit.
	MaxAttempts int
	// MaxElapsed is how long after the call of Retry an attempt may begin. If zero or Forever, there
	// is no limit. If negative, nothing is retried.
	MaxElapsed time.Duration
	// MaxHint is the longest hint for which Retry waits (see [After]). After a longer hint Retry stops:
	// servers were seen to ask for years, and they would refuse an earlier attempt. If zero, 2 minutes,
	// as in OpenAI's Python SDK. If negative, Retry waits for no hint. If Forever, there is no limit.
	MaxHint time.Duration
	// RetryIf reports whether another attempt may help after an error. If not, Retry returns that error
	// as it is. RetryIf is not called for an error that [Permanent] marks, nor after the context has
	// ended. If nil, another attempt may help after every error that is not marked.
	RetryIf func(error) bool
	// Budget pays for the retries, and gets a deposit for each success. If nil, there is no limit.
	Budget *Budget
	// Notify is called before each delay, in the goroutine of the caller. It can log, count, or keep
	// the errors of all attempts, of which Retry returns only the last one. If nil, it is not called.
	Notify func(Retrying)
}

// Retrying is what Retry tells [Options].Notify.
type Retrying struct {
	// Attempt is the number of the attempt that has just ended, from 1.
	Attempt int
	// Err is the error of that attempt.
	Err error
	// Delay is how long Retry is about to wait. It may be zero.
	Delay time.Duration
}

// Retry calls op until op returns no error, and returns the value of the last call. Between two calls
// it waits for the delays of o.
//
// Retry also stops, and returns an error beside the value of the last call,
//   - at an error that [Permanent] marks, or for which RetryIf returns false: that error is returned as
//     it is;
//   - when ctx ends, even during a delay;
//   - when MaxAttempts or the Budget are used up, or the delays are (see [ErrStopped]);
//   - when the next delay would be in vain, since it would end after the deadline of ctx or later than
//     MaxElapsed allows, or since a hint is longer than MaxHint. Then Retry does not wait at all.
//
// Except in the first case, the error is a *[Error], which wraps the last error of op and says why
// there is no other attempt. If ctx has ended before the call, Retry does not call op. If op derives a
// context from ctx to bound one attempt, the error of that context is an error like any other.
//
// Retry runs in the goroutine of the caller and starts no other. It panics if ctx or op is nil.
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

// Do is [Retry] for an operation that returns an error and no value.
func Do(ctx context.Context, op func(context.Context) error, o *Options) error {
	if op == nil {
		panic("backoff: nil operation")
	}
	_, err := Retry(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, op(ctx) }, o)
	return err
}

// loop is the state of one call of Retry, without its type parameter.
type loop struct {
	options  Options
	start    time.Time
	attempts int
	backoff  Sequence // nil until the first failure
}

// next waits until another attempt may follow the attempt that failed with err. If none may follow, it
// returns the error of Retry.
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
	if most := l.options.maxAttempts(); most != NoLimit && l.attempts >= most {
		return l.stop(ErrAttempts, 0, err)
	}
	delay, because := l.delay(ctx, err)
	if because == nil && !l.options.Budget.Withdraw() {
		because = ErrBudget
	}
	if because != nil {
		return l.stop(because, delay, err)
	}
	if !l.wait(ctx, err, delay) {
		return l.stop(ended(ctx), delay, err)
	}
	return nil
}

// wait waits for delay and reports whether ctx has not ended. If it has ended, or if Notify panics,
// the retry is not made and goes back to the budget.
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

// delay returns the delay before the next attempt. If the delay must not be begun, it also returns
// why.
func (l *loop) delay(ctx context.Context, err error) (time.Duration, error) {
	if l.backoff == nil {
		l.backoff = l.options.sequence()
	}
	delay := l.backoff.NextBackOff()
	if delay < 0 {
		return 0, ErrStopped
	}
	asked := hint(err)
	delay = max(delay, asked+min(delay, asked/10, math.MaxInt64-asked))
	if most := l.options.maxHint(); asked > most {
		return delay, ErrHint
	}
	now := time.Now()
	if l.options.exceedsElapsed(now.Sub(l.start), delay) {
		return delay, ErrElapsed
	}
	// A delay that ends exactly at the deadline is too long: the context has ended then.
	if deadline, ok := ctx.Deadline(); ok && delay >= deadline.Sub(now) {
		return delay, ErrDeadline
	}
	return delay, nil
}

// stop returns an Error.
func (l *loop) stop(because error, delay time.Duration, err error) error {
	e := &Error{Attempts: l.attempts, Elapsed: time.Since(l.start), Delay: delay, Because: because, Err: err}
	switch {
	case errors.Is(because, ErrElapsed):
		e.bound = fmt.Sprintf(" (%v)", l.options.MaxElapsed)
	case errors.Is(because, ErrHint):
		e.bound = fmt.Sprintf(" (%v)", l.options.maxHint())
	}
	return e
}

// sleep waits for d, or until ctx ends, and reports whether ctx has not ended.
func sleep(ctx context.Context, d time.Duration) bool {
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	// If both have happened, the context decides, always.
	return ctx.Err() == nil
}

// ended returns an error that says why ctx has ended. It wraps the Err of ctx even if ctx has a cause of
// its own: so it is known whether the deadline ended it.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// sequence returns the delays of one call of Retry.
func (o *Options) sequence() Sequence {
	if o.NewSequence != nil {
		if b := o.NewSequence(); b != nil {
			b.Reset() // as the loop of that package does
			return b
		}
	}
	return SequenceOf(o.Backoff)
}

// maxAttempts returns what MaxAttempts means; NoLimit means no limit.
func (o *Options) maxAttempts() int {
	if o.MaxAttempts == 0 {
		return defaultMaxAttempts
	}
	return max(o.MaxAttempts, 1)
}

// exceedsElapsed reports whether an attempt would begin later than MaxElapsed allows, if it begins
// after a delay from now, and elapsed is the time from the call of Retry until now.
func (o *Options) exceedsElapsed(elapsed, delay time.Duration) bool {
	switch most := o.MaxElapsed; {
	case most == 0 || most == Forever:
		return false
	case most < 0:
		return true // although no time may have passed
	default:
		return delay > most-elapsed // elapsed + delay may overflow
	}
}

// maxHint returns what MaxHint means; no hint is longer than Forever.
func (o *Options) maxHint() time.Duration { return orElse(o.MaxHint, defaultMaxHint) }
