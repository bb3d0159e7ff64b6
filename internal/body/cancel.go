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
func (b canceling) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.cancel(nil)
	}
	return n, err
}

// Close implements io.Closer.
func (b canceling) Close() error {
	err := b.ReadCloser.Close()
	b.cancel(nil)
	return err
}
