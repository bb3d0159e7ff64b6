package pacer

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/gopacer/pacer/backoff"
	"github.com/gopacer/pacer/headers"
	"github.com/gopacer/pacer/internal/body"
	"github.com/gopacer/pacer/internal/verdict"
	"github.com/gopacer/pacer/throttle"
)

// judge says what a refusal, or another answer of 400 and above, means.
func (t *Transport) judge(req *http.Request, tm *terms, resp *http.Response, refusal bool, hint headers.Retry) verdict.Verdict {
	var v verdict.Verdict
	if hint.Known {
		v.After = hint.After
	}
	if tm.mode == Observe {
		return v
	}
	switch {
	case t.CheckRetry == nil:
		v.Kind = verdict.Answered(req.Context(), resp, hint, refusal, verdict.Idempotent(req))
	case !verdict.LastWord(hint) && t.askCheckRetry(req, resp, nil):
		v.Kind = verdict.Checked(req.Context(), resp, hint, refusal, verdict.Idempotent(req))
	}
	if !body.Replayable(req) {
		v.Kind = verdict.Final
	}
	return v
}

// judgeError says what it means that there was no answer.
func (t *Transport) judgeError(req *http.Request, tm *terms, err error) verdict.Verdict {
	safe := verdict.Idempotent(req) || verdict.NeverSent(err)
	switch {
	case tm.mode == Observe || !safe || hopeless(err) || callerGone(req):
	case t.CheckRetry == nil && verdict.Permanent(err), t.CheckRetry != nil && !t.askCheckRetry(req, nil, err), !body.Replayable(req):
	default:
		return verdict.Verdict{Kind: verdict.Failed}
	}
	return verdict.Verdict{}
}

// callerGone reports whether the caller has given up.
func callerGone(req *http.Request) bool {
	select {
	case <-req.Cancel: //nolint:staticcheck // old callers still use it, and http.Client does
		return true
	default:
		return req.Context().Err() != nil
	}
}

// hopeless reports whether an error says itself that it is the last word: a pacer below
// gave up, or somebody marked it with backoff.Permanent.
func hopeless(err error) bool {
	var local *throttle.Error
	return errors.As(err, &local) || verdict.Marked(err)
}

// RetryableBackoff makes a Backoff of github.com/hashicorp/go-retryablehttp one for
// Transport.Backoff. It is called with the answer at hand, whose body it must not read, and with
// min and max, which are RetryWaitMin and RetryWaitMax of their Client: zero means 1 s and
// 30 s as there. If b is nil, it is their DefaultBackoff.
//
// A negative delay counts as zero, and one over Transport.MaxWait as the server's word:
// the answer at hand is returned. Their DefaultBackoff makes such ones of Retry-After.
func RetryableBackoff(b retryablehttp.Backoff, min, max time.Duration) backoff.Backoff {
	r := retryableBackoff{b, min, max}
	if b == nil {
		r.backoff = retryablehttp.DefaultBackoff
	}
	if min == 0 {
		r.min = time.Second
	}
	if max == 0 {
		r.max = 30 * time.Second
	}
	return r
}

type retryableBackoff struct {
	backoff  retryablehttp.Backoff
	min, max time.Duration
}

// Delay implements backoff.Backoff where there is no answer.
func (r retryableBackoff) Delay(n int, _ time.Duration) time.Duration { return r.delayAfter(n, nil) }

// delayAfter returns the delay before retry n delayAfter an answer, nil if there was none. They
// count from zero.
func (r retryableBackoff) delayAfter(n int, resp *http.Response) time.Duration {
	return max(r.backoff(r.min, r.max, max(n, 1)-1, resp), 0)
}

// ShouldRetry gives the rules of pacer to a Client of go-retryablehttp, as its CheckRetry: what
// the server says, refusals, failures of idempotent methods, and what was never sent; see
// docs/retrying.md. It is also for a CheckRetry of one's own that knows some cases and
// leaves the others. A request whose Retry-After is over MaxWait is not sent again. Beside
// Headers and MaxWait it looks at no field of t.
//
// Their Client may have pacer as its transport. Only one of them should send again, and the
// outer one does not know of the other:
//
//	t := &pacer.Transport{MaxAttempts: -1, MaxRefusals: -1} // it paces and learns
//	c := retryablehttp.NewClient()
//	c.HTTPClient.Transport = t
//	c.CheckRetry, c.Backoff = t.ShouldRetry, t.RetryDelay
//
// An error says no more of the request than its method: there, a POST with an
// Idempotency-Key is one without.
func (t *Transport) ShouldRetry(ctx context.Context, resp *http.Response, err error) (bool, error) {
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case err != nil:
		safe := idempotentByError(ctx, err) || verdict.NeverSent(err)
		return safe && !hopeless(err) && !verdict.Permanent(err), nil
	case resp == nil:
		return false, nil
	}
	limits, hint := t.Headers.Append(nil, resp.Header, time.Now())
	if hint.Known && hint.After > max(t.maxWait(), 0) {
		return false, nil
	}
	refusal := verdict.Refusal(resp.StatusCode, hint, anySpent(statements(nil, limits)))
	safe := resp.Request != nil && verdict.Idempotent(resp.Request)
	return (refusal || resp.StatusCode >= 400) && verdict.Answered(ctx, resp, hint, refusal, safe) != verdict.Final, nil
}

// RetryDelay gives the delays of pacer to a Client of go-retryablehttp, as its Backoff. They
// are those of t.Backoff if that is set. Else they lie between min and max, which
// are its RetryWaitMin and RetryWaitMax: min, and full jitter of min, 2·min, 4·min, … on
// top. What the server asks for, in any header that package headers knows, is a lower bound.
func (t *Transport) RetryDelay(min, max time.Duration, attemptNum int, resp *http.Response) time.Duration {
	var delay time.Duration
	if t.Backoff != nil {
		delay = t.Backoff.Delay(attemptNum+1, 0)
	} else if delay = min; max > min {
		delay += backoff.Exponential{Initial: min, Max: max - min, Rand: t.Rand}.Delay(attemptNum+1, 0)
	}
	if resp != nil {
		_, hint := t.Headers.Append(nil, resp.Header, time.Now())
		if hint.Known && hint.After > delay {
			return hint.After
		}
	}
	return delay
}

// requestKey is the key under which the context that CheckRetry is given has the request.
type requestKey struct{}

// idempotentByError is verdict.Idempotent for the request that ended with an error. If the context
// does not have it, the error has its method.
func idempotentByError(ctx context.Context, err error) bool {
	if req, ok := ctx.Value(requestKey{}).(*http.Request); ok {
		return verdict.Idempotent(req)
	}
	var sent *url.Error
	return errors.As(err, &sent) && sent.Op != "" && verdict.IdempotentMethod(strings.ToUpper(sent.Op))
}

// askCheckRetry asks CheckRetry. It is given errors as http.Client would, in a url.Error, since
// the policies of go-retryablehttp misjudge others. An error of its own means no.
func (t *Transport) askCheckRetry(req *http.Request, resp *http.Response, err error) bool {
	ctx := context.WithValue(req.Context(), requestKey{}, req)
	if err != nil {
		op := "Get"
		if m := req.Method; m != "" {
			op = m[:1] + strings.ToLower(m[1:])
		}
		err = &url.Error{Op: op, URL: req.URL.Redacted(), Err: err}
	}
	again, stop := t.CheckRetry(ctx, resp, err)
	return again && stop == nil
}
