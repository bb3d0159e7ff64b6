package pacer

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gopacer/pacer/internal/body"
	"github.com/gopacer/pacer/internal/verdict"
	"github.com/gopacer/pacer/throttle"
)

// prepareSend returns what is sent in place of next, which is req or a copy of it: a request that says that
// t retries, if a Transport below listens, and whose body is counted, if that is of use.
func (t *Transport) prepareSend(req, next *http.Request, tm *terms) (out *http.Request, sent *atomic.Int64) {
	if t.marksRequests && tm.mode != Observe {
		next = t.mark(next)
	}
	if tm.countsBytes && req.ContentLength <= 0 && next.Body != nil && next.Body != http.NoBody { // 0 means that it is not known, too
		sent = new(atomic.Int64)
		next = next.WithContext(next.Context())
		next.Body = body.Count(next.Body, sent)
	}
	return next, sent
}

// send hands the request to Base. If that panics, the grant ends all the same: a slot
// would be lost for ever.
func (t *Transport) send(req *http.Request, tm *terms, g *throttle.Grant) (*http.Response, error) {
	came := false
	defer func() {
		if !came {
			g.Done(throttle.Answer{Lost: true})
		}
	}()
	var resp *http.Response
	var err error
	if t.AttemptTimeout > 0 && tm.mode != Observe {
		resp, err = sendWithin(t.AttemptTimeout, t.base(), req)
	} else {
		resp, err = checkedRoundTrip(t.base(), req)
	}
	came = true
	return resp, err
}

// checkedRoundTrip hands the request to base and holds base to the contract: an answer with a
// body or an error, not both, not neither.
func checkedRoundTrip(base http.RoundTripper, req *http.Request) (*http.Response, error) {
	resp, err := base.RoundTrip(req)
	switch {
	case err != nil && resp != nil:
		if resp.Body != nil {
			resp.Body.Close()
		}
		return nil, err
	case err == nil && resp == nil:
		return nil, fmt.Errorf("pacer: %T returned neither a response nor an error", base)
	case err == nil && resp.Body == nil:
		resp.Body = http.NoBody
	}
	return resp, err
}

// notSent says what becomes of a request that does not go.
func (t *Transport) notSent(req *http.Request, tm *terms, err error) (*http.Response, error) {
	t.Trace.refused(Refused{Request: req, Bucket: t.limiter(req).Name, Err: err})
	if tm.mode == Degrade && !errors.Is(err, throttle.ErrCanceled) {
		return t.fallback(req)
	}
	closeBody(req)
	return nil, err
}

func (t *Transport) fallback(req *http.Request) (*http.Response, error) {
	if t.Fallback == nil { // the Call asks for it
		closeBody(req)
		return nil, errors.New("pacer: Fallback is nil, want a RoundTripper that answers in mode Degrade")
	}
	return checkedRoundTrip(t.Fallback, req)
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
}

// ErrAttemptTimeout is found by errors.Is in the error of an attempt that took longer than
// Transport.AttemptTimeout. That error is a timeout, as net.Error has it, but no
// context.DeadlineExceeded: the context of the caller has not ended.
var ErrAttemptTimeout = errors.New("pacer: no answer within AttemptTimeout")

// attemptTimeoutError is the error of an attempt.
type attemptTimeoutError time.Duration

func (e attemptTimeoutError) Error() string {
	return fmt.Sprintf("pacer: no answer within the AttemptTimeout of %v", time.Duration(e))
}

// Is says that it is an ErrAttemptTimeout.
func (e attemptTimeoutError) Is(target error) bool { return target == ErrAttemptTimeout }

// Timeout is for url.Error and net.Error.
func (e attemptTimeoutError) Timeout() bool { return true }

// sendWithin is send for an attempt that is to be answered within d. Its context lives on
// until the answer was read, and then ends without anybody's seeing it.
func sendWithin(d time.Duration, base http.RoundTripper, req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	late := attemptTimeoutError(d)
	timer := time.AfterFunc(d, func() { cancel(late) })
	resp, err := checkedRoundTrip(base, req.WithContext(ctx))
	if !timer.Stop() {
		cancel(late) // it is about to
	}
	if context.Cause(ctx) == error(late) { //nolint:errorlint // and not that of a Transport above
		if err == nil {
			resp.Body.Close()
		}
		return nil, late
	}
	if err != nil || !body.Has(req, resp) {
		cancel(nil)
		return resp, err
	}
	resp.Body = body.CancelAtEnd(resp.Body, cancel)
	return resp, nil
}

// RandomKey is for Transport.IdempotencyKey: a random UUID of version 4, without quotes.
//
// The draft of the IETF wants the header to be a string in quotes
// (draft-ietf-httpapi-idempotency-key-header-07 section 2.1). The services that made it known take what
// they get, as Stripe, or want a bare UUID, as Payroc (docs.payroc.com/api/idempotency), which
// quotes would spoil. A server that follows the draft gets
//
//	func(req *http.Request) string { return strconv.Quote(pacer.RandomKey(req)) }
func RandomKey(*http.Request) string {
	var b [16]byte
	rand.Read(b[:]) // it never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// ErrBodyTooLong is why a request is not sent again whose body is longer than
// Transport.BufferBody; see Trace.GaveUp.
var ErrBodyTooLong = errors.New("pacer: the body is longer than BufferBody")

// altersRequests reports whether requests are sent as copies that differ from the caller's.
func (t *Transport) altersRequests() bool { return t.IdempotencyKey != nil || t.BufferBody > 0 }

// alter returns the request that is sent in place of the caller's: with a key, which
// all attempts have in common, and with a body that can be sent again. That body, if t has
// made it, is to be finished when the request is.
func (t *Transport) alter(req *http.Request) (out *http.Request, made *body.Replay) {
	out = req
	if t.IdempotencyKey != nil && !verdict.Idempotent(req) {
		if key := t.IdempotencyKey(req); key != "" {
			out = req.WithContext(req.Context())
			out.Header = req.Header.Clone()
			out.Header.Set("Idempotency-Key", key)
		}
	}
	if t.BufferBody > 0 && !body.Replayable(req) && req.ContentLength <= t.BufferBody {
		if out == req {
			out = req.WithContext(req.Context())
		}
		made = body.NewReplay(req.Body, t.BufferBody, ErrBodyTooLong)
		out.GetBody = made.Open
		out.Body, _ = made.Open()
	}
	return out, made
}

// ErrNested is why a Transport does not send a request again that came from another
// Transport above it, which will: two layers that retry three times each would send it
// nine times. See Trace.GaveUp.
var ErrNested = errors.New("pacer: another Transport above this one retries")

// mark returns the request with which a Transport below learns that t retries.
func (t *Transport) mark(req *http.Request) *http.Request {
	mark := &requestInfo{above: t}
	if c := infoOf(req.Context()); c != nil {
		mark.call, mark.payment = c.call, c.payment
	}
	return req.WithContext(context.WithValue(req.Context(), infoKey{}, mark))
}
