package learning

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/pacertest"
	"github.com/gopacer/pacer/throttle"
)

// With these, the tests below measure more courses, and print how they went:
//
//	go test -run 'Recovery|Steady|Strays|Shed' -v ./internal/tests/learning -args -courses 8 -seed 3000
var (
	courses = flag.Int("courses", 1, "how many courses of each kind")
	from    = flag.Uint64("seed", 0, "seed of the first course")
)

// each calls test with the seeds.
func each(t *testing.T, test func(seed uint64)) {
	t.Helper()
	for i := range uint64(*courses) {
		test(*from + i)
	}
}

// fewMiss fails if more than one of sixteen courses has missed what is wanted: of 192 drawn ones 8 were not
// back in a minute, logs and windows of a second. With one course of each kind, none may miss it.
func fewMiss(t *testing.T, tried int, missed []string) {
	t.Helper()
	for _, what := range missed {
		t.Log(what)
	}
	if len(missed) > 0 && (*courses == 1 || 16*len(missed) > tried) {
		t.Errorf("%d of %d courses miss what is wanted:\n%s", len(missed), tried, strings.Join(missed, "\n"))
	}
}

// fastest bounds the rates that are drawn: with one course of each kind it must be short.
func fastest() float64 {
	if *courses == 1 {
		return 20
	}
	return 100
}

// TestRecovery: a limit falls to a tenth for a minute. The former rate is served again within a minute of the
// rise, and few requests are refused for that.
func TestRecovery(t *testing.T) {
	const fall, rise, end = 5 * time.Minute, 6 * time.Minute, 9 * time.Minute
	tried, missed := 0, []string(nil)
	for _, says := range spoken[:2] {
		for k, kind := range courseKinds {
			if !whole.Part(4, says.name+", "+kind.name) {
				continue
			}
			var back, during, after spread
			each(t, func(seed uint64) {
				c, rate := drawn(seed, k, fastest())
				rate = max(rate, 10)
				c.algorithm = kind.of(rand.New(rand.NewPCG(seed, 77)), rate)
				c.dialect, c.span, c.rates = says.dialect, end, []rated{{fall, rate / 10}, {rise, rate}}
				r := c.run(t)
				before := min(1, r.share(rate, fall-2*time.Minute, fall))
				took := r.until(0.9*before, rate, rise, 20*time.Second, end)
				if tried++; took < 0 || took > time.Minute {
					missed = append(missed, fmt.Sprintf("%s, %s, seed %d: 90 %% of the former rate after %v, want a minute at most", says.name, kind.name, seed, took))
				}
				back = append(back, took.Seconds())
				during = append(during, float64(between(r.refused, fall, rise)))
				after = append(after, float64(between(r.refused, rise, end)))
			})
			t.Logf("%-7s %-14s seconds until back %v; refused in the minute %v, in the three that follow %v", says.name, kind.name, back, during, after)
		}
	}
	fewMiss(t, tried, missed)
}

// TestRecoveryOfOneToken: where one token is there at most, headers show nothing of a limit that rises. It is
// found all the same, nearly as soon as where nothing is said: of the first 20 seeds one takes 76 s.
func TestRecoveryOfOneToken(t *testing.T) {
	const fall, rise, end = 5 * time.Minute, 6 * time.Minute, 9 * time.Minute
	var back, refused spread
	each(t, func(seed uint64) {
		c, rate := drawn(seed, 0, fastest())
		rate = max(rate, 10)
		c.algorithm = courseKinds[0].of(nil, rate)
		c.dialect, c.span, c.rates = pacertest.XRateLimitDelta, end, []rated{{fall, rate / 10}, {rise, rate}}
		r := c.run(t)
		before := min(1, r.share(rate, fall-2*time.Minute, fall))
		took := r.until(0.9*before, rate, rise, 20*time.Second, end)
		if took < 0 || took > 80*time.Second {
			t.Errorf("seed %d: 90 %% of the former rate after %v, want 80 s at most", seed, took)
		}
		back, refused = append(back, took.Seconds()), append(refused, float64(between(r.refused, time.Minute, fall)))
	})
	t.Logf("seconds until back %v; refused in the four minutes before %v", back, refused)
}

