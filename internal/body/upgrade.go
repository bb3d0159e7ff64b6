package body

import (
	"fmt"
	"io"
	"net/http"
)

// keepWriter returns b, which wraps another body, with the methods for writing of the wrapped body, if it
// has any.
func keepWriter(b, wrapped io.ReadCloser) io.ReadCloser {
	if w, ok := wrapped.(io.Writer); ok {
		return upgraded{b, w}
	}
	return b
}

// upgraded is a body that can be written to, as that of an answer after which the connection is used for
// another protocol (101 Switching Protocols).
type upgraded struct {
	io.ReadCloser
	io.Writer
}

// CloseWrite ends what is written, if the Writer can: httputil.ReverseProxy looks for it.
func (b upgraded) CloseWrite() error {
	if c, ok := b.Writer.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return fmt.Errorf("pacer: CloseWrite: %w", http.ErrNotSupported)
}
