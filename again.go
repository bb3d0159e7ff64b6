package pacer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	cenkalti "github.com/cenkalti/backoff/v4"

	"github.com/gopacer/pacer/backoff"
	"github.com/gopacer/pacer/internal/body"
	"github.com/gopacer/pacer/internal/verdict"
	"github.com/gopacer/pacer/throttle"
)

// exchange is one request on its way through several attempts.
type exchange struct {
	t         *Transport
	req       *http.Request  // the caller's
	terms     terms          // of the next attempt
	lastGrant throttle.Grant // of the latest
	firstSent time.Time      // when it was sent for the first time

	resp *http.Response // of the latest attempt, kept until the next is on its way
	err  error

	failures  int // that failed
	refusals  int
	lastDelay time.Duration // of the latest backoff
	backOff   cenkalti.BackOff
}

// Why a request is not sent again; see Trace.GaveUp.
var (
	ErrAttempts = errors.New("pacer: sent MaxAttempts times")
	ErrRefusals = errors.New("pacer: refused by the server MaxRefusals times")
	ErrHint     = errors.New("pacer: the server asks for a wait over MaxWait")
	ErrDeadline = errors.New("pacer: the next attempt would miss the context's deadline")
	ErrElapsed  = errors.New("pacer: the next attempt would begin later than MaxElapsed")
	ErrBudget   = errors.New("pacer: the local retry budget of the bucket is used up")
	ErrStopped  = errors.New("pacer: the BackOff says to stop")
)

// again sends the request until an attempt is final or bounds are reached, and
// returns the latest outcome.
func (x *exchange) again(ctx context.Context, v verdict.Verdict) (*http.Response, error) {
	for v.Kind != verdict.Final {
		g, next, err := x.prepare(ctx, v)
		if err != nil {
			return x.giveUp(ctx, err)
		}
		body.Discard(x.resp)
		x.lastGrant = g
		x.resp, v, x.err = x.t.attempt(x.req, next, &x.terms, &g)
	}
	return x.resp, x.err
}

// prepare does all that comes before another attempt, or returns why there is none.
func (x *exchange) prepare(ctx context.Context, v verdict.Verdict) (g throttle.Grant, next *http.Request, err error) {
	budget := x.budget()
	if v.Kind == verdict.Refused {
		err = x.onRefusal()
	} else {
		err = x.onFailure(ctx, v.After)
	}
	if err != nil {
		return g, nil, err
	}
	if g, err = x.acquire(ctx); err == nil {
		if next, err = x.nextRequest(ctx, &g); err == nil {
			return g, next, nil
		}
	}
	if v.Kind == verdict.Failed {
		budget.Refund()
	}
	return g, nil, err
}

// onRefusal counts a refusal, and takes the request back to its place in line.
func (x *exchange) onRefusal() error {
	x.refusals++
	if x.refusals > x.t.maxRefusals() {
		return ErrRefusals
	}
	x.terms.claim.After = &x.lastGrant
	x.traceRetry(true, 0)
	return nil
}

