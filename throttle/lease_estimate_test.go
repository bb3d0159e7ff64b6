package throttle

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/store"
)

// TestLeaseEstimates: four processes that reckon with four times of what their requests turn out to cost use a
// shared quota nearly as one process does that has it alone.
func TestLeaseEstimates(t *testing.T) {
	const span = 5 * time.Minute
	for _, c := range []struct {
		quotas  string
		workers int
		want    float64 // of what is used without a store
	}{
		{"30000 tokens/m burst 30000", 20, 0.9},
		{"30000 tokens/m burst 3000", 4, 0.85},
		{"30000 tokens/m burst 3000", 20, 0.5}, // those who wait in line are not asked for again
		{"30000 tokens/m log", 20, 0.85},
		{"30000 tokens/m sliding", 20, 0.85},
		{"30000 tokens/m window grid", 20, 0.85},
		{"30000 tokens/m estimate", 20, 0.55}, // it is not known of both windows
		{"1/s even, 30000 tokens/m log", 20, 0.8},
	} {
		t.Run(c.quotas, func(t *testing.T) {
			used := func(shared store.Store) (n int) {
				synctest.Test(t, func(t *testing.T) {
					var mu sync.Mutex
					var wait sync.WaitGroup
					ctx := until(t, time.Now().Add(span))
					var limiters []*Limiter
					for range 4 {
						l := &Limiter{Name: "api", Quotas: quotas(t, c.quotas), Store: shared}
						defer l.Close()
						limiters = append(limiters, l)
					}
					for i := range c.workers {
						l := limiters[0]
						if shared != nil {
							l = limiters[i%len(limiters)]
						}
						wait.Go(func() {
							for {
								g, err := l.Acquire(ctx, Claim{Costs: quota.Costs{"tokens": 2000}})
								if err != nil {
									return
								}
								time.Sleep(time.Second)
								g.Settle(quota.Costs{"tokens": 500})
								g.Done(Answer{})
								mu.Lock()
								n++
								mu.Unlock()
							}
						})
					}
					wait.Wait()
				})
				return n
			}
			alone, shared := used(nil), used(nearStore())
			t.Logf("%d, and %d shared", alone, shared)
			if float64(shared) < c.want*float64(alone) {
				t.Errorf("%d went, of %d without a store, want %v of it", shared, alone, c.want)
			}
		})
	}
}
