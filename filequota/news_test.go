//go:build unix

package filequota

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/store"
)

// TestNewsOfSlotsFarAhead: who listens hears how far ahead slots were handed out, once, and need not ask for
// it.
func TestNewsOfSlotsFarAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, start := t.TempDir(), time.Now()
		a, b := opened(t, dir, start), opened(t, dir, start)
		quotas := quota.MustParse("10/m log").Explicit()
		p, q := &process{m: &machine{t: t}, quotas: quotas, name: "a", Store: a}, &process{m: &machine{t: t}, quotas: quotas, name: "b", Store: b}
		for _, p := range []*process{p, q} {
			r := p.request(0)
			r.GoesOn = true
			p.exchange(r)
		}
		type message struct {
			store.News
			at time.Time
		}
		var heard []message
		stop, err := b.Listen("api", func(n store.News) { heard = append(heard, message{n, time.Now()}) })
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		p.ask(10)
		far := p.request(1)
		far.Asks[0].Within = -1
		asked := time.Now()
		ahead := p.exchange(far).Ahead
		time.Sleep(3 * time.Second)
		far = p.request(1)
		far.Asks[0].Within = -1
		p.exchange(far) // not much farther
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if len(heard) != 1 || heard[0].News != (store.News{Ahead: ahead - heard[0].at.Sub(asked)}) {
			t.Errorf("of slots %v ahead: heard %+v", ahead, heard)
		}
	})
}

// TestNewsOfRemoval: who knows what was in a file that somebody has removed is told, once, and again if another
// process has made it anew; not if it was idle, as one that removeIdle removes.
func TestNewsOfRemoval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, start := t.TempDir(), time.Now()
		b := opened(t, dir, start)
		p := &process{m: &machine{t: t}, quotas: quota.MustParse("10/m log").Explicit(), name: "a", Store: opened(t, dir, start)}
		var mu sync.Mutex // protects heard
		var heard []store.News
		stop, err := b.Listen("api", func(n store.News) { mu.Lock(); heard = append(heard, n); mu.Unlock() })
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		tell := func(what string, after time.Duration, want ...store.News) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if !reflect.DeepEqual(heard, want) {
				t.Errorf("%s: heard %+v, want %+v", what, heard, want)
			}
			heard = nil
		}
		p.ask(1)
		tell("the first", 3*time.Second, store.News{Sharing: 1})
		path := filepath.Join(dir, fileName("api"))
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		tell("removed", 10*time.Second, store.News{Lost: true})
		p.ask(1) // and p takes along what was there
		tell("there again", 3*time.Second, store.News{Lost: true})
		q := &process{m: p.m, quotas: p.quotas, name: "q", Store: opened(t, dir, start)}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		q.ask(1)
		tell("made anew", 3*time.Second, store.News{Lost: true, Sharing: 1})
		time.Sleep(idleFor)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		tell("idle", time.Minute)
	})
}

// TestManyListen: news that come all the time do not keep a process busy that has many buckets.
func TestManyListen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := opened(t, t.TempDir(), time.Now())
		w := &busy{poller: poller{make(chan struct{})}}
		s.watch = func(string) watcher { return w }
		for i := range 1000 {
			stop, err := s.Listen(fmt.Sprint(i), func(store.News) {})
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
		}
		time.Sleep(time.Second)
		if n := w.waits.Load(); n != 20 { // each 51 ms
			t.Errorf("it looked %d times in a second, want 20 times", n)
		}
	})
}

// busy is a watcher of a file that changes each millisecond.
type busy struct {
	poller
	waits atomic.Int64
}

func (w *busy) wait(time.Duration) bool {
	w.waits.Add(1)
	return w.poller.wait(time.Millisecond)
}

// TestNewsOverwritten: a process goes on where somebody else has written into the file of news, with buckets
// that are new, too; Open refuses such a directory.
func TestNewsOverwritten(t *testing.T) {
	m := newMachine(t)
	p := m.process("a", "10/m log")
	if err := os.WriteFile(p.newsPath(), []byte("of today"), 0o600); err != nil {
		t.Fatal(err)
	}
	if n := p.ask(3); n != 3 {
		t.Errorf("%d of 3", n)
	}
	if err := p.Save(t.Context(), &text{word: "a"}); err != nil {
		t.Error(err)
	}
	if _, err := Open(m.dir, nil); err == nil {
		t.Error("no error")
	}
}
