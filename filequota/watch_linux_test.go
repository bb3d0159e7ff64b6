package filequota

import (
	"os"
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
		}
	}
}
