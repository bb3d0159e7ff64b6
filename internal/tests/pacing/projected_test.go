package pacing

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/pacertest"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/store"
)

// TestProjectedTogether: while those ahead wait for a limit that the server states, a quota lets them go too,
// also one that lives in a Store: a request that can make its deadline by both is not refused as if the line
// began to move only then.
func TestProjectedTogether(t *testing.T) {
	for name, c := range map[string]struct {
		shared pacer.Shared
		within time.Duration
	}{
		"of this process": {pacer.Shared{}, 36 * time.Second}, // the last is due 35 s after the first
		"shared":          {pacer.Shared{Store: new(store.Memory)}, 37 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := pacertest.NewServer(&pacertest.FixedWindow{Limit: 10, Window: 10 * time.Second}, pacertest.XRateLimit)
				defer server.Close()
				transport := &pacer.Transport{Base: server.Transport(), Quotas: pacer.Table{"/": quota.MustParse("1/s even")}, Shared: c.shared}
				if n := servedWithin(t, transport, 36, c.within); n != 36 {
					t.Errorf("%d of 36 were served", n)
				}
				transport.Close()
			})
		})
	}
}

// twoLimits states two limits, as RateLimit fields of the IETF draft do: of ten seconds, and of a hundred.
type twoLimits struct {
	mu          sync.Mutex
	short, long pacertest.FixedWindow
}

// RoundTrip implements http.RoundTripper.
func (s *twoLimits) RoundTrip(req *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, n, status := time.Now(), 1, http.StatusOK
	if s.short.Take(now, 0).Remaining == 0 || s.long.Take(now, 0).Remaining == 0 {
		n, status = 0, http.StatusTooManyRequests
	}
	short, long := s.short.Take(now, n), s.long.Take(now, n)
	up := func(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
	return &http.Response{StatusCode: status, Body: http.NoBody, Request: req, Header: http.Header{
		"Ratelimit":        {fmt.Sprintf(`"short";r=%d;t=%d, "long";r=%d;t=%d`, short.Remaining, up(short.Reset), long.Remaining, up(long.Reset))},
		"Ratelimit-Policy": {fmt.Sprintf(`"short";q=%d;w=10, "long";q=%d;w=100`, s.short.Limit, s.long.Limit)},
	}}, nil
}

// TestProjectedTogetherByLimits: those ahead draw on both limits that the server states at the same time: a
// request that can make its deadline by each of them is not refused as if the line waited for one and then for
// the other.
func TestProjectedTogetherByLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &twoLimits{short: pacertest.FixedWindow{Limit: 10, Window: 10 * time.Second}, long: pacertest.FixedWindow{Limit: 100, Window: 100 * time.Second}}
		if n := servedWithin(t, &pacer.Transport{Base: server}, 400, 395*time.Second); n != 400 {
			t.Errorf("%d of 400 were served", n)
		}
	})
}

// servedWithin has requests come one after the other, each with so much time, and returns how many are served.
func servedWithin(t *testing.T, transport *pacer.Transport, requests int, timeout time.Duration) int {
	t.Helper()
	client := &http.Client{Transport: transport}
	var served atomic.Int32
	var wg sync.WaitGroup
	for range requests {
		time.Sleep(time.Millisecond)
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://a.example/", nil)
			if err != nil {
				t.Error(err)
				return
			}
			resp, err := client.Do(req)
			if err != nil {
				t.Log(err)
				return
			}
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				served.Add(1)
			}
		})
	}
	wg.Wait()
	return int(served.Load())
}
