// Package verdict says what an answer, or an error in place of one, means for sending the
// request again. docs/retrying.md has the tables, which a test reads; in short:
//
//   - The server's word comes first: X-Should-Retry and its like, and a quota that is spent.
//   - A refusal did nothing: any method (see [Refusal]).
//   - 425, and 413 with Retry-After, are sent before anything is done: any method.
//   - 408 and 5xx but 501 may come after something was done: methods that are idempotent.
//   - No answer: any method if nothing was sent, else those that are idempotent; never where
//     the next attempt would end as this one did, nor when the caller has gone.
//
// Nothing is sent again whose body is not there any more, which package internal/body knows.
//
// In come a response, an error or a request, and what package headers read of the response. Out comes
// a [Kind], or the answer to a question of such a table. The package knows neither how often a
// request was sent, nor modes, limits and buckets, nor what a Transport is configured for; of this
// module it imports headers alone. It has no state.
package verdict

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
)

// Verdict says what an attempt means for the next.
type Verdict struct {
	Kind  Kind
	After time.Duration // the request is not to be sent again before; a lower bound of the backoff
}

// Kind is what becomes of a request after an attempt.
type Kind int

// The zero Kind is Final.
const (
	Final   Kind = iota // the caller gets the outcome of the attempt
	Refused             // the server has not begun: the request goes back in line
	Failed              // the request is sent again, within attempts and budget
)

// Answered is the table of what answers mean. Whether the answer is a refusal, and whether its request
// may be sent twice, is known already.
func Answered(ctx context.Context, resp *http.Response, hint headers.Retry, refusal, idempotent bool) Kind {
	switch {
	case LastWord(hint):
		return Final
	case refusal:
		return Refused
	case hint.Word == headers.ShouldRetry || notProcessed(resp, hint):
		return Failed
	case idempotent && (hint.Cause == headers.Busy || transient(ctx, resp)):
		return Failed
	}
	return Final
}

// Checked is Answered where somebody else, a CheckRetry of go-retryablehttp, has said that the request
// shall be sent again: whatever the status, if the request may be sent twice. The server has the last
// word all the same.
func Checked(ctx context.Context, resp *http.Response, hint headers.Retry, refusal, idempotent bool) Kind {
	kind := Answered(ctx, resp, hint, refusal, idempotent)
	if kind == Final && idempotent && !LastWord(hint) {
		return Failed
	}
	return kind
}

// LastWord reports whether the server says that it is of no use to ask again. A quota that is spent
// for the day is not waited for.
func LastWord(hint headers.Retry) bool {
	return hint.Word == headers.NeverRetry || hint.Cause == headers.Spent
}

// notProcessed reports whether an answer other than a refusal says that nothing was done: the
// server would not risk a replay (RFC 8470 section 5.2), or will have room for what is
// too large now (RFC 9110 section 15.5.14).
func notProcessed(resp *http.Response, hint headers.Retry) bool {
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

// Marked reports whether somebody has marked an error as the last word, with
// backoff.Permanent.
func Marked(err error) bool {
	var marked *cenkalti.PermanentError
	return errors.As(err, &marked)
}

// Permanent reports whether the next attempt would fail as this one did: on a host that
// does not exist, a certificate, the wrong protocol, or a request that cannot be sent. It
// is go-retryablehttp's table and what that misses: it looks at url.Errors only, and at what
// is directly in them.
func Permanent(err error) bool {
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

// NeverSent reports whether an error proves that nothing reached the server: no
// connection to it was made, directly or through a proxy.
func NeverSent(err error) bool {
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
