// Package verdict says whether a request is sent again after an answer, or after an error in place of an
// answer. docs/retrying.md has the tables, which a test reads; in short:
//
//   - The server's word comes first: X-Should-Retry and headers like it, and a quota that is spent.
//   - A refusal means that the server did nothing: every method is sent again (see [Refusal]).
//   - A 425, and a 413 with Retry-After, come before anything is done: every method is sent again.
//   - A 408, and a 5xx but 501, may come after something was done: only idempotent methods are sent again.
//     Of others the verdict is [Unsafe], so that the caller can be told what stood in the way.
//   - Without an answer, every method is sent again if nothing was sent, and otherwise only idempotent
//     ones. A request is not sent again if the next attempt would end as this one did, or if the caller has
//     canceled it.
//
// A request whose body cannot be sent again is not sent again either; package internal/body knows which.
//
// In come a response, an error or a request, and what package headers read of the response. Out comes a
// [Kind], or the answer to a question of such a table. The package does not know how often a request was
// sent, modes, limits and buckets, or how a Transport is configured. Of this module it imports only
// headers. It has no state.
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

// Verdict says what becomes of a request after an attempt.
type Verdict struct {
	Kind  Kind
	After time.Duration // a lower bound of the backoff, which the server asked for
	Vain  bool          // a refusal after another one, and nobody was served in between
}

// Kind is what becomes of a request after an attempt.
type Kind int

// The zero Kind is Final.
const (
	Final        Kind = iota // the caller gets the outcome of the attempt
	Unsafe                   // so it does, but only since the request may not be sent twice
	Unrepeatable             // so it does, but only since the body cannot be sent again
	Refused                  // the server has not begun: the request goes back in line
	Failed                   // the request is sent again, within attempts and budget
)

// Again reports whether the request is sent again.
func (k Kind) Again() bool { return k == Refused || k == Failed }

// Case is an answer, and what of its request matters for the verdict.
type Case struct {
	Response   *http.Response
	Hint       headers.Retry
	Refusal    bool // the answer is a refusal
	Idempotent bool // the request may be sent twice
}

// Kind is the table of what answers mean.
func (c *Case) Kind() Kind {
	switch {
	case LastWord(c.Hint):
		return Final
	case c.Refusal:
		return Refused
	case c.Hint.Advice == headers.AdviceRetry || notProcessed(c.Response, c.Hint):
		return Failed
	case c.Hint.Refusal == headers.RefusalBusy || transient(c.Response):
		return c.repeated()
	}
	return Final
}

// repeated is the Kind of what is sent again if it may be sent twice.
func (c *Case) repeated() Kind {
	if c.Idempotent {
		return Failed
	}
	return Unsafe
}

// Checked is Kind for a request that a CheckRetry of go-retryablehttp wants to be sent again. Such a request is
// sent again after every status, if it may be sent twice. The server has the last word all the same.
func (c *Case) Checked() Kind {
	kind := c.Kind()
	if kind == Final && !LastWord(c.Hint) {
		return c.repeated()
	}
	return kind
}

// Success reports whether an answer that is no refusal, and of which v is the verdict, is a success, and so
// pays for retries: whether it is none of the failures of the table, not even for a request that may not be
// sent twice, and none of a CheckRetry.
func (v Verdict) Success(resp *http.Response, hint headers.Retry) bool {
	if v.Kind != Final || resp.StatusCode >= 500 {
		return false
	}
	return resp.StatusCode != http.StatusRequestTimeout && hint.Refusal != headers.RefusalBusy && !notProcessed(resp, hint)
}

// LastWord reports whether the server says that another attempt is of no use. That includes a quota that is
// spent for the day, since no request waits that long.
func LastWord(hint headers.Retry) bool {
	return hint.Advice == headers.AdviceNever || hint.Refusal == headers.RefusalSpent
}

// notProcessed reports whether an answer other than a refusal says that nothing was done: the server would
// not risk a replay (RFC 8470 section 5.2), or has no room now for a large body (RFC 9110 section 15.5.14).
func notProcessed(resp *http.Response, hint headers.Retry) bool {
	return resp.StatusCode == http.StatusTooEarly || resp.StatusCode == http.StatusRequestEntityTooLarge && hint.Known
}

// transient reports whether the next attempt may get a better answer: after 408 (RFC 9110 section 15.5.9),
// and by the table of go-retryablehttp, which has every 5xx but 501. The 429 in that table is a refusal
// here. A context that has ended changes nothing of that: it is why the next attempt is not made.
func transient(resp *http.Response) bool {
	if resp.StatusCode == http.StatusRequestTimeout {
		return true
	}
	again, _ := retryablehttp.ErrorPropagatedRetryPolicy(context.Background(), resp, nil)
	return again
}

// Marked reports whether an error was marked as final with backoff.Permanent.
func Marked(err error) bool {
	var marked *cenkalti.PermanentError
	return errors.As(err, &marked)
}

// Permanent reports whether the next attempt would fail as this one did: because of a host that does not exist,
// a port or an address that cannot exist, a certificate, the wrong protocol, or a request that cannot be sent.
// Permanent has the table of go-retryablehttp, and cases that it misses, since it looks only at url.Errors and
// at what is directly in them.
func Permanent(err error) bool {
	var (
		dns     *net.DNSError
		address *net.AddrError
		network net.UnknownNetworkError
		cert    *tls.CertificateVerificationError
		unknown x509.UnknownAuthorityError
		host    x509.HostnameError
		invalid x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
	case errors.As(err, &address), errors.As(err, &network): // package net has not dialed at all
	case errors.As(err, &cert), errors.As(err, &unknown), errors.As(err, &host), errors.As(err, &invalid):
	case errors.Is(err, http.ErrSchemeMismatch):
	case unsendable(err):
	default:
		again, _ := retryablehttp.ErrorPropagatedRetryPolicy(context.Background(), nil, &url.Error{Err: err})
		return !again
	}
	return true
}

// unsendable reports whether net/http says that a request cannot be sent as it is. The texts are compared,
// since net/http exports no such errors.
func unsendable(err error) bool {
	text := err.Error()
	for _, why := range [...]string{
		"net/http: invalid method", "net/http: invalid trailer", "invalid Trailer key", "http: no Host in request URL", "http: invalid Host header",
		"net/http: can't write control character in Request.URL", "with nil Body", "port number out of range", // the last one of SOCKS
		"http2: request body larger than specified content length",
	} {
		if strings.Contains(text, why) {
			return true
		}
	}
	return false
}

// NeverSent reports whether an error proves that nothing reached the server: no connection to it was made,
// directly or through a proxy.
func NeverSent(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	switch {
	case errors.As(err, &op):
		return op.Op == "dial" || op.Op == "proxyconnect" || op.Op == "socks connect" // as net and net/http name them
	case errors.As(err, &dns):
		return true
	}
	return strings.HasSuffix(err.Error(), "net/http: TLS handshake timeout") // net/http exports no type for it
}
