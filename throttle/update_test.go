package throttle

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/store"
)

// While Update gives a bucket its quotas, claims of all others go.
func TestGroupUpdateHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all []*Limiter
		updating := false
		seen := 0
		g := &Group{New: func(path []string) *Limiter {
			if updating {
				for _, l := range all {
					if !l.Allow(1) {
						t.Errorf("nothing goes in %s while Update is at %q", l.Name, path)
					}
				}
				seen++
			}
			return &Limiter{Name: path[0], Quotas: quotas(t, "1000/s burst 1000")}
		}}
		for _, path := range []string{"a", "b", "c"} {
			all = append(all, g.Limiter(path))
			grant(t, g.Limiter(path), Claim{}) // of later ones, a glance tells that they may go
		}
		if err := within.Update(g, func() bool { updating = true; return true }); err != nil || seen != 3 {
			t.Errorf("%v, and New was called for %d buckets, want 3", err, seen)
		}
	})
}

// Update has not come to the last bucket when a claim is made there. That goes by the new quotas all the same,
// and after those which wait there, be it under the same path or under another one.
func TestGroupUpdateIsAheadOfItsClaims(t *testing.T) {
	for _, moved := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var updated atomic.Bool
			g := &Group{New: func(path []string) *Limiter {
				l := &Limiter{Name: strings.Join(path, "/")}
				switch {
				case updated.Load():
					runtime.Gosched() // to those who wait for the lock of the Group
					l.Quotas = quotas(t, "1/s even")
				case len(path) == 2:
					l.Quotas = quotas(t, "1/h even")
				}
				return l
			}}
			find := func() *Limiter {
				if moved && updated.Load() {
					return g.Limiter("z", "new")
				}
				return g.Limiter("z", "old")
			}
			for i := range 1000 {
				g.Limiter(fmt.Sprintf("a%03d", i))
			}
			grant(t, find(), Claim{})
			start := time.Now()
			var mu sync.Mutex
			var went []string
			var wait sync.WaitGroup
			claim := func(name string, maxWait time.Duration) {
				wait.Go(func() {
					_, err := within.Acquire(t.Context(), false, g, Claim{MaxWait: maxWait}, new(Grant), find, nil, nil)
					mu.Lock()
					defer mu.Unlock()
					went = append(went, fmt.Sprint(name, " ", time.Since(start), " ", err))
				})
			}
			claim("first", 0)
			synctest.Wait()
			err := within.Update(g, func() bool {
				updated.Store(true)
				claim("second", time.Minute)
				return moved
			})
			if err != nil {
				t.Fatal(err)
			}
			wait.Wait()
			want := []string{"first 1s <nil>", "second 2s <nil>"}
			if moved {
				want = []string{"first 0s <nil>", "second 1s <nil>"}
			}
			if !slices.Equal(went, want) {
				t.Errorf("moved %v: %q, want %q", moved, went, want)
			}
		})
	}
}

// What is wrong with quotas is told by Update, although a claim has already had them looked at.
func TestGroupUpdateTellsWhatAClaimHasSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 1
		g := &Group{New: func(path []string) *Limiter {
			return &Limiter{Name: path[0], Quotas: quota.Quotas{{N: int64(n), Per: time.Hour}}}
		}}
		z := g.Limiter("z")
		for range 2 {
			err := within.Update(g, func() bool {
				n = -1
				return false
			})
			_ = g.renewOne(z)
			if err == nil || !strings.Contains(err.Error(), "-1") {
				t.Errorf("got %v, want an error that names -1", err)
			}
		}
		g.apply(func() bool { return false })
		_ = g.renewOne(z)
		if err := g.renew(z); err == nil {
			t.Error("an error is told once, want it each time")
		}
	})
}

// A tree in which claims wait, and whose buckets get a Store, is made anew once: no bucket is lost on the way.
func TestGroupUpdateMakesATreeAnewOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shared store.Store
		g := &Group{New: func(path []string) *Limiter {
			l := &Limiter{Name: strings.Join(path, "/"), Quotas: quotas(t, "1/10s burst 1")}
			if l.Name == "a" {
				l.Shared.Store = shared
			}
			return l
		}}
		defer g.Close()
		g.Limiter("b")
		find := func() *Limiter { return g.Limiter("a", "x") }
		grant(t, find(), Claim{})
		order := follows(t, 2, func(int) error {
			_, err := within.Acquire(t.Context(), false, g, Claim{}, new(Grant), find, nil, nil)
			return err
		})
		if err := within.Update(g, func() bool { shared = new(store.Memory); return false }); err != nil {
			t.Fatal(err)
		}
		a, x := g.Limiter("a"), find()
		if x.Parent != a || a.forgotten.Load() || x.forgotten.Load() || g.buckets.Count() != 3 || len(g.State()) != 3 {
			t.Errorf("%d buckets, %d in State; forgotten: %v, %v", g.buckets.Count(), len(g.State()), a.forgotten.Load(), x.forgotten.Load())
		}
		if got := order(); len(got) != 2 {
			t.Errorf("%q went, want two", got)
		}
	})
}

// TestGroupUpdateClosesNobodyWhoWaits: the buckets of a tree that is made anew take leave of their Stores when nobody waits
// in them any more, nor in those below: a bucket that is closed refuses who competes in it.
func TestGroupUpdateClosesNobodyWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var above store.Store
		shared := new(store.Memory)
		g := &Group{New: func(path []string) *Limiter {
			switch l := (&Limiter{Name: strings.Join(path, "/")}); len(path) {
			case 1:
				l.Quotas, l.Shared.Store = quotas(t, "1000/s"), above
				return l
			case 2:
				l.Quotas, l.Shared.Store = quotas(t, "100/s window"), shared
				return l
			default:
				return l
			}
		}}
		const claims = 400 // so that some still wait in the old tree when the first bucket takes leave
		var wg sync.WaitGroup
		for i := range claims {
			find := func() *Limiter { return g.Limiter("a", "x", fmt.Sprint(i)) }
			wg.Go(func() {
				if _, err := within.Acquire(t.Context(), false, g, Claim{}, new(Grant), find, nil, nil); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(100 * time.Millisecond)
		if err := within.Update(g, func() bool { above = new(store.Memory); return false }); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
}
