package pacer

import (
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gopacer/pacer/headers"
	"github.com/gopacer/pacer/throttle"
)

// refusal reports whether an answer says "not yet": the server did nothing because
// a limit is used up. What it says itself is the reason counts first. Else a 429 always
// is one; others are when they say when to come back (Retry-After), and a 403, which
// GitHub sends, also when it says that nothing remains.
func refusal(status int, limits []throttle.Statement, hint headers.Retry) bool {
	switch {
	case hint.Cause == headers.TooFast || hint.Cause == headers.TooMany:
		return true
	case hint.Cause == headers.Busy || status < 400:
		return false
	}
	switch status {
	case http.StatusTooManyRequests:
		return true
	case http.StatusServiceUnavailable, 420, 509, 529, http.StatusTeapot:
		return hint.Known
	case http.StatusForbidden:
		for _, l := range limits {
			if l.Remaining <= 0 {
				return true
			}
		}
		return hint.Known
	}
	return false
}

// sheds reports whether an answer that is no refusal by what it says may be one: nginx's
// limit_req and limit_conn answer 503 unless told otherwise, without a Retry-After.
func sheds(status int, hint headers.Retry) bool {
	return status == http.StatusServiceUnavailable && !hint.Known && hint.Cause == headers.NoCause && hint.Word == headers.NoWord
}

// spentHold is for how long a bucket is held, within MaxHold, when a quota is spent which
// is granted by the day or longer, or for money: until one request looks again.
const spentHold = time.Hour

// ErrorBodies is for Transport.Bodies: all answers that are errors.
func ErrorBodies(resp *http.Response) bool { return resp.StatusCode >= 400 }

// readBody looks into the body of an answer, and hands it on as it came.
func (t *Transport) readBody(req *http.Request, resp *http.Response, at time.Time, limits []headers.Limit, hint headers.Retry) ([]headers.Limit, headers.Retry) {
	if !hasBody(req, resp) || !headers.BodyTells(resp.Header) {
		return limits, hint
	}
	b := &readBody{rest: resp.Body}
	b.read(headers.MaxBody, drainTime)
	resp.Body = b
	facts := t.Headers.ParseBody(resp.Header, b.begin, at)
	return facts.Limits, facts.Retry
}

// readBody is a body of which the beginning was read.
type readBody struct {
	begin []byte
	err   error // with which that ended; nil if more may follow
	rest  io.ReadCloser

	closed atomic.Bool // perhaps by one while another reads, as net/http's bodies allow
}

// read reads up to n bytes. It does not begin another Read after d.
func (b *readBody) read(n int, d time.Duration) {
	b.begin = make([]byte, 0, 512)
	for start := time.Now(); len(b.begin) < n && b.err == nil && time.Since(start) < d; {
		if len(b.begin) == cap(b.begin) {
			b.begin = append(b.begin, 0)[:len(b.begin)]
		}
		var m int
		m, b.err = b.rest.Read(b.begin[len(b.begin):min(cap(b.begin), n)])
		b.begin = b.begin[:len(b.begin)+m]
	}
}

// Read implements io.Reader.
func (b *readBody) Read(p []byte) (n int, err error) {
	if b.closed.Load() {
		return 0, http.ErrBodyReadAfterClose
	}
	if len(b.begin) > 0 {
		n = copy(p, b.begin)
		b.begin = b.begin[n:]
		return n, nil
	}
	if b.err != nil {
		return 0, b.err
	}
	return b.rest.Read(p)
}

// Close implements io.Closer.
func (b *readBody) Close() error {
	b.closed.Store(true)
	return b.rest.Close()
}
