package body

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"sync"
	"time"
)

// aheadLimit is how many bytes ReadAhead reads of an answer that may still be returned. Pages that say what
// is wrong are shorter.
const aheadLimit = 64 << 10

// errLeft is the error of a body whose Read has panicked, or has ended its goroutine, when it is read once
// more.
var errLeft = errors.New("pacer: a Read of the body has not returned")

// errLost is the error of a body whose rest was given up.
var errLost = fmt.Errorf("pacer: the rest of the answer was not kept while its request waited: %w", io.ErrUnexpectedEOF)

// lookTime bounds how long Peek takes. A page that is written at once comes at once; one that takes longer is
// streamed, or stalls.
const lookTime = time.Second

// Peek reads up to n bytes of a body, for up to lookTime, but not after ctx has ended, and not after until
// unless that is zero. It returns then also if a Read blocks: the bytes that have come, and a body that returns
// all of b, these bytes included.
func Peek(ctx context.Context, b io.ReadCloser, n int, until time.Time) (begin []byte, whole io.ReadCloser) {
	d := lookTime
	if !until.IsZero() {
		d = min(d, time.Until(until))
	}
	a := readAhead(b, n)
	a.wait(ctx, d)
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.buf, keepWriter(a, b)
}

// ReadAhead returns a body that returns all of b, and reads up to aheadLimit bytes of b in a goroutine. It
// is for an answer that may still be returned while its request waits, but that should not hold a
// connection meanwhile: the request may wait in line for another request of this process, and that one for
// the connection. If b is longer than aheadLimit, its connection stays in use. What has come can be read at
// once, while the goroutine waits for more. ReadAhead returns a body of its own as it is.
//
// If frees is set, b holds its connection for lookTime at most, unless somebody reads: what is longer, or comes
// later, is lost, and a Read says so.
func ReadAhead(b io.ReadCloser, frees bool) io.ReadCloser {
	a, ok := b.(*ahead)
	if !ok {
		a = readAhead(b, aheadLimit)
	}
	if frees {
		a.frees.Do(func() { go a.free() })
	}
	return a
}

func readAhead(b io.ReadCloser, n int) *ahead {
	a := &ahead{rest: b, news: make(chan struct{}, 1), done: make(chan struct{}), closing: make(chan struct{})}
	go a.fill(n)
	return a
}

// ahead is a body whose beginning is read by a goroutine. The goroutine ends when it has read that much, and
// when the body has ended or is closed. Close does not wait for it, and nor does a Read after Close.
//
// A panic of a Read in the goroutine is handed on to the goroutine that reads or closes the ahead, where it
// would have been without one; and so is a runtime.Goexit. If the ahead is closed already, the panic goes its
// way.
type ahead struct {
	rest    io.ReadCloser
	news    chan struct{} // has an element if something was read since the reader has looked; it has room for one
	done    chan struct{} // closed when the goroutine has ended
	closing chan struct{} // closed by Close
	frees   sync.Once     // has free called once

	mu     sync.Mutex // protects the fields below; not held while rest is read
	buf    []byte     // what the goroutine has read; it writes only behind that
	off    int        // how much of buf was returned
	err    error      // with which rest ended; nil if more may follow, read from rest when the goroutine has ended
	closed bool
	taken  bool    // somebody has begun to read
	freed  bool    // free closes rest, or has
	left   bool    // closeWithin no longer waits for Close
	escape *escape // of a Read, or of Close in closeWithin; nil if both have returned, or if it was handed on
}

// escape is how a function that did not return has ended: it has panicked with a value, or, if that is nil, has
// ended its goroutine.
type escape struct{ value any }

// caught is deferred by a goroutine of b. It keeps how that has ended for handOn, unless it has returned, or
// nobody is to hear of it: then a panic goes its way.
func (b *ahead) caught(returned, unheard *bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !*returned && !*unheard {
		b.escape, b.err = &escape{recover()}, cmp.Or(b.err, errLeft)
	}
}

