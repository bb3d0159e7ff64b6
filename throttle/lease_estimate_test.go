package throttle

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/store"
)

// TestLeaseEstimates: five processes that reckon with four times of what their requests turn out to cost use a
// shared quota nearly as one process does that has it alone.
func TestLeaseEstimates(t *testing.T) {
	for i, c := range []struct {
		quotas  string
		workers int
		took    time.Duration // by a request
		want    float64       // of what is used without a store
	}{
		{"30000 tokens/m burst 30000", 20, time.Second, 0.95},
		{"30000 tokens/m burst 3000", 4, time.Second, 0.95},
		{"30000 tokens/m burst 3000", 20, time.Second, 0.95},
		{"30000 tokens/m burst 3000", 20, 50 * time.Millisecond, 0.95},
		{"30000 tokens/m log", 20, time.Second, 0.95},
		{"30000 tokens/m sliding", 20, time.Second, 0.95},
		{"30000 tokens/m window grid", 20, time.Second, 0.95},
		{"1/s even, 30000 tokens/m log", 20, time.Second, 0.95},
		{"20000 tokens/s burst 8000", 5, 50 * time.Millisecond, 0.95},
		{"20000 tokens/s burst 8000", 20, 50 * time.Millisecond, 0.95},
		{"2000 tokens/s burst 8000", 20, time.Second, 0.95},
		{"20000 tokens/s window grid", 20, 50 * time.Millisecond, 0.95},
		{"40000 tokens/2s window grid", 20, 50 * time.Millisecond, 0.95},
		{"20000 tokens/s log", 20, 50 * time.Millisecond, 0.95},
		{"20000 tokens/s log", 20, 300 * time.Millisecond, 0.95},
		{"20000 tokens/s burst 8000", 20, 300 * time.Millisecond, 0.95},
		{"20000 tokens/s window grid", 20, 300 * time.Millisecond, 0.95},
		{"20000 tokens/s estimate", 5, 50 * time.Millisecond, 0.95},
		{"20000 tokens/s estimate", 20, 50 * time.Millisecond, 0.95},
		{"20000 tokens/s estimate", 20, 300 * time.Millisecond, 0.95},
		{"400000 tokens/s burst 160000", 200, 50 * time.Millisecond, 0.95},
		{"30000 tokens/m estimate", 20, time.Second, 0.95},
	} {
		if *times == 1 && i%8 != 0 {
			continue // all of them take seconds
		}
		t.Run(fmt.Sprintf("%s, %d workers, %v", c.quotas, c.workers, c.took), func(t *testing.T) {
			per, spans := quotas(t, c.quotas)[len(quotas(t, c.quotas))-1].Per, 8
			if per < time.Minute {
				spans = int(30 * time.Second / per)
			}
			used := func(shared store.Store) (n int) {
				synctest.Test(t, func(t *testing.T) {
					var mu sync.Mutex
					var wait sync.WaitGroup
					begin := time.Now()
					ctx := until(t, begin.Add(per*time.Duration(spans)+per/2))
					var limiters []*Limiter
					for range 5 {
						l := &Limiter{Name: "api", Quotas: quotas(t, c.quotas), Shared: Shared{Store: shared}, MaxStandstill: Forever}
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
								at := time.Since(begin)
								time.Sleep(c.took)
								g.Settle(quota.Costs{"tokens": 500})
								g.Answered(Answer{})
								mu.Lock()
								if at >= 2*per && at < per*time.Duration(spans) { // whole spans
									n++
								}
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