// onFailure counts a failure, and waits before the next attempt if there is to be one.
// A delay that the server asks for is not cut: if it is too long, there is none.
func (x *exchange) onFailure(ctx context.Context, after time.Duration) error {
	x.failures++
	switch {
	case x.failures >= x.t.maxAttempts():
		return ErrAttempts
	case after > max(x.t.maxWait(), 0):
		return ErrHint
	}
	delay, err := x.nextDelay()
	if err != nil {
		return err
	}
	x.lastDelay = delay // what follows is as if the server had not asked for more
	if delay < after {
		delay = after + min(delay, after/10) // those who were told the same do not come back together
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= delay {
		return ErrDeadline
	}
	if most := x.t.MaxElapsed; most > 0 && most-time.Since(x.firstSent) <= delay {
		return ErrElapsed
	}
	if !x.budget().Withdraw() {
		return ErrBudget
	}
	// It is a new claim: it pays and waits like everybody.
	x.terms.claim.After = nil
	x.traceRetry(false, delay)
	if err = x.sleep(ctx, delay); err != nil {
		x.budget().Refund()
	}
	return err
}

// nextDelay returns the delay of the backoff, or why there is none.
func (x *exchange) nextDelay() (time.Duration, error) {
	if x.t.NewBackOff != nil && x.backOff == nil {
		if x.backOff = x.t.NewBackOff(); x.backOff != nil {
			x.backOff.Reset() // as their own loop does
		}
	}
	if x.backOff != nil {
		return unlessStopped(x.backOff.NextBackOff())
	}
	switch policy := x.t.Backoff.(type) {
	case nil:
		return backoff.Exponential{Rand: x.t.Rand}.Delay(x.failures, x.lastDelay), nil
	case retryableBackoff:
		d := policy.delayAfter(x.failures, x.resp)
		if d > max(x.t.maxWait(), 0) { // it is the server's: theirs bound their own
			return 0, ErrHint
		}
		return d, nil
	default:
		return unlessStopped(policy.Delay(x.failures, x.lastDelay))
	}
}

// unlessStopped returns why a negative delay is none: cenkalti.Stop, and what overflows.
func unlessStopped(delay time.Duration) (time.Duration, error) {
	if delay < 0 {
		return 0, ErrStopped
	}
	return delay, nil
}

// acquire waits for the next turn. The answer at hand is kept meanwhile.
func (x *exchange) acquire(ctx context.Context) (g throttle.Grant, err error) {
	x.terms.sentAt = time.Time{}
	within := ctx
	if most := x.t.MaxElapsed; most > 0 {
		var cancel context.CancelFunc
		within, cancel = context.WithDeadlineCause(ctx, x.firstSent.Add(most), ErrElapsed)
		defer cancel()
	}
	if err = x.t.acquire(within, x.req, &x.terms, &g, x.readAhead); err == nil {
		return g, nil
	}
	if end, ok := ctx.Deadline(); errors.Is(err, context.DeadlineExceeded) && within != ctx && (!ok || end.After(x.firstSent.Add(x.t.MaxElapsed))) {
		err = fmt.Errorf("%w: %w", ErrElapsed, err)
	}
	return g, err
}

// budget is that of the bucket that granted the latest attempt.
func (x *exchange) budget() *backoff.Budget { return &bucketOf(x.lastGrant.Limiter()).budget }

// giveUp returns the answer at hand rather than the reason why there will be no
// other, unless the caller has gone.
func (x *exchange) giveUp(ctx context.Context, why error) (*http.Response, error) {
	x.t.Trace.gaveUp(GaveUp{
		Request: x.req, Bucket: x.lastGrant.Limiter().Name, Attempts: max(x.failures+x.refusals, 1),
		Status: x.status(), Err: x.err, Why: why,
	})
	gone := ctx.Err() != nil || errors.Is(why, throttle.ErrCanceled)
	switch {
	case x.resp != nil && !gone:
		return x.resp, nil
	case x.resp != nil:
		x.resp.Body.Close()
		return nil, why
	case gone:
		return nil, fmt.Errorf("%w; not sent again: %w", x.err, why)
	}
	return nil, x.err
}

// status is that of the answer at hand, zero if there is none.
func (x *exchange) status() int {
	if x.resp == nil {
		return 0
	}
	return x.resp.StatusCode
}

// nextRequest returns a request for the next attempt: a late writer of the last one may
// still read what that was given. If those who prepare it return an error, or panic, the
// grant goes back.
func (x *exchange) nextRequest(ctx context.Context, g *throttle.Grant) (*http.Request, error) {
	prepared := false
	defer func() {
		if !prepared {
			g.Cancel()
		}
	}()
	next := x.req.Clone(ctx)
	if x.req.Body != nil && x.req.Body != http.NoBody {
		body, err := x.req.GetBody()
		if err != nil {
			return nil, fmt.Errorf("pacer: GetBody for another attempt: %w", err)
		}
		next.Body = body
	}
	if x.t.ResendHeader != "" {
		next.Header.Set(x.t.ResendHeader, strconv.Itoa(x.failures+x.refusals))
	}
	if x.t.PrepareRetry != nil {
		if err := x.t.PrepareRetry(next); err != nil {
			closeBody(next)
			return nil, fmt.Errorf("pacer: PrepareRetry: %w", err)
		}
	}
	prepared = true
	return next, nil
}

// sleep waits for d. The answer at hand is kept meanwhile.
func (x *exchange) sleep(ctx context.Context, d time.Duration) error {
	x.readAhead()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-x.terms.claim.Cancel:
		return throttle.ErrCanceled
	}
}

// readAhead reads the answer at hand ahead while the request waits, so that the answer can still be returned but
// does not hold a connection.
func (x *exchange) readAhead() {
	if x.resp != nil {
		x.resp.Body = body.ReadAhead(x.resp.Body)
	}
}

func (x *exchange) traceRetry(refusal bool, delay time.Duration) {
	x.t.Trace.retrying(Retrying{
		Request: x.req, Bucket: x.lastGrant.Limiter().Name, Attempt: x.failures + x.refusals + 1,
		Refusal: refusal, Status: x.status(), Err: x.err, Delay: delay,
	})
}
