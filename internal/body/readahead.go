package body

import (
	"io"
	"math"
	"net/http"
	"sync/atomic"
	"time"
)

// aheadLimit is how many bytes ReadAhead reads of an answer that may still be returned. Pages that say what
// is wrong are shorter.
const aheadLimit = 64 << 10

// Peek reads up to n bytes of a body. It returns these bytes, and a body that returns all of b, these bytes
// included. Peek does not wait for a slow body: it begins no Read after drainTime.
func Peek(b io.ReadCloser, n int) (begin []byte, whole io.ReadCloser) {
	p := &partlyRead{rest: b}
	p.readBeginning(n, drainTime)
	return p.beginning, p
}

// ReadAhead returns a body that returns all of b, and reads up to aheadLimit bytes of b in a goroutine. It
// is for an answer that may still be returned while its request waits, but that should not hold a
// connection meanwhile: the request may wait in line for another request of this process, and that one for
// the connection. If b is longer than aheadLimit, its connection stays in use. ReadAhead returns a body of
// its own unchanged.
func ReadAhead(b io.ReadCloser) io.ReadCloser {
	if _, ok := b.(*readingAhead); ok {
		return b
	}
	a := &readingAhead{partlyRead{rest: b}, make(chan struct{})}
	go func() { // the goroutine ends when the body has ended or is closed
		defer close(a.done)
		a.readBeginning(aheadLimit, math.MaxInt64)
	}()
	return a
}

// readingAhead is a body whose beginning is read by a goroutine.
type readingAhead struct {
	partlyRead
	done chan struct{} // closed when the goroutine has ended
}

// Read implements io.Reader.
func (b *readingAhead) Read(p []byte) (int, error) {
	<-b.done
	return b.partlyRead.Read(p)
}

// partlyRead is a body whose beginning was read already.
type partlyRead struct {
	beginning []byte
	err       error // with which reading the beginning ended; nil if more may follow
	rest      io.ReadCloser

	closed atomic.Bool // atomic, since net/http allows Close while another goroutine reads
}

// readBeginning reads up to n bytes, and begins no other Read after d.
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
