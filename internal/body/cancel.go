package body

import (
	"context"
	"io"
)

// CancelAtEnd returns a body that calls cancel(nil) when it has ended: when it was read to its end, has
// failed or was closed. If b can be written to, so can the returned body.
func CancelAtEnd(b io.ReadCloser, cancel context.CancelCauseFunc) io.ReadCloser {
	return keepWriter(canceling{b, cancel}, b)
}

// canceling is a body whose end cancels a context.
type canceling struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

// Read implements io.Reader.
func (b canceling) Read(p []byte) (n int, _ error) {
	err := errLeft // if it panics, the body has failed
	defer func() {
		if err != nil {
			b.cancel(nil)
		}
	}()
	n, err = b.ReadCloser.Read(p)
	return n, err
}

// Close implements io.Closer.
func (b canceling) Close() error {
	defer b.cancel(nil)
	return b.ReadCloser.Close()
}
