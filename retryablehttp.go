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
)

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
func (r retryableBackoff) Delay(n int, _ time.Duration) time.Duration { return r.after(n, nil) }

// after returns the delay before retry n after an answer, nil if there was none. They
// count from zero.
func (r retryableBackoff) after(n int, resp *http.Response) time.Duration {
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
		safe := idempotentError(ctx, err) || neverSent(err)
		return safe && !hopeless(err) && !permanent(err), nil
	case resp == nil:
		return false, nil
	}
	limits, hint := t.Headers.Append(nil, resp.Header, time.Now())
	if hint.Known && hint.After > max(t.maxWait(), 0) {
		return false, nil
	}
	refusal := refusal(resp.StatusCode, statements(nil, limits), hint)
	safe := resp.Request != nil && idempotent(resp.Request)
	return (refusal || resp.StatusCode >= 400) && answered(ctx, resp, refusal, hint, safe) != final, nil
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

// idempotentError is idempotent for the request that ended with an error. If the context
// does not have it, the error has its method.
func idempotentError(ctx context.Context, err error) bool {
	if req, ok := ctx.Value(requestKey{}).(*http.Request); ok {
		return idempotent(req)
	}
	var sent *url.Error
	return errors.As(err, &sent) && sent.Op != "" && idempotentMethod(strings.ToUpper(sent.Op))
}

// asked asks CheckRetry. It is given errors as http.Client would, in a url.Error, since
// the policies of go-retryablehttp misjudge others. An error of its own means no.
func (t *Transport) asked(req *http.Request, resp *http.Response, err error) bool {
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

// checked is answered where CheckRetry has its say. What is sent twice must be safe all the
// same, and the server has the last word.
func (t *Transport) checked(req *http.Request, resp *http.Response, refusal bool, hint headers.Retry) verdictKind {
	switch {
	case hint.Word == headers.NeverRetry || hint.Cause == headers.Spent || !t.asked(req, resp, nil):
		return final
	case refusal:
		return refused
	case hint.Word == headers.ShouldRetry || untouched(resp, hint) || idempotent(req):
		return failed
	}
	return final
}
