package learning

import (
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/pacertest"
)

// part is a server that does not say all of what it should.
type part struct {
	algorithm pacertest.Algorithm
	change    func(h http.Header) // of its answers, which are those of XRateLimitDelta
	callers   int
}

// during returns how much was served and refused of what callers asked for at all times, in so long.
func (p part) during(t *testing.T, span time.Duration) (served, refused int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		lab.UntilToday()
		time.Sleep(370 * time.Millisecond)
		server := pacertest.NewServer(p.algorithm, pacertest.XRateLimitDelta)
		server.Latency = latency
		defer server.Close()
		direct := lab.Direct(server)
		base := lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			resp, err := direct(r)
			if err == nil {
				p.change(resp.Header)
			}
			return resp, err
		})
		client := &http.Client{Transport: &pacer.Transport{Base: base, Rand: lab.Zero}}
		var n atomic.Int64
		var wg sync.WaitGroup
		end := time.Now().Add(span)
		for range p.callers {
			wg.Go(func() {
				for time.Now().Before(end) {
					lab.Get(t, client, "http://a.example/")
					if !time.Now().After(end) {
						n.Add(1)
					}
				}
			})
		}
		wg.Wait()
		served, refused = int(n.Load()), server.Stats().Refused
	})
	return served, refused
}

// TestLearnWithoutLimit: what remains and when all is back, without the limit, is enough to see how it comes
// back.
func TestLearnWithoutLimit(t *testing.T) {
	for _, test := range []struct {
		name      string
		algorithm pacertest.Algorithm
		least     int // in two minutes
		refused   int
	}{
		{"strict spacing", &pacertest.GCRA{Rate: 10, Burst: 1}, 950, 15},
		{"bucket", &pacertest.TokenBucket{Rate: 5, Burst: 20}, 600, 2},
		{"estimate", &pacertest.EstimatedWindow{Limit: 50, Window: 10 * time.Second}, 580, 2},
		{"window", &pacertest.FixedWindow{Limit: 100, Window: 10 * time.Second}, 1200, 0},
	} {
		served, refused := part{test.algorithm, func(h http.Header) { h.Del("X-RateLimit-Limit") }, 8}.during(t, 2*time.Minute)
		if served < test.least || refused > test.refused {
			t.Errorf("%s: %d served and %d refused in two minutes, want %d and %d", test.name, served, refused, test.least, test.refused)
		}
	}
}

// TestLearnWithoutReset: where what remains is stated, and not when all is back, that is found within a few
// windows.
func TestLearnWithoutReset(t *testing.T) {
	none := func(h http.Header) {
		h.Del("X-RateLimit-Reset")
		h.Del("Retry-After")
	}
	now := func(h http.Header) {
		h.Set("X-RateLimit-Reset", "0")
		h.Del("Retry-After")
	}
	for _, test := range []struct {
		name      string
		algorithm pacertest.Algorithm
		change    func(h http.Header)
		least     int // in five minutes
		refused   int
	}{
		{"window of a minute", &pacertest.FixedWindow{Limit: 60, Window: time.Minute}, none, 300, 15},
		{"window of ten seconds", &pacertest.FixedWindow{Limit: 100, Window: 10 * time.Second}, none, 2950, 8},
		{"window that is back now, it says", &pacertest.FixedWindow{Limit: 60, Window: time.Minute}, now, 300, 20},
		{"bucket", &pacertest.TokenBucket{Rate: 5, Burst: 20}, none, 1500, 2},
		{"strict spacing", &pacertest.GCRA{Rate: 10, Burst: 1}, none, 2950, 5},
		{"estimate", &pacertest.EstimatedWindow{Limit: 50, Window: 10 * time.Second}, none, 1400, 8},
	} {
		served, refused := part{test.algorithm, test.change, 8}.during(t, 5*time.Minute)
		if served < test.least || refused > test.refused {
			t.Errorf("%s: %d served and %d refused in five minutes, want %d and %d", test.name, served, refused, test.least, test.refused)
		}
	}
}

// TestLearnBehind: a server that states what remained before the request which it answers refuses few, in the
// mean of four runs: in one of 150, by the order in which goroutines come, 1300 are served by the bucket, and
// not 1490.
func TestLearnBehind(t *testing.T) {
	before := func(h http.Header) {
		if n, err := strconv.Atoi(h.Get("X-RateLimit-Remaining")); err == nil && h.Get("Retry-After") == "" {
			h.Set("X-RateLimit-Remaining", strconv.Itoa(n+1))
		}
	}
	for _, test := range []struct {
		name      string
		algorithm pacertest.Algorithm
		least     int // in five minutes
		refused   int
	}{
		{"window", &pacertest.FixedWindow{Limit: 100, Window: 10 * time.Second}, 2950, 20}, // 16 to 19, by the order in which goroutines come
		{"bucket", &pacertest.TokenBucket{Rate: 5, Burst: 20}, 1430, 25},
		{"strict spacing", &pacertest.GCRA{Rate: 10, Burst: 1}, 2800, 15},
	} {
		const runs = 8 // one of a hundred loses a seventh of the bucket, by the order in which goroutines come
		served, refused := 0, 0
		for range runs {
			s, r := part{test.algorithm, before, 8}.during(t, 5*time.Minute)
			served, refused = served+s, refused+r
		}
		if served < runs*test.least || refused > runs*test.refused {
			t.Errorf("%s: %d served and %d refused in five minutes, want %d and %d", test.name, served/runs, refused/runs, test.least, test.refused)
		}
	}
}
