package pacing

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/pacertest"
	"github.com/gopacer/pacer/quota"
)

// atOnce sends n requests at once, and returns how many were served.
func atOnce(client *http.Client, n int) int {
	var served atomic.Int64
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			resp, err := client.Get("http://a.example/")
			if err != nil {
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

// Bursts that must not wait get three quarters of what a server grants that says nothing, once it was tried how
// many may go at once, and all of it by a quota: docs/waiting.md, "Before anything is known of a host".
func TestBurstsThatMustNotWait(t *testing.T) {
	for _, test := range []struct {
		quotas      string
		says        pacertest.Dialect
		maxWait     time.Duration
		least, most int // of 600 that the server grants in a minute
		refused     int // at most
	}{
		{"", pacertest.NoHeaders, -1, 420, 540, 60},
		{"", pacertest.NoHeaders, 300 * time.Millisecond, 510, 600, 70},
		{"", pacertest.RetryAfterOnly, -1, 400, 540, 60},
		{"", pacertest.XRateLimit, 200 * time.Millisecond, 590, 610, 40},
		{"10/s", pacertest.NoHeaders, -1, 600, 600, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := pacertest.NewServer(&pacertest.TokenBucket{Rate: 10, Burst: 10}, test.says)
			defer server.Close()
			server.Latency = 80 * time.Millisecond
			tr := &pacer.Transport{Base: server.Transport(), MaxWait: test.maxWait, Rand: func() float64 { return 0.5 }}
			if test.quotas != "" {
				tr.Quotas = pacer.Table{"/": quota.MustParse(test.quotas)}
			}
			served, start := 0, time.Now()
			for i := range 60 {
				time.Sleep(time.Until(start.Add(time.Duration(i) * time.Second)))
				served += atOnce(&http.Client{Transport: tr}, 50)
			}
			if served < test.least || served > test.most || server.Stats().Refused > test.refused {
				t.Errorf("%q, MaxWait %v: %d served and %d refused, want %d to %d, and %d at most", test.quotas, test.maxWait, served, server.Stats().Refused, test.least, test.most, test.refused)
			}
		})
	}
}

// Bursts that must not wait get all that a server grants which states its limit, once it was seen how that
// comes back: one request that looks first would have all others fail. A log, of which a part comes back at its
// reset, refuses one burst until that is clear.
func TestBurstsAtAStatedLimit(t *testing.T) {
	const s = time.Second
	fixed := func(limit int, window time.Duration) pacertest.Algorithm {
		return &pacertest.FixedWindow{Limit: limit, Window: window}
	}
	for name, test := range map[string]struct {
		server  pacertest.Algorithm
		least   int // of the requests of 60 bursts
		refused int // at most; the first burst has 40 or none
	}{
		"10 in a second":             {fixed(10, s), 590, 45},
		"50 in 5 s":                  {fixed(50, 5*s), 1500, 0},
		"10 in a second, by a clock": {&pacertest.ClockWindow{Limit: 10, Window: s}, 590, 45},
		"50 in 5 s, by a clock":      {&pacertest.ClockWindow{Limit: 50, Window: 5 * s}, 1750, 0},
		"a log of 10 in a second":    {&pacertest.SlidingLog{Limit: 10, Window: s}, 590, 45},
		"a log of 50 in 5 s":         {&pacertest.SlidingLog{Limit: 50, Window: 5 * s}, 1000, 55},
		"a bucket of 50":             {&pacertest.TokenBucket{Rate: 10, Burst: 50}, 1440, 40},
	} {
		for dialect, says := range map[string]pacertest.Dialect{"seconds": pacertest.XRateLimitDelta, "an instant": pacertest.XRateLimit, "draft 8": pacertest.RateLimitDraft8} {
			synctest.Test(t, func(t *testing.T) {
				lab.UntilToday()
				time.Sleep(337 * time.Millisecond)
				server := pacertest.NewServer(test.server.Fresh(), says)
				defer server.Close()
				server.Latency = 80 * time.Millisecond
				tr := &pacer.Transport{Base: server.Transport(), MaxWait: -1, Rand: func() float64 { return 0.5 }}
				served := 0
				for range 60 {
					served += atOnce(&http.Client{Transport: tr}, 50)
					time.Sleep(3 * time.Second)
				}
				if refused := server.Stats().Refused; served < test.least || refused > test.refused {
					t.Errorf("%s, stated as %s: %d served and %d refused, want %d at least, and %d at most", name, dialect, served, refused, test.least, test.refused)
				}
			})
		}
	}
}

// A batch that waits for the limit of a day is served whole if nothing looks before that is back:
// docs/quotas.md, What a text means.
func TestBatchThatWaitsForDays(t *testing.T) {
	const day = 24 * time.Hour
	for name, tr := range map[string]*pacer.Transport{
		"MaxHold": {Learn: pacer.Learn{MaxHold: day}},
		"window":  {Quotas: pacer.Table{"/": quota.MustParse("5/d window")}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := pacertest.NewServer(&pacertest.FixedWindow{Limit: 5, Window: day}, pacertest.XRateLimit)
				defer server.Close()
				tr.Base, tr.MaxStandstill, tr.Rand = server.Transport(), pacer.Forever, lab.Zero
				start := time.Now()
				served := atOnce(&http.Client{Transport: tr}, 20)
				if took := time.Since(start); served != 20 || server.Stats().Refused > 0 || took != 3*day {
					t.Errorf("%d served after %v, %d refused, want 20 after 72h, and 0", served, took, server.Stats().Refused)
				}
			})
		})
	}
}
