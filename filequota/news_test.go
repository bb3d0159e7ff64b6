//go:build unix

package filequota

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/store"
)

// TestNewsOfSlotsFarAhead: who listens hears how far ahead slots were handed out, once, and need not ask for it.
func TestNewsOfSlotsFarAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, start := t.TempDir(), time.Now()
		a, b := opened(t, dir, start), opened(t, dir, start)
		quotas := quota.MustParse("10/m log").Explicit()
		p, q := &process{m: &machine{t: t}, quotas: quotas, name: "a", Store: a}, &process{m: &machine{t: t}, quotas: quotas, name: "b", Store: b}
		for _, p := range []*process{p, q} {
			r := p.request(0)
			r.Shares = true
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
