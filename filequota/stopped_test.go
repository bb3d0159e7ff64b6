//go:build unix

package filequota

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestStopped: while another process is stopped that holds a lock, one goroutine and one file of a Store wait
// for the lock, however many steps, of however many buckets, have been given up; and all go on when the lock is
// free.
func TestStopped(t *testing.T) {
	for name, held := range map[string]func(m *machine, a *process) string{
		"while it makes a file": func(m *machine, a *process) string { return a.newsPath() },
		"in a step of a file that came in the place of another": func(m *machine, a *process) string {
			a.ask(1)
			if err := os.Remove(m.path()); err != nil {
				m.t.Fatal(err)
			}
			m.process("b", "10/m log").ask(1)
			return m.path()
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			a := m.process("a", "10/m log")
			path := held(m, a)
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if ok, err := tryLock(f); !ok {
				t.Fatal(err)
			}
			buckets := 1
			if path == a.newsPath() {
				buckets = 3
			}
			goroutines, files := runtime.NumGoroutine(), openFiles()
			for i := range 60 {
				ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, errors.New("no more time"))
				r := a.request(1)
				if i%buckets > 0 {
					r.Bucket = fmt.Sprint("api", i%buckets)
				}
				if i%4 == 3 && buckets > 1 {
					err = a.Save(ctx, &text{word: "a"})
				} else {
					_, err = a.Exchange(ctx, r)
				}
				if early := err != nil && err.Error() == "no more time"; !early && (err == nil || !strings.Contains(err.Error(), path+": another process holds the lock: no more time")) {
					t.Fatalf("got %v", err)
				}
				cancel()
			}
			for runtime.NumGoroutine() > goroutines+1 { // those of contexts may still end
				runtime.Gosched()
			}
			if n := openFiles(); n > files+1 {
				t.Errorf("%d files are open, and were %d before", n, files)
			}
			unlock(f)
			for i := range buckets {
				r := a.request(1)
				if i > 0 {
					r.Bucket = fmt.Sprint("api", i)
				}
				a.exchange(r)
			}
			if err := a.Save(t.Context(), &text{word: "a"}); err != nil {
				t.Error(err)
			}
			for runtime.NumGoroutine() > goroutines { // or the test does not end
				runtime.Gosched()
			}
		})
	}
}

// openFiles is how many files this process has open; zero where nobody tells.
func openFiles() int {
	names, _ := os.ReadDir("/proc/self/fd")
	return len(names)
}

// TestStoppedRenamed: a step that gives up waiting for the file that came in the place of another has no lock
// of the other: somebody may have renamed files such that a process which has the one waits for the other.
func TestStoppedRenamed(t *testing.T) {
	m := newMachine(t)
	opened := func() *os.File {
		f, err := os.OpenFile(m.path(), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	lock := func(f *os.File) {
		t.Helper()
		if ok, err := tryLock(f); !ok {
			t.Fatalf("the lock is held; %v", err)
		}
	}
	a := m.process("a", "10/m log")
	a.ask(1)
	before := opened()
	if err := os.Remove(m.path()); err != nil {
		t.Fatal(err)
	}
	m.process("b", "10/m log").ask(1)
	after := opened()
	lock(after)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := a.Exchange(ctx, a.request(1)); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	lock(before)
	unlock(after)
	unlock(before)
	a.exchange(a.request(1))
}
