package learning

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/pacertest"
)

// TestResetsInMillis: a server states milliseconds until the reset as a bare number, which is read as seconds
// until the clock has shown what it is. Read as seconds, the last fifth of each window was spread, a request
// each two minutes.
func TestResetsInMillis(t *testing.T) {
	const ms = time.Millisecond
	small, large := &pacertest.FixedWindow{Limit: 20, Window: 5 * time.Second}, &pacertest.ClockWindow{Limit: 100, Window: time.Minute}
	clock := &pacertest.ClockWindow{Limit: 20, Window: 5 * time.Second}
	for _, test := range []struct {
		algorithm pacertest.Algorithm
		callers   int
		trip      time.Duration
		most      float64 // times the least time
	}{
		{small, 1, 20 * ms, 1.05},
		{small, 1, 200 * ms, 1.2},
		{small, 8, 20 * ms, 4}, // which are 22 minutes beside 45 s for seconds
		{clock, 1, 20 * ms, 1.1},
		{clock, 1, 200 * ms, 1.25},
		{clock, 8, 20 * ms, 4},
		{large, 1, 20 * ms, 1.1},
		{large, 1, 200 * ms, 1.4},
		{large, 8, 20 * ms, 1.1},
		{large, 8, 200 * ms, 1.1},
	} {
		t.Run(fmt.Sprintf("%T of %d, %d callers, %v", test.algorithm, test.algorithm.Fresh().Take(time.Time{}, 0).Limit, test.callers, test.trip), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(1700 * ms)
				algorithm, refused := test.algorithm.Fresh(), 0
				var mu sync.Mutex
				base := lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
					time.Sleep(test.trip / 2)
					mu.Lock()
					v, status := algorithm.Take(time.Now(), 1), http.StatusOK
					if !v.OK {
						status = http.StatusTooManyRequests
						refused++
					}
					mu.Unlock()
					time.Sleep(test.trip / 2)
					resp := lab.Answer(r, status, "")
					for name, n := range map[string]int64{"Limit": int64(v.Limit), "Remaining": int64(v.Remaining), "Reset": v.Reset.Milliseconds()} {
						resp.Header.Set("X-Ratelimit-"+name, fmt.Sprint(n))
					}
					return resp, nil
				})
				transport := &pacer.Transport{Base: base, Rand: lab.Zero}
				client := &http.Client{Transport: transport}
				start := time.Now()
				var wait sync.WaitGroup
				var sent atomic.Int64
				for range test.callers {
					wait.Go(func() {
						for sent.Add(1) <= 200 {
							lab.Get(t, client, "http://a.example/")
						}
					})
				}
				wait.Wait()
				took, least := time.Since(start), pacertest.Least(test.algorithm, start, 200)
				if took.Seconds() > test.most*least.Seconds() || refused > 0 {
					t.Errorf("took %v, %d refused, want %v times %v at most, and none", took, refused, test.most, least)
				}
				if beliefs := transport.State()[0].Beliefs; !slices.ContainsFunc(beliefs, func(s string) bool { return strings.Contains(s, "resets are milliseconds, as the clock shows") }) {
					t.Errorf("believes %q", beliefs)
				}
			})
		})
	}
}
