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

// altersRequests reports whether t sends copies of requests that differ from what the caller gave.
func (t *Transport) altersRequests() bool { return t.IdempotencyKey != nil || t.BufferBody > 0 }

// alter returns the request that is sent in place of the caller's: with an Idempotency-Key, which is the
// same in all attempts, and with a body that can be sent again. If the caller's request needs neither,
// alter returns that request. If made is not nil, it must be finished when the request has ended.
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

// RandomKey is a value for Transport.IdempotencyKey: it returns a random UUID of version 4, without quotes.
//
// The draft of the IETF wants the header to be a string in quotes
// (draft-ietf-httpapi-idempotency-key-header-07 section 2.1). The services that made the header known take
// any text, as Stripe does, or want a UUID without quotes, as Payroc does
// (docs.payroc.com/api/idempotency). For a server that follows the draft, use
//
//	func(req *http.Request) string { return strconv.Quote(pacer.RandomKey(req)) }
func RandomKey(*http.Request) string {
	var b [16]byte
	rand.Read(b[:]) // it never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// ErrBodyTooLong means that a request is not sent again because its body is longer than
// Transport.BufferBody; see Trace.GaveUp.
var ErrBodyTooLong = errors.New("pacer: the body is longer than BufferBody")

// prepareSend returns the request that is sent in place of next, which is req or a copy of it. If a
// Transport below may retry, the returned request says that t does. If bytes are counted and the length of
// the body is unknown, the body adds to sent what is read of it.
func (t *Transport) prepareSend(req, next *http.Request, tm *terms) (out *http.Request, sent *atomic.Int64) {
	if t.marksRequests && tm.mode != ModeObserve {
		next = t.mark(next)
	}
	unknown := req.ContentLength <= 0 && next.Body != nil && next.Body != http.NoBody // 0 may mean unknown, too
	if tm.countsBytes && unknown {
		sent = new(atomic.Int64)
		next = next.WithContext(next.Context())
		next.Body = body.Count(next.Body, sent)
	}
	return next, sent
}

// mark returns a request that tells a Transport below that t retries.
func (t *Transport) mark(req *http.Request) *http.Request {
	mark := &requestInfo{above: t}
	if c := infoOf(req.Context()); c != nil {
		mark.call, mark.payment = c.call, c.payment
	}
	return req.WithContext(context.WithValue(req.Context(), infoKey{}, mark))
}

// ErrNested means that a Transport does not send a request again because another Transport above it will.
// Two layers that each send three times would send a request nine times. See Trace.GaveUp.
var ErrNested = errors.New("pacer: another Transport above this one retries")

// send hands the request to Base. If Base panics, the grant ends all the same; otherwise its slot in flight
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
	if t.AttemptTimeout > 0 && tm.mode != ModeObserve {
		resp, err = sendWithin(t.AttemptTimeout, t.base(), req)
	} else {
		resp, err = checkedRoundTrip(t.base(), req)
	}
	came = true
	return resp, err
}

// sendWithin is checkedRoundTrip for an attempt that must be answered within d. The context of the attempt
// lives on until the answer was read, and is then canceled; no caller sees that.
func sendWithin(d time.Duration, base http.RoundTripper, req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	late := attemptTimeoutError(d)
	timer := time.AfterFunc(d, func() { cancel(late) })
	resp, err := checkedRoundTrip(base, req.WithContext(ctx))
	if !timer.Stop() {
		cancel(late) // the timer has fired, and its function may not have run yet
	}
	if context.Cause(ctx) == error(late) { //nolint:errorlint // not one of a Transport above
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

// checkedRoundTrip hands the request to base, and corrects what breaks the contract of http.RoundTripper:
// base has to return either an answer with a body or an error.
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

// ErrAttemptTimeout is found by errors.Is in the error of an attempt that took longer than
// Transport.AttemptTimeout. That error is a timeout, as net.Error has it, but not a
// context.DeadlineExceeded: the context of the caller has not ended.
var ErrAttemptTimeout = errors.New("pacer: no answer within AttemptTimeout")

// attemptTimeoutError is the error of an attempt that took longer than the AttemptTimeout that it holds.
type attemptTimeoutError time.Duration

func (e attemptTimeoutError) Error() string {
	return fmt.Sprintf("pacer: no answer within the AttemptTimeout of %v", time.Duration(e))
}

// Is makes errors.Is find ErrAttemptTimeout.
func (e attemptTimeoutError) Is(target error) bool { return target == ErrAttemptTimeout }

// Timeout makes the error a timeout for url.Error and net.Error.
func (e attemptTimeoutError) Timeout() bool { return true }

// notSent ends a request that got no grant: Fallback answers in mode ModeDegrade, and otherwise err is
// returned.
func (t *Transport) notSent(req *http.Request, tm *terms, err error) (*http.Response, error) {
	t.Trace.refused(Refused{Request: req, Bucket: tm.limiter.Name, Err: err})
	if tm.mode == ModeDegrade && !errors.Is(err, throttle.ErrCanceled) {
		return t.fallback(req)
	}
	closeBody(req)
	return nil, err
}

// fallback returns the answer of Fallback.
func (t *Transport) fallback(req *http.Request) (*http.Response, error) {
	if t.Fallback == nil { // init has checked the modes of t: it was the Call that asked for Degrade
		closeBody(req)
		return nil, errors.New("pacer: Fallback is nil, want a RoundTripper that answers in mode ModeDegrade")
	}
	return checkedRoundTrip(t.Fallback, req)
}

// closeBody closes the body of a request that is not sent, as http.RoundTripper demands.
func closeBody(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
}