// TestSteady: an hour at a silent server whose limit stays as it is, of which requests are refused once a
// minute at most, after the first five minutes. A window of a minute that is used up refuses until it ends,
// about ten times.
func TestSteady(t *testing.T) {
	begin, end := 5*time.Minute, whole.Or(35*time.Minute, 65*time.Minute)
	tried, missed := 0, []string(nil)
	for _, says := range spoken[:2] {
		for k, kind := range courseKinds {
			if *courses == 1 && (says.name != "silent" || !whole.Part(2, kind.name)) {
				continue // it takes seconds
			}
			var share, refused spread
			each(t, func(seed uint64) {
				c, rate := drawn(seed, k, 50)
				if *courses == 1 {
					rate = 5
					c.algorithm, c.latency, c.callers = kind.of(rand.New(rand.NewPCG(seed, 77)), rate), 20*time.Millisecond, 2
				}
				c.dialect, c.span = says.dialect, end
				r := c.run(t)
				n := between(r.refused, begin, end)
				if tried++; n > 60 && kind.name != "window 60 s" {
					missed = append(missed, fmt.Sprintf("%s, %s, seed %d: %d refused in an hour, want 60 at most", says.name, kind.name, seed, n))
				}
				share, refused = append(share, r.share(rate, begin, end)), append(refused, float64(n))
			})
			t.Logf("%-7s %-14s share %v; refused an hour %v", says.name, kind.name, share, refused)
		}
	}
	fewMiss(t, tried, missed)
}

// TestSteadyShortWindow: half an hour at a window of a second that says no more than Retry-After: 1. What a
// hold has kept back is not made up for again and again where that is refused.
func TestSteadyShortWindow(t *testing.T) {
	const begin, end = 5 * time.Minute, 35 * time.Minute
	if courseKinds[2].name != "window 1 s" {
		t.Fatalf("kind 2 of courses is %s, want a window of a second", courseKinds[2].name)
	}
	for _, seed := range whole.Or([]uint64{3}, []uint64{0, 3}) { // of four, those that lost the most of it
		c, rate := drawn(seed, 2, 50)
		c.dialect, c.span = spoken[1].dialect, end
		r := c.run(t)
		if share, n := r.share(rate, begin, end), between(r.refused, begin, end); share < 0.85 || n > 40 {
			t.Errorf("seed %d: %.2f of the rate, %d refused, want 0.85 at least and 40 at most", seed, share, n)
		}
	}
}

// TestStrays: something in front of a server that states its numbers refuses two requests of 100. At least 0.9
// is served of what is served without it.
func TestStrays(t *testing.T) {
	const span = 10 * time.Minute
	for _, says := range []dialect{spoken[2], spoken[0]} {
		for _, hint := range []string{"", "1", "5"} {
			for k, kind := range courseKinds {
				if *courses == 1 && (says.name == "silent" || hint == "5" || k%3 != 1 || !whole.Part(1, says.name+hint+kind.name)) {
					continue
				}
				var share, refused spread
				each(t, func(seed uint64) {
					c, rate := drawn(seed, k, fastest())
					after, _ := strconv.Atoi(hint)
					c.callers = max(c.callers, 4+int(3*rate*(c.latency.Seconds()+0.02*float64(after)+0.01)))
					c.dialect, c.span = says.dialect, span
					without := c.run(t).share(rate, 0, span)
					c.stray, c.strayAfter = 0.02, hint
					r := c.run(t)
					got := r.share(rate, 0, span) / min(without, 1)
					if *courses == 1 && got < 0.9 {
						t.Errorf("%s, %s, Retry-After %q: %.2f of what is served without strays, want 0.9", says.name, kind.name, hint, got)
					}
					share, refused = append(share, got), append(refused, 100*float64(len(r.refused))/float64(len(r.served)))
				})
				t.Logf("%-7s %-14s Retry-After %-2s share %v; refused by the server of 100 %v", says.name, kind.name, hint, share, refused)
			}
		}
	}
}

