package body

import (
	"io"
	"net/http"
	"sync"
)

// Replayable reports whether the body of a request can be sent again, as far as is known now. A body with
// trailers cannot: their values come into the caller's map while it is read, by a reader that
// may still be at it.
func Replayable(req *http.Request) bool {
	if r, ok := req.Body.(*replayReader); ok {
		return r.of.lost() == nil && req.Trailer == nil
	}
	return req.Body == nil || req.Body == http.NoBody || req.GetBody != nil && req.Trailer == nil
}

// Replay makes a body without GetBody one that can be sent again, if it turns out to be no
// longer than a limit. It keeps what is read while it is sent, and does not read ahead: an
// upload that is produced bit by bit, perhaps in answer to what the server says meanwhile,
// would wait for itself.
//
// Each attempt has a reader of its own, which begins with what was kept. Only one of them goes
// on with the source at a time, and what it reads is kept for all, since the last attempt may
// still be in a Read when the next one begins. The source is closed when the request is
// finished, and once.
type Replay struct {
	source  io.ReadCloser
	limit   int64
	tooLong error // why a longer body cannot be sent again

	reading chan struct{} // has room for the one who reads the source; waiting for it is durably blocking in synctest

	mu           sync.Mutex // protects the fields below; nobody reads the source with it held
	kept         []byte
	sourceErr    error         // with which the source ended
	current      *replayReader // of the latest attempt
	overLimit    bool          // more was read than may be kept; only the reader that read it goes on
	sourceClosed bool          // there will be no other attempt
	closed       bool          // the source
}

// NewReplay returns a Replay of source, of which it keeps up to limit bytes. If source is longer, Open
// returns tooLong.
func NewReplay(source io.ReadCloser, limit int64, tooLong error) *Replay {
	return &Replay{source: source, limit: limit, tooLong: tooLong, reading: make(chan struct{}, 1)}
}

// Open returns a reader for another attempt. The one before is closed with it.
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

// lost returns why the body cannot be sent again, nil if it can as far as it was read.
func (b *Replay) lost() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lostLocked()
}

// lostLocked is lost for those who hold mu.
func (b *Replay) lostLocked() error {
	switch {
	case b.overLimit:
		return b.tooLong
	case b.sourceErr != nil && b.sourceErr != io.EOF: //nolint:errorlint // io.Reader returns io.EOF itself
		return b.sourceErr
	}
	return nil
}

// record notes what r has read. What a reader that was closed meanwhile has read is kept
// in any case, for the next one.
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

// Finish says that there will be no other attempt. The source is closed when the last one
// closes its reader, which may be later: a server may answer while the body is being sent.
func (b *Replay) Finish() {
	b.mu.Lock()
	b.sourceClosed = true
	b.closeLocked() //nolint:errcheck // there is nobody to tell
}

// closeLocked closes the source if nobody will read it any more. It releases mu.
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
	off    int  // how far it has read
	closed bool // protected by of.mu
}

// Read implements io.Reader.
func (r *replayReader) Read(p []byte) (int, error) {
	if n, err := r.readKept(p); n > 0 || err != nil || len(p) == 0 {
		return n, err
	}
	r.of.reading <- struct{}{}
	defer func() { <-r.of.reading }()
	if n, err := r.readKept(p); n > 0 || err != nil { // somebody else has read on
		return n, err
	}
	n, err := r.of.source.Read(p)
	r.of.record(r, p[:n], err)
	return n, err
}

// readKept reads what is there already.
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
