package sharing

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
	"github.com/gopacer/pacer/throttle/store"
)

// sluggish is a store whose calls take so long, and fail now and then.
type sluggish struct {
	store.Memory
	trip  time.Duration
	mu    sync.Mutex
	fails *rand.Rand // nil if none does
}

var errSluggish = errors.New("connection reset")

func (s *sluggish) Exchange(ctx context.Context, r *store.Request) (*store.Reply, error) {
	time.Sleep(s.trip)
	s.mu.Lock()
	fails := s.fails != nil && s.fails.IntN(8) == 0
	s.mu.Unlock()
	if fails {
		return nil, errSluggish
	}
	return s.Memory.Exchange(ctx, r)
}

// A claim that must not wait waits for the calls of the stores that it needs, and for those that were under
// way. What is in hand may suffice for it, but later, behind claims that cost more: then there is nothing to
// ask for, and it is refused at once. It never waits for others' calls.
func TestWouldWaitForTheStore(t *testing.T) {
	for _, trip := range []time.Duration{0, 20 * time.Millisecond} {
		for _, q := range []string{"10/s burst 5", "10/s burst 5, 100 tokens/s burst 50", "20/2s window"} {
			for _, waiters := range []int{0, 3, 20} {
				for _, fails := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s, %d wait, calls of %v, fail %v", q, waiters, trip, fails), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) { neverWaits(t, trip, quota.MustParse(q), waiters, fails) })
					})
				}
			}
		}
	}
}

// neverWaits makes 100 claims that must not wait to buckets of a tree, while others wait in it.
func neverWaits(t *testing.T, trip time.Duration, quotas quota.Quotas, waiters int, fails bool) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 3))
	above, shared := &sluggish{trip: trip}, &sluggish{trip: trip}
	if fails {
		above.fails, shared.fails = rand.New(rand.NewPCG(1, 4)), rand.New(rand.NewPCG(1, 5))
	}
	all := &throttle.Limiter{Name: "all", Quotas: quota.MustParse("50/s burst 10"), Shared: throttle.Shared{Fresh: true, Store: above, Outage: throttle.OutageClosed}}
	a := &throttle.Limiter{Name: "a", Quotas: quotas, Shared: throttle.Shared{Fresh: true, Store: shared}, Parent: all}
	buckets := []*throttle.Limiter{a, {Name: "b", Quotas: quotas, Parent: all}, {Name: "c", SlowStart: true, Parent: a}, all}
	claim := func(r *rand.Rand) (*throttle.Limiter, throttle.Claim) {
		return buckets[r.IntN(len(buckets))], throttle.Claim{N: 1 + r.IntN(2), Costs: quota.Costs{"tokens": int64(r.IntN(40))}, Priority: throttle.Priority(r.IntN(4) - 1)}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i := range waiters {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(2, uint64(i)))
			for ctx.Err() == nil {
				of, c := claim(r)
				if g, err := of.Acquire(ctx, c); err == nil {
					g.Done()
				} else {
					time.Sleep(time.Duration(r.IntN(100)+1) * time.Millisecond)
				}
			}
		})
	}
	for range 100 {
		time.Sleep(time.Duration(r.IntN(150)+1) * time.Millisecond)
		of, c := claim(r)
		c.MaxWait = -1
		began := time.Now()
		g, err := of.Acquire(ctx, c)
		if err == nil {
			g.Done()
		} else if !errors.Is(err, throttle.ErrWouldWait) {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 6*trip { // two of each store: what was under way, and its own; and two more if others went by its slots
			t.Errorf("%v of %s after %v, want %v at most", err, of.Name, took, 6*trip)
		}
	}
	cancel()
	wg.Wait()
	if err := errors.Join(a.Close(), all.Close()); err != nil && !fails {
		t.Error(err)
	}
}

// A claim that must not wait is granted if the stores have enough, whoever else claims at once.
func TestNobodyWouldWaitForWhatTheStoreHas(t *testing.T) {
	const trip = 20 * time.Millisecond
	for seed := range uint64(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 6))
				all := &throttle.Limiter{Name: "all", Quotas: quota.MustParse("600/m log, 900/m window"), Shared: throttle.Shared{Fresh: true, Store: &sluggish{trip: trip}}}
				a := &throttle.Limiter{Name: "a", Quotas: quota.MustParse("400/m log, 4000 tokens/m log"), Shared: throttle.Shared{Fresh: true, Store: &sluggish{trip: trip}}, Parent: all}
				b := &throttle.Limiter{Name: "b", Parent: all}
				time.Sleep(time.Second)
				var wg sync.WaitGroup
				for range 60 {
					time.Sleep(time.Duration(r.IntN(500)) * time.Millisecond)
					for range 1 + r.IntN(6) {
						of, c := []*throttle.Limiter{a, b}[r.IntN(2)], throttle.Claim{N: 1 + r.IntN(2), Costs: quota.Costs{"tokens": int64(r.IntN(12))}, MaxWait: -1}
						wg.Go(func() {
							began := time.Now()
							g, err := of.Acquire(t.Context(), c)
							if took := time.Since(began); err != nil || took > 4*trip {
								t.Errorf("%v after %v", err, took)
								return
							}
							g.Done()
						})
					}
				}
				wg.Wait()
				if err := errors.Join(a.Close(), all.Close()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
