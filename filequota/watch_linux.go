package filequota

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// settled is after how long a watcher has inotify: to close what has watched takes the kernel 10 to 50 ms, also
// when a process ends, which a tool that runs for a moment is not to wait for.
const settled = 2 * time.Second

// notified is a watcher by inotify, once it has settled. Until then, and where there is no inotify, or no more
// of it (a user has 128), it looks now and then.
type notified struct {
	poller
	path  string
	begin time.Time

	mu   sync.Mutex // protects the fields below; wait alone changes them
	f    *os.File   // nil if there is none
	none bool       // there is none to be had

	file, dir int  // numbers of the watches; zero, which inotify gives to none, before there was one
	misses    bool // there was nothing to watch
}

func watch(path string) watcher {
	return &notified{poller: poller{make(chan struct{})}, path: path, begin: time.Now()}
}

// wait implements watcher. It is called by one goroutine.
func (w *notified) wait(d time.Duration) bool {
	if w.f == nil && !w.none && time.Since(w.begin) > settled {
		f := inotify()
		w.mu.Lock()
		w.f, w.none = f, f == nil
		w.mu.Unlock()
		w.renew()
		return true // something may have changed before
	}
	if w.f == nil {
		return w.poller.wait(d)
	}
	open := w.f.SetReadDeadline(time.Now().Add(d)) == nil
	select {
	case <-w.done: // close may have set the deadline before
		open = false
	default:
	}
	if open {
		var events [4096]byte
		_, err := w.f.Read(events[:])
		open = err == nil || errors.Is(err, os.ErrDeadlineExceeded)
	}
	select {
	case <-w.done:
		_ = w.f.Close()
		return false
	default:
	}
	if !open { // which does not happen
		w.mu.Lock()
		_ = w.f.Close()
		w.f, w.none = nil, true
		w.mu.Unlock()
		return true
	}
	w.renew()
	return true
}

// close implements watcher. It does not wait for the kernel.
func (w *notified) close() {
	close(w.done)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.f != nil {
		_ = w.f.SetReadDeadline(time.Unix(1, 0))
	}
}

func (w *notified) wakes() bool { return w.f != nil && !w.misses }

// inotify returns a file of which to read waits without a thread; nil if there is none to be had.
func inotify() *os.File {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil
	}
	f := os.NewFile(uintptr(fd), "inotify")
	if f.SetReadDeadline(time.Time{}) != nil {
		_ = f.Close()
		return nil
	}
	return f
}

// goesAway are the events of a directory after which what was in a file of it may be found there no more: the
// file, or the directory, was removed or renamed.
const goesAway = unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF

// renew watches whatever the path names now, since the directory may have been removed and made again, and
// whether the directory or files of it go away. For what is watched already that does nothing.
func (w *notified) renew() {
	if w.f == nil {
		return
	}
	conn, err := w.f.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) {
		err := watchInstead(int(fd), &w.file, w.path, unix.IN_MODIFY)
		err2 := watchInstead(int(fd), &w.dir, filepath.Dir(w.path), goesAway)
		w.misses = err != nil || err2 != nil
	})
}

// watchInstead watches what a path names now, and sets the number of the watch. That of what the path named
// before ends: what is renamed keeps its watch, so that there was one more after each time. If the path names
// nothing it goes on, since the end of what was there wakes once more.
func watchInstead(fd int, number *int, path string, events uint32) error {
	now, err := unix.InotifyAddWatch(fd, path, events)
	if err != nil {
		return err
	}
	if before := *number; before != 0 && before != now {
		_, _ = unix.InotifyRmWatch(fd, uint32(before)) // fails where what was watched is gone, and the watch with it
	}
	*number = now
	return nil
}
