package pacer

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/gopacer/pacer/headers"
	"github.com/gopacer/pacer/internal/attempt"
	"github.com/gopacer/pacer/internal/body"
	"github.com/gopacer/pacer/internal/delay"
	"github.com/gopacer/pacer/internal/stated"
	"github.com/gopacer/pacer/internal/verdict"
	"github.com/gopacer/pacer/throttle"
)

// judge says whether the request is sent again after its answer, which is a refusal or has a status of 400 and
// above.
func (t *Transport) judge(trip *trip, refusal bool, hint headers.Retry) verdict.Verdict {
	var v verdict.Verdict
	if hint.Known {
		v.After = hint.After
	}
	if trip.mode == ModeObserve || trip.once {
		return v
	}
	answer := verdict.Case{Response: trip.resp, Hint: hint, Refusal: refusal, Idempotent: idempotent(trip.req)}
	switch {
	case t.Retry.CheckRetry == nil:
		v.Kind = answer.Kind()
	case !verdict.LastWord(hint) && verdict.Ask(t.Retry.CheckRetry, trip.req, trip.resp, nil):
		v.Kind = answer.Checked()
	}
	if v.Kind.Again() && !body.Replayable(trip.req) {
		v.Kind = verdict.Unrepeatable
	}
	return v
}

// judgeError says whether the request is sent again after an error in place of an answer.
func (t *Transport) judgeError(trip *trip, err error) verdict.Verdict {
	switch {
	case trip.mode == ModeObserve || trip.once || hopeless(err) || attempt.Gone(trip.req):
	case t.Retry.CheckRetry == nil && verdict.Permanent(err), t.Retry.CheckRetry != nil && !verdict.Ask(t.Retry.CheckRetry, trip.req, nil, err):
	case !idempotent(trip.req) && !verdict.NeverSent(err):
		return verdict.Verdict{Kind: verdict.Unsafe}
	case !body.Replayable(trip.req):
		return verdict.Verdict{Kind: verdict.Unrepeatable}
	default:
		return verdict.Verdict{Kind: verdict.Failed}
	}
	return verdict.Verdict{}
}

// idempotent reports whether a request may be repeated: because of its method or its Idempotency-Key, or since
// its Call says so.
func idempotent(req *http.Request) bool {
	return verdict.Idempotent(req) || known(req.Context()).calls.asks().Idempotent
}

// hopeless reports whether an error itself says that another attempt is of no use: a pacer below gave up, or is
// wrong in itself, or somebody marked the error with backoff.Permanent.
func hopeless(err error) bool {
	var local *throttle.Error
	return errors.As(err, &local) || errors.Is(err, throttle.ErrInvalid) || verdict.Marked(err)
}

// ShouldRetry is a CheckRetry for a Client of go-retryablehttp that decides as pacer does: by what the server
// says, by refusals, by failures of idempotent methods, and by what was never sent; see docs/retrying.md. A
// CheckRetry of your own may handle the cases that it knows, and leave the others to ShouldRetry. A request
// whose Retry-After is over MaxStandstill or MaxWait is not sent again, nor is one of a Call with Once. Of the
// fields of t, only Learn.Headers and these two matter.
//
// A Client of go-retryablehttp may have a Transport of pacer below it. Then only the Client should send
// again, since it does not know of the retries below:
//
//	t := &pacer.Transport{Retry: pacer.Retry{MaxAttempts: -1, MaxRefusals: -1}} // it paces and learns
//	c := retryablehttp.NewClient()
//	c.HTTPClient.Transport = t
//	c.CheckRetry, c.Backoff = t.ShouldRetry, t.RetryDelay
//
// Of a request that ended with an error, a Client tells only the method. A POST with an Idempotency-Key is
// then not sent again, because ShouldRetry cannot see the key.
func (t *Transport) ShouldRetry(ctx context.Context, resp *http.Response, err error) (bool, error) {
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case resp == nil && err == nil, known(ctx).calls.asks().Once:
		return false, nil
	case err != nil:
		safe := verdict.IdempotentByError(ctx, err, idempotent) || verdict.NeverSent(err)
		return safe && !hopeless(err) && !verdict.Permanent(err), nil
	}
	facts := t.Learn.Headers.Parse(resp.Header, time.Now())
	hint := facts.Retry
	if hint.Known && !t.mayWait(t.MaxWait, 0, hint.After) {
		return false, nil
	}
	answer := verdict.Case{Response: resp, Hint: hint, Idempotent: resp.Request != nil && idempotent(resp.Request)}
	answer.Refusal = verdict.Refusal(resp.StatusCode, hint, stated.UsedUp(facts.Limits))
	return (answer.Refusal || resp.StatusCode >= 400) && answer.Kind().Again(), nil
}

// RetryDelay is a Backoff for a Client of go-retryablehttp. If t.Retry.Backoff is set, the delays are those of
// it. Otherwise they lie between min and max, which are RetryWaitMin and RetryWaitMax of the Client: min, plus
// full jitter of min, 2·min, 4·min, …. If the server asks for a delay, in any header that package headers
// knows, RetryDelay returns no shorter one.
func (t *Transport) RetryDelay(min, max time.Duration, attemptNum int, resp *http.Response) time.Duration {
	var hint headers.Retry
	if resp != nil {
		hint = t.Learn.Headers.Parse(resp.Header, time.Now()).Retry
	}
	p := delay.Policy{Backoff: t.Retry.Backoff, Rand: t.Rand}
	return p.Between(min, max, attemptNum+1, hint)
}
