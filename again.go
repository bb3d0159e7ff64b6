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

// exchange is a request whose first attempt was refused or failed, on its way through further attempts.
type exchange struct {
	t         *Transport
	req       *http.Request   // as the caller gave it, or as alter made it
	terms     terms           // of the next attempt
	last      *throttle.Grant // grant of the latest attempt
	firstSent time.Time       // when the request was sent for the first time

	resp *http.Response // of the latest attempt, kept until the next attempt is sent; nil if there was no answer
	err  error

	failures  int           // attempts that failed
	refusals  int           // attempts that the server refused as too early
	lastDelay time.Duration // of the latest backoff, which some policies start from
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

// again sends the request until an attempt is final or a bound is reached, and returns the outcome of the
// latest attempt.
func (x *exchange) again(ctx context.Context, v verdict.Verdict) (*http.Response, error) {
	for v.Kind != verdict.Final {
		g, next, err := x.prepare(ctx, v)
		if err != nil {
			return x.giveUp(ctx, err)
		}
		body.Discard(x.resp)
		if x.last = g; x.terms.call != nil {
			x.terms.call.addSend(x.t, g)
		}
		x.resp, v, x.err = x.t.attempt(x.req, next, &x.terms, g)
	}
	return x.resp, x.err
}

// prepare does all that comes before another attempt, and returns its grant and its request. If there is to
// be no other attempt, the error says why.
func (x *exchange) prepare(ctx context.Context, v verdict.Verdict) (g *throttle.Grant, next *http.Request, err error) {
	budget := x.budget()
	if v.Kind == verdict.Refused {
		err = x.onRefusal()
	} else {
		err = x.onFailure(ctx, v.After)
	}
	if err != nil {
		return nil, nil, err
	}
	if g, err = x.acquire(ctx); err == nil {
		if next, err = x.nextRequest(ctx, g); err == nil {
			return g, next, nil
		}
	}
	if v.Kind == verdict.Failed {
		budget.Refund()
	}
	return nil, nil, err
}

// onRefusal counts a refusal, and asks for the request's old place in line.
func (x *exchange) onRefusal() error {
	x.refusals++
	if x.refusals > x.t.maxRefusals() {
		return ErrRefusals
	}
	x.terms.claim.After = x.last
	x.traceRetry(true, 0)
	return nil
}

// onFailure counts a failure, and waits for the backoff, or returns why there is to be no other attempt. A
// delay that the server asks for is never shortened: if it is too long, there is no other attempt.
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
	x.lastDelay = delay // without what the server asks for, so that the next delay does not grow from that
	if delay < after {
		// Clients that were told the same delay do not come back at the same instant.
		delay = after + min(delay, after/10)
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
	// A retry of a failure is a new claim: it pays again, and waits at the end of the line.
	x.terms.claim.After = nil
	x.traceRetry(false, delay)
	if err = x.sleep(ctx, delay); err != nil {
		x.budget().Refund()
	}
	return err
}

// nextDelay returns the delay of the backoff, or why there is to be no other attempt.
func (x *exchange) nextDelay() (time.Duration, error) {
	if x.t.NewBackOff != nil && x.backOff == nil {
		if x.backOff = x.t.NewBackOff(); x.backOff != nil {
			x.backOff.Reset() // as the loop of cenkalti/backoff does
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
		// A longer delay comes from Retry-After: what their Backoff computes itself is bounded by its max.
		if d > max(x.t.maxWait(), 0) {
			return 0, ErrHint
		}
		return d, nil
	default:
		return unlessStopped(policy.Delay(x.failures, x.lastDelay))
	}
}

// unlessStopped returns the delay, or ErrStopped if the delay is negative: cenkalti.Stop is, and so is a
// delay that has overflowed.
func unlessStopped(delay time.Duration) (time.Duration, error) {
	if delay < 0 {
		return 0, ErrStopped
	}
	return delay, nil
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

// acquire waits for the next turn, until MaxElapsed at most. The answer at hand is kept meanwhile.
func (x *exchange) acquire(ctx context.Context) (g *throttle.Grant, err error) {
	x.terms.sentAt = time.Time{}
	within := ctx
	if most := x.t.MaxElapsed; most > 0 {
		var cancel context.CancelFunc
		within, cancel = context.WithDeadlineCause(ctx, x.firstSent.Add(most), ErrElapsed)
		defer cancel()
	}
	if g, err = x.t.acquire(within, x.req, &x.terms, x.readAhead); err == nil {
		return g, nil
	}
	if end, ok := ctx.Deadline(); errors.Is(err, context.DeadlineExceeded) && within != ctx && (!ok || end.After(x.firstSent.Add(x.t.MaxElapsed))) {
		err = fmt.Errorf("%w: %w", ErrElapsed, err)
	}
	return nil, err
}

// budget returns the retry budget of the bucket that granted the latest attempt.
func (x *exchange) budget() *backoff.Budget { return &bucketOf(x.last.Limiter()).budget }

// nextRequest returns the request for the next attempt. It is always a copy: the goroutine that writes the
// body of the previous attempt may still read the previous request. If GetBody or PrepareRetry returns an
// error or panics, the grant is given back.
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

// readAhead begins to read the answer at hand while the request waits: the answer can still be returned,
// and its connection becomes free.
func (x *exchange) readAhead() {
	if x.resp != nil {
		x.resp.Body = body.ReadAhead(x.resp.Body)
	}
}

// traceRetry tells Trace that the request will be sent again.
func (x *exchange) traceRetry(refusal bool, delay time.Duration) {
	x.t.Trace.retrying(Retrying{
		Request: x.req, Bucket: x.last.Limiter().Name, Attempt: x.failures + x.refusals + 1,
		Refusal: refusal, Status: x.status(), Err: x.err, Delay: delay,
	})
}

// status returns the status of the answer at hand, zero if there is no answer.
func (x *exchange) status() int {
	if x.resp == nil {
		return 0
	}
	return x.resp.StatusCode
}

// giveUp returns the answer at hand, or the error of the latest attempt. It returns why only if the caller
// has canceled the request.
func (x *exchange) giveUp(ctx context.Context, why error) (*http.Response, error) {
	x.t.Trace.gaveUp(GaveUp{
		Request: x.req, Bucket: x.last.Limiter().Name, Attempts: max(x.failures+x.refusals, 1),
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
