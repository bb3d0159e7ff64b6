package pacer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	cenkalti "github.com/cenkalti/backoff/v4"
	"github.com/hashicorp/go-retryablehttp"

	"github.com/gopacer/pacer/backoff"
	"github.com/gopacer/pacer/headers"
	"github.com/gopacer/pacer/throttle"
)

// verdict says what an attempt means for the next.
type verdict struct {
	kind  verdictKind
	after time.Duration // not to be retried before; a lower bound of the backoff
}

type verdictKind int

const (
	final   verdictKind = iota // it is what the caller gets
	refused                    // not yet: back in line
	failed                     // retry, within attempts and budget
)

// judge says what a refusal, or another answer of 400 and above, means. The server's own
// word on retrying comes first. A quota that is spent for the day is not waited for.
func (t *Transport) judge(req *http.Request, tm *terms, resp *http.Response, refusal bool, hint headers.Retry) verdict {
	v := verdict{}
	if hint.Known {
		v.after = hint.After
	}
	switch {
	case hint.Word == headers.NeverRetry || hint.Cause == headers.Spent || !replayable(req) || tm.mode == Observe:
	case refusal:
		v.kind = refused
	case hint.Cause == headers.Busy && idempotent(req):
		v.kind = failed
	case hint.Word == headers.ShouldRetry:
		v.kind = failed
	case idempotent(req) && t.retryable(req, resp, nil):
		v.kind = failed
	}
	return v
}

// judgeError says what it means that there was no answer.
func (t *Transport) judgeError(req *http.Request, tm *terms, err error) verdict {
	var local *throttle.Error
	switch {
	case req.Context().Err() != nil || errors.As(err, &local): // the caller, or a pacer below, gave up
	case tm.mode == Observe || !replayable(req):
	case (idempotent(req) || neverSent(err)) && t.retryable(req, nil, err):
		return verdict{kind: failed}
	}
	return verdict{}
}

// retryable asks CheckRetry, or go-retryablehttp's table: statuses 5xx but 501, and
// all errors but those of certificates, schemes, redirects and headers. It is given
// a url.Error, since it misjudges bare errors.
func (t *Transport) retryable(req *http.Request, resp *http.Response, err error) bool {
	if t.CheckRetry != nil {
		again, stop := t.CheckRetry(req.Context(), resp, err)
		return again && stop == nil
	}
	var dns *net.DNSError
	switch {
	case err != nil && errors.As(err, &dns) && dns.IsNotFound:
		return false // no such host: trying again does not make it
	case err != nil:
		err = &url.Error{Op: req.Method, URL: req.URL.String(), Err: err}
	case resp.StatusCode == http.StatusRequestTimeout, resp.StatusCode == http.StatusTooEarly:
		return true
	case resp.StatusCode < 500:
		return false
	}
	again, _ := retryablehttp.ErrorPropagatedRetryPolicy(req.Context(), resp, err)
	return again
}

// idempotent reports whether sending twice is the same as sending once: the methods
// of RFC 9110 section 9.2.2 and QUERY, or an Idempotency-Key, by the rule of
// net/http that the header's presence is enough.
func idempotent(req *http.Request) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete, "QUERY":
		return true
	}
	_, key := req.Header["Idempotency-Key"]
	_, xkey := req.Header["X-Idempotency-Key"]
	return key || xkey
}

// replayable reports whether the body can be sent again.
func replayable(req *http.Request) bool {
	return req.Body == nil || req.Body == http.NoBody || req.GetBody != nil
}

// neverSent reports whether an error proves that nothing reached the server: no
// connection was made.
func neverSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// exchange is one request on its way through several attempts.
type exchange struct {
	t      *Transport
	req    *http.Request // the caller's
	bucket *bucket
	terms  terms          // of the next attempt
	place  throttle.Place // of the latest

	resp *http.Response // of the latest attempt, kept until the next is on its way
	err  error

	attempts int // that failed
	refusals int
	delay    time.Duration // of the latest backoff
	backOff  cenkalti.BackOff
}

// Why a request is not sent again; see Trace.GaveUp.
var (
	ErrAttempts = errors.New("pacer: sent MaxAttempts times")
	ErrRefusals = errors.New("pacer: refused by the server MaxRefusals times")
	ErrHint     = errors.New("pacer: the server asks for a wait over MaxWait")
	ErrDeadline = errors.New("pacer: the next attempt would miss the context's deadline")
	ErrBudget   = errors.New("pacer: the local retry budget of the bucket is used up")
	ErrStopped  = errors.New("pacer: the BackOff says to stop")
)

// again sends the request until an attempt is final or bounds are reached, and
// returns the latest outcome.
func (x *exchange) again(ctx context.Context, v verdict) (*http.Response, error) {
	for v.kind != final {
		g, next, err := x.prepare(ctx, v)
		if err != nil {
			return x.giveUp(ctx, err)
		}
		discard(x.resp)
		x.resp, v, x.err = x.t.attempt(x.req, next, &x.terms, x.bucket, &g)
		x.place = g.Place()
	}
	return x.resp, x.err
}

// prepare does all that comes before another attempt, or returns why there is none.
func (x *exchange) prepare(ctx context.Context, v verdict) (g throttle.Grant, next *http.Request, err error) {
	if v.kind == refused {
		err = x.refused()
	} else {
		err = x.failed(ctx, v.after)
	}
	if err != nil {
		return g, nil, err
	}
	if g, err = x.acquire(ctx); err == nil {
		if next, err = x.copy(ctx); err == nil {
			return g, next, nil
		}
		g.Cancel()
	}
	if v.kind == failed {
		x.bucket.budget.Refund()
	}
	return g, nil, err
}

