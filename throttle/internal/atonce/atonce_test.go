package atonce

import (
	"sync"
	"testing"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

func TestGate(t *testing.T) {
	var g Gate
	if g.Way() != Looks || g.Grant(1, 1) || g.LastUse() != 0 || g.Recent(1, 0) || g.Take() != 0 {
		t.Error("a zero Gate grants something")
	}
	if ended, _ := g.End(1, true); ended {
		t.Error("a zero Gate ends a grant")
	}
	g.Set(Free, true)
	if !g.Grant(5, 3) || g.LastUse() != 5 {
		t.Error("a free Gate grants nothing")
	}
	if ended, late := g.End(1, true); !ended || late {
		t.Error("a free Gate does not end a grant")
	}
	if ended, _ := g.End(2, true); ended {
		t.Error("a Gate ends a grant of several requests that were served, and cannot tell how many")
	}
	if n := g.Take(); n != 2 {
		t.Errorf("%d requests under way, want 2", n)
	}
	if n := g.Take(); n != 0 {
		t.Errorf("%d requests under way, want none that was not told", n)
	}
	g.End(1, false)
	if n := g.TakeServed(); n != 1 {
		t.Errorf("%d grants that ended were served, want 1 of 2", n)
	}
	if n := g.TakeServed(); n != 0 {
		t.Errorf("%d grants were served, want none that was not told", n)
	}
	g.Take()
	g.Shut()
	if g.Way() != Looks || !g.Ends() || g.Grant(6, 1) || g.LastUse() != 5 {
		t.Error("a Gate that was shut grants something, or ends nothing")
	}
	const span = monotime.Time(time.Second)
	for now, want := range map[monotime.Time]bool{5: true, 4 + span: true, 5 + span: false} {
		if got := g.Recent(now, time.Second); got != want || !g.Recent(now, monotime.Unbounded) {
			t.Errorf("at %d, recent is %v, want %v, and true where there is no end", now, got, want)
		}
	}
}

// TestGateConcurrent: whatever goes without the lock while ways change is counted once.
func TestGateConcurrent(t *testing.T) {
	var g Gate
	var mu sync.Mutex
	var wg sync.WaitGroup
	locked := 0
	for range 4 {
		wg.Go(func() {
			for i := range 5000 {
				if !g.Grant(1, 1) {
					mu.Lock()
					locked++
					g.Set([]Way{Looks, OneLock, Free}[i%3], i%2 == 0)
					locked += g.Take()
					mu.Unlock()
				}
				if ended, _ := g.End(1, true); !ended {
					mu.Lock()
					locked--
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if n := locked + g.Take(); n != 0 {
		t.Errorf("%d requests are under way when all have ended", n)
	}
}
