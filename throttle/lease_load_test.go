package throttle

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/throttle/store"
)

// TestLeaseLoad: processes that together ask for less than there is, at random, pay one round trip at
// most, and lose nothing.
func TestLeaseLoad(t *testing.T) {
	for _, c := range []struct {
		text       string
		perSecond  float64 // of each process
		members    int
		roundTrips float64
		wasted     float64
	}{
		{"100/s even", 8, 10, 1.1, 0.1},
		{"1000/s even", 80, 10, 1.1, 0.1},
		{"1000/s even", 400, 2, 1.0, 0.1},
		{"60000/m log", 80, 10, 0.1, 0.1},
		{"6000/m log", 8, 10, 0.6, 0.1},
	} {
		t.Run(fmt.Sprintf("%s by %d", c.text, c.members), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(3, 4))
				shared := nearStore()
				f := &fleet{t: t, start: time.Now(), each: make([]int, c.members)}
				span := whole.Or(5*time.Second, 10*time.Second)
				want := 0
				var limiters []*Limiter
				for i := range c.members {
					l := member(t, shared, c.text)
					limiters = append(limiters, l)
					for at := time.Duration(0); at < span; at += time.Duration(r.ExpFloat64() / c.perSecond * float64(time.Second)) {
						want++
						f.once(t.Context(), i, l, at)
					}
				}
				f.wait.Wait()
				calls, wasted := 0, 0
				for _, l := range limiters {
					s := l.State().Store
					calls += s.Calls
					wasted += int(s.Wasted)
				}
				trips, waste := float64(calls)/float64(want), float64(wasted)/float64(want)
				t.Logf("round trips per request %.3f, wasted %.3f, took %v", trips, waste, time.Since(f.start))
				if len(f.sends) != want || time.Since(f.start) > span+time.Second {
					t.Errorf("%d of %d went, in %v", len(f.sends), want, time.Since(f.start))
				}
				if trips > c.roundTrips || waste > c.wasted {
					t.Errorf("%.3f round trips per request, want at most %v; %.3f of it wasted, want at most %v", trips, c.roundTrips, waste, c.wasted)
				}
			})
		})
	}
}

// TestLeaseFarLoad: with a store 20 ms away and a SlotLife to match, half of all requests and more, of
// processes that send at random, need not wait for it. They pay one round trip at most all the same.
func TestLeaseFarLoad(t *testing.T) {
	for _, c := range []struct {
		text      string
		slotLife  time.Duration
		perSecond float64 // of each of two processes
	}{
		{"100/s burst 20", 100 * time.Millisecond, 35},
		{"100/s log", 100 * time.Millisecond, 35},
		{"100/s burst 40", 200 * time.Millisecond, 25},
		{"100/s log", 200 * time.Millisecond, 25},
	} {
		t.Run(fmt.Sprintf("%s SlotLife %v", c.text, c.slotLife), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(5, 6))
				shared := &slowStore{Store: new(store.Memory), there: 10 * time.Millisecond, back: 10 * time.Millisecond}
				var mu sync.Mutex
				var wait sync.WaitGroup
				var waits []time.Duration
				var limiters []*Limiter
				for range 2 {
					l := &Limiter{Name: "api", Quotas: quotas(t, c.text), Shared: Shared{Store: shared, SlotLife: c.slotLife}}
					defer l.Close()
					limiters = append(limiters, l)
					for at := time.Duration(0); at < 30*time.Second; at += time.Duration(r.ExpFloat64() / c.perSecond * float64(time.Second)) {
						wait.Go(func() {
							time.Sleep(at)
							start := time.Now()
							if err := l.Wait(t.Context(), 1); err != nil {
								t.Error(err)
							}
							mu.Lock()
							defer mu.Unlock()
							waits = append(waits, time.Since(start))
						})
					}
				}
				wait.Wait()
				calls := 0
				for _, l := range limiters {
					calls += l.State().Store.Calls
				}
				slices.Sort(waits)
				p50, trips := waits[len(waits)/2], float64(calls)/float64(len(waits))
				t.Logf("p50 %v, p99 %v, round trips per request %.3f", p50, waits[len(waits)*99/100], trips)
				if p50 >= time.Millisecond || trips > 1.1 {
					t.Errorf("p50 %v, want less than 1ms; %.3f round trips per request, want at most 1.1", p50, trips)
				}
			})
		})
	}
}
