package throttle

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/store"
)

// These tests are of claims that must not wait, where the quotas live in a store: each is granted by the calls
// that it needs, or refused as soon as it is known that it must wait.

// trip is how long a call takes in these tests.
const trip = 20 * time.Millisecond

// atOnce makes claims that must not wait, one after the other at one instant, and returns after how long each
// was granted, or refused.
func atOnce(t *testing.T, l *Limiter, claims ...Claim) (granted, refused []time.Duration) {
	t.Helper()
	start := time.Now()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, c := range claims {
		c.MaxWait = -1
		wg.Go(func() {
			_, err := l.Acquire(t.Context(), c)
			mu.Lock()
			defer mu.Unlock()
			switch took := time.Since(start); {
			case err == nil:
				granted = append(granted, took)
			case errors.Is(err, ErrWouldWait):
				refused = append(refused, took)
			default:
				t.Error(err)
			}
		})
		synctest.Wait()
	}
	wg.Wait()
	return granted, refused
}

// all is n times the same.
func all(n int, d time.Duration) []time.Duration { return slices.Repeat([]time.Duration{d}, n) }

// TestAtOnceBehindWhoWaits: nothing is asked for behind one who has a slot that is far ahead, since the store
// had nothing the last time. So a claim behind that one is refused at once.
func TestAtOnceBehindWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Name: "api", Quotas: quotas(t, "1/s burst 4"), Shared: Shared{Store: distantStore(), Fresh: true}}
		t.Cleanup(func() { l.Close() })
		time.Sleep(time.Second)
		if err := l.Wait(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
		go l.Wait(t.Context(), 3)
		for _, want := range []time.Duration{trip, 0, 0, trip} { // a reply that is new still says when the next slot comes
			time.Sleep(600 * time.Millisecond)
			if granted, refused := atOnce(t, l, Claim{}); len(granted) > 0 || refused[0] != want {
				t.Errorf("granted after %v, refused after %v, want refused after %v", granted, refused, want)
			}
		}
		time.Sleep(5 * time.Second)
	})
}

// TestAtOnceMoreThanACallAsksFor: a call has no room for more than 256 asks, so that those who find none wait
// for the next one.
func TestAtOnceMoreThanACallAsksFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Name: "api", Quotas: quotas(t, "10000/s burst 5000, 1000000 tokens/s burst 500000"), Shared: Shared{Store: distantStore(), Fresh: true}}
		t.Cleanup(func() { l.Close() })
		time.Sleep(time.Second)
		claims := make([]Claim, 600)
		for i := range claims { // no two that follow each other share an ask
			claims[i].Costs = quota.Costs{"tokens": int64(10 + i%2)}
		}
		// The first one's call; 256, as many again, and the rest.
		want := slices.Concat(all(1, trip), all(256, 2*trip), all(256, 3*trip), all(87, 4*trip))
		if granted, refused := atOnce(t, l, claims...); !slices.Equal(granted, want) {
			t.Errorf("%d granted, %d refused, %v", len(granted), len(refused), slices.Compact(granted))
		}
	})
}

// TestAtOnceInTwoStores: who is granted is no matter of chance, whichever reply comes first at one instant.
func TestAtOnceInTwoStores(t *testing.T) {
	for n := 1; n <= 8; n++ {
		for _, ask := range []int{2, 8, 20} { // the stores have so many
			t.Run(fmt.Sprintf("%d of %d", n, ask), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					above := &Limiter{Name: "all", Quotas: quotas(t, "20/s burst 40"), Shared: Shared{Store: distantStore(), Fresh: true}}
					l := &Limiter{Name: "api", Quotas: quotas(t, fmt.Sprintf("1/h burst %d", ask+1)), Shared: Shared{Store: distantStore(), Fresh: true}, Parent: above}
					t.Cleanup(func() { l.Close(); above.Close() })
					time.Sleep(time.Second)
					granted, refused := atOnce(t, l, make([]Claim, n)...)
					want := min(n, ask)
					if !slices.Equal(granted, all(want, 2*trip)) {
						t.Errorf("granted after %v, want %d granted after %v", granted, want, 2*trip)
					}
					// What is above a Burst is refused at once, and by the reply to the second call what comes
					// back too slowly.
					if want := slices.Concat(all(n-want-min(n-want, 1), 0), all(min(n-want, 1), 2*trip)); !slices.Equal(refused, want) {
						t.Errorf("refused after %v, want %v", refused, want)
					}
				})
			})
		}
	}
}

