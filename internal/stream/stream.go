// Package stream makes bodies flow no faster than a bucket grants bytes.
//
// In come a RoundTripper, a bucket, and a claim that says for whom bytes flow; out comes a RoundTripper whose
// bodies wait for the bucket piece by piece. The package does not know which bucket a request draws on.
package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/gopacer/pacer/internal/attempt"
	"github.com/gopacer/pacer/internal/body"
	"github.com/gopacer/pacer/throttle"
)

// Base is a RoundTripper through which bodies flow as a bucket grants: those of both directions, and what is
// written to a connection that is used for another protocol. Waits end with the context of the request that it
// is given.
type Base struct {
	http.RoundTripper
	Bucket *throttle.Limiter
	Claim  throttle.Claim // for whom bytes flow
}

// RoundTrip implements http.RoundTripper.
func (b *Base) RoundTrip(req *http.Request) (*http.Response, error) {
	out := b.request(req)
	resp, err := attempt.Send(b.RoundTripper, out)
	if err != nil {
		return nil, err
	}
	if resp.Request == out {
		resp.Request = req
	}
	if body.Has(req, resp) {
		first := 0
		if resp.StatusCode >= 400 {
			first = said
		}
		resp.Body = b.flowing(req.Context(), resp.Body, first)
	}
	return resp, nil
}

// request returns req, or if it has a body a copy whose body flows, and is charged again if it is sent again.
func (b *Base) request(req *http.Request) *http.Request {
	if req.Body == nil || req.Body == http.NoBody {
		return req
	}
	out := req.WithContext(req.Context())
	out.Body = b.flowing(req.Context(), req.Body, 0)
	if get := req.GetBody; get != nil { // which net/http calls where a connection turns out to be closed
		out.GetBody = func() (io.ReadCloser, error) {
			again, err := get()
			if err != nil || again == nil {
				return again, err
			}
			return b.flowing(req.Context(), again, 0), nil
		}
	}
	return out
}

// said is how many bytes of an error go before other bodies: as many as are read to learn what it says. That is
// waited for a second at most, and in a line of many bodies they would not come in time.
const said = 64 << 10

// flowing returns a body whose pieces wait until ctx ends, or the body is closed. The first bytes, so many, go
// before those of other bodies.
func (b *Base) flowing(ctx context.Context, whole io.ReadCloser, first int) io.ReadCloser {
	closing, c := make(chan struct{}), b.Claim
	c.Cancel = closing
	f := &flow{
		ReadCloser: whole, reader: throttle.Reader{R: whole, Limiter: b.Bucket, Context: ctx, Claim: c},
		closing: sync.OnceFunc(func() { close(closing) }), closed: closing, first: first,
	}
	if w, ok := whole.(io.Writer); ok {
		return &upgraded{flow: f, writer: throttle.Writer{W: w, Limiter: b.Bucket, Context: ctx, Claim: c}}
	}
	return f
}

// flow is a body that flows as a bucket grants.
type flow struct {
	io.ReadCloser
	reader  throttle.Reader
	first   int    // bytes that go before those of other bodies
	closing func() // closes closed
	closed  <-chan struct{}
}

// Read implements io.Reader. After Close, it returns the error of the body, and no piece that was read before,
// and waited.
func (f *flow) Read(p []byte) (n int, err error) {
	if f.isClosed() {
		_, err = f.ReadCloser.Read(nil)
		return 0, cmp.Or(err, http.ErrBodyReadAfterClose)
	}
	if n, err = f.read(p); errors.Is(err, throttle.ErrCanceled) && f.isClosed() {
		err = http.ErrBodyReadAfterClose
	}
	return n, err
}

// read reads a piece: an urgent one, if it goes first.
func (f *flow) read(p []byte) (n int, err error) {
	if f.first <= 0 {
		return f.reader.Read(p)
	}
	usual := f.reader.Claim.Priority
	f.reader.Claim.Priority = throttle.Urgent
	n, err = f.reader.Read(p[:min(len(p), f.first)])
	f.first -= n
	f.reader.Claim.Priority = usual
	return n, err
}

func (f *flow) isClosed() bool {
	select {
	case <-f.closed:
		return true
	default:
		return false
	}
}

// Close implements io.Closer. A Read that waits for a piece ends.
func (f *flow) Close() error {
	f.closing()
	return f.ReadCloser.Close()
}

// upgraded is the body of a 101 Switching Protocols, which can be written to.
type upgraded struct {
	*flow
	writer throttle.Writer
}

// Write implements io.Writer.
func (u *upgraded) Write(p []byte) (int, error) { return u.writer.Write(p) }

// CloseWrite ends what is written, if the body can do that: httputil.ReverseProxy looks for it.
func (u *upgraded) CloseWrite() error {
	if c, ok := u.writer.W.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return fmt.Errorf("pacer: CloseWrite: %w", http.ErrNotSupported)
}
