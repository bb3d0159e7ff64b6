package throttle

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"
)

// TestLeaseForgetsWhoHasGone: while some always wait that came while a call was under way, as those do behind
// which the next call follows, nothing is kept of those that have gone.
func TestLeaseForgetsWhoHasGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Name: "api", Quotas: quotas(t, "100/s burst 5"), Shared: Shared{Store: &slowStore{Store: distantStore(), there: 90 * time.Millisecond, back: 90 * time.Millisecond}, Fresh: true}}
		t.Cleanup(func() { l.Close() })
		start := time.Now()
		var mu sync.Mutex
		var waited []weak.Pointer[waiter]
		for range 200 {
			go func() {
				for time.Since(start) < 20*time.Second {
					_, w, err := l.Join(t.Context(), Claim{})
					if err != nil {
						t.Error(err)
						return
					}
					if w != nil {
						mu.Lock()
						waited = append(waited, weak.Make(w))
						mu.Unlock()
						_, _ = w.Wait(t.Context())
					}
				}
			}()
		}
		time.Sleep(20 * time.Second)
		synctest.Wait()
		runtime.GC()
		mu.Lock()
		kept := 0
		for _, w := range waited {
			if w.Value() != nil {
				kept++
			}
		}
		mu.Unlock()
		if len(waited) < 1000 || kept > 600 {
			t.Errorf("%d have waited, %d wait, and %d are kept, want those of two calls beside them at most", len(waited), l.State().Waiting, kept)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
	})
}
