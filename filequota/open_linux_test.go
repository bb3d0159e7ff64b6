package filequota

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gopacer/pacer/throttle/store"
)

// asleep is a watcher that nothing wakes.
type asleep struct{ poller }

func (p *asleep) wait(time.Duration) bool {
	<-p.done
	return false
}

const openEnv = "FILEQUOTA_OPEN"

// TestOpenFiles: where a process may have few files open, a Store closes its own ones, and any number of
// buckets can be used. If none of them is to be closed, the error says how many may be open; a bucket whose
// file is open goes on, and no file counts as gone. The test runs in a process of its own, since what bounds
// files bounds all of it.
func TestOpenFiles(t *testing.T) {
	if os.Getenv(openEnv) == "" {
		again(t, openEnv+"=1")
		return
	}
	const most = 60
	m := newMachine(t)
	a := m.process("a", "2/m log")
	var all syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &all); err != nil {
		t.Skip(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: most, Max: all.Max}); err != nil {
		t.Skip(err)
	}
	request := func(bucket string) *store.Request {
		r := a.request(1)
		r.Bucket = bucket
		return r
	}
	for i := range 2 {
		for k := range 2 * most {
			if n := count(a.exchange(request(fmt.Sprint("bucket ", k)))); n != 1 {
				t.Fatalf("got %d of bucket %d in round %d, want 1", n, k, i)
			}
		}
	}
	if n := count(a.exchange(request(""))); n != 1 { // a name as any other
		t.Fatalf("got %d of a bucket without a name, want 1", n)
	}
	a.ask(1)
	a.watch = func(string) watcher { return &asleep{poller{make(chan struct{})}} } // the test looks
	var lost int
	stop, err := a.Listen("api", func(n store.News) {
		if n.Lost {
			lost++
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	var taken []*os.File
	take := func() {
		for {
			f, err := os.Open(os.DevNull)
			if err != nil {
				return
			}
			taken = append(taken, f)
		}
	}
	take()
	for _, name := range []string{"", "api"} {
		a.buckets[name].use <- struct{}{} // in use
	}
	for i := 0; a.closeOldest(); i++ {
		if i > mostOpen {
			t.Fatal("what is in use is to be closed again and again")
		}
	}
	if len(a.buckets) != 2 {
		t.Errorf("%d buckets are left, want the 2 that are in use", len(a.buckets))
	}
	take()
	a.look(a.watcher)
	if lost > 0 {
		t.Error("a file that could not be opened counts as gone")
	}
	_, err = a.Exchange(t.Context(), request("bucket 0"))
	if want := fmt.Sprintf("too many open files: this process may have %d open (RLIMIT_NOFILE, ulimit -n)", most); !errors.Is(err, syscall.EMFILE) || !strings.Contains(err.Error(), want) ||
		!strings.Contains(err.Error(), m.dir) {
		t.Errorf("got %v, want %s", err, want)
	}
	for _, name := range []string{"", "api"} {
		<-a.buckets[name].use
	}
	if n := a.ask(1); n != 1 {
		t.Errorf("got %d, want 1", n)
	}
	for _, f := range taken {
		_ = f.Close()
	}
	m.pass(time.Minute + 40*time.Millisecond)
	if n := count(a.exchange(request("bucket 0"))); n != 1 {
		t.Errorf("with room again: got %d, want 1", n)
	}
}
