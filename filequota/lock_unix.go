//go:build darwin || freebsd || linux

package filequota

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// A lock of flock(2) belongs to the open file: two Stores of one process exclude each other, and it is gone
// when the process is.

// tryLock takes the lock of a file, unless somebody has it.
func tryLock(f *os.File) (ok bool, err error) {
	err = flock(f, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// lock takes the lock of a file, and waits for it.
func lock(f *os.File) error { return flock(f, unix.LOCK_EX) }

// unlock frees it at once, also where a process that is being started has a copy of the descriptor.
func unlock(f *os.File) { _ = flock(f, unix.LOCK_UN) }

func flock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how)
		runtime.KeepAlive(f)
		if !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("flock", err)
		}
	}
}

// identity tells files apart.
type identity struct{ dev, ino uint64 }

// identify returns which file a path names, and how long it is.
func identify(path string) (id identity, size int64, err error) {
	var st syscall.Stat_t
	for {
		err = syscall.Stat(path, &st)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		return id, 0, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return identity{uint64(st.Dev), st.Ino}, st.Size, nil //nolint:unconvert // it is another type elsewhere
}

// identityOf returns which file is open.
func identityOf(f *os.File) (id identity, err error) {
	var st syscall.Stat_t
	err = syscall.Fstat(int(f.Fd()), &st)
	runtime.KeepAlive(f)
	if err != nil {
		return id, &os.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	return identity{uint64(st.Dev), st.Ino}, nil //nolint:unconvert // it is another type elsewhere
}

// asFile has links in the place of a file be errors, and opening a pipe there not wait for somebody at its
// other end.
const asFile = unix.O_NOFOLLOW | unix.O_NONBLOCK

// names is how many names a file has.
func names(file os.FileInfo) uint64 {
	if st, ok := file.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink) //nolint:unconvert // it is another type elsewhere
	}
	return 1
}

// groupOf returns the group whose users may write in a directory; nil if there is none.
func groupOf(dir os.FileInfo) *group {
	st, ok := dir.Sys().(*syscall.Stat_t)
	if !ok || dir.Mode()&0o020 == 0 {
		return nil
	}
	return &group{int(st.Gid), dir.Mode() & (os.ModePerm | os.ModeSetgid | os.ModeSticky)}
}

// ownerOf returns whose directory it is, if this process is root's and the directory is not; else zero.
func ownerOf(dir os.FileInfo) uint32 {
	if st, ok := dir.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 {
		return st.Uid
	}
	return 0
}

// tooMany reports whether a file could not be opened since as many are open as may be.
func tooMany(err error) bool { return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) }

// explained adds what tooMany is about.
func explained(err error) error {
	var most unix.Rlimit
	if !errors.Is(err, unix.EMFILE) || unix.Getrlimit(unix.RLIMIT_NOFILE, &most) != nil {
		return err
	}
	return fmt.Errorf("%w: this process may have %d open (RLIMIT_NOFILE, ulimit -n), and this Store has closed its own ones that are not in use", err, most.Cur)
}

// removable says that a file can be removed while its lock is held.
const removable = true