// TestAtOnceInAFrozenTree: a reply that comes while the tree is frozen refuses nobody whom it serves.
func TestAtOnceInAFrozenTree(t *testing.T) {
	for _, more := range []int{0, 1} { // who is refused asks once more, since what it got may be needed by others
		t.Run(fmt.Sprint(more), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shared := distantStore()
				l := &Limiter{Name: "api", Quotas: quotas(t, "1/m burst 4"), Shared: Shared{Store: shared, Fresh: true}}
				t.Cleanup(func() { l.Close() })
				time.Sleep(time.Second)
				go func() {
					time.Sleep(trip / 4)
					thaw := l.Freeze()
					time.Sleep(10 * trip)
					thaw()
				}()
				granted, refused := atOnce(t, l, make([]Claim, 3+more)...)
				if at := 10*trip + trip/4; !slices.Equal(granted, slices.Concat(all(1, at), all(2, at+trip))) || !slices.Equal(refused, all(more, at+trip)) {
					t.Errorf("granted after %v, refused after %v", granted, refused)
				}
				if n := shared.calls.Load(); n > 4 {
					t.Errorf("%d calls while the tree was frozen", n)
				}
			})
		})
	}
}

// TestAtOnceWhenATreeThaws: a claim that was made while the tree was frozen is refused, after that, only when
// its bucket has asked its store, whichever bucket changed first meanwhile.
func TestAtOnceWhenATreeThaws(t *testing.T) {
	for _, first := range []string{"api", "other", "all"} {
		t.Run(first, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				above := &Limiter{Name: "all", Quotas: quotas(t, "2/s burst 50"), Shared: Shared{Store: distantStore(), Fresh: true}}
				l := &Limiter{Name: "api", Quotas: quotas(t, "2/s burst 40"), Shared: Shared{Store: distantStore(), Fresh: true}, Parent: above}
				other := &Limiter{Name: "other", Parent: above}
				t.Cleanup(func() { l.Close(); above.Close() })
				time.Sleep(time.Second)
				thaw := above.Freeze()
				var wg sync.WaitGroup
				for _, b := range []*Limiter{map[string]*Limiter{"api": l, "other": other, "all": above}[first], l} {
					wg.Go(func() {
						if _, err := b.Acquire(t.Context(), Claim{MaxWait: -1}); err != nil {
							t.Error(b.Name, err)
						}
					})
					synctest.Wait()
				}
				thaw()
				wg.Wait()
			})
		})
	}
}

// TestAtOnceComesBackFromAbove: a claim that gives way to a more urgent one in the line above needs a slot of
// its own bucket again, where a call is under way that was made when it needed none: another one follows for
// it.
func TestAtOnceComesBackFromAbove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		above := &Limiter{Name: "all", Quotas: quotas(t, "10/s burst 50"), Shared: Shared{Store: distantStore(), Fresh: true}}
		l := &Limiter{Name: "api", Quotas: quotas(t, "10/m burst 40"), Shared: Shared{Store: &slowStore{Store: new(store.Memory), there: 2 * trip, back: 2 * trip}, Fresh: true}, Parent: above}
		t.Cleanup(func() { l.Close(); above.Close() })
		time.Sleep(time.Second)
		g, err := l.Acquire(t.Context(), Claim{})
		if err != nil {
			t.Fatal(err)
		}
		g.Cancel() // one slot of each is in hand
		if err := above.Wait(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		claims := []Claim{{N: 2, Priority: Background}, {}, {Priority: Urgent}}
		if granted, refused := atOnce(t, l, claims...); len(refused) > 0 {
			t.Errorf("granted after %v, refused after %v", granted, refused)
		}
	})
}

// TestAtOnceBehindSomethingElse: a claim that something else than a store delays waits for no call, though one
// is under way for others.
func TestAtOnceBehindSomethingElse(t *testing.T) {
	for _, others := range []bool{false, true} {
		t.Run(fmt.Sprint(others), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				above := &Limiter{Name: "all", Quotas: quotas(t, "10/s burst 5"), Shared: Shared{Store: distantStore(), Fresh: true}}
				l := &Limiter{Name: "api", Quotas: quotas(t, "1 in flight"), Parent: above}
				other := &Limiter{Name: "other", Parent: above}
				t.Cleanup(func() { above.Close() })
				time.Sleep(time.Second)
				if _, err := l.Acquire(t.Context(), Claim{}); err != nil { // until its answer, nobody else goes
					t.Fatal(err)
				}
				if others {
					go other.Acquire(t.Context(), Claim{N: 3})
				}
				synctest.Wait()
				if granted, refused := atOnce(t, l, Claim{}); len(granted) > 0 || refused[0] != 0 {
					t.Errorf("granted after %v, refused after %v", granted, refused)
				}
				time.Sleep(time.Second)
			})
		})
	}
}

// TestAtOnceWhileACallFails: who came after a call was made that fails is refused with it, since none follows
// soon.
func TestAtOnceWhileACallFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := distantStore()
		shared.fail = func(int) error { return errRough }
		l := &Limiter{Name: "api", Quotas: quotas(t, "10/s burst 5"), Shared: Shared{Store: shared, Fresh: true}}
		t.Cleanup(func() { l.Close() })
		if granted, refused := atOnce(t, l, make([]Claim, 3)...); len(granted) > 0 || !slices.Equal(refused, all(3, trip/2)) {
			t.Errorf("granted after %v, refused after %v", granted, refused)
		}
	})
}

