package throttle_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/pacertest"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// alike are quotas, and the servers that count as they do. within is what a client that
// always asks may lose in all.
var alike = []struct {
	quota  string
	server pacertest.Algorithm
	within time.Duration
}{
	{"50/2s window", &pacertest.FixedWindow{Limit: 50, Window: 2 * time.Second}, 0},
	{"7/s window", &pacertest.FixedWindow{Limit: 7}, 0},
	{"50/2s window grid", &pacertest.ClockWindow{Limit: 50, Window: 2 * time.Second}, 0},
	{"20/m window grid", &pacertest.ClockWindow{Limit: 20, Window: time.Minute}, 0},
	{"60/7s window grid", &pacertest.ClockWindow{Limit: 60, Window: 7 * time.Second}, 0}, // which does not divide a day
	{"50/2s log", &pacertest.SlidingLog{Limit: 50, Window: 2 * time.Second}, 0},
	{"1/100ms log", &pacertest.SlidingLog{Limit: 1, Window: 100 * time.Millisecond}, 0},
	{"50/2s sliding", &pacertest.SlidingLog{Limit: 50, Window: 2 * time.Second}, 0},
	{"50/2s sliding", &pacertest.SlidingWindow{Limit: 50, Window: 2 * time.Second}, time.Second / 5},
	{"50/2s sliding 4", &pacertest.SlidingWindow{Limit: 50, Window: 2 * time.Second, Cells: 4}, time.Second / 2},
	{"50/2s estimate", &pacertest.EstimatedWindow{Limit: 50, Window: 2 * time.Second}, 0},
	{"60/7s estimate", &pacertest.EstimatedWindow{Limit: 60, Window: 7 * time.Second}, 0},
	{"9/m estimate", &pacertest.EstimatedWindow{Limit: 9, Window: time.Minute}, 0},
	{"20/s burst 10", &pacertest.LeakyBucket{Rate: 20, Depth: 10}, 0},
	{"20/s burst 10", &pacertest.GCRA{Rate: 20, Burst: 10}, 0},
}

// looser are quotas, and the servers that never refuse what they let go although they
// count in another way.
var looser = []struct {
	quota  string
	server pacertest.Algorithm
	within time.Duration
}{
	{quota: "50/2s log", server: &pacertest.FixedWindow{Limit: 50, Window: 2 * time.Second}},
	{quota: "50/2s log", server: &pacertest.ClockWindow{Limit: 50, Window: 2 * time.Second}},
	{quota: "50/2s log", server: &pacertest.SlidingWindow{Limit: 50, Window: 2 * time.Second, Cells: 4}},
	{quota: "50/2s log", server: &pacertest.TokenBucket{Rate: 25, Burst: 50}},
	{quota: "50/2s sliding 3", server: &pacertest.SlidingLog{Limit: 50, Window: 2 * time.Second}},
	{quota: "50/2s sliding 3", server: &pacertest.ClockWindow{Limit: 50, Window: 2 * time.Second}},
	{quota: "25/s even", server: &pacertest.ClockWindow{Limit: 51, Window: 2 * time.Second}},
}

// TestKindsOfServers has clients that are told the quota work against a server of
// the same kind, from any instant of its clock: none is refused, and 200 requests
// take the least time that there is, to the nanosecond.
func TestKindsOfServers(t *testing.T) {
	for _, test := range alike {
		for _, callers := range []int{1, 16, 200} {
			for seed := range uint64(5) {
				t.Run(fmt.Sprintf("%s, %T, %d callers, %d", test.quota, test.server, callers, seed), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						r := rand.New(rand.NewPCG(seed, 0))
						time.Sleep(time.Duration(r.IntN(100_000)) * time.Millisecond)
						start := time.Now()
						refused := serve(t, test.quota, test.server, callers, func() time.Duration { return 0 })
						makespan, least := time.Since(start), pacertest.Least(test.server, start, 200)
						if refused > 0 || makespan < least || makespan > least+test.within {
							t.Errorf("%d of 200 were refused in %v, want none in %v", refused, makespan, least)
						}
					})
				})
			}
		}
	}
}

// TestKindsOfServersAtRandom has callers who think in between: they are not refused
// either.
func TestKindsOfServersAtRandom(t *testing.T) {
	for _, test := range slices.Concat(alike, looser) {
		for seed := range uint64(10) {
			t.Run(fmt.Sprintf("%s, %T, %d", test.quota, test.server, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := rand.New(rand.NewPCG(seed, 1))
					refused := serve(t, test.quota, test.server, 1+r.IntN(8), func() time.Duration {
						return time.Duration(r.ExpFloat64() * float64(200*time.Millisecond))
					})
					if refused > 0 {
						t.Errorf("%d of 200 were refused", refused)
					}
				})
			})
		}
	}
}

// serve has callers make 200 requests, each after a pause, and returns how many the
// server refused.
func serve(t *testing.T, text string, server pacertest.Algorithm, callers int, pause func() time.Duration) (refused int) {
	t.Helper()
	qs, err := quota.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	l := &throttle.Limiter{Quotas: qs}
	server = server.Fresh()
	var left atomic.Int64
	left.Store(200)
	var mu sync.Mutex // protects pause, server and refused
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for {
				if left.Add(-1) < 0 {
					return
				}
				mu.Lock()
				d := pause()
				mu.Unlock()
				time.Sleep(d)
				if err := l.Wait(t.Context(), 1); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if !server.Take(time.Now(), 1).OK {
					refused++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return refused
}
