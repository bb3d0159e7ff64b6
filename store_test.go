package pacer

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/throttle"
)

// shared is a server that notes when requests come, from whatever process.
type shared struct {
	mu   sync.Mutex // protects went
	went []time.Duration
}

// RoundTrip implements http.RoundTripper.
func (s *shared) RoundTrip(req *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.went = append(s.went, time.Since(epoch))
	return answer(req, http.StatusOK, ""), nil
}

// most returns how many came within any span of d.
func (s *shared) most(d time.Duration) (most int) {
	slices.Sort(s.went)
	for i, from := 0, 0; i < len(s.went); i++ {
		for s.went[i]-s.went[from] >= d {
			from++
		}
		most = max(most, i-from+1)
	}
	return most
}

// sendFromAll has each Transport send n requests from 8 callers, and waits for all.
func sendFromAll(t *testing.T, n int, transports ...*Transport) {
	t.Helper()
	var wg sync.WaitGroup
	for _, tr := range transports {
		var next sync.Mutex // protects left
		left := n
		for range 8 {
			wg.Go(func() {
				for {
					next.Lock()
					left--
					done := left < 0
					next.Unlock()
					if done {
						return
					}
					resp, err := tr.RoundTrip(request(t, "GET", "http://api.test/", ""))
					if err != nil {
						t.Error(err)
						return
					}
					resp.Body.Close()
				}
			})
		}
	}
	wg.Wait()
}

// TestStoreShares has two processes share a quota: it holds for both together, and all of it
// is used.
func TestStoreShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, store := &shared{}, &throttle.MemoryStore{}
		quotas := Table{"api.test/": {{N: 50, Per: 2 * time.Second, Kind: throttle.SlidingLog}}}
		a := &Transport{Base: server, Store: store, Quotas: quotas}
		b := &Transport{Base: server, Store: store, Quotas: quotas}
		sendFromAll(t, 150, a, b)
		if got := server.most(2 * time.Second); got > 50 {
			t.Errorf("%d went within 2s, want 50 at most", got)
		}
		// What one got ahead and did not use, the other uses half a second later.
		if took := time.Since(epoch); took > 10700*time.Millisecond {
			t.Errorf("300 requests took %v, want little more than 10.6s", took)
		}
		if err := errors.Join(a.Close(), b.Close()); err != nil {
			t.Error(err)
		}
		if _, err := a.RoundTrip(request(t, "GET", "http://api.test/", "")); !errors.Is(err, throttle.ErrClosed) {
			t.Errorf("after Close: %v, want ErrClosed", err)
		}
	})
}

// lates is a store that notes the Late of each request.
type lates struct {
	throttle.MemoryStore
	asked []time.Duration
}

func (s *lates) Exchange(ctx context.Context, r *throttle.Request) (*throttle.Reply, error) {
	s.asked = append(s.asked, r.Late)
	return s.MemoryStore.Exchange(ctx, r)
}

func TestStoreLate(t *testing.T) {
	for _, late := range []time.Duration{0, 50 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			store := &lates{}
			tr := &Transport{Base: &shared{}, Store: store, Late: late, Quotas: Table{"api.test/": {{N: 50}}}}
			sendFromAll(t, 1, tr)
			if err := tr.Close(); err != nil {
				t.Error(err)
			}
			want := cmp.Or(late, 10*time.Millisecond)
			if len(store.asked) == 0 || slices.ContainsFunc(store.asked, func(d time.Duration) bool { return d != want }) {
				t.Errorf("Late %v: asked for %v, want %v", late, store.asked, want)
			}
		})
	}
}

// TestStoreSetQuotas gives quotas to a host that had none: they are shared from then on.
func TestStoreSetQuotas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, store := &shared{}, &throttle.MemoryStore{}
		a, b := &Transport{Base: server, Store: store}, &Transport{Base: server, Store: store}
		sendFromAll(t, 10, a, b)
		server.went = nil
		for _, tr := range []*Transport{a, b} {
			if err := tr.SetQuotas(Table{"api.test/": {{N: 20, Per: time.Second, Kind: throttle.SlidingLog}}}); err != nil {
				t.Fatal(err)
			}
		}
		sendFromAll(t, 50, a, b)
		if got := server.most(time.Second); got > 20 {
			t.Errorf("%d went within a second, want 20 at most", got)
		}
		if err := errors.Join(a.Close(), b.Close()); err != nil {
			t.Error(err)
		}
	})
}

// TestStoreHoldsAll has a server tell one process to wait: the other waits as well.
func TestStoreHoldsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &throttle.MemoryStore{}
		quotas := Table{"api.test/": {{N: 100, Burst: 100}}}
		first := true
		a := &Transport{Store: store, Quotas: quotas, Rand: zero, Base: roundTripper(func(req *http.Request) (*http.Response, error) {
			if first {
				first = false
				return answer(req, http.StatusTooManyRequests, "", "Retry-After", "5"), nil
			}
			return answer(req, http.StatusOK, ""), nil
		})}
		server := &shared{}
		b := &Transport{Base: server, Store: store, Quotas: quotas, Rand: zero}
		sendFromAll(t, 1, b)
		var wg sync.WaitGroup
		wg.Go(func() { sendFromAll(t, 1, a) })
		time.Sleep(time.Second)
		sendFromAll(t, 1, b)
		wg.Wait()
		if got := server.went[1]; got < 5*time.Second {
			t.Errorf("the other process went after %v, want 5s", got)
		}
		if err := errors.Join(a.Close(), b.Close()); err != nil {
			t.Error(err)
		}
	})
}

// TestStoreTenants shares the bucket of a tenant under a name that does not tell the tenant.
func TestStoreTenants(t *testing.T) {
	k := key{host: "api.test", tenant: "secret"}
	if got := k.shared(); got != "api.test for "+digest("secret") {
		t.Errorf("the store is told %q", got)
	}
}
