package body

import (
	"context"
	"io"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Watch returns a body that calls ended once, when the body has ended, with the number of bytes that were
// read of it. A body has ended when it was read to its end, has failed or was closed; when ctx has ended,
// since nothing can be read after that; and when nothing was read for as long as unread. If unread is zero,
// only the other events count. If b can be written to, so can the returned body.
func Watch(ctx context.Context, b io.ReadCloser, unread time.Duration, ended func(read int64)) io.ReadCloser {
	w := &watched{ReadCloser: b, ended: ended, unread: unread}
	end := w.end
	w.mu.Lock() // end may run in another goroutine at once, if ctx has ended: it waits for the fields
	defer w.mu.Unlock()
	w.stop = context.AfterFunc(ctx, end)
	if unread > 0 {
		w.timer = time.AfterFunc(unread, end)
	}
	return keepWriter(w, b)
}

// MaxUnread is for how long an answer counts that nobody reads: zero means five minutes, the largest int no
// bound, for which it returns zero, and a negative value no time at all.
func MaxUnread(d time.Duration) time.Duration {
	switch d {
	case 0:
		return 5 * time.Minute
	case math.MaxInt:
		return 0
	}
	return max(d, 0)
}

// watched is a body that tells when it has ended; see Watch.
type watched struct {
	io.ReadCloser
	ended  func(read int64)
	unread time.Duration
	read   atomic.Int64 // bytes
	over   atomic.Bool  // ended was called, or is about to be called

	mu    sync.Mutex // protects the fields below until Watch has set them
	timer *time.Timer
	stop  func() bool
}

// Read implements io.Reader.
func (b *watched) Read(p []byte) (n int, _ error) {
	if b.timer != nil {
		b.timer.Stop()
	}
	err := errLeft // if it panics, the body has failed
	defer func() {
		switch {
		case err != nil:
			b.end()
		case b.timer != nil && !b.over.Load():
			b.timer.Reset(b.unread)
		}
	}()
	n, err = b.ReadCloser.Read(p)
	b.read.Add(int64(n))
	return n, err
}

// Close implements io.Closer.
func (b *watched) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

// end calls ended, unless it was called before.
func (b *watched) end() {
	if b.over.Swap(true) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stop()
	if b.timer != nil {
		b.timer.Stop()
	}
	b.ended(b.read.Load())
}
