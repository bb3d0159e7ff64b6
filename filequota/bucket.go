package filequota

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/store"
)

// bucket is a bucket and its file.
type bucket struct {
	store *Store
	path  string
	used  uint64        // when it was used last, among all buckets; protected by the lock of the store
	use   chan struct{} // has room for whoever uses the fields below

	f  *os.File // nil if it is not open
	id identity

	// What the file has, as far as this process knows.
	cached bool // the ledger is that of the newest slot, as long as the header of the other slot is what it was
	h      header
	raw    [2][headerSize]byte // the headers of both slots, as they are in the file
	ledger store.Ledger
	short  bool          // the file is truncated
	heldTo time.Duration // by the machine's clock: nothing is handed out before, since others may know more of what was in a file that is gone
	known  header        // of the latest step that this process knows; h is another one where the bucket is lost and no step is written yet
	called bool          // those who may know more were told to come
	gone   bool          // there was a file, and what was in it could not be taken along; until a step is written
	wipe   bool          // the other slot is of a later version, or has a sequence near its end, and is to be gone after the next step
	buf    []byte
}

const (
	clockBack  = 2 * time.Second        // a clock that went back by more is a lost bucket
	wallSet    = 2 * time.Second        // what the wall clock and the machine's may differ by from step to step, in one run of the machine
	gridOff    = time.Second            // what windows of the wall clock may be off by
	turnsBack  = 10 * time.Second       // a run of the machine that ended does not come back within this
	inUse      = 10 * time.Second       // a later version counts as in use for so long
	unsynced   = 40 * time.Second       // what was written before is on disk: Linux writes what is 30 s old, and looks each 5 s
	shortest   = time.Minute            // a bucket without a longer Per need not survive a start of the machine
	afterSleep = 500 * time.Millisecond // Limiters notice sleep within a tenth of a second
)

// exchange makes one step. News says that there is something to tell those who listen.
func (b *bucket) exchange(ctx context.Context, r *store.Request) (reply *store.Reply, news bool, err error) {
	if err := b.acquire(ctx); err != nil {
		return nil, false, err
	}
	defer b.release()
	c := b.store.clock()
	b.store.lastUse.Store(int64(c.now))
	lost, err := b.load(ctx, c)
	if err != nil {
		return nil, false, err
	}
	request := *r
	request.Since = 0     // this clock cannot be set
	request.Fresh = false // a file that is new is known to be
	request.Quotas = inCells(r.Quotas)
	h := b.h
	if err := b.tick(&h, c, &request, lost); err != nil {
		return nil, false, err
	}
	reply, told, err := b.ledger.Exchange(h.now, &request)
	if err != nil {
		return nil, false, err // and nothing has changed
	}
	if r.Look {
		return reply, false, nil // what tick did is forgotten: see load
	}
	h.seq++
	h.until = min(max(h.until, h.now+reply.Ahead+reply.SlotLife), 2*longest)
	calls := request.Hold > r.Hold && b.heldTo > c.now && !b.called
	if calls {
		told.Lost = true // who knows more comes now
	}
	h.tell(told)
	if err := b.write(&h); err != nil {
		return nil, false, err
	}
	b.called = b.called || calls
	return reply, told != (store.News{}), nil
}

// inCells has logs of many tokens be counted by cells, so that a file stays small.
func inCells(qs quota.Quotas) quota.Quotas {
	const most = 1000
	large := func(q quota.Quota) bool {
		return (q.Kind == quota.SlidingLog || q.Kind == quota.FixedWindow) && q.N > most || q.Kind == quota.SlidingWindow && q.Cells > most
	}
	if !slices.ContainsFunc(qs, large) {
		return qs
	}
	qs = slices.Clone(qs)
	for i := range qs {
		if large(qs[i]) {
			qs[i].Kind, qs[i].Cells = quota.SlidingWindow, most
		}
	}
	return qs
}

