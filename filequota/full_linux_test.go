package filequota

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

const fullEnv = "FILEQUOTA_FULL"

// TestFileFull: when nothing can be written, no slot is handed out; and all is right again as soon as there is
// room. The test runs in a process of its own, since what bounds files bounds all that a process writes.
func TestFileFull(t *testing.T) {
	if os.Getenv(fullEnv) == "" {
		again(t, fullEnv+"=1")
		return
	}
	signal.Ignore(syscall.SIGXFSZ)
	m := newMachine(t)
	a := m.process("a", "10/m log")
	a.ask(2)
	var all syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &all); err != nil {
		t.Skip(err)
	}
	limit := func(n uint64) {
		t.Helper()
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: all.Max}); err != nil {
			t.Skip(err)
		}
	}
	for _, n := range []uint64{0, 10, headerSize + 10, 1000} {
		limit(n)
		var failed int
		for range 3 {
			_, err := a.Exchange(t.Context(), a.request(1))
			if err != nil {
				failed++
				if !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), m.path()) {
					t.Errorf("got %v", err)
				}
				a.serial-- // what failed is said again
			}
		}
		b := m.process("b", "10/m log")
		path := a.learnedPath() + ".new"
		if err := a.Save(t.Context(), &text{word: strings.Repeat("a", 2000)}); !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), path) {
			t.Errorf("saved: %v", err)
		}
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a part of what was not saved is there: %v", err)
		}
		r := b.request(1)
		r.Bucket = fmt.Sprint("another", n)
		_, err := b.Exchange(t.Context(), r)
		limit(all.Cur)
		if failed == 0 || err == nil {
			t.Errorf("with room for %d bytes, %d of 3 failed; a new bucket: %v", n, failed, err)
		}
		if n := b.ask(0); n != 0 {
			t.Errorf("got %d", n)
		}
		m.pass(time.Minute + 40*time.Millisecond)
		r.Serial, r.Asks[0].Count = 1, 10
		if got := count(b.exchange(r)); got != 10 {
			t.Errorf("with room again, the new bucket has %d, want 10", got)
		}
		if got := a.ask(10); got != 10 {
			t.Errorf("with room again, the bucket has %d, want 10", got)
		}
		m.pass(time.Minute + 40*time.Millisecond)
	}
}