// TestShedReachesTheCaller: a server that answers 503 over its limit, as nginx does. After the first second, at
// most two of 100 of these reach the caller. A window of a minute that is used up looks like a server that is
// broken, until it has come again.
func TestShedReachesTheCaller(t *testing.T) {
	for k, kind := range courseKinds {
		var failed, first, share spread
		each(t, func(seed uint64) {
			c, rate := drawn(seed, k, fastest())
			c.status, c.span = 503, 5*time.Minute
			r := c.run(t)
			n := 100 * float64(between(r.failed, time.Second, c.span)) / float64(len(r.served))
			if *courses == 1 && kind.name != "window 60 s" && n > 2 {
				t.Errorf("%s, seed %d: %.1f of 100, want 2", kind.name, seed, n)
			}
			failed, first = append(failed, n), append(first, float64(between(r.failed, 0, time.Second)))
			share = append(share, r.share(rate, 0, c.span))
		})
		t.Logf("%-14s failed of 100 %v, in the first second %v; share %v", kind.name, failed, first, share)
	}
}

// TestShedByALongWindow: a window that is used up for most of a minute, and says nothing but 503, looks like a
// server that is broken, until as many were served three times. From then on, at most two of 100 refusals reach
// the caller.
func TestShedByALongWindow(t *testing.T) {
	each(t, func(seed uint64) {
		c, rate := drawn(seed, 4, fastest())
		rate = max(rate, 10)
		c.algorithm, c.callers = courseKinds[4].of(nil, rate), max(c.callers, 8)
		c.status, c.span = 503, 15*time.Minute
		r := c.run(t)
		known := 4 * time.Minute
		n := 100 * float64(between(r.failed, known, c.span)) / float64(between(r.served, known, c.span))
		t.Logf("seed %d: failed of 100 %.1f, before %d; share %.2f", seed, n, between(r.failed, 0, known), r.share(rate, known, c.span))
		if n > 2 {
			t.Errorf("seed %d: %.1f of 100, want 2", seed, n)
		}
	})
}

// TestShedByAWindowOfMinutes: a silent window of 90 s refuses one caller by 503s. A trial ends before the
// window does, and the next one begins as soon as as many were served again. Without that, four times as many
// calls fail.
func TestShedByAWindowOfMinutes(t *testing.T) {
	window := &pacertest.FixedWindow{Limit: 20, Window: 90 * time.Second}
	c := course{algorithm: window, dialect: spoken[0].dialect, status: 503, span: time.Hour, latency: 20 * time.Millisecond, callers: 1}
	if r := c.run(t); len(r.served) < 800 || len(r.failed) > 8000 {
		t.Errorf("%d served, and %d failed in an hour, want 800, and 8000 at most", len(r.served), len(r.failed))
	}
}

// TestShedBesideWhatRemains: a server that says what remains, not until when, and not of its 503s that they are
// refusals. From those that come when nothing remains it is learned that they are.
func TestShedBesideWhatRemains(t *testing.T) {
	remains := pacertest.Dialect{Layout: pacertest.LayoutTrio, Prefix: "X-RateLimit-", Reset: pacertest.ResetOmitted}
	for _, algorithm := range []pacertest.Algorithm{
		&tokens{rate: 0.5, burst: 1},
		&pacertest.EstimatedWindow{Limit: 1, Window: time.Second},
		&pacertest.ClockWindow{Limit: 2, Window: time.Second},
		&pacertest.SlidingLog{Limit: 30, Window: 10 * time.Second},
	} {
		c := course{algorithm: algorithm, dialect: remains, status: 503, span: time.Hour, latency: 20 * time.Millisecond, callers: 4}
		if r := c.run(t); len(r.failed) > 10 || 10*len(r.refused) > 3*len(r.served) {
			t.Errorf("%T: %d served, and %d refused, of which %d reach callers; want 3 of 10 at most, and 10", algorithm, len(r.served), len(r.refused), len(r.failed))
		}
	}
}

// TestBackWithinASecond: a bucket of two or three that comes back in less than a second, and says what remains
// and not until when, is used up to nine tenths.
func TestBackWithinASecond(t *testing.T) {
	for burst := 2; burst <= 3; burst++ {
		const rate = 5.7
		if !whole.Part(1, fmt.Sprint("burst", burst)) {
			continue
		}
		c := course{
			algorithm: &tokens{rate: rate, burst: burst}, span: time.Hour, latency: 80 * time.Millisecond, callers: 2,
			dialect: pacertest.Dialect{Layout: pacertest.LayoutTrio, Prefix: "X-RateLimit-", Reset: pacertest.ResetOmitted},
		}
		if r := c.run(t); r.share(rate, time.Minute, c.span) < 0.9 || 10*len(r.refused) > len(r.served) {
			t.Errorf("a bucket of %d: %.2f are used, and %d refused; want 0.9, and %d at most", burst, r.share(rate, time.Minute, c.span), len(r.refused), len(r.served)/10)
		}
	}
}

