package filequota

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gopacer/pacer/throttle/store"
)

// What there is to tell those who listen is in the header of a bucket: until when it is held; and which step
// was the latest to find room, to notice a loss, to hand out slots far ahead (and how far), to meet a new
// member (and how many there were then), and to end a hold for a person. A step that has news writes a byte
// into the file of news, which wakes those who listen; they read the headers, without a lock. They also look
// now and then by themselves, so that nothing depends on being woken.

// watcher waits for a change of a file.
type watcher interface {
	wait(d time.Duration) (open bool) // until there may be a change, or for so long; not open after close
	rest(d time.Duration)             // for so long, or until close
	close()
	wakes() bool // a change ends a wait
}

const (
	bornAt  = 8             // where the file of news has when it was made, by the machine's clock
	settles = 2 * lookOften // after how long a directory counts as one that is new, and not as one that was removed

	lookSeldom = 2 * time.Second       // where a watcher wakes, or the store is not in use
	lookOften  = 50 * time.Millisecond // else
	inUseFor   = 5 * time.Second       // a store is, after a request

	// To read a header takes some 7 µs. So that news which come all the time keep no processor busy with those
	// of a thousand buckets, a look at many is followed by a rest, seven times as long.
	restsFor = 50 * time.Microsecond // for each
	many     = 20
)

// ear is who listens to a bucket, and what they have heard.
type ear struct {
	path  string
	heard header
	seen  time.Duration // when the latest step was that a look has seen, by the machine's clock
	gone  bool          // the last look found no file
	hears map[*func(store.News)]struct{}
}

// news returns what is new in the header of a file, now by the machine's clock; it is the zero header if there
// is no file.
//
// If somebody has removed the file, the next process that begins makes a new one, of which all may be had. So
// who knows what was in the file is to come at once, and takes that along. Nobody need come for a bucket of
// which forgetting it loses nothing: see removeIdle.
func (e *ear) news(h *header, now time.Duration) store.News {
	known := e.heard.lineage != 0 && now-e.seen <= idleFor
	if h.lineage == 0 {
		return store.News{Lost: known && !e.gone}
	}
	news := store.News{
		Room:     h.room != e.heard.room,
		Released: h.released != 0 && h.released != e.heard.released, // zero: the file is new, or an older filequota has written it
		Lost:     h.lost != e.heard.lost || known && h.lineage != e.heard.lineage,
	}
	now += h.shift
	if h.hold != e.heard.hold && h.hold > now {
		news.Hold = h.hold - now
	}
	if h.far != e.heard.far && h.end > now {
		news.Ahead = h.end - now
	}
	if h.came != e.heard.came {
		news.Sharing = int(min(h.sharing, math.MaxInt32))
	}
	return news
}

// tell has the header say the news of its step, for news to tell those who listen.
func (h *header) tell(n store.News) {
	if n.Released {
		h.released, h.hold = h.lineage^h.seq, 0
	}
	if n.Hold > 0 {
		h.hold = min(h.now+n.Hold, 2*longest)
	}
	if n.Room {
		h.room = h.lineage ^ h.seq
	}
	if n.Sharing > 0 {
		h.came, h.sharing = h.lineage^h.seq, uint64(n.Sharing)
	}
	if n.Lost {
		h.lost = h.lineage ^ h.seq
	}
	if n.Ahead > 0 {
		h.far, h.end = h.lineage^h.seq, min(h.now+n.Ahead, 2*longest)
	}
}

func (s *Store) newsPath() string { return filepath.Join(s.dir, "news") }

func (s *Store) openNews() (*os.File, error) {
	for {
		f, err := s.open(s.newsPath(), os.O_RDWR, 0)
		if !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
		f, err = s.open(s.newsPath(), os.O_RDWR|os.O_CREATE|os.O_EXCL, s.perm())
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err = s.made(f); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		_, _ = f.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(s.clock().now)), bornAt) // on a full disk nobody waits
		return f, nil
	}
}

