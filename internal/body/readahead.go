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
	p := &partlyRead{rest: b}
	p.readBeginning(n, drainTime)
	return p.beginning, p
}

// ReadAhead reads up to 64 KiB of a body in a goroutine, and returns a body that hands on all of b. It is
// for an answer that may still be returned while its request waits, but shall not hold a connection
// meanwhile: the request may wait in line for another request of ours, and that one for the connection.
// What is longer is not read ahead from there on. A body that ReadAhead has returned, it returns as it is.
func ReadAhead(b io.ReadCloser) io.ReadCloser {
	if _, ok := b.(*readingAhead); ok {
		return b
	}
	a := &readingAhead{partlyRead{rest: b}, make(chan struct{})}
	go func() { // which ends when the body does, or is closed
		defer close(a.done)
		a.readBeginning(aheadLimit, math.MaxInt64)
	}()
	return a
}

// readingAhead is a body that is being read readingAhead.
type readingAhead struct {
	partlyRead
	done chan struct{} // closed when as much was read as will be
}

// Read implements io.Reader.
func (b *readingAhead) Read(p []byte) (int, error) {
	<-b.done
	return b.partlyRead.Read(p)
}

// partlyRead is a body of which the beginning was read.
type partlyRead struct {
	beginning []byte
	err       error // with which that ended; nil if more may follow
	rest      io.ReadCloser

	closed atomic.Bool // perhaps by one goroutine while another reads, as net/http's bodies allow
}

// readBeginning reads up to n bytes. It does not begin another Read after d.
func (b *partlyRead) readBeginning(n int, d time.Duration) {
	b.beginning = make([]byte, 0, 512)
	for start := time.Now(); len(b.beginning) < n && b.err == nil && time.Since(start) < d; {
		if len(b.beginning) == cap(b.beginning) {
			b.beginning = append(b.beginning, 0)[:len(b.beginning)]
		}
		var m int
		m, b.err = b.rest.Read(b.beginning[len(b.beginning):min(cap(b.beginning), n)])
		b.beginning = b.beginning[:len(b.beginning)+m]
	}
}

// Read implements io.Reader.
func (b *partlyRead) Read(p []byte) (n int, err error) {
	if b.closed.Load() {
		return 0, http.ErrBodyReadAfterClose
	}
	if len(b.beginning) > 0 {
		n = copy(p, b.beginning)
		b.beginning = b.beginning[n:]
		return n, nil
	}
	if b.err != nil {
		return 0, b.err
	}
	return b.rest.Read(p)
}

// Close implements io.Closer.
func (b *partlyRead) Close() error {
	b.closed.Store(true)
	return b.rest.Close()
}
