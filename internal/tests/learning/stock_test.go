package learning

import (
	"context"
	"net/http"
	"slices"
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

// sharer is a process that shares a limit with others that it does not know of: so many callers, each of which
// pauses between its requests, of so many tokens.
type sharer struct {
	callers int
	pause   time.Duration
	cost    int
	until   time.Duration
}

// shares is how it went in some minutes: which part of what came back was used, how many were refused per 100
// that were served, and for how long a request waited at most.
type shares struct {
	used, refused float64
	waited        time.Duration
}

// shareBucket has processes share a bucket.
func shareBucket(t *testing.T, rate float64, burst int, dialect pacertest.Dialect, sharers []sharer, length time.Duration) shares {
	t.Helper()
	return share(t, &pacertest.TokenBucket{Rate: rate, Burst: burst}, float64(burst)+rate*length.Seconds(), dialect, sharers, length)
}

// share has processes share a limit that grants so many tokens in the time.
func share(t *testing.T, algorithm pacertest.Algorithm, grants float64, dialect pacertest.Dialect, sharers []sharer, length time.Duration) (s shares) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		lab.UntilToday()
		server := pacertest.NewServer(algorithm, dialect)
		defer server.Close()
		server.Cost = func(r *http.Request) int {
			n, _ := strconv.Atoi(r.URL.Query().Get("cost"))
			return max(n, 1)
		}
		var tokens, served, longest atomic.Int64
		start := time.Now()
		one := func(ctx context.Context, tr http.RoundTripper, cost int) {
			begun := time.Now()
			req := lab.Request(t, "GET", "http://a.example/?cost="+strconv.Itoa(cost), "").WithContext(ctx)
			resp, err := tr.RoundTrip(req)
			if ctx.Err() == nil { // else it may have been about to go
				longest.Store(max(longest.Load(), int64(time.Since(begun))))
			}
			switch {
			case err == nil:
				resp.Body.Close()
				served.Add(1)
				tokens.Add(int64(cost))
			case ctx.Err() == nil:
				t.Errorf("after %v: %v", time.Since(start), err)
			}
		}
		var wg sync.WaitGroup
		for i, p := range sharers {
			begin := time.Duration(i) * 17 * time.Millisecond
			part := (float64(i) + 0.5) / float64(len(sharers))
			tr := &pacer.Transport{Base: delayed(lab.Direct(server), 40*time.Millisecond+begin/10), Rand: func() float64 { return part }}
			until := p.until
			if until == 0 {
				until = length
			}
			ctx, cancel := context.WithCancel(t.Context()) // a deadline would have requests not be sent near the end
			defer time.AfterFunc(until, cancel).Stop()
			for range p.callers {
				wg.Go(func() {
					time.Sleep(begin)
					for ctx.Err() == nil {
						one(ctx, tr, max(p.cost, 1))
						time.Sleep(p.pause)
					}
				})
			}
		}
		wg.Wait()
		s.used = float64(tokens.Load()) / grants
		s.refused = 100 * float64(server.Stats().Refused) / float64(served.Load())
		s.waited = time.Duration(longest.Load())
	})
	return s
}

// TestShareOneStock: processes that do not know of each other share a bucket whose resets say its rate by what
// remains of it, whatever each asks for: nearly all of it is used, few are refused, and who asks for little
// need not wait long beside one that asks for all. Who is alone is not taken for several, whatever requests
// cost that nobody says.
func TestShareOneStock(t *testing.T) {
	hungry := sharer{callers: 4}
	same := func(n int, p sharer) (all []sharer) {
		for range n {
			all = append(all, p)
		}
		return all
	}
	little := []sharer{hungry, {callers: 1, pause: 2 * time.Second}, {callers: 1, pause: 5 * time.Second}}
	for _, test := range []struct {
		name    string
		burst   int
		sharers []sharer
		least   float64 // used
		most    shares
	}{
		{"three, 3 tokens", 3, same(3, hungry), 0.98, shares{refused: 5, waited: 30 * time.Second}},
		{"three, 20 tokens", 20, same(3, hungry), 0.98, shares{refused: 1, waited: 30 * time.Second}},
		{"ten, 4 tokens", 4, same(10, sharer{callers: 3}), 0.95, shares{refused: 50, waited: 90 * time.Second}}, // of 240 runs, 71 s
		{"two ask for little, 4 tokens", 4, little, 0.98, shares{refused: 1, waited: 5 * time.Second}},
		{"two ask for little, 20 tokens", 20, little, 0.98, shares{refused: 1, waited: 5 * time.Second}},
		{"two stop, 4 tokens", 4, []sharer{hungry, {callers: 4, until: 60 * time.Second}, {callers: 4, until: 60 * time.Second}}, 0.98, shares{refused: 3, waited: 30 * time.Second}},
		{"alone, 3 tokens", 3, same(1, hungry), 0.99, shares{refused: 0, waited: time.Second}},
		{"alone, of two tokens each, 3 tokens", 3, same(1, sharer{callers: 4, cost: 2}), 0.9, shares{refused: 5, waited: 5 * time.Second}},
		{"alone, of three tokens each, 4 tokens", 4, same(1, sharer{callers: 4, cost: 3}), 0.85, shares{refused: 5, waited: 5 * time.Second}},
		{"alone, of three tokens each, 5 tokens", 5, same(1, sharer{callers: 4, cost: 3}), 0.93, shares{refused: 5, waited: 5 * time.Second}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := shareBucket(t, 5, test.burst, pacertest.OpenAI, test.sharers, 5*time.Minute)
			t.Logf("%.3f used, %.1f of 100 refused, %v waited", s.used, s.refused, s.waited)
			if s.used < test.least || s.refused > test.most.refused || s.waited > test.most.waited {
				t.Errorf("%.3f used, %.1f of 100 refused, %v waited; want %v and more, %v, %v", s.used, s.refused, s.waited, test.least, test.most.refused, test.most.waited)
			}
		})
	}
}

