package filequota

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// notified is a watcher by inotify.
type notified struct {
	f    *os.File
	path string
}

// watch watches a file; by looking now and then, where there is no inotify, or no more of it: a user has 128.
func watch(path string) watcher {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return newPoller()
	}
	w := &notified{os.NewFile(uintptr(fd), "inotify"), path} // which waits without a thread, since it does not block
	if w.f.SetReadDeadline(time.Time{}) != nil || !w.renew() {
		_ = w.f.Close()
		return newPoller()
	}
	return w
}

// renew watches whatever the path names now. For a file that is watched already that does nothing.
func (w *notified) renew() bool {
	conn, err := w.f.SyscallConn()
	if err != nil {
		return false
	}
	ok := false
	err = conn.Control(func(fd uintptr) {
		_, err := unix.InotifyAddWatch(int(fd), w.path, unix.IN_MODIFY)
		ok = err == nil
	})
	return ok && err == nil
}

func (w *notified) wait(d time.Duration) bool {
	var events [4096]byte
	if w.f.SetReadDeadline(time.Now().Add(d)) != nil {
		return false
	}
	_, err := w.f.Read(events[:])
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	w.renew() // the directory may have been removed, and made again
	return true
}

func (w *notified) close()    { _ = w.f.Close() }
func (*notified) wakes() bool { return true }