// acquire takes the lock of the file that the path names. Whoever has the lock of a file that it does not name
// any more takes along what was in it.
func (b *bucket) acquire(ctx context.Context) (err error) {
	select {
	case b.use <- struct{}{}:
	case <-ctx.Done():
		return b.held(ctx)
	}
	if b.f == nil {
		if b.f, b.id, err = b.store.openFile(ctx, b.path, true); err != nil {
			b.f = nil
			<-b.use
			return err
		}
	}
	if left, err := take(ctx, b.f, func() { <-b.use }); err != nil {
		if !left {
			<-b.use
			return err
		}
		return b.held(ctx)
	}
	for range 10 {
		id, size, err := identify(b.path)
		if err == nil && id == b.id {
			b.short = size < shortestFile
			return nil
		}
		left := false
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			left, err = b.follow(ctx)
		}
		if err != nil {
			if !left {
				b.release()
			}
			return err
		}
	}
	b.release()
	return fmt.Errorf("%s: it is removed again and again", b.path)
}

func (b *bucket) held(ctx context.Context) error {
	return fmt.Errorf("%s: another process holds the lock: %w", b.path, context.Cause(ctx))
}

// release frees the lock.
func (b *bucket) release() {
	if b.f != nil {
		unlock(b.f)
	}
	<-b.use
}

func (b *bucket) close() {
	if b.f != nil {
		_ = b.f.Close()
	}
	b.f, b.cached = nil, false
}

// take takes the lock of a file, and waits for it until ctx ends. If it is left then, whoever gets the lock too
// late frees it, and calls after.
func take(ctx context.Context, f *os.File, after func()) (left bool, err error) {
	if ok, err := tryLock(f); ok || err != nil {
		return false, wrapPath(f, err)
	}
	got, gone := make(chan error), make(chan struct{})
	go func() {
		err := lock(f)
		select {
		case got <- err:
		case <-gone:
			if err == nil {
				unlock(f)
			}
			after()
		}
	}()
	select {
	case err := <-got:
		return false, wrapPath(f, err)
	case <-ctx.Done():
		close(gone)
		return true, context.Cause(ctx)
	}
}

func wrapPath(f *os.File, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", f.Name(), err)
}

// follow goes over to the file that the path names now, or makes one. The lock of the file before is held until
// what was in it is there. Files only give way to later ones, so that nobody waits for who waits for him,
// unless somebody renames files. So each wait ends with ctx, and with it the lock of the file before; of a wait
// that is left, others of this process may use the bucket when that is over.
func (b *bucket) follow(ctx context.Context) (left bool, err error) {
	_, _, missing := identify(b.path)
	f, id, err := b.store.openFile(ctx, b.path, false)
	if err != nil {
		return false, err
	}
	freed := make(chan struct{})
	if left, err := take(ctx, f, func() { <-freed; _ = f.Close(); <-b.use }); err != nil {
		if left {
			unlock(b.f)
			close(freed) // now others may take that lock in the name of this process
			return true, b.held(ctx)
		}
		return false, errors.Join(err, f.Close())
	}
	from, err := readSlots(b.f)
	to, err2 := readSlots(f)
	if err = errors.Join(err, err2); err == nil && from.ok && from.h.length > 0 && (!to.ok || to.h.seq < from.h.seq) {
		h := from.h
		if to.ok && place(h.seq) == place(to.h.seq) {
			h.seq++
		}
		_, err = f.WriteAt(packed(&h, from.state), place(h.seq))
		b.heldTo, b.called = to.h.hold-to.h.shift, false
		if missing != nil || !to.ok {
			// Who has had a later file open, and takes along what was in that one, hears of it and comes now.
			b.heldTo = b.store.clock().now + afterSleep
		}
	}
	if err != nil {
		unlock(f)
		return false, errors.Join(err, f.Close())
	}
	b.gone = !from.ok || b.gone && from.h.length == 0
	unlock(b.f)
	b.close()
	b.f, b.id = f, id
	return false, nil
}

// openFile opens a file of the directory, and makes it if there is none. The file is new for all only once it
// has its first header, which is written under the lock of the file of news. Begins says that this process
// knows nothing of the bucket.
func (s *Store) openFile(ctx context.Context, path string, begins bool) (f *os.File, id identity, err error) {
	f, err = s.open(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) || s.barred(err) {
		f, err = s.create(ctx, path, begins)
	}
	if err != nil {
		return nil, id, err
	}
	_ = s.grant(f) // as in prepare
	if id, err = identityOf(f); err != nil {
		return nil, id, errors.Join(err, f.Close())
	}
	return f, id, nil
}

