//go:build unix

package filequota

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/gopacer/pacer/throttle"
	"github.com/gopacer/pacer/throttle/store"
)

// TestNoFile: something other than a file, in the place of one, is an error that names the path. Nothing waits
// for it: a pipe would not open before somebody opens its other end.
func TestNoFile(t *testing.T) {
	for what, put := range map[string]func(path string) error{
		"pipe":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"link":      func(path string) error { return os.Symlink(path+"-elsewhere", path) },
		"hard link": func(path string) error {
			other := path + "-elsewhere"
			return errors.Join(os.WriteFile(other, []byte("secret"), 0o600), os.Link(other, path))
		},
	} {
		t.Run(what, func(t *testing.T) {
			m := newMachine(t)
			p := m.process("a", "1/s even")
			p.exchange(p.request(1))
			replace := func(path string) {
				t.Helper()
				_ = os.Remove(path)
				if err := put(path); err != nil {
					t.Fatal(err)
				}
			}
			names := func(err error, path string) {
				t.Helper()
				if err == nil || !strings.Contains(err.Error(), path) {
					t.Errorf("got %v, want an error that names %s", err, path)
				}
			}
			replace(m.path())
			for _, q := range []*process{p, m.process("b", "1/s even")} {
				_, err := q.Exchange(t.Context(), q.request(1))
				names(err, m.path())
				stop, err := q.Listen("api", func(store.News) {})
				if err != nil {
					t.Fatal(err)
				}
				stop()
			}
			replace(p.learnedPath())
			names(p.Load(t.Context(), &throttle.Group{}), p.learnedPath())
			replace(p.newsPath())
			_, err := Open(m.dir, nil)
			names(err, p.newsPath())
			if b, err := os.ReadFile(m.path() + "-elsewhere"); err == nil && string(b) != "secret" {
				t.Errorf("the file of another name has %d other bytes", len(b))
			}
		})
	}
}

// TestOddNames: whatever the name of a bucket is, it is a bucket of its own, in the directory.
func TestOddNames(t *testing.T) {
	m := machineOf(t, filepath.Join(t.TempDir(), "shared"))
	p := m.process("a", "1/s even")
	for _, name := range []string{
		"", ".", "..", "/", "../a", "a/b", "a\x00b", "a\nb", "A", "a", "é", "e\u0301", "\xff", "\xfe", "news", "q-", "CON", "nul", "nul ",
		strings.Repeat("x", 300), strings.Repeat("x", 301), strings.Repeat("y", 1<<20),
	} {
		r := p.request(1)
		r.Bucket, r.Serial = name, 1
		if reply, err := p.Exchange(t.Context(), r); err != nil || len(reply.Slots) != 1 || reply.Slots[0].In != 0 {
			t.Errorf("%.20q: %+v, %v, want one slot at once", name, reply, err)
		}
	}
	if all, err := filepath.Glob(filepath.Join(m.dir, "..", "*")); err != nil || len(all) != 1 {
		t.Errorf("beside the directory: %v, %v", all, err)
	}
}

// TestManyBucketsAtOnce: more than a Store has open, each new, used by many at once.
func TestManyBucketsAtOnce(t *testing.T) {
	m := newMachine(t)
	p := m.process("a", "1/s even")
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			for k := range 2 * mostOpen {
				r := &store.Request{Version: 1, Bucket: fmt.Sprint((k + 20*i) % (2 * mostOpen)), Quotas: p.quotas, Member: fmt.Sprint(i), Serial: 1}
				if _, err := p.Exchange(t.Context(), r); err != nil {
					t.Error(err)
					return
				}
				stop, err := p.Listen(r.Bucket, func(store.News) {})
				if err != nil {
					t.Error(err)
					return
				}
				stop()
			}
		})
	}
	wait.Wait()
	if p.mu.Lock(); len(p.buckets) > mostOpen || len(p.ears) > 0 || p.watcher != nil {
		t.Errorf("%d buckets are open, and %d listen", len(p.buckets), len(p.ears))
	}
	p.mu.Unlock()
}

// TestDirectoryReplaced: the directory was removed, and whoever may write beside it puts something else in its
// place between the calls that make it and that let in others. What that names stays as it is.
func TestDirectoryReplaced(t *testing.T) {
	for what, put := range map[string]func(path, other string) error{
		"link to a directory": func(path, other string) error { return os.Symlink(other, path) },
		"link to a file":      func(path, other string) error { return os.Symlink(filepath.Join(other, "file"), path) },
		"hard link":           func(path, other string) error { return os.Link(filepath.Join(other, "file"), path) },
		"file":                func(path, other string) error { return os.Rename(filepath.Join(other, "file"), path) },
		"pipe":                func(path, _ string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		t.Run(what, func(t *testing.T) {
			other := t.TempDir()
			file, path := filepath.Join(other, "file"), filepath.Join(t.TempDir(), "q")
			m := machineOf(t, path)
			p := m.process("a", "1/s even")
			if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Chmod(other, 0o700), os.RemoveAll(path), put(path, other)); err != nil {
				t.Fatal(err)
			}
			for whose, give := range map[string]func() error{
				"a group's": func() error { return p.giveDir(&group{os.Getgid(), 0o770}, 0) },
				"a user's":  func() error { return p.giveDir(nil, os.Getuid()) },
			} {
				if err := give(); err == nil || !strings.Contains(err.Error(), path) {
					t.Errorf("%s directory: %v, want an error that names the path", whose, err)
				}
			}
			for _, name := range []string{other, file, path} {
				if st, err := os.Stat(name); err == nil && st.Mode().Perm()&0o077 != 0 {
					t.Errorf("%s is %v now", name, st.Mode())
				}
			}
		})
	}
}
