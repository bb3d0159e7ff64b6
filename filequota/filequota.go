// Package filequota keeps the quotas of pacer in a directory, so that the processes of one machine share them
// without a server. Its Store is a [store.Store].
//
//	shared, err := filequota.Open(dir, nil)
//	if err != nil {
//		return err // names the path, and says why
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
// For one user, take a directory on a local disk, in $XDG_RUNTIME_DIR or in os.UserCacheDir; for containers, a
// directory in a volume. Open makes it with mode 0700, and files with mode 0600; files that root makes in the
// directory of a user belong to the user. For a group of users, make the directory yourself, with that group
// and mode 0770; files then have the group and mode 0660. Each user must be in the group.
//
// Do not take /tmp itself: systems keep users from the files of others there, and remove files that were idle
// for days. Open refuses a directory that is for files of everybody (mode 1777). Do not take a directory that
// another user can make before you: Open uses it, whoever its owner is. Do not take a file system of a network:
// see [Options]. Keep nothing else in the directory.
//
// On Docker Desktop for macOS, locks do not hold between containers that bind-mount a directory of the host,
// nor between them and the host, and no error says so: use a named volume there.
//
// # What was learned
//
// A directory can also keep what programs learn from the answers of servers, for programs that run for a
// moment: call [Store.Load] before the first request, and [Store.Save] after the last one.
//
// # How
//
// Each bucket has a file. A step takes the lock of the file (flock, LockFileEx), reads it, has a [store.Ledger]
// do the arithmetic, and writes the result to one of two places in the file, by turns, each with a sequence
// number and a checksum. So if a process is killed at any instant, the newest whole step stays, and its lock is
// free. There is no fsync in a step, hence a step takes some ten microseconds. Time is the time since the
// machine was started, which all processes read alike.
//
// If a server pushes back, other processes hear of it by inotify on Linux; elsewhere they look every 50 ms
// while they are in use. A Store has 128 files open at most, and fewer if the process may not have more. It
// keeps a goroutine while it listens for news, and no other.
//
// A bucket takes 16 kB on disk; on a file system without sparse files, 264 kB. When a day and twice its longest
// Per have passed since it was last used, a process that makes the file of another bucket removes it; but not
// on Windows, nor if it is damaged. A log or window of more than 1000 tokens is counted by 1000 cells, each of
// a thousandth of its Per.
//
// # Failures
//
// A failure is an error of [Store.Exchange] that names the path; what a Limiter does then is its Outage. These
// are such errors, and what was not written is not handed out: a full disk, a directory that became read-only,
// and a state of more than 256 kB, as that of a log with 30000 slots ahead of processes that were killed. A
// process that is stopped while it holds a lock (some microseconds of each step) is an outage for the others
// until it goes on or ends: its lock is never broken.
//
// If a file is truncated, or somebody else has written it, the bucket is lost: it counts as used up, not as
// new. A bucket is lost, too, after a clock went back. A file of a later version of this package is an error
// while that version uses it; ten seconds later the bucket is lost. If the directory is removed or renamed,
// running processes notice within milliseconds by inotify, make it again with what was in it, and hand out
// nothing for half a second. A process that begins before they have noticed takes the directory for a new one.
// To make that rare, [Open] waits until a directory is a tenth of a second old.
//
// When the machine was started anew, buckets go on as before: what was not on disk yet is taken to have gone at
// the full rate, for 40 seconds. A bucket whose longest Per is a minute or less is lost.
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

// Options are optional arguments of Open. Nil means the zero Options.
type Options struct {
	// AnyFileSystem has Open accept a directory on a network file system or on FUSE, where locks or the order
	// of writes may not hold for all who share it. Set it only if one machine alone uses the directory, and
	// locks hold among the processes of that machine. If false, Open returns an error for such a file system.
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

// Open returns a Store in a directory, and makes the directory unless it exists. The error names the directory
// and says what is wrong with it: it cannot be made or written; it is for files of everybody, as /tmp is; it
// has files of another program; locks are known not to hold there; or its name begins with "~/", which only a
// shell expands. A relative name stands for another directory in each directory in which a program is started:
// such programs share nothing. If the directory is less than a tenth of a second old, Open waits until it is:
// if somebody has removed an earlier one, the processes that used it come back in that time.
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