func (s *Store) create(ctx context.Context, path string, begins bool) (f *os.File, err error) {
	if err := s.prepare(); err != nil {
		return nil, err
	}
	if begins {
		if err := s.settle(ctx); err != nil {
			return nil, err
		}
	}
	err = s.alone(ctx, func() (err error) {
		s.removeIdle()
		if err := s.removeBarred(path); err != nil {
			return err
		}
		f, err = s.open(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, s.perm())
		if errors.Is(err, fs.ErrExist) {
			f, err = s.open(path, os.O_RDWR, 0)
			return err
		}
		if err != nil {
			return err
		}
		if err := s.begin(f); err != nil {
			return errors.Join(err, f.Close(), os.Remove(path)) // nobody has used it
		}
		return nil
	})
	return f, err
}

// begin writes what a new file has: both slots, so that a full disk does not keep them from being written
// later, and a header that says that the bucket is new.
func (s *Store) begin(f *os.File) error {
	if err := s.made(f); err != nil {
		return err
	}
	for _, at := range [...]int64{stride, 0} {
		if _, err := f.WriteAt(make([]byte, allocated), at); err != nil {
			return err
		}
	}
	return renew(f, 0, s.clock())
}

// alone calls do while no other process makes a file in the directory. One call at a time waits for the lock,
// so that one thread of this process waits there, and one file is open for it, however many calls end before a
// process goes on that has the lock.
func (s *Store) alone(ctx context.Context, do func() error) (err error) {
	select {
	case s.making <- struct{}{}:
	case <-ctx.Done():
		return s.newsHeld(ctx)
	}
	f, err := s.openNews()
	if err != nil {
		<-s.making
		return err
	}
	closed := func() error {
		err := f.Close()
		<-s.making
		return err
	}
	if left, err := take(ctx, f, func() { _ = closed() }); err != nil {
		if left {
			return s.newsHeld(ctx)
		}
		return errors.Join(err, closed())
	}
	defer func() {
		unlock(f)
		err = errors.Join(err, closed())
	}()
	return do()
}

func (s *Store) newsHeld(ctx context.Context) error {
	return fmt.Errorf("%s: another process holds the lock: %w", s.newsPath(), context.Cause(ctx))
}

// version is of what this process writes: that of the header, and the first byte of the state, which is that of
// a Ledger.
var version = sync.OnceValue(func() uint32 {
	var l store.Ledger
	state, _ := l.AppendBinary(nil)
	return format<<8 | uint32(state[0])
})

// slots is what a file has.
type slots struct {
	h     header // of the newest that is whole
	state []byte
	ok    bool // there is one
	later bool // a later version has written the file
	raw   [2][headerSize]byte
}

// readSlots reads a file. What it lacks is no error.
func readSlots(f io.ReaderAt) (s slots, err error) {
	var hs [2]header
	var ok [2]bool
	for i := range hs {
		var later bool
		if err := readAt(f, s.raw[i][:], place(uint64(i))); err != nil {
			return s, err
		}
		hs[i], ok[i], later = readHeader(s.raw[i][:])
		ok[i] = ok[i] && int(hs[i].seq&1) == i
		s.later = s.later || later || ok[i] && hs[i].version > version()
	}
	first := 0
	if !ok[0] || ok[1] && hs[1].seq > hs[0].seq {
		first = 1
	}
	for _, i := range [2]int{first, 1 - first} {
		if !ok[i] {
			continue
		}
		state := make([]byte, hs[i].length)
		if err := readAt(f, state, place(uint64(i))+headerSize); err != nil {
			return s, err
		}
		if hs[i].whole(state) {
			s.h, s.state, s.ok = hs[i], state, true
			break
		}
	}
	return s, nil
}

// readAt reads what there is; behind the end of a file, zeros.
func readAt(f io.ReaderAt, b []byte, at int64) error {
	n, err := f.ReadAt(b, at)
	if errors.Is(err, io.EOF) {
		clear(b[n:])
		return nil
	}
	return err
}

