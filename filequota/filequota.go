// Package filequota keeps the quotas of pacer in a directory, so that the processes of one machine share them
// without a server: a [store.Store].
//
//	shared, err := filequota.Open(dir, nil)
//	if err != nil {
//		return err // which path, and why
//	}
//	transport := &pacer.Transport{Shared: pacer.Shared{Store: shared}, Quotas: quotas}
//	defer transport.Close()
//
// All processes that open the same directory draw on the same quotas: workers, cron jobs, a tool that is called
// a hundred times a minute. There is nothing to start and nothing to clean up. Close writes what a server has
// said a moment ago, so that the next run knows of a hold; os.Exit and log.Fatal skip deferred calls.
//
// # Which directory
//
// One on a local disk or in a volume of containers, for one user: $XDG_RUNTIME_DIR, or one in os.UserCacheDir.
// Open makes it with mode 0700, and files with 0600; files that root makes in the directory of a user are the
// user's. For a group of users, make it yourself, with that group and mode 0770; files then have the group and
// 0660. Each user must be of the group. Not /tmp itself, in which systems keep users from the files of others,
// and remove what was idle for days: Open refuses a directory that is for files of everybody (mode 1777). Nor
// one that another user can make before, since Open uses a directory whoever's it is. Not a file system of a
// network: see [Options]. The directory has the files of quotas alone.
//
// On Docker Desktop for macOS, locks do not hold between containers that bind-mount a directory of the host,
// nor between them and the host, and no system call tells: use a named volume there.
//
// # What was learned
//
// Quotas are what a program knows. What it learns from the answers of servers, a directory can keep as well,
// for programs that run for a moment: [Store.Load] before the first request, and [Store.Save] after the last
// one.
//
// # How
//
// A bucket is a file. A step takes the lock of the file (flock, LockFileEx), reads it, has a [store.Ledger] do
// the arithmetic, and writes the file in place, in one of two slots by turns, each with a sequence and a
// checksum. So a process that is killed at any instant leaves the newest step whole, and its lock is free.
// There is no fsync in a step, hence a step takes some ten microseconds. Time is that of the machine since it
// was started, which all processes read alike.
//
// Where a server pushed back, other processes hear of it by inotify on Linux; elsewhere they look each 50 ms
// while they are in use. A Store has 128 files open at most, and fewer where the process may not have more. It
// keeps a goroutine while it listens for news, and no other.
//
// A bucket takes 16 kB on disk, and a file 264 kB where there are no sparse files. Once a day and two of its
// longest Per have passed since it was used last, whoever makes the file of another bucket removes it; but not
// on Windows, nor if it is damaged. A log or window of more than 1000 tokens is counted by 1000 cells, each of
// a thousandth of its Per.
//
// # Failures
//
// What fails is an error of [Store.Exchange] that names the path; what a Limiter does then is its Outage. A
// full disk, or a directory that became read-only, is such an error, and nothing is handed out that was not
// written. So is a state of more than 256 kB: of a log of which some 30000 slots were handed out that are still
// to come, as to processes that were killed. A process that is stopped while it holds a lock (some microseconds
// of each step) is an outage for the others until it goes on or ends: its lock is never broken.
//
// A file that is truncated, or which somebody else has written, is a lost bucket: a drained one, not a new one.
// So is a bucket after a clock went back. A file of a later version of this package is an error while that is
// in use, and lost ten seconds later. If the directory is removed or renamed, processes that run notice within
// milliseconds by inotify, take along what was in it, and hand out nothing for half a second; for a process
// that begins before they have noticed, it is a new one. So that this is rare, [Open] waits until a directory
// is a tenth of a second old.
//
// When the machine was started anew, buckets go on as of before: what was not on disk yet is taken to have gone
// at the full rate, for 40 seconds. A bucket whose longest Per is a minute or less is a lost one.
package filequota

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gopacer/pacer/throttle/store"
)

// Options are what Open may be told.
type Options struct {
	// AnyFileSystem has Open take a directory on a file system of which it knows that locks or the order of
	// writes do not hold for all who may share it: of a network, or FUSE. That is right where one machine alone
	// uses the directory, and its locks hold among the processes of that machine.
	AnyFileSystem bool
}

// Store is a [store.Store] in a directory. It is safe for concurrent use, by any number of Limiters. Open makes
// one. There is nothing to close: the files that it has open are closed when it is collected.
type Store struct {
	dir   string
	group atomic.Pointer[group] // nil unless users of a group may write in the directory
	owner atomic.Int64          // whose directory it is, if that is another user and this process is root's; else zero

	clock func() reading
	watch func(path string) watcher

	making chan struct{} // has room for whoever has the lock of the file of news, or waits for it: see alone
	others []string      // names of files that may be idle; for whoever has that lock

	mu      sync.Mutex // protects the fields below
	buckets map[string]*bucket
	uses    uint64 // of buckets
	ears    map[string]*ear
	watcher watcher // nil if nobody listens

	lastUse atomic.Int64 // when a request came, by the machine's clock
}