// TestAtOnceAsksOnce: one call tells that a claim must wait.
func TestAtOnceAsksOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		others := distantStore()
		shared := &slowStore{Store: others.Store, there: trip / 2, back: trip / 2}
		a := &Limiter{Name: "api", Quotas: quotas(t, "10/h burst 5"), Shared: Shared{Store: others, Fresh: true}}
		b := &Limiter{Name: "api", Quotas: quotas(t, "10/h burst 5"), Shared: Shared{Store: shared, Fresh: true}}
		t.Cleanup(func() { a.Close(); b.Close() })
		time.Sleep(time.Second)
		for range 5 {
			if err := a.Wait(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
		}
		if granted, refused := atOnce(t, b, Claim{}); len(granted) > 0 || !slices.Equal(refused, all(1, trip)) {
			t.Errorf("granted after %v, refused after %v", granted, refused)
		}
		synctest.Wait()
		if n := shared.calls.Load(); n != 1 {
			t.Errorf("%d calls, want 1", n)
		}
		time.Sleep(trip)
	})
}

// TestAtOnceInAHeldBucket: a claim that came while a call was under way of the bucket above its own is refused
// when its own bucket is held: that call brings nothing any more.
func TestAtOnceInAHeldBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &Limiter{Name: "api", Quotas: quotas(t, "10/s burst 5"), Shared: Shared{Store: distantStore(), Fresh: true}}
		route := &Limiter{Name: "route", Parent: host}
		t.Cleanup(func() { host.Close() })
		_, w := join(t, host, Claim{})
		time.AfterFunc(trip/4, func() { route.Pause(time.Hour) })
		if granted, refused := atOnce(t, route, Claim{}); len(granted) > 0 || !slices.Equal(refused, all(1, trip/4)) {
			t.Errorf("granted after %v, refused after %v", granted, refused)
		}
		checkTree(t, host, route)
		w.Leave()
		time.Sleep(time.Second)
	})
}

// TestAtOnceBehindACallOfAnotherBucket: a claim behind one that competes above, and for which a call of its own
// bucket is under way, waits for that call, and no longer.
func TestAtOnceBehindACallOfAnotherBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failing := distantStore()
		failing.fail = func(int) error { return errRough }
		root := &Limiter{Name: "root", Quotas: quotas(t, "1 tokens/h even")}
		host := &Limiter{Name: "host", Quotas: quotas(t, "100/s burst 50"), Shared: Shared{Store: new(store.Memory), Fresh: true, SlotLife: time.Second}, Parent: root}
		route := &Limiter{Name: "route", Quotas: quotas(t, "100/s burst 50"), Shared: Shared{Store: failing, Fresh: true, Outage: OutageOpen}, Parent: host}
		t.Cleanup(func() { route.Close(); host.Close() })
		grant(t, root, tokens(1))
		beside := &Limiter{Name: "beside", Parent: root}
		below := &Limiter{Name: "below", Quotas: quotas(t, "1/h even"), Parent: beside}
		grant(t, below, Claim{})
		_, last := join(t, below, Claim{}) // one that might go before the first: so nobody reckons with that
		_, first := join(t, beside, Claim{Costs: quota.Costs{"tokens": 1}, Priority: Urgent})
		_, w := join(t, route, Claim{})
		time.Sleep(200 * time.Millisecond) // the first call has failed, and the next one begins
		synctest.Wait()
		if granted, refused := atOnce(t, host, Claim{}); len(granted) > 0 || !slices.Equal(refused, all(1, trip/2)) {
			t.Errorf("granted after %v, refused after %v", granted, refused)
		}
		checkTree(t, host, route)
		w.Leave()
		first.Leave()
		last.Leave()
		time.Sleep(time.Second)
	})
}

// TestAtOnceIsDueAsItsCallEnds: a claim that is due when its call ends, but whose timer is late, goes then, and
// is not refused as well.
func TestAtOnceIsDueAsItsCallEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "10/s even")}
		if err := l.Wait(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- l.Wait(t.Context(), 1) }()
		synctest.Wait()
		l.lock()
		l.line.timer.Stop()
		var buf [priorities]*waiter
		w := l.line.Heads(&buf)[0]
		w.AtOnce = true
		l.tree.lookAt.Put(w, true)
		l.unlock()
		time.Sleep(100 * time.Millisecond)
		l.tree.refuseUncalled(l.lock())
		l.unlock()
		if err := <-ended; err != nil {
			t.Errorf("a claim that was due: %v", err)
		}
	})
}
