package sharing

import (
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
	"github.com/gopacer/pacer/throttle/store"
)

// What docs/parts.md says of a websocket beside a Transport: in a store.Memory, a Limiter with the name of the
// bucket shares its quota and its hold.
func TestLimiterBesideATransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared, quotas := &store.Memory{}, quota.MustParse("20/s")
		var asks atomic.Bool
		base := lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
			if asks.Load() {
				return lab.Answer(req, http.StatusTooManyRequests, "", "Retry-After", "30"), nil
			}
			return lab.Answer(req, http.StatusOK, ""), nil
		})
		transport := &pacer.Transport{
			Base: base, Quotas: pacer.Table{"api.example.com/": quotas}, Shared: pacer.Shared{Store: shared}, Retry: pacer.Retry{MaxRefusals: -1},
		}
		messages := &throttle.Limiter{Name: "api.example.com", Quotas: quotas, Shared: throttle.Shared{Store: shared}}
		defer func() {
			if err := transport.Close(); err != nil {
				t.Error(err)
			}
			if err := messages.Close(); err != nil {
				t.Error(err)
			}
		}()

		client := &http.Client{Transport: transport}
		var mu sync.Mutex
		var went []time.Time
		var wg sync.WaitGroup
		note := func() {
			mu.Lock()
			defer mu.Unlock()
			went = append(went, time.Now())
		}
		for range 50 {
			wg.Go(func() { lab.Get(t, client, "https://api.example.com/"); note() })
			wg.Go(func() {
				if err := messages.Wait(t.Context(), 1); err != nil {
					t.Error(err)
				}
				note()
			})
		}
		wg.Wait()
		slices.SortFunc(went, time.Time.Compare)
		for i := range went[20:] {
			if d := went[i+20].Sub(went[i]); d < time.Second {
				t.Fatalf("21 in %v", d)
			}
		}
		// Five windows of 20, each 10 ms late. One of the two may have asked for more than its last requests
		// need: that comes back when it has expired, 10 ms later, and the other, whose slot is a window ahead,
		// hears of it. By the order in which the two come, it may hear so of a second slot (in 4 of 100 runs),
		// a tenth of the Horizon later: it does not give far slots back more often.
		if took := went[99].Sub(went[0]); took > 4101*time.Millisecond {
			t.Errorf("100 of 20/s took %v", took)
		}

		asks.Store(true)
		time.Sleep(time.Minute)
		lab.Get(t, client, "https://api.example.com/")
		time.Sleep(time.Millisecond) // the store is told, and tells
		start := time.Now()
		if err := messages.Wait(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took < 29*time.Second || took > 31*time.Second {
			t.Errorf("after a Retry-After of 30 s the other waits for %v", took)
		}
	})
}
