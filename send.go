package pacer

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gopacer/pacer/internal/attempt"
	"github.com/gopacer/pacer/internal/body"
	"github.com/gopacer/pacer/internal/fields"
	"github.com/gopacer/pacer/internal/stream"
	"github.com/gopacer/pacer/throttle"
)

// altersRequests reports whether t sends copies of requests that differ from what the caller gave.
func (t *Transport) altersRequests() bool {
	return t.Retry.IdempotencyKey != nil || t.Retry.BufferBody > 0
}

// alter returns the request that is sent in place of the caller's: with an Idempotency-Key, which is the
// same in all attempts, and with a body that can be sent again. If the caller's request needs neither,
// alter returns that request. Made, which may be nil, must be finished when the request has ended.
func (t *Transport) alter(req *http.Request) (out *http.Request, made *body.Replay) {
	out = req
	if t.Retry.IdempotencyKey != nil && !idempotent(req) {
		if key := t.Retry.IdempotencyKey(req); key != "" {
			out = req.WithContext(req.Context())
			out.Header = req.Header.Clone()
			out.Header.Set("Idempotency-Key", key)
		}
	}
	if t.Retry.BufferBody > 0 && !body.Replayable(req) && req.ContentLength <= t.Retry.BufferBody {
		if out == req {
			out = req.WithContext(req.Context())
		}
		made = body.NewReplay(req.Body, t.Retry.BufferBody, errBodyTooLong)
		out.GetBody = made.Open
		out.Body, _ = made.Open()
	}
	return out, made
}

// RandomIdempotencyKey is a value for Retry.IdempotencyKey: it returns a random UUID of version 4, without
// quotes.
//
// The draft of the IETF wants the header to be a string in quotes (draft-ietf-httpapi-idempotency-key-header-07
// section 2.1). The services that made the header known take any text, as Stripe does, or want a UUID without
// quotes, as Payroc does (docs.payroc.com/api/idempotency). For a server that follows the draft, use
//
//	func(req *http.Request) string { return strconv.Quote(pacer.RandomIdempotencyKey(req)) }
func RandomIdempotencyKey(*http.Request) string {
	var b [16]byte
	rand.Read(b[:]) // it never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// errBodyTooLong means that a body is longer than BufferBody.
var errBodyTooLong = errors.New("pacer: the body is longer than BufferBody")

// prepareSend returns the request that is sent in place of next. If a Transport below may retry, the returned
// request says that t does. If bytes are counted and the length of the body is unknown, the body adds to
// trip.sent what is read of it.
func (t *Transport) prepareSend(next *http.Request, trip *trip) *http.Request {
	if t.retries(trip) {
		next = t.mark(next)
	}
	trip.sent = nil
	unknown := trip.req.ContentLength <= 0 && next.Body != nil && next.Body != http.NoBody // 0 may mean unknown, too
	if trip.countsBytes && unknown {
		trip.sent = new(atomic.Int64)
		next = next.WithContext(next.Context())
		next.Body = body.Count(next.Body, trip.sent)
	}
	return next
}

// retries reports whether t may send a request again that passes through another Transport below. Then only t
// does: two layers that each send three times would send a request nine times.
func (t *Transport) retries(trip *trip) bool {
	return t.isAbove() && trip.mode != ModeObserve && !trip.once && (trip.maxAttempts > 1 || t.Retry.maxRefusals() > 0)
}

// mark returns a request that tells a Transport below that t retries.
func (t *Transport) mark(req *http.Request) *http.Request {
	return req.WithContext(withInfo(req.Context(), func(i *requestInfo) { i.above, i.sent = t, req.URL }))
}

// drop gives back what a request holds when a function of the caller does not return: else its slot in flight
// would be lost for ever. The answer and the grant may be nil.
func drop(req *http.Request, resp *http.Response, g *throttle.Grant) {
	defer body.Close(req, resp)
	if g != nil {
		end(g)
	}
}

// end ends a grant, whether its request was answered before or not.
func end(g *throttle.Grant) {
	g.Answered(throttle.Answer{Lost: true})
	g.Done()
}

// dropUnless is drop of a request without an answer, unless Base has returned.
func dropUnless(returned *bool, req *http.Request, g *throttle.Grant) {
	if !*returned {
		drop(req, nil, g)
	}
}

// send hands the request to Base.
func (t *Transport) send(req *http.Request, trip *trip) (*http.Response, error) {
	base := t.base()
	if trip.stream != nil {
		base = &stream.Base{RoundTripper: base, Bucket: trip.stream, Claim: throttle.Claim{Priority: trip.claim.Priority, Flow: trip.claim.Flow, Weight: trip.claim.Weight}}
	}
	if d := t.Retry.AttemptTimeout; d != 0 && d != Forever && trip.mode != ModeObserve {
		trip.ends = time.Now().Add(d)
		return attempt.SendWithin(d, base, req)
	}
	return attempt.Send(base, req)
}

// ErrAttemptTimeout says that an attempt took longer than Retry.AttemptTimeout; errors.Is finds it. Timeout of
// the error returns true, but the error is no context.DeadlineExceeded, since the context of the caller has not
// ended.
var ErrAttemptTimeout = attempt.ErrTimeout

// notSent ends a request that got no grant: Fallback answers in ModeDegrade, and otherwise err is returned.
func (t *Transport) notSent(trip *trip, err error) (*http.Response, error) {
	t.tellNotSent(trip, err)
	var refusal *throttle.Error
	if trip.mode == ModeDegrade && errors.As(err, &refusal) && !errors.Is(err, throttle.ErrCanceled) {
		return t.fallback(trip.req, refusal)
	}
	body.Close(trip.req, nil)
	return nil, err
}

// fallback returns the answer of Fallback.
func (t *Transport) fallback(req *http.Request, why *throttle.Error) (*http.Response, error) {
	if t.Fallback == nil { // init has checked the modes of t: it was the Call that asked for ModeDegrade
		body.Close(req, nil)
		return nil, fields.Invalid(errors.New("pacer: Fallback is nil, want a function that answers in ModeDegrade"))
	}
	return attempt.Instead(req, func(req *http.Request) (*http.Response, error) { return t.Fallback(req, why) }, "Fallback")
}
