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

// judge says whether the request is sent again after an answer that is a refusal or has a status of 400 and
// above.
func (t *Transport) judge(req *http.Request, tm *terms, resp *http.Response, refusal bool, hint headers.Retry) verdict.Verdict {
	var v verdict.Verdict
	if hint.Known {
		v.After = hint.After
	}
	if tm.mode == ModeObserve {
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

// judgeError says whether the request is sent again after an error in place of an answer.
func (t *Transport) judgeError(req *http.Request, tm *terms, err error) verdict.Verdict {
	safe := verdict.Idempotent(req) || verdict.NeverSent(err)
	switch {
	case tm.mode == ModeObserve || !safe || hopeless(err) || callerGone(req):
	case t.CheckRetry == nil && verdict.Permanent(err), t.CheckRetry != nil && !t.askCheckRetry(req, nil, err), !body.Replayable(req):
	default:
		return verdict.Verdict{Kind: verdict.Failed}
	}
	return verdict.Verdict{}
}

// askCheckRetry reports whether CheckRetry wants another attempt. An error is passed in a url.Error, as
// http.Client would, since the policies of go-retryablehttp misjudge other errors. If CheckRetry itself
// returns an error, that means no.
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

// requestKey is the key under which the context given to CheckRetry has the request.
type requestKey struct{}

// callerGone reports whether the caller has canceled the request.
func callerGone(req *http.Request) bool {
	select {
	case <-req.Cancel: //nolint:staticcheck // old callers still use it, and http.Client does
		return true
	default:
		return req.Context().Err() != nil
	}
}

// hopeless reports whether an error itself says that another attempt is of no use: a pacer below gave up,
// or somebody marked the error with backoff.Permanent.
func hopeless(err error) bool {
	var local *throttle.Error
	return errors.As(err, &local) || verdict.Marked(err)
}

// RetryableBackoff makes a Backoff of github.com/hashicorp/go-retryablehttp a Transport.Backoff. b is
// called with the answer at hand, whose body it must not read, and with min and max, which are RetryWaitMin
// and RetryWaitMax of a Client of go-retryablehttp: zero means 1 s for min and 30 s for max, as there. If b
// is nil, retryablehttp.DefaultBackoff is used.
//
// A negative delay counts as zero. A delay over Transport.MaxWait counts as one that the server asked for,
// since DefaultBackoff returns a Retry-After unchanged: the request is not sent again, and the answer at
// hand is returned.
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

// retryableBackoff is a Backoff of go-retryablehttp and the bounds that it is called with.
type retryableBackoff struct {
	backoff  retryablehttp.Backoff
	min, max time.Duration
}

// Delay implements backoff.Backoff for attempts without an answer.
func (r retryableBackoff) Delay(n int, _ time.Duration) time.Duration { return r.delayAfter(n, nil) }

// delayAfter returns the delay before retry n. resp is nil if there was no answer. n counts from one;
// go-retryablehttp counts from zero.
func (r retryableBackoff) delayAfter(n int, resp *http.Response) time.Duration {
	return max(r.backoff(r.min, r.max, max(n, 1)-1, resp), 0)
}

// ShouldRetry is a CheckRetry for a Client of go-retryablehttp that decides as pacer does: by what the
// server says, by refusals, by failures of idempotent methods, and by what was never sent; see
// docs/retrying.md. A CheckRetry of your own may handle the cases that it knows, and leave the others to
// ShouldRetry. A request whose Retry-After is over MaxWait is not sent again. Of the fields of t, only
// Headers and MaxWait matter.
//
// A Client of go-retryablehttp may have a Transport of pacer below it. Then only the Client should send
// again, since it does not know of the retries below:
//
//	t := &pacer.Transport{MaxAttempts: -1, MaxRefusals: -1} // it paces and learns
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

// idempotentByError reports whether the request that ended with err is idempotent. The request is looked up
// in the context; if the context does not have it, only the method is known, from the text of the
// url.Error.
func idempotentByError(ctx context.Context, err error) bool {
	if req, ok := ctx.Value(requestKey{}).(*http.Request); ok {
		return verdict.Idempotent(req)
	}
	var sent *url.Error
	return errors.As(err, &sent) && sent.Op != "" && verdict.IdempotentMethod(strings.ToUpper(sent.Op))
}

// RetryDelay is a Backoff for a Client of go-retryablehttp. If t.Backoff is set, the delays are those of
// t.Backoff. Otherwise they lie between min and max, which are RetryWaitMin and RetryWaitMax of the Client:
// min, plus full jitter of min, 2·min, 4·min, …. If the server asks for a delay, in any header that package
// headers knows, RetryDelay returns no shorter one.
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
