package pacer

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	cenkalti "github.com/cenkalti/backoff/v4"
	"github.com/hashicorp/go-retryablehttp"

	"github.com/gopacer/pacer/headers"
	"github.com/gopacer/pacer/throttle"
)

// What is sent again, in short; docs/retrying.md has it as tables, which a test reads:
//
//   - The server's word comes first: X-Should-Retry and its like, and a quota that is spent.
//   - A refusal (refusal.go) did nothing: any method.
//   - 425, and 413 with Retry-After, are sent before anything is done: any method.
//   - 408 and 5xx but 501 may come after something was done: methods that are idempotent.
//   - No answer: any method if nothing was sent, else those that are idempotent; never where
//     the next attempt would end as this one did, nor when the caller has gone.
//
// Nothing is sent again whose body is not there any more (replay.go).

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

// judge says what a refusal, or another answer of 400 and above, means.
func (t *Transport) judge(req *http.Request, tm *terms, resp *http.Response, refusal bool, hint headers.Retry) verdict {
	v := verdict{}
	if hint.Known {
		v.after = hint.After
	}
	if tm.mode == Observe {
		return v
	}
	if t.CheckRetry == nil {
		v.kind = answered(req.Context(), resp, refusal, hint, idempotent(req))
	} else {
		v.kind = t.checked(req, resp, refusal, hint)
	}
	if !replayable(req) {
		v.kind = final
	}
	return v
}

// answered is the table of what answers mean. A quota that is spent for the day is not
// waited for.
func answered(ctx context.Context, resp *http.Response, refusal bool, hint headers.Retry, idempotent bool) verdictKind {
	switch {
	case hint.Word == headers.NeverRetry || hint.Cause == headers.Spent:
		return final
	case refusal:
		return refused
	case hint.Word == headers.ShouldRetry || untouched(resp, hint):
		return failed
	case idempotent && (hint.Cause == headers.Busy || transient(ctx, resp)):
		return failed
	}
	return final
}

// untouched reports whether an answer other than a refusal says that nothing was done: the
// server would not risk a replay (RFC 8470 section 5.2), or will have room for what is
// too large now (RFC 9110 section 15.5.14).
func untouched(resp *http.Response, hint headers.Retry) bool {
	return resp.StatusCode == http.StatusTooEarly || resp.StatusCode == http.StatusRequestEntityTooLarge && hint.Known
}

// transient reports whether the next answer may be a better one: after 408 (RFC 9110 section
// 15.5.9), and in go-retryablehttp's table, which is 5xx but 501. Its 429 is a refusal.
func transient(ctx context.Context, resp *http.Response) bool {
	if resp.StatusCode == http.StatusRequestTimeout {
		return true
	}
	again, _ := retryablehttp.ErrorPropagatedRetryPolicy(ctx, resp, nil)
	return again
}

// judgeError says what it means that there was no answer.
func (t *Transport) judgeError(req *http.Request, tm *terms, err error) verdict {
	safe := idempotent(req) || neverSent(err)
	switch {
	case tm.mode == Observe || !safe || hopeless(err) || gone(req):
	case t.CheckRetry == nil && permanent(err), t.CheckRetry != nil && !t.asked(req, nil, err), !replayable(req):
	default:
		return verdict{kind: failed}
	}
	return verdict{}
}

// gone reports whether the caller has given up.
func gone(req *http.Request) bool {
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
	var marked *cenkalti.PermanentError
	return errors.As(err, &local) || errors.As(err, &marked)
}

// permanent reports whether the next attempt would fail as this one did: on a host that
// does not exist, a certificate, the wrong protocol, or a request that cannot be sent. It
// is go-retryablehttp's table and what that misses: it looks at url.Errors only, and at what
// is directly in them.
func permanent(err error) bool {
	var (
		dns     *net.DNSError
		cert    *tls.CertificateVerificationError
		unknown x509.UnknownAuthorityError
		host    x509.HostnameError
		invalid x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
	case errors.As(err, &cert), errors.As(err, &unknown), errors.As(err, &host), errors.As(err, &invalid):
	case errors.Is(err, http.ErrSchemeMismatch):
	case unsendable(err):
	default:
		again, _ := retryablehttp.ErrorPropagatedRetryPolicy(context.Background(), nil, &url.Error{Err: err})
		return !again
	}
	return true
}

// unsendable reports whether net/http says that a request cannot be sent as it is. It has
// no errors to compare with.
func unsendable(err error) bool {
	text := err.Error()
	for _, why := range [...]string{
		"net/http: invalid method", "net/http: invalid trailer", "invalid Trailer key", "http: no Host in request URL",
		"http2: request body larger than specified content length",
	} {
		if strings.Contains(text, why) {
			return true
		}
	}
	return false
}

// neverSent reports whether an error proves that nothing reached the server: no
// connection to it was made, directly or through a proxy.
func neverSent(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	switch {
	case errors.As(err, &op):
		return op.Op == "dial" || op.Op == "proxyconnect" || op.Op == "socks connect" // as net and net/http name them
	case errors.As(err, &dns):
		return true
	}
	return strings.HasSuffix(err.Error(), "net/http: TLS handshake timeout") // has no type
}
