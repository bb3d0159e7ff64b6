package throttle

import (
	"context"
	"errors"
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
					_, err := acquireIn(t.Context(), g, find, Claim{MaxWait: maxWait})
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
			_, err := acquireIn(t.Context(), g, find, Claim{})
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

// TestGroupUpdateClosesNobodyWhoWaits: the buckets of a tree that is made anew take leave of their Stores when
// nobody waits in them any more, nor in those below: a bucket that is closed refuses who competes in it.
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
				if _, err := acquireIn(t.Context(), g, find, Claim{}); err != nil {
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

// Where the quotas of a Parent change so that those below it cannot live in their Stores any more, Update says
// so; and so it does for a tree that is made anew.
func TestGroupUpdateChecksStores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		per := time.Second
		var shared store.Store = &store.Memory{}
		g := &Group{New: func(path []string) *Limiter {
			l := &Limiter{Name: strings.Join(path, "/"), Quotas: quota.Quotas{{N: 10, Burst: 1}}, Shared: Shared{Store: shared, SlotLife: time.Second}}
			if len(path) == 1 {
				l.Quotas[0].Per = per
			}
			return l
		}}
		g.Limiter("a", "x")
		if err := within.Update(g, func() bool { return false }); err != nil {
			t.Fatal(err)
		}
		err := within.Update(g, func() bool { per = time.Hour; return false })
		if err == nil || !strings.Contains(err.Error(), "above a/x with a Store too") {
			t.Errorf("got %v, want an error about what is above a/x", err)
		}
		shared = nil
		g.Limiter("b", "x")
		err = within.Update(g, func() bool { shared = &store.Memory{}; return false })
		if err == nil || !strings.Contains(err.Error(), "above b/x with a Store too") {
			t.Errorf("got %v, want an error about what is above b/x", err)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A tree that is made anew still knows which claims the server counts on their own.
func TestGroupUpdateWithAStoreKeepsNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shared store.Store
		g := &Group{New: func(path []string) *Limiter {
			return &Limiter{Name: strings.Join(path, "/"), Shared: Shared{Store: shared}, Rand: noJitter}
		}}
		search, core := Claim{Verb: "GET", Path: "/search"}, Claim{Verb: "GET", Path: "/core"}
		for i, c := range []Claim{core, search} {
			grant, _ := g.Limiter("a").Observe(c)
			grant.Answered(remaining(c.Path[1:], 10*(1-i)))
		}
		if err := within.Update(g, func() bool { shared = &store.Memory{}; return false }); err != nil {
			t.Fatal(err)
		}
		// Of searches nothing remains. Their bucket is made when they are asked for.
		if f := g.Limiter("a").Forecast(search); f.Wait != time.Minute || f.Bucket != "a (search)" {
			t.Errorf("a search: %+v", f)
		}
		if f := g.Limiter("a").Forecast(core); f.Wait != 0 {
			t.Errorf("others: %+v", f)
		}
		if got, want := fmt.Sprint(buckets(g)), "[a a (core) a (search)]"; got != want {
			t.Errorf("buckets %s, want %s", got, want)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestGroupUpdateSetsQuotas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		per := time.Hour
		g := &Group{New: func(path []string) *Limiter {
			return &Limiter{Name: path[0], Quotas: quota.Quotas{{N: 1, Per: per, Kind: quota.TokenBucket}}}
		}}
		if err := g.Limiter("a").Wait(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		order := follows(t, 3, func(int) error { return g.Limiter("a").Wait(t.Context(), 1) })
		time.Sleep(10 * time.Second)
		if err := within.Update(g, func() bool { per = 10 * time.Second; return false }); err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprint(order()), "[0 19.972s <nil> 1 29.972s <nil> 2 39.972s <nil>]"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// An error names the bucket whose quotas are wrong; the others have theirs.
func TestGroupUpdateReportsWhatIsWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := map[string]int64{"a": 1, "b": 1}
		g := &Group{New: func(path []string) *Limiter {
			return &Limiter{Name: path[0], Quotas: quota.Quotas{{N: n[path[0]], Per: time.Hour, Burst: 1}}}
		}}
		a, b := g.Limiter("a"), g.Limiter("b")
		err := within.Update(g, func() bool { n["a"], n["b"] = -1, 5; return false })
		if err == nil || !strings.Contains(err.Error(), "-1") {
			t.Errorf("got %v, want an error that names -1", err)
		}
		if err := a.Wait(t.Context(), 1); err != nil {
			t.Errorf("what was wrong was set: %v", err)
		}
		if got := b.quotas[0].N; got != 5 {
			t.Errorf("b has %d, want 5", got)
		}
	})
}

// Claims that belong under another path after an Update line up there in the order in which they
// first asked, before anybody goes.
func TestGroupUpdateMovesWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Group{New: perSecond(1)}
		key := func(i int) string { return [...]string{"a", "b"}[i%2] }
		var mu sync.Mutex
		find := func(i int) func() *Limiter {
			return func() *Limiter {
				mu.Lock()
				defer mu.Unlock()
				return g.Limiter(key(i))
			}
		}
		for _, k := range []string{"a", "b", "c"} {
			g.Limiter(k).Pause(10 * time.Second)
		}
		var waits []string
		order := follows(t, 4, func(i int) error {
			search := within.Search(g, find(i), func(f Forecast) {
				mu.Lock()
				defer mu.Unlock()
				waits = append(waits, fmt.Sprint(i, " ", f.Bucket))
			}, nil)
			grant, err := search.Acquire(t.Context(), false, Claim{}, new(Grant))
			if err == nil {
				if name := grant.l.Name; name != "c" {
					t.Errorf("%d was granted by %s, want c", i, name)
				}
				grant.Answered(Answer{})
			}
			return err
		})
		err := within.Update(g, func() bool {
			mu.Lock()
			defer mu.Unlock()
			key = func(int) string { return "c" }
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprint(order()), "[0 10s <nil> 1 11s <nil> 2 12s <nil> 3 13s <nil>]"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		slices.Sort(waits)
		if got, want := fmt.Sprint(waits), "[0 a 0 c 1 b 1 c 2 a 2 c 3 b 3 c]"; got != want {
			t.Errorf("waits were told of %s, want %s", got, want)
		}
	})
}

// Claims keep their order if an Update moves them and gives their bucket a Store.
func TestGroupUpdateMovesWaitersToAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shared store.Store
		memory := &store.Memory{}
		g := &Group{New: func([]string) *Limiter {
			return &Limiter{Name: "a", Quotas: quota.Quotas{{N: 1, Kind: quota.TokenBucket}}, Shared: Shared{Store: shared}}
		}}
		find := func() *Limiter { return g.Limiter("a") }
		if err := find().Wait(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		order := follows(t, 5, func(int) error {
			_, err := acquireIn(t.Context(), g, find, Claim{})
			return err
		})
		if err := within.Update(g, func() bool { shared = memory; return true }); err != nil {
			t.Fatal(err)
		}
		for i, went := range order() {
			if !strings.HasPrefix(went, fmt.Sprint(i, " ")) {
				t.Errorf("%s went in place of %d", went, i)
			}
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Quotas that cannot live in a Store because of those above them can be mended, in one Update with these.
func TestGroupUpdateMendsQuotasOfAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared, above := &store.Memory{}, 1
		g := &Group{New: func(path []string) *Limiter {
			l := &Limiter{Name: strings.Join(path, "/"), Shared: Shared{Store: shared}, Quotas: quota.Quotas{{N: int64(above), Burst: 1}}}
			if len(path) > 1 {
				l.Quotas = quota.Quotas{{N: 10, Burst: 1}}
			}
			return l
		}}
		below := g.Limiter("a", "b")
		if err := below.Wait(t.Context(), 1); err == nil || !strings.Contains(err.Error(), `quota "1/s even" of a`) {
			t.Fatalf("got %v, want an error that names the quota above", err)
		}
		if err := within.Update(g, func() bool { above = 1000; return false }); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		for range 11 {
			if err := below.Wait(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
		}
		if d := time.Since(start); d < time.Second {
			t.Errorf("11 went in %v, want 10/s", d)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Claims that are on their way after one Update keep their places when another one follows at once.
func TestGroupTwoUpdatesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shared store.Store
		g := &Group{New: func(path []string) *Limiter {
			l := &Limiter{Name: strings.Join(path, "/")}
			if len(path) > 1 {
				l.Quotas, l.Shared.Store = quota.Quotas{{N: 1, Kind: quota.TokenBucket}}, shared
			}
			return l
		}}
		key := "a"
		find := func() *Limiter { return g.Limiter("host", key) }
		if err := find().Wait(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		acquire := func(int) error {
			_, err := acquireIn(t.Context(), g, find, Claim{})
			return err
		}
		early := follows(t, 5, acquire)
		err := errors.Join(
			within.Update(g, func() bool { key = "b"; return true }),
			within.Update(g, func() bool { shared = &store.Memory{}; return true }),
		)
		if err != nil {
			t.Fatal(err)
		}
		late := make(chan time.Time)
		go func() {
			if err := acquire(5); err != nil {
				t.Error(err)
			}
			late <- time.Now()
		}()
		for i, went := range early() {
			if !strings.HasPrefix(went, fmt.Sprint(i, " ")) {
				t.Errorf("%s went in place of %d", went, i)
			}
		}
		last := time.Now()
		if at := <-late; !at.After(last) {
			t.Errorf("the claim that came last went %v before the others", last.Sub(at))
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A bucket that is made anew, since it has a Store now, knows what the server has said.
func TestGroupUpdateWithAStoreKeepsHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shared store.Store
		memory := &store.Memory{}
		g := &Group{New: func([]string) *Limiter {
			return &Limiter{Name: "a", Quotas: quota.Quotas{{N: 100, Burst: 1}}, Shared: Shared{Store: shared}, Rand: noJitter}
		}}
		grant, _ := g.Limiter("a").Acquire(t.Context(), Claim{})
		grant.Answered(Answer{Refused: true, Hold: &quota.Hold{For: 10 * time.Minute}})
		if err := within.Update(g, func() bool { shared = memory; return false }); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if err := g.Limiter("a").Wait(t.Context(), 1); err != nil || time.Since(start) != 10*time.Minute {
			t.Errorf("%v after %v, want to go after 10m", err, time.Since(start))
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A claim that is canceled in the moment in which it is to move does not keep the others from going.
func TestGroupCanceledWhileMoved(t *testing.T) {
	for range 20 { // which of the two the claim sees first is random
		synctest.Test(t, func(t *testing.T) {
			g := &Group{New: perSecond(1)}
			g.Limiter("a").Pause(time.Second)
			ctx, cancel := context.WithCancel(t.Context())
			find := func() *Limiter { return g.Limiter("a") }
			done := make(chan error)
			go func() {
				_, err := acquireIn(ctx, g, find, Claim{})
				done <- err
			}()
			synctest.Wait()
			if err := within.Update(g, func() bool { cancel(); return true }); err != nil {
				t.Fatal(err)
			}
			if err := <-done; !errors.Is(err, ErrCanceled) {
				t.Fatalf("got %v, want ErrCanceled", err)
			}
			start := time.Now()
			if err := g.Limiter("a").Wait(t.Context(), 1); err != nil || time.Since(start) != time.Second {
				t.Fatalf("%v after %v, want to go after 1s", err, time.Since(start))
			}
		})
	}
}

// New may panic at any of its calls when a bucket gets a Store and is made anew: each claim goes all the same,
// in one bucket or the other, and in one alone once an Update returns.
func TestGroupUpdateWithAStorePanics(t *testing.T) {
	for last := range 12 {
		synctest.Test(t, func(t *testing.T) {
			var shared store.Store
			var calls atomic.Int64
			calls.Store(-1000)
			g := &Group{New: func(path []string) *Limiter {
				if calls.Add(1) == int64(last) {
					panic("New")
				}
				l := &Limiter{Name: strings.Join(path, "/"), Quotas: quota.Quotas{{N: 1, Per: 10 * time.Second, Kind: quota.SlidingLog}}}
				if len(path) == 1 {
					l.Shared.Store = shared
				}
				return l
			}}
			start := time.Now()
			var mu sync.Mutex
			var went []time.Duration
			claim := func(path ...string) {
				find := func() *Limiter { return g.Limiter(path...) }
				go func() {
					defer func() { _ = recover() }()
					if _, err := acquireIn(t.Context(), g, find, Claim{}); err != nil {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					went = append(went, time.Since(start))
				}()
				synctest.Wait()
			}
			claim("a")
			claim("a", "x")
			claim("a", "y")
			shared = new(store.Memory)
			calls.Store(0)
			update := func() (panicked any) {
				defer func() { panicked = recover() }()
				if err := within.Update(g, func() bool { return false }); err != nil {
					t.Error(err)
				}
				return nil
			}
			if update() != nil {
				update()
			}
			calls.Store(-1000)
			synctest.Wait()
			claim("a")
			time.Sleep(time.Minute)
			mu.Lock()
			defer mu.Unlock()
			want := []time.Duration{0, 0, 10100 * time.Millisecond, 20200 * time.Millisecond}
			if !slices.Equal(went, want) {
				t.Errorf("call %d panics: went at %v, want %v", last, went, want)
			}
			_ = g.Close()
		})
	}
}

// A bucket that gets a Store is made anew. What is under way ends in the old one; who waits waits in
// the new one.
func TestGroupUpdateWithAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shared store.Store
		memory := &store.Memory{}
		g := &Group{New: func(path []string) *Limiter {
			l := &Limiter{Name: strings.Join(path, "/")}
			if len(path) == 1 {
				l.Quotas, l.Shared.Store = quota.Quotas{{N: 1, Per: 10 * time.Second, Kind: quota.TokenBucket}}, shared
			}
			return l
		}}
		old, below := g.Limiter("a"), g.Limiter("a", "x")
		under, err := old.Acquire(t.Context(), Claim{})
		if err != nil {
			t.Fatal(err)
		}
		order := follows(t, 2, func(int) error {
			_, err := acquireIn(t.Context(), g, func() *Limiter { return g.Limiter("a") }, Claim{})
			return err
		})
		if err := within.Update(g, func() bool { shared = memory; return false }); err != nil {
			t.Fatal(err)
		}
		if !old.forgotten.Load() || !below.forgotten.Load() {
			t.Error("the old buckets are in use")
		}
		if got, want := fmt.Sprint(order()), "[0 0s <nil> 1 10.1s <nil>]"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		under.Answered(Answer{})
		if s := g.Limiter("a").State(); s.Store == nil || s.InFlight != 2 {
			t.Errorf("state %+v", s)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		if err := g.Limiter("a").Wait(t.Context(), 1); !errors.Is(err, ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
	})
}