// packed returns a slot of a header and its state.
func packed(h *header, state []byte) []byte {
	b := make([]byte, headerSize+len(state))
	copy(b[headerSize:], state)
	h.put(b)
	return b
}

// load reads the file, unless nobody has written it since. Lost says that what was in it is: also where the
// newest step that is left is that of this process, but the file was cut off, since another's may be what is
// missing.
func (b *bucket) load(ctx context.Context, c reading) (lost bool, err error) {
	cached := b.cached
	b.cached = false // until the step is written
	if next := b.h.seq + 1; cached && !b.short {
		var other [headerSize]byte
		if err := readAt(b.f, other[:], place(next)); err != nil {
			return false, err
		}
		if other == b.raw[next&1] {
			return false, nil
		}
	}
	s, err := b.read(ctx, c)
	if err != nil {
		return false, err
	}
	same := cached && s.ok && s.raw[b.h.seq&1] == b.raw[b.h.seq&1] && s.h.seq == b.h.seq
	b.raw, b.wipe = s.raw, s.later
	switch {
	case same:
		return false, nil
	case s.ok && s.h.seq >= lastSeq: // the next one is of the other slot
		b.h, b.wipe = header{seq: s.h.seq & 1}, true
		return true, nil
	case !s.ok || s.later || s.h.before(&b.known): // before: somebody put an old copy there
		b.h = header{seq: s.h.seq}
		return true, nil
	}
	b.h, b.known, b.ledger = s.h, s.h, store.Ledger{}
	if s.h.length == 0 {
		return b.gone, nil
	}
	b.gone = false
	return b.ledger.UnmarshalBinary(s.state) != nil, nil // else it is of an earlier version
}

// read reads the file.
func (b *bucket) read(ctx context.Context, c reading) (s slots, err error) {
	s, err = readSlots(b.f)
	if err == nil && (!s.ok || b.short) && !s.later {
		// A process may be about to make it, or just have done so.
		if err = b.store.alone(ctx, func() error { return nil }); err == nil {
			s, err = b.readAgain()
		}
		s.ok = s.ok && !b.short // the newest may be what is missing
	}
	if err == nil && s.later {
		err = b.mayReplace(c)
	}
	return s, err
}

// readAgain reads the file and its length.
func (b *bucket) readAgain() (s slots, err error) {
	st, err := b.f.Stat()
	if err != nil {
		return s, err
	}
	b.short = st.Size() < shortestFile
	return readSlots(b.f)
}

// mayReplace returns an error while a later version of this package is at work.
func (b *bucket) mayReplace(c reading) error {
	st, err := b.f.Stat()
	if err != nil {
		return err
	}
	if ago := time.Duration(c.wall - st.ModTime().UnixNano()); ago.Abs() < inUse {
		return fmt.Errorf("%s was written by a later version of this package, %v ago: renew this program", b.path, ago.Round(time.Millisecond))
	}
	return nil
}

// write writes the ledger as the slot of a header. If that fails, nothing is known of the file.
func (b *bucket) write(h *header) (err error) {
	if b.buf == nil {
		b.buf = make([]byte, headerSize, 4<<10)
	}
	if b.buf, err = b.ledger.AppendBinary(b.buf[:headerSize]); err != nil {
		return err
	}
	if len(b.buf) > stride {
		return fmt.Errorf("%s: the state of the bucket has %d bytes, want %d at most: fewer quotas, or logs written as sliding, need less", b.path, len(b.buf)-headerSize, mostState)
	}
	h.put(b.buf)
	if _, err := b.f.WriteAt(b.buf, place(h.seq)); err != nil {
		return err
	}
	copy(b.raw[h.seq&1][:], b.buf)
	if other := h.seq + 1; b.wipe {
		b.raw[other&1] = [headerSize]byte{}
		if _, err := b.f.WriteAt(b.raw[other&1][:], place(other)); err != nil {
			return err
		}
	}
	b.h, b.known, b.cached, b.gone, b.wipe = *h, *h, true, false, false
	return nil
}
