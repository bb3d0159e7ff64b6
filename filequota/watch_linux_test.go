package filequota

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gopacer/pacer/throttle/store"
)

// TestNewsAtOnce: where there is inotify, they need not look; also after the directory was removed.
func TestNewsAtOnce(t *testing.T) {
	m := newMachine(t)
	a, b := m.process("a", "10/m log"), m.process("b", "10/m log")
	b.watch = func(path string) watcher {
		w := watch(path).(*notified)
		w.begin = time.Now().Add(-time.Hour)
		return w
	}
	heard := make(chan store.News, 10)
	stop, _ := b.Listen("api", func(n store.News) { heard <- n })
	defer stop()
	for i := range 3 {
		r := a.request(0)
		r.Hold = time.Duration(i+1) * time.Minute
		a.exchange(r)
		if n := <-heard; n.Hold != r.Hold {
			t.Errorf("heard %+v, want %v", n, r.Hold)
		}
		if i == 1 {
			if err := os.RemoveAll(m.dir); err != nil {
				t.Fatal(err)
			}
			if n := <-heard; n != (store.News{Lost: true}) {
				t.Errorf("heard %+v of the removal", n)
			}
		}
	}
}

// TestWatchedRemoval: where there is inotify, that a file of the directory is removed or renamed ends a wait,
// or that the directory is; also after the directory went away.
func TestWatchedRemoval(t *testing.T) {
	m := newMachine(t)
	w := watch(filepath.Join(m.dir, "news")).(*notified)
	w.begin = time.Now().Add(-time.Hour)
	defer func() {
		w.close()
		w.wait(time.Hour)
	}()
	for _, remove := range []func(string) error{
		os.Remove,
		func(string) error { return os.RemoveAll(m.dir) },
		os.Remove,
		func(path string) error { return os.Rename(path, filepath.Join(filepath.Dir(m.dir), "file")) },
		func(string) error { return os.Rename(m.dir, m.dir+" before") },
		os.Remove,
	} {
		m.process("a", "10/m log").ask(1)
		for w.wait(time.Millisecond); !w.wakes(); w.wait(time.Millisecond) { // which also takes what was told of before
		}
		if err := remove(m.path()); err != nil {
			t.Fatal(err)
		}
		w.wait(time.Hour)
	}
}

// TestWatchesOfRenamed: what is watched is what the path names now, however often the directory was renamed.
func TestWatchesOfRenamed(t *testing.T) {
	m := newMachine(t)
	w := watch(filepath.Join(m.dir, "news")).(*notified)
	w.begin = time.Now().Add(-time.Hour)
	defer func() {
		w.close()
		w.wait(time.Hour)
	}()
	for i := range 5 {
		m.process("a", "10/m log").ask(1)
		for w.wait(time.Millisecond); !w.wakes(); w.wait(time.Millisecond) {
		}
		conn, err := w.f.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		var info []byte
		if err2 := conn.Control(func(fd uintptr) { info, err = os.ReadFile(fmt.Sprint("/proc/self/fdinfo/", fd)) }); err != nil || err2 != nil {
			t.Skip(err, err2)
		}
		if n := strings.Count(string(info), "inotify wd:"); n != 2 {
			t.Fatalf("after %d renames %d are watched, want the file and the directory\n%s", i, n, info)
		}
		if err := os.Rename(m.dir, fmt.Sprint(m.dir, " before ", i)); err != nil {
			t.Fatal(err)
		}
	}
}