// checkNews returns an error if the news are those of another program, which steps would write into, and to
// which prepare would let in a group. It is for Open: a process that runs needs nothing that is in the news.
func (s *Store) checkNews() error {
	f, err := s.open(s.newsPath(), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var raw [bornAt]byte
	if err := errors.Join(readAt(f, raw[:], 0), f.Close()); err != nil {
		return err
	}
	if len(bytes.Trim(raw[:], "\x00\n")) > 0 { // tell writes a line feed, and nothing else stands there
		return fmt.Errorf("%s is the file of another program: want a directory for quotas alone", s.newsPath())
	}
	return nil
}

// settle waits until a directory is as old as it has to be for a process that begins, whose buckets are new
// ones: somebody may have removed the directory, and processes that run come in that time, and take along what
// was in it. So that no such process waits, it is not for them.
func (s *Store) settle(ctx context.Context) error {
	f, err := s.open(s.newsPath(), os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	var raw [8]byte
	if err := errors.Join(readAt(f, raw[:], bornAt), f.Close()); err != nil {
		return err
	}
	born := time.Duration(binary.LittleEndian.Uint64(raw[:]))
	age := s.clock().now - born
	if born == 0 || age < 0 || age >= settles { // zero: it is not known
		return nil
	}
	t := time.NewTimer(settles - age)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// tell wakes those who listen. That it fails is no error: they look by themselves.
func (s *Store) tell() {
	if f, err := s.openNews(); err == nil {
		_, _ = f.WriteAt([]byte{'\n'}, 0)
		_ = f.Close()
	}
}

// Listen implements [store.Store]. All who listen to a Store share one goroutine, which ends with the last of
// them. The error is always nil.
func (s *Store) Listen(bucket string, hear func(store.News)) (stop func(), err error) {
	path := filepath.Join(s.dir, fileName(bucket))
	heard, _ := s.peek(path)
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.ears[bucket]
	if e == nil {
		e = &ear{path: path, heard: heard, seen: heard.now - heard.shift, hears: map[*func(store.News)]struct{}{}}
		s.ears[bucket] = e
	}
	e.hears[&hear] = struct{}{}
	if s.watcher == nil {
		s.watcher = s.watch(s.newsPath())
		go s.listen(s.watcher)
	}
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(e.hears, &hear)
		if len(e.hears) == 0 && s.ears[bucket] == e {
			delete(s.ears, bucket)
		}
		if len(s.ears) == 0 && s.watcher != nil {
			s.watcher.close()
			s.watcher = nil
		}
	}), nil
}

// listen tells the news until the watcher is closed.
func (s *Store) listen(w watcher) {
	for w.wait(s.pause(w)) {
		if n := s.look(w); n >= many {
			w.rest(time.Duration(n) * restsFor)
		}
	}
}

// pause is for how long to wait for a change.
func (s *Store) pause(w watcher) time.Duration {
	if last := time.Duration(s.lastUse.Load()); w.wakes() || last == 0 || s.clock().now-last > inUseFor {
		return lookSeldom
	}
	return lookOften
}

// look reads the headers of all buckets that somebody listens to, and tells what is new. It returns how many
// there are.
func (s *Store) look(w watcher) (n int) {
	s.mu.Lock()
	ears := make([]*ear, 0, len(s.ears))
	for _, e := range s.ears {
		ears = append(ears, e)
	}
	s.mu.Unlock()
	for _, e := range ears {
		h, err := s.peek(e.path)
		if err != nil {
			continue // which does not say that the file is gone
		}
		now := s.clock().now
		s.mu.Lock()
		if s.watcher != w {
			s.mu.Unlock()
			continue
		}
		news := e.news(&h, now)
		if e.gone = h.lineage == 0; !e.gone {
			e.seen = h.now - h.shift
			if h.lineage != e.heard.lineage || news != (store.News{}) {
				e.heard = h
			}
		}
		if news == (store.News{}) {
			s.mu.Unlock()
			continue
		}
		hears := make([]func(store.News), 0, len(e.hears))
		for hear := range e.hears {
			hears = append(hears, *hear)
		}
		s.mu.Unlock()
		for _, hear := range hears {
			hear(news)
		}
	}
	return len(ears)
}

// peek returns the newest header of a file, without a lock: the zero header if there is none that is whole, or
// no file.
func (s *Store) peek(path string) (newest header, err error) {
	f, err := s.open(path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return newest, nil
	}
	if err != nil {
		return newest, err
	}
	defer f.Close()
	for i := range uint64(2) {
		var raw [headerSize]byte
		if readAt(f, raw[:], place(i)) != nil {
			continue
		}
		if h, ok, _ := readHeader(raw[:]); ok && h.seq&1 == i && (newest.lineage == 0 || h.seq > newest.seq) {
			newest = h
		}
	}
	return newest, nil
}

// poller is a watcher that is not woken by changes.
type poller struct{ done chan struct{} }

func newPoller() watcher { return &poller{make(chan struct{})} }

func (p *poller) wait(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-p.done:
		return false
	}
}

func (p *poller) rest(d time.Duration) { p.wait(d) }
func (p *poller) close()               { close(p.done) }
func (*poller) wakes() bool            { return false }