// refused counts a refusal, and takes the request back to its place in line.
func (x *exchange) refused() error {
	x.refusals++
	if x.refusals > x.t.maxRefusals() {
		return ErrRefusals
	}
	x.terms.claim.Place = x.place
	x.trace(true, 0)
	return nil
}

// failed counts a failure, and waits before the next attempt if there is to be one.
// A delay that the server asks for is not cut: if it is too long, there is none.
func (x *exchange) failed(ctx context.Context, after time.Duration) error {
	x.attempts++
	switch {
	case x.attempts >= x.t.maxAttempts():
		return ErrAttempts
	case after > max(x.t.maxWait(), 0):
		return ErrHint
	}
	delay, ok := x.next()
	if !ok {
		return ErrStopped
	}
	delay = max(delay, after)
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= delay {
		return ErrDeadline
	}
	if !x.bucket.budget.Withdraw() {
		return ErrBudget
	}
	x.delay = delay
	// It is a new claim: it pays and waits like everybody.
	x.terms.claim.Place = throttle.Place{}
	x.trace(false, delay)
	err := x.sleep(ctx, delay)
	if err != nil {
		x.bucket.budget.Refund()
	}
	return err
}

// next returns the delay of the backoff, false if it says to stop.
func (x *exchange) next() (time.Duration, bool) {
	if x.t.NewBackOff != nil {
		if x.backOff == nil {
			x.backOff = x.t.NewBackOff()
		}
		d := x.backOff.NextBackOff()
		return max(d, 0), d != cenkalti.Stop
	}
	policy := x.t.Backoff
	if policy == nil {
		policy = backoff.Exponential{Rand: x.t.Rand}
	}
	return max(policy.Delay(x.attempts, x.delay), 0), true
}

// acquire waits for the next turn. The answer at hand is kept meanwhile.
func (x *exchange) acquire(ctx context.Context) (g throttle.Grant, err error) {
	x.terms.paid = time.Time{}
	b, err := x.t.acquire(ctx, x.req, &x.terms, &g, x.keep)
	if err == nil {
		x.bucket = b
	}
	return g, err
}

// giveUp returns the answer at hand rather than the reason why there will be no
// other, unless the caller has gone.
func (x *exchange) giveUp(ctx context.Context, why error) (*http.Response, error) {
	x.t.Trace.gaveUp(GaveUp{
		Request: x.req, Bucket: x.bucket.Name, Attempts: max(x.attempts+x.refusals, 1),
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

// copy returns a request for the next attempt: a late writer of the last one may
// still read what that was given.
func (x *exchange) copy(ctx context.Context) (*http.Request, error) {
	next := x.req.Clone(ctx)
	if x.req.Body != nil && x.req.Body != http.NoBody {
		body, err := x.req.GetBody()
		if err != nil {
			return nil, fmt.Errorf("pacer: GetBody for another attempt: %w", err)
		}
		next.Body = body
	}
	if x.t.PrepareRetry != nil {
		if err := x.t.PrepareRetry(next); err != nil {
			closeBody(next)
			return nil, fmt.Errorf("pacer: PrepareRetry: %w", err)
		}
	}
	return next, nil
}

// sleep waits for d. The answer at hand is kept meanwhile.
func (x *exchange) sleep(ctx context.Context, d time.Duration) error {
	x.keep()
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

func (x *exchange) trace(refusal bool, delay time.Duration) {
	x.t.Trace.retrying(Retrying{
		Request: x.req, Bucket: x.bucket.Name, Attempt: x.attempts + x.refusals + 1,
		Refusal: refusal, Status: x.status(), Err: x.err, Delay: delay,
	})
}

const (
	// drainLimit is how much of an answer that nobody will read is read, so that
	// its connection can be used again (go-retryablehttp's figure).
	drainLimit = 4096
	// drainTime is how long that may take: a body that trickles does not hold the
	// next attempt up.
	drainTime = 100 * time.Millisecond
)

// keep reads a short body into memory, so that the answer can still be returned
// but does not hold a connection while the request waits. Longer ones, and those
// whose length is not known, stay as they are.
func (x *exchange) keep() {
	if x.resp == nil || x.resp.ContentLength < 0 || x.resp.ContentLength > drainLimit {
		return
	}
	if _, kept := x.resp.Body.(*keptBody); kept {
		return
	}
	read, err := io.ReadAll(io.LimitReader(x.resp.Body, drainLimit))
	x.resp.Body.Close()
	x.resp.Body = &keptBody{bytes.NewReader(read), err}
}

// keptBody is a body that was read already, and the error with which it ended.
type keptBody struct {
	*bytes.Reader
	err error
}

// Read implements io.Reader.
func (b *keptBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF && b.err != nil {
		err = b.err
	}
	return n, err
}

// Close implements io.Closer.
func (b *keptBody) Close() error { return nil }

// discard reads a bounded part of an answer that is not wanted, and closes it.
func discard(resp *http.Response) {
	if resp == nil {
		return
	}
	body := resp.Body
	timer := time.AfterFunc(drainTime, func() { body.Close() })
	io.CopyN(io.Discard, body, drainLimit) //nolint:errcheck // what cannot be read is not wanted either
	timer.Stop()
	body.Close()
}

func (t *Transport) maxAttempts() int {
	if t.MaxAttempts == 0 {
		return 3
	}
	return max(t.MaxAttempts, 1)
}

func (t *Transport) maxRefusals() int {
	if t.MaxRefusals == 0 {
		return 10
	}
	return max(t.MaxRefusals, 0)
}
