package body

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// Replayable reports whether the body of a request can be sent again, as far as is known now. A body with
// trailers cannot be: net/http writes their values into the caller's map while the body is read, and the
// previous attempt may still do so.
func Replayable(req *http.Request) bool {
	if r, ok := req.Body.(*replayReader); ok {
		return r.of.lost() == nil && req.Trailer == nil
	}
	return req.Body == nil || req.Body == http.NoBody || req.GetBody != nil && req.Trailer == nil
}

// Again returns the body of a request for another attempt: that of GetBody, or none if the request has none.
func Again(req *http.Request) (io.ReadCloser, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return req.Body, nil
	}
	b, err := req.GetBody()
	switch {
	case err != nil:
		return nil, fmt.Errorf("pacer: GetBody for another attempt: %w", err)
	case b == nil:
		return nil, errors.New("pacer: GetBody for another attempt returned neither a body nor an error")
	}
	return b, nil
}

// Replay makes it possible to send a body without GetBody again, if the body turns out to be no longer than
// a limit. Replay keeps what is read while the body is sent, and does not read ahead: if the caller
// produces an upload bit by bit, perhaps in answer to what the server sends meanwhile, reading ahead would
// never end.
//
// Each attempt has a reader of its own. A reader first returns what was kept, and then goes on with the
// source. Only one reader at a time reads the source, and what it reads is kept for all readers, since the
// last attempt may still be in a Read when the next attempt begins. The source is closed once, when the
// request is finished.
type Replay struct {
	source  io.ReadCloser
	limit   int64
	tooLong error // the error for a body that is longer than limit

	// reading is a lock, held while the source is read. It is a channel, since a goroutine that waits for a
	// channel is durably blocked in the sense of testing/synctest.
	reading chan struct{}

	mu           sync.Mutex // protects the fields below; not held while the source is read
	kept         []byte
	sourceErr    error         // with which the source ended; nil if it has not
	current      *replayReader // the reader of the latest attempt
	overLimit    bool          // more than limit bytes were read; only the reader that read them goes on
	sourceClosed bool          // Finish was called: there will be no other attempt
	closed       bool          // the source
}

// NewReplay returns a Replay of source that keeps up to limit bytes. If source is longer, Open returns
// tooLong.
func NewReplay(source io.ReadCloser, limit int64, tooLong error) *Replay {
	return &Replay{source: source, limit: limit, tooLong: tooLong, reading: make(chan struct{}, 1)}
}

// Open returns a reader for another attempt, and closes the reader of the attempt before. If the body
// cannot be sent again, Open returns an error.
func (b *Replay) Open() (io.ReadCloser, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.lostLocked(); err != nil {
		return nil, err
	}
	if b.current != nil {
		b.current.closed = true
	}
	b.current = &replayReader{of: b}
	return b.current, nil
}

// lost returns why the body cannot be sent again. It returns nil if the body can be, as far as it was read.
func (b *Replay) lost() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lostLocked()
}

// lostLocked is lost for callers that hold mu.
func (b *Replay) lostLocked() error {
	switch {
	case b.overLimit:
		return b.tooLong
	case b.sourceErr != nil && b.sourceErr != io.EOF: //nolint:errorlint // io.Reader returns io.EOF itself
		return b.sourceErr
	}
	return nil
}

// record notes what r has read from the source. If r was closed meanwhile, the bytes are kept even over the
// limit, since the next reader needs them.
func (b *Replay) record(r *replayReader, p []byte, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sourceErr = err
	switch {
	case b.overLimit:
	case int64(len(b.kept)+len(p)) > b.limit && !r.closed:
		b.overLimit, b.kept = true, nil
	default:
		b.kept = append(b.kept, p...)
	}
	r.off += len(p)
}

// Finish says that there will be no other attempt. The source is closed when the last reader is closed,
// which may be later: a server may answer while the body is still being sent. If the request has failed, nobody
// waits for that: net/http does not close a reader that it has got from GetBody, if the request is canceled
// before it sends that. Of a nil Replay, Finish does nothing.
func (b *Replay) Finish(failed bool) {
	if b == nil {
		return
	}
	b.mu.Lock()
	b.sourceClosed = true
	b.current.closed = b.current.closed || failed
	b.closeLocked() //nolint:errcheck // no caller could use the error
}

// closeLocked closes the source if no reader will read it any more. It must be called with mu held, and
// releases mu.
func (b *Replay) closeLocked() error {
	last := b.sourceClosed && b.current.closed && !b.closed
	b.closed = b.closed || last
	b.mu.Unlock()
	if !last {
		return nil
	}
	return b.source.Close()
}

// replayReader is the body of one attempt.
type replayReader struct {
	of     *Replay
	off    int  // how many bytes it has returned
	closed bool // protected by of.mu
}

// Read implements io.Reader.
func (r *replayReader) Read(p []byte) (n int, err error) {
	if n, err := r.readKept(p); n > 0 || err != nil || len(p) == 0 {
		return n, err
	}
	r.of.reading <- struct{}{}
	defer func() { <-r.of.reading }()
	if n, err := r.readKept(p); n > 0 || err != nil { // another reader has read the source meanwhile
		return n, err
	}
	n, err = 0, errLeft // if it panics, nobody knows what is lost
	defer func() { r.of.record(r, p[:n], err) }()
	n, err = r.of.source.Read(p)
	return n, err
}

// readKept returns bytes that were kept. If there are none left, it returns the error with which the source
// ended, nil if the source may have more.
func (r *replayReader) readKept(p []byte) (int, error) {
	b := r.of
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case r.closed:
		return 0, http.ErrBodyReadAfterClose
	case r.off < len(b.kept):
		n := copy(p, b.kept[r.off:])
		r.off += n
		return n, nil
	}
	return 0, b.sourceErr
}

// Close implements io.Closer.
func (r *replayReader) Close() error {
	r.of.mu.Lock()
	r.closed = true
	return r.of.closeLocked()
}
