package body

import (
	"fmt"
	"io"
	"net/http"
)

// keepWriter returns b, which wraps another body. If the wrapped body can be written to, so can the
// returned body.
func keepWriter(b, wrapped io.ReadCloser) io.ReadCloser {
	if w, ok := wrapped.(io.Writer); ok {
		return upgraded{b, w}
	}
	return b
}

// upgraded is a body that can be written to. Such a body comes with an answer after which the connection is
// used for another protocol (101 Switching Protocols).
type upgraded struct {
	io.ReadCloser
	io.Writer
}

// CloseWrite ends what is written, if the Writer has a CloseWrite: httputil.ReverseProxy looks for it.
func (b upgraded) CloseWrite() error {
	if c, ok := b.Writer.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return fmt.Errorf("pacer: CloseWrite: %w", http.ErrNotSupported)
}