// dialect is how a server speaks.
type dialect struct {
	name    string
	dialect pacertest.Dialect
}

var spoken = []dialect{{"silent", pacertest.NoHeaders}, {"hint", pacertest.RetryAfterOnly}, {"headers", pacertest.XRateLimitDelta}}

// TestRefusedAtRandom: a server that refuses every second request, whatever the pace, is not paced ever more
// slowly: trials of a higher pace, which fail, do not let the pace be lowered anew.
func TestRefusedAtRandom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		r := rand.New(rand.NewPCG(1, 2))
		client := &http.Client{Transport: &pacer.Transport{Rand: lab.Zero, MaxStandstill: throttle.Forever, Base: lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
			time.Sleep(20 * time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			return lab.Answer(req, []int{200, 429}[r.IntN(2)], ""), nil
		})}}
		var wait sync.WaitGroup
		start := time.Now()
		for range 4 {
			wait.Go(func() {
				for served := 0; served < 100; { // who is refused MaxRefusals times tries again
					if lab.Get(t, client, "http://a.example/") == 200 {
						served++
					}
				}
			})
		}
		wait.Wait()
		if d := time.Since(start); d > 4*time.Hour {
			t.Errorf("400 requests took %v, want four hours at most", d)
		} else {
			t.Logf("400 requests took %v", d)
		}
	})
}

// TestSilentWindow: a window that is used up and says nothing comes back a whole number of seconds after it
// began. Of short windows and of those that people configure, hardly anything is lost, of others a sixth, and
// few look in vain.
func TestSilentWindow(t *testing.T) {
	for _, test := range []struct {
		window, back int // in seconds; back is when the first request of the next window is served, at the latest
		looks        int // at most
	}{
		{1, 1, 3}, {2, 2, 4}, {3, 3, 5}, {5, 5, 6}, {6, 7, 7}, {10, 10, 8}, {15, 15, 10}, {20, 21, 10}, {30, 30, 11}, {60, 60, 14},
	} {
		for _, status := range []int{429, 503} {
			window := time.Duration(test.window) * time.Second
			c := course{algorithm: &pacertest.FixedWindow{Limit: 40, Window: window}, dialect: spoken[0].dialect, status: status, span: 2 * window, latency: 10 * time.Millisecond, callers: 4}
			r := c.run(t)
			if status == 503 && window > 15*time.Second {
				continue // see TestShedByALongWindow
			}
			if len(r.served) < 41 {
				t.Errorf("a window of %v, %d: %d served in two of them", window, status, len(r.served))
				continue
			}
			back, most := r.served[40], time.Duration(test.back)*time.Second
			most += most/100 + 300*time.Millisecond // the jitter of a hold, and round trips
			if looks := between(r.refused, 0, back); back > most || looks > test.looks+c.callers {
				t.Errorf("a window of %v, %d: back after %v and %d refusals, want %v and %d at most", window, status, back, looks, most, test.looks+c.callers)
			}
		}
	}
}

// TestNoSilentWindowIsLost: a caller who uses up the windows of a server that says nothing in half of their
// time gets nearly all of them, whether they begin by the clock or with its requests. Whether there is more
// than a window has is asked ever more rarely, and an answer that may be of the next window does not count.
func TestNoSilentWindowIsLost(t *testing.T) {
	const windows = 40
	for name, algorithm := range map[string]pacertest.Algorithm{
		"fixed": &pacertest.FixedWindow{Limit: 100, Window: time.Minute},
		"clock": &pacertest.ClockWindow{Limit: 100, Window: time.Minute},
	} {
		for seed := range uint64(6) {
			c := course{seed: seed, algorithm: algorithm, dialect: spoken[0].dialect, status: http.StatusTooManyRequests, span: windows * time.Minute, latency: 300 * time.Millisecond, callers: 1}
			if r := c.run(t); len(r.served) < 90*windows || len(r.refused) > 4*windows {
				t.Errorf("%s, seed %d: %d served and %d refused in %d windows of 100, want %d at least and %d at most", name, seed, len(r.served), len(r.refused), windows, 90*windows, 4*windows)
			}
		}
	}
}
