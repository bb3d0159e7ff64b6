package body

import (
	"io"
	"math"
	"net/http"
	"sync/atomic"
	"time"
)

// aheadLimit is how much is read ahead of an answer that may still be wanted. Pages that
// say what is wrong are shorter.
const aheadLimit = 64 << 10

// Peek reads up to n bytes of a body. It returns them, and a body that hands on all of b as it comes,
// these bytes included. A body that trickles is not waited for: no Read begins after 100 ms.
func Peek(b io.ReadCloser, n int) (begin []byte, whole io.ReadCloser) {
	p := &begun{rest: b}
	p.read(n, drainTime)
	return p.begin, p
}

// ReadAhead reads up to 64 KiB of a body in a goroutine, and returns a body that hands on all of b. It is
// for an answer that may still be returned while its request waits, but shall not hold a connection
// meanwhile: the request may wait in line for another request of ours, and that one for the connection.
// What is longer is not read ahead from there on. A body that ReadAhead has returned, it returns as it is.
func ReadAhead(b io.ReadCloser) io.ReadCloser {
	if _, ok := b.(*ahead); ok {
		return b
	}
	a := &ahead{begun{rest: b}, make(chan struct{})}
	go func() { // which ends when the body does, or is closed
		defer close(a.done)
		a.read(aheadLimit, math.MaxInt64)
	}()
	return a
}

// ahead is a body that is being read ahead.
type ahead struct {
	begun
	done chan struct{} // closed when as much was read as will be
}

// Read implements io.Reader.
func (b *ahead) Read(p []byte) (int, error) {
	<-b.done
	return b.begun.Read(p)
}

// begun is a body of which the beginning was read.
type begun struct {
	begin []byte
	err   error // with which that ended; nil if more may follow
	rest  io.ReadCloser

	closed atomic.Bool // perhaps by one goroutine while another reads, as net/http's bodies allow
}

// read reads up to n bytes. It does not begin another Read after d.
func (b *begun) read(n int, d time.Duration) {
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
func (b *begun) Read(p []byte) (n int, err error) {
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
func (b *begun) Close() error {
	b.closed.Store(true)
	return b.rest.Close()
}
