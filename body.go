package pacer

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gopacer/pacer/throttle"
)

// answerBody is the body of an answer whose end matters: it holds a slot of what may be
// in flight, or its bytes are counted. That ends when it is read to its end, closed, or
// fails, when the request's context ends, since nothing can be read after that, or when it
// was not read for a while.
type answerBody struct {
	io.ReadCloser
	of     *bucket // which is not forgotten until the end
	grant  throttle.Grant
	counts bool         // bytes
	read   atomic.Int64 // as far as it was read
	req    *http.Request
	sent   *atomic.Int64 // of the request's body; nil if its length is known

	unread time.Duration
	ended  atomic.Bool

	mu    sync.Mutex // protects the fields below until watch has set them
	timer *time.Timer
	stop  func() bool
}

// watch returns the body of resp with g ending as it does.
func (t *Transport) watch(req *http.Request, of *bucket, resp *http.Response, g *throttle.Grant, counts bool, sent *atomic.Int64) io.ReadCloser {
	of.open.Add(1)
	b := &answerBody{ReadCloser: resp.Body, of: of, grant: *g, counts: counts, req: req, sent: sent, unread: t.maxUnread()}
	b.mu.Lock() // end runs in goroutines of their own, at once if ctx has ended
	defer b.mu.Unlock()
	b.stop = context.AfterFunc(req.Context(), b.end)
	if b.unread > 0 {
		b.timer = time.AfterFunc(b.unread, b.end)
	}
	if w, ok := resp.Body.(io.Writer); ok {
		return upgradedBody{b, w}
	}
	return b
}

// upgradedBody is that of a connection which is used for something else now: it can be
// written to.
type upgradedBody struct {
	*answerBody
	io.Writer
}

// CloseWrite ends what is written, if Base can: httputil.ReverseProxy looks for it.
func (b upgradedBody) CloseWrite() error {
	if c, ok := b.Writer.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return fmt.Errorf("pacer: CloseWrite: %w", http.ErrNotSupported)
}

// Read implements io.Reader.
func (b *answerBody) Read(p []byte) (int, error) {
	if b.timer != nil {
		b.timer.Stop()
	}
	n, err := b.ReadCloser.Read(p)
	b.read.Add(int64(n))
	switch {
	case err != nil:
		b.end()
	case b.timer != nil && !b.ended.Load():
		b.timer.Reset(b.unread)
	}
	return n, err
}

// Close implements io.Closer.
func (b *answerBody) Close() error {
	err := b.ReadCloser.Close()
	b.end()
	return err
}

func (b *answerBody) end() {
	if b.ended.Swap(true) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stop()
	if b.timer != nil {
		b.timer.Stop()
	}
	if b.counts {
		b.grant.Settle(throttle.Costs{throttle.Bytes: int(bytesOf(b.req, b.sent) + b.read.Load())})
	}
	b.grant.Close()
	b.of.open.Add(-1)
}

// bytesOf returns how much of a request's body was sent.
func bytesOf(req *http.Request, sent *atomic.Int64) int64 {
	if sent != nil {
		return sent.Load()
	}
	return max(req.ContentLength, 0)
}

// maxUnread is zero if there is no bound.
func (t *Transport) maxUnread() time.Duration {
	if t.MaxUnread == 0 {
		return 5 * time.Minute
	}
	return max(t.MaxUnread, 0)
}

// hasBody reports whether an answer has a body to read: the rules of RFC 9110 section
// 6.4.1, and what Base says.
func hasBody(req *http.Request, resp *http.Response) bool {
	switch {
	case req.Method == http.MethodHead, resp.StatusCode == http.StatusNoContent, resp.StatusCode == http.StatusNotModified:
		return false
	case resp.StatusCode == http.StatusSwitchingProtocols:
		return true
	}
	return resp.Body != http.NoBody && resp.ContentLength != 0
}

// countedBody counts what is sent of a body whose length is not known.
type countedBody struct {
	io.ReadCloser
	n *atomic.Int64
}

// Read implements io.Reader.
func (b countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.n.Add(int64(n))
	return n, err
}
