package pacer

import (
	"crypto/rand"
	"fmt"
	"net/http"
)

// idempotent reports whether sending twice is the same as sending once: the methods
// of RFC 9110 section 9.2.2 and QUERY (draft-ietf-httpbis-safe-method-w-body), or an
// Idempotency-Key, by the rule of net/http that the header's presence is enough.
func idempotent(req *http.Request) bool {
	if idempotentMethod(req.Method) {
		return true
	}
	_, key := req.Header["Idempotency-Key"]
	_, xkey := req.Header["X-Idempotency-Key"]
	return key || xkey
}

func idempotentMethod(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete, "QUERY":
		return true
	}
	return false
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

// alters reports whether requests are sent as copies that differ from the caller's.
func (t *Transport) alters() bool { return t.IdempotencyKey != nil || t.BufferBody > 0 }

// altered returns the request that is sent in place of the caller's: with a key, which
// all attempts have in common, and with a body that can be sent again.
func (t *Transport) altered(req *http.Request) *http.Request {
	out := req
	if t.IdempotencyKey != nil && !idempotent(req) {
		if key := t.IdempotencyKey(req); key != "" {
			out = req.WithContext(req.Context())
			out.Header = req.Header.Clone()
			out.Header.Set("Idempotency-Key", key)
		}
	}
	if t.BufferBody > 0 && !replayable(req) && req.ContentLength <= t.BufferBody {
		if out == req {
			out = req.WithContext(req.Context())
		}
		b := newReplay(req.Body, t.BufferBody)
		out.GetBody = b.open
		out.Body, _ = b.open()
	}
	return out
}
