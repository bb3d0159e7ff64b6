package pacer

import (
	"bytes"
	"io"
	"net/http"
	"time"
)

const (
	// drainLimit is how much of an answer that nobody will read is read, so that
	// its connection can be used again (go-retryablehttp's figure).
	drainLimit = 4096
	// drainTime is how long that may take: a body that trickles does not hold the
	// next attempt up.
	drainTime = 100 * time.Millisecond
	// keepTime is the same for one that may still be wanted. It is longer, since what
	// has not come by then is lost.
	keepTime = time.Second
)

// keep reads a short body into memory, so that the answer can still be returned
// but does not hold a connection while the request waits. Longer ones, and those
// whose length is not known, stay as they are.
func (x *exchange) keep() {
	if x.resp == nil || x.resp.ContentLength < 0 || x.resp.ContentLength > drainLimit {
		return
	}
	if _, kept := x.resp.Body.(*keptBody); kept {
		return
	}
	body := x.resp.Body
	timer := time.AfterFunc(keepTime, func() { body.Close() })
	read, err := io.ReadAll(io.LimitReader(body, drainLimit))
	timer.Stop()
	body.Close()
	x.resp.Body = &keptBody{bytes.NewReader(read), err}
}

// keptBody is a body that was read already, and the error with which it ended.
type keptBody struct {
	*bytes.Reader
	err error
}

// Read implements io.Reader.
func (b *keptBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF && b.err != nil {
		err = b.err
	}
	return n, err
}

// Close implements io.Closer.
func (b *keptBody) Close() error { return nil }

// discard reads a bounded part of an answer that is not wanted, and closes it.
func discard(resp *http.Response) {
	if resp == nil {
		return
	}
	body := resp.Body
	timer := time.AfterFunc(drainTime, func() { body.Close() })
	io.CopyN(io.Discard, body, drainLimit) //nolint:errcheck // what cannot be read is not wanted either
	timer.Stop()
	body.Close()
}
