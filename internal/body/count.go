package body

import (
	"io"
	"math"
	"net/http"
	"sync/atomic"
)

// Count returns a body that adds to n the number of bytes that are read of it.
func Count(b io.ReadCloser, n *atomic.Int64) io.ReadCloser { return counted{b, n} }

// Sent returns how many bytes of a request's body were sent: the number in counted, or, if counted is nil,
// the length that the request states.
func Sent(req *http.Request, counted *atomic.Int64) int64 {
	if counted != nil {
		return counted.Load()
	}
	return max(req.ContentLength, 0)
}

// Cost returns what bodies of these lengths cost together in bytes, where a negative length is none.
func Cost(lengths ...int64) (sum int64) {
	for _, n := range lengths {
		sum += min(max(n, 0), math.MaxInt64-sum)
	}
	return sum
}

// counted is a body that counts what is read of it.
type counted struct {
	io.ReadCloser
	n *atomic.Int64
}

// Read implements io.Reader.
func (b counted) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.n.Add(int64(n))
	return n, err
}

// Touched returns b, and a function that reports whether it was read or closed since.
func Touched(b io.ReadCloser) (same io.ReadCloser, touched func() bool) {
	t := &touchable{ReadCloser: b}
	return t, t.touched.Load
}

// touchable is a body that knows whether it was read or closed.
type touchable struct {
	io.ReadCloser
	touched atomic.Bool
}

// Read implements io.Reader.
func (b *touchable) Read(p []byte) (int, error) {
	b.touched.Store(true)
	return b.ReadCloser.Read(p)
}

// Close implements io.Closer.
func (b *touchable) Close() error {
	b.touched.Store(true)
	return b.ReadCloser.Close()
}