// fill reads up to n bytes.
func (b *ahead) fill(n int) {
	returned := false
	defer b.tell()
	defer close(b.done)
	defer b.caught(&returned, &b.closed)
	for tail := b.tail(n); len(tail) > 0; tail = b.tail(n) {
		m, err := b.rest.Read(tail)
		if m < 0 || m > len(tail) { // a panic further down would leave the lock behind
			panic(fmt.Sprintf("pacer: a Read of the body of an answer returned %d, where there is room for %d bytes", m, len(tail)))
		}
		b.mu.Lock()
		if b.buf = b.buf[:len(b.buf)+m]; !b.freed {
			b.err = err
		}
		b.mu.Unlock()
		b.tell()
	}
	returned = true
}

// free closes rest, if more may follow when the goroutine has ended, or after lookTime, and nobody reads.
func (b *ahead) free() {
	timer := time.NewTimer(lookTime)
	defer timer.Stop()
	select {
	case <-b.done:
	case <-timer.C:
	case <-b.closing:
	}
	b.mu.Lock()
	frees := b.err == nil && !b.closed && !b.taken
	if frees {
		b.freed, b.err = true, errLost
	}
	b.mu.Unlock()
	if !frees {
		return
	}
	returned := false
	defer b.tell()
	defer b.caught(&returned, &b.closed)
	b.rest.Close()
	returned = true
}

// wait waits until the goroutine has ended, until ctx ends and for d at most.
func (b *ahead) wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-b.done:
		b.handOn()
	case <-timer.C:
	case <-ctx.Done():
	}
}

// tail is where the goroutine reads to, empty if it is to read no more.
func (b *ahead) tail(n int) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.err != nil || len(b.buf) >= n {
		return nil
	}
	if len(b.buf) == cap(b.buf) {
		b.buf = append(make([]byte, 0, min(max(2*len(b.buf), 512), n)), b.buf...)
	}
	return b.buf[len(b.buf):cap(b.buf)]
}

// tell wakes the reader.
func (b *ahead) tell() {
	select {
	case b.news <- struct{}{}:
	default:
	}
}

// Read implements io.Reader.
func (b *ahead) Read(p []byte) (int, error) {
	for {
		if n, err, known := b.readBuf(p); known {
			return n, err
		}
		select {
		case <-b.done:
			b.handOn()
			if n, err, known := b.readBuf(p); known {
				return n, err
			}
			return b.rest.Read(p)
		case <-b.news:
		case <-b.closing:
		}
	}
}

// readBuf returns what was read ahead. Known is false if nothing is left of that, and more may follow.
func (b *ahead) readBuf(p []byte) (n int, err error, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken = true
	switch {
	case b.closed:
		return 0, http.ErrBodyReadAfterClose, true
	case b.off < len(b.buf):
		n = copy(p, b.buf[b.off:])
		b.off += n
		return n, nil, true
	}
	return 0, b.err, b.err != nil && b.escape == nil
}

// handOn panics, or ends the goroutine, if the goroutine of b has done that, and nobody else has yet.
func (b *ahead) handOn() {
	b.mu.Lock()
	e := b.escape
	b.escape = nil
	b.mu.Unlock()
	switch {
	case e == nil:
	case e.value != nil:
		panic(e.value)
	default:
		runtime.Goexit()
	}
}

// Close implements io.Closer.
func (b *ahead) Close() error {
	b.mu.Lock()
	if !b.closed {
		close(b.closing)
	}
	b.closed = true
	freed := b.freed
	b.mu.Unlock()
	var err error
	if !freed {
		err = b.rest.Close()
	}
	b.handOn()
	return err
}

// closeWithin closes b, and waits for that for d at most.
func (b *ahead) closeWithin(d time.Duration) {
	closed := make(chan struct{})
	go func() {
		returned := false
		defer close(closed)
		defer b.caught(&returned, &b.left)
		b.Close()
		returned = true
	}()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-closed:
		b.handOn()
	case <-timer.C:
		b.mu.Lock()
		b.left = true
		b.mu.Unlock()
	}
}
