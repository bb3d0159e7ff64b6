// Package stream makes bodies flow no faster than a bucket grants bytes.
//
// In come a request or an answer, a bucket and a claim that says for whom bytes flow; out comes the same, with a body that waits
// for the bucket piece by piece. The package does not know which bucket a request draws on.
package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/gopacer/pacer/internal/body"
	"github.com/gopacer/pacer/throttle"
)

// Request returns a request whose body flows as l grants: a copy of req if it has a body, which is charged again if it is sent again.
func Request(req *http.Request, l *throttle.Limiter, c throttle.Claim) *http.Request {
	if req.Body == nil || req.Body == http.NoBody {
		return req
	}
	out := req.WithContext(req.Context())
	out.Body = flowing(req.Context(), req.Body, l, c)
	if get := req.GetBody; get != nil { // which net/http calls where a connection turns out to be closed
		out.GetBody = func() (io.ReadCloser, error) {
			b, err := get()
			if err != nil || b == nil {
				return b, err
			}
			return flowing(req.Context(), b, l, c), nil
		}
	}
	return out
}

// Response makes the body of the answer to req flow as l grants, if it has one. What is written to a connection that is used for
// another protocol flows so, too.
func Response(req *http.Request, resp *http.Response, l *throttle.Limiter, c throttle.Claim) {
	if body.Has(req, resp) {
		resp.Body = flowing(req.Context(), resp.Body, l, c)
	}
}

// flowing returns a body of which pieces wait until ctx ends, or the body is closed.
func flowing(ctx context.Context, b io.ReadCloser, l *throttle.Limiter, c throttle.Claim) io.ReadCloser {
	closing := make(chan struct{})
	c.Cancel = closing
	f := &flow{
		ReadCloser: b, reader: throttle.Reader{R: b, Limiter: l, Context: ctx, Claim: c},
		closing: sync.OnceFunc(func() { close(closing) }), closed: closing,
	}
	if w, ok := b.(io.Writer); ok {
		return &upgraded{flow: f, writer: throttle.Writer{W: w, Limiter: l, Context: ctx, Claim: c}}
	}
	return f
}

// flow is a body that flows as a bucket grants.
type flow struct {
	io.ReadCloser
	reader  throttle.Reader
	closing func() // closes closed
	closed  <-chan struct{}
}

// Read implements io.Reader.
func (f *flow) Read(p []byte) (int, error) {
	n, err := f.reader.Read(p)
	if errors.Is(err, throttle.ErrCanceled) {
		select {
		case <-f.closed:
			err = http.ErrBodyReadAfterClose
		default:
		}
	}
	return n, err
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
