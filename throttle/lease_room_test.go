package throttle

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
)

// TestLeaseRoom: who waits for a slot far ahead goes when something has come back, and the slot
// is there for others.
func TestLeaseRoom(t *testing.T) {
	for _, c := range []struct {
		quotas string
		left   int // in the end
	}{
		{"10/m log", 3},
		{"10/m window grid", 3},
		{"20/s burst 20, 10/m sliding", 3},
	} {
		t.Run(c.quotas, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shared := nearStore()
				a, b := member(t, shared, c.quotas), member(t, shared, c.quotas)
				start := time.Now()
				g, err := a.Acquire(t.Context(), Claim{N: 9})
				if err != nil {
					t.Fatal(err)
				}
				if err := b.Wait(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
				went := make(chan time.Duration)
				go func() {
					if err := b.Wait(t.Context(), 1); err != nil {
						t.Error(err)
					}
					went <- time.Since(start)
				}()
				time.Sleep(2 * time.Second)
				g.Settle(quota.Costs{quota.Requests: 4})
				g.Answered(Answer{})
				// It is told at once; then come the news, and a call. Three calls were before.
				if d, want := <-went, 2*time.Second+7*shared.there; d != want {
					t.Errorf("went after %v, want %v", d, want)
				}
				if err := b.Wait(t.Context(), 1); err != nil {
					t.Error(err)
				}
				if d := time.Since(start); d > 3*time.Second {
					t.Errorf("the third went after %v", d)
				}
				n := 0
				for ; n < 10; n++ {
					if _, err := a.Acquire(t.Context(), Claim{MaxWait: -1}); err != nil {
						break
					}
				}
				if n != c.left {
					t.Errorf("%d are left, want %d", n, c.left)
				}
			})
		})
	}
}