var _ store.Store = (*Store)(nil)

// errZero is the error of a Store that Open has not made: a zero one has no directory.
var errZero = errors.New("filequota: a zero Store, want one that Open has returned")

// Open returns a Store in a directory, which is made unless it is there. The error says what is wrong with it:
// that it cannot be made or written, that it is for files of everybody, as /tmp is, or has those of another
// program, that locks are known not to hold there, or that it begins with "~/", which only a shell expands. A
// relative directory is one for each directory in which programs are started: such programs share nothing. In
// the first tenth of a second of a directory Open waits for the end of that: processes that have used it, if
// somebody has removed it, come in that time. With nil Options, the zero Options are used.
func Open(dir string, o *Options) (*Store, error) {
	path, err := open(dir, o)
	if err != nil {
		return nil, fmt.Errorf("filequota: %w", err)
	}
	s := &Store{dir: path, clock: clock, watch: watch, making: make(chan struct{}, 1), buckets: map[string]*bucket{}, ears: map[string]*ear{}}
	if err := s.checkNews(); err != nil {
		return nil, fmt.Errorf("filequota: %w", err)
	}
	if err := s.prepare(); err != nil {
		return nil, fmt.Errorf("filequota: %w", err)
	}
	if err := s.settle(context.Background()); err != nil {
		return nil, fmt.Errorf("filequota: %w", err)
	}
	return s, nil
}

func open(dir string, o *Options) (path string, err error) {
	if dir == "" {
		return "", errors.New("no directory is given")
	}
	if rest, ok := strings.CutPrefix(dir, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		return "", fmt.Errorf("%s: only a shell knows what ~ is; want a directory such as one in os.UserCacheDir or os.UserHomeDir, or ./%[1]s for one of that name", dir)
	}
	if path, err = filepath.Abs(dir); err != nil {
		return "", err
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", err
	}
	st, err := os.Stat(path)
	if err == nil && isForEverybody(st.Mode()) {
		err = fmt.Errorf("%s is for files of everybody (mode %v), each of whom is kept from those of others: want a directory of your own, such as one in os.UserCacheDir, or a group's of mode 0770", path, st.Mode())
	}
	if err != nil || o != nil && o.AnyFileSystem {
		return path, err
	}
	kind, err := fileSystem(path)
	if err == nil && kind != "" {
		err = fmt.Errorf("%s is on a file system (%s) on which locks may not hold for all who share it; want a directory of this machine, or Options.AnyFileSystem", path, kind)
	}
	return path, err
}

// isForEverybody reports whether a directory is one for files of everybody, as /tmp is. Of a group's that has
// the sticky bit the files can be shared.
func isForEverybody(dir fs.FileMode) bool { return dir&fs.ModeSticky != 0 && dir&0o002 != 0 }

// prepare makes what a directory needs, and finds out whether files can be written there.
func (s *Store) prepare() error {
	if err := s.makeDir(); err != nil {
		return err
	}
	st, err := os.Stat(s.dir)
	if err != nil {
		return err
	}
	if g := groupOf(st); g != nil {
		s.group.Store(g)
	}
	s.owner.Store(int64(ownerOf(st)))
	f, err := s.openNews()
	if err != nil {
		return err
	}
	_ = s.grant(f)                     // whoever made it may have been killed before; only he may
	if ok, lockErr := tryLock(f); ok { // else another process makes a file now, or there are no locks
		unlock(f)
	} else if lockErr != nil {
		err = fmt.Errorf("%s: %w", f.Name(), lockErr)
	}
	return errors.Join(err, f.Close())
}

// Exchange implements [store.Store], of version 1 (see [store.Request.Version]). If another process holds the
// lock, Exchange waits for it until ctx ends.
func (s *Store) Exchange(ctx context.Context, r *store.Request) (*store.Reply, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if s.clock == nil {
		return nil, errZero
	}
	reply, news, err := s.bucket(r.Bucket).exchange(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("filequota: %s: %w", r.Bucket, err)
	}
	if news {
		s.tell()
	}
	return reply, nil
}

// bucket returns the bucket of a name.
func (s *Store) bucket(name string) *bucket {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.buckets[name]
	if b == nil {
		if len(s.buckets) >= mostOpen {
			s.closeOldest()
		}
		b = &bucket{store: s, path: filepath.Join(s.dir, fileName(name)), use: make(chan struct{}, 1)}
		s.buckets[name] = b
	}
	s.uses++
	b.used = s.uses
	return b
}