// TestShareOneStockInSeconds: where resets are in whole seconds, processes share a bucket as a stock once
// others are likely to use it, since these resets say its rate in the end. Who is alone keeps all of it.
func TestShareOneStockInSeconds(t *testing.T) {
	three := []sharer{{callers: 4}, {callers: 4}, {callers: 4}}
	for _, test := range []struct {
		name    string
		dialect pacertest.Dialect
		sharers []sharer
		least   float64 // used
		most    shares
	}{
		{"three, differences", pacertest.XRateLimitDelta, three, 0.98, shares{refused: 0.5, waited: 10 * time.Second}},
		{"three, instants", pacertest.XRateLimit, three, 0.98, shares{refused: 0.5, waited: 10 * time.Second}},
		{"alone, differences", pacertest.XRateLimitDelta, three[:1], 0.99, shares{refused: 0, waited: 1500 * time.Millisecond}},
		{"alone, instants", pacertest.XRateLimit, three[:1], 0.99, shares{refused: 0, waited: 1500 * time.Millisecond}},
		{"alone, of three tokens each", pacertest.XRateLimitDelta, []sharer{{callers: 4, cost: 3}}, 0.9, shares{refused: 3, waited: 10 * time.Second}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := shareBucket(t, 5, 40, test.dialect, test.sharers, 5*time.Minute)
			t.Logf("%.3f used, %.2f of 100 refused, %v waited", s.used, s.refused, s.waited)
			if s.used < test.least || s.refused > test.most.refused || s.waited > test.most.waited {
				t.Errorf("%.3f used, %.2f of 100 refused, %v waited; want %v and more, %v, %v", s.used, s.refused, s.waited, test.least, test.most.refused, test.most.waited)
			}
		})
	}
}

// TestShareOneStockFarAway: so do processes of which so much comes back within a round trip that what answers
// say of it is of long ago.
func TestShareOneStockFarAway(t *testing.T) {
	for _, test := range []struct {
		name        string
		rate        float64
		burst       int
		sharers     int
		least, most float64 // used, refused
	}{
		{"three, two fifths of it", 100, 10, 3, 0.98, 3}, // 0.99 to 1, and 0.5 to 2, in 150 runs
		{"ten, a quarter of it", 125, 20, 10, 0.96, 8},   // 0.98 to 1, and 1 to 5, in 100 runs: it depends on who goes first
	} {
		t.Run(test.name, func(t *testing.T) {
			sharers := slices.Repeat([]sharer{{callers: 8}}, test.sharers)
			s := shareBucket(t, test.rate, test.burst, pacertest.OpenAI, sharers, time.Minute)
			t.Logf("%.3f used, %.1f of 100 refused, %v waited", s.used, s.refused, s.waited)
			if s.used < test.least || s.refused > test.most {
				t.Errorf("%.3f used, %.1f of 100 refused; want %v and more, %v", s.used, s.refused, test.least, test.most)
			}
		})
	}
}

// TestShareOneWindow: the last tokens of a window are left to others by processes that were refused when they
// took them, and nearly all are used still. When the others stop, all of the window is used by the one that is
// left.
func TestShareOneWindow(t *testing.T) {
	busy := sharer{callers: 1}
	stops := sharer{callers: 1, until: 10*time.Minute - time.Second}
	for _, test := range []struct {
		name    string
		sharers []sharer
		most    float64 // refused
	}{
		{"three", []sharer{busy, busy, busy}, 2},
		{"two stop", []sharer{busy, stops, stops}, 1},
		{"alone", []sharer{busy}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := share(t, &pacertest.FixedWindow{Limit: 30, Window: 10 * time.Second}, 120*30, pacertest.OpenAI, test.sharers, 20*time.Minute)
			t.Logf("%.3f used, %.2f of 100 refused, %v waited", s.used, s.refused, s.waited)
			if s.used < 0.99 || s.refused > test.most {
				t.Errorf("%.3f used, %.2f of 100 refused; want 0.99 and more, %v", s.used, s.refused, test.most)
			}
		})
	}
}
