package filequota

import (
	"errors"
	"os"
	"runtime"

	"golang.org/x/sys/windows"
)

// Locks of Windows keep others from reading, so that what is locked is a byte far behind the end.
func farByte() *windows.Overlapped { return &windows.Overlapped{OffsetHigh: 1 << 30} }

// tryLock takes the lock of a file, unless somebody has it.
func tryLock(f *os.File) (ok bool, err error) {
	err = lockFile(f, windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, err
}

// lock takes the lock of a file, and waits for it.
func lock(f *os.File) error { return lockFile(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

func unlock(f *os.File) {
	_ = windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, farByte())
	runtime.KeepAlive(f)
}

func lockFile(f *os.File, flags uint32) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, farByte())
	runtime.KeepAlive(f)
	return os.NewSyscallError("LockFileEx", err)
}

// identity tells files apart. While a file is open, its path names no other one: neither it nor its directory
// can be removed.
type identity struct{}

// identify returns which file a path names, and how long it is.
func identify(path string) (identity, int64, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return identity{}, 0, err
	}
	return identity{}, st.Size(), nil
}

func identityOf(*os.File) (identity, error) { return identity{}, nil }

const asFile = 0

func names(os.FileInfo) uint64   { return 1 }
func groupOf(os.FileInfo) *group { return nil }
func ownerOf(os.FileInfo) uint32 { return 0 }

// tooMany says that this system bounds open files by its memory alone.
func tooMany(error) bool { return false }

func explained(err error) error { return err }

// removable says that a file can be removed while its lock is held; here none can that is open.
const removable = false
