package promises

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/throttle"
)

// window is a server's limit that comes back all at once, as it says.
type window struct {
	g     *guest
	limit int
	span  time.Duration
	used  int
	ends  time.Duration
}

// visitWindow runs a test with a server that has one and nothing else.
func visitWindow(t *testing.T, limit int, span time.Duration, test func(*guest)) {
	t.Helper()
	w := window{limit: limit, span: span}
	visit(t, w.serve, func(g *guest) {
		w.g = g
		test(g)
	})
}

func (w *window) serve(int) *http.Response {
	w.g.mu.Lock()
	defer w.g.mu.Unlock()
	now := time.Since(w.g.start)
	if now >= w.ends {
		w.used, w.ends = 0, now+w.span
	}
	if w.used == w.limit {
		return reply(429, trio(w.limit, 0, w.ends-now)...)
	}
	w.used++
	return reply(200, trio(w.limit, w.limit-w.used, w.ends-now)...)
}

// A quota whose reset may be waited for (within MaxWait) is spent as fast as it is asked for and
// then held for, which is the least total time.
func TestPromiseNearResetIsSpentAndHeldFor(t *testing.T) {
	visitWindow(t, 10, time.Minute, func(g *guest) {
		for range 21 {
			g.get()
		}
		if slices.Max(g.went[:10]) != 0 || slices.Max(g.went[:20]) != time.Minute || g.went[20] != 2*time.Minute || len(g.refused()) > 0 {
			t.Errorf("went at %v, want 10 in each minute, at its start", g.went)
		}
	})
}

// Above a fifth of the limit nothing is slowed down (a healthy run must not pay), below it the
// rest is spread over the time to the earliest possible reset.
func TestPromiseFarResetIsSpread(t *testing.T) {
	visitWindow(t, 1000, time.Hour, func(g *guest) {
		g.Learn.IdleAfter = -1
		for range 990 {
			g.get()
		}
		for i, at := range g.went {
			if want := time.Duration(max(i-800, 0)) * (time.Hour / 200); at.Round(time.Millisecond) != want {
				t.Errorf("request %d of 1000 went after %v, want %v", i+1, at, want)
			}
		}
	})
}

// One whose reset is further away must never run dry for longer than a call may wait.
func TestPromiseFarResetNeverRunsDry(t *testing.T) {
	visitWindow(t, 2000, time.Hour, func(g *guest) {
		g.Trace = &pacer.Trace{NotSent: func(r pacer.NotSent) { t.Errorf("after %v: %v", time.Since(g.start), r.Err) }}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for time.Since(g.start) < 61*time.Minute && g.get() == 200 {
				}
			})
		}
		wg.Wait()
		last, longest := time.Duration(0), time.Duration(0)
		for _, at := range g.went {
			last, longest = at, max(longest, at-last)
		}
		if longest > 2*time.Minute || len(g.went) < 3600 || len(g.refused()) > 0 {
			t.Errorf("%d went, %d refused, with a gap of %v, want 2000 and 1600 more, none, and 2m at most", len(g.went), len(g.refused()), longest)
		}
	})
}

// Eager, Balanced and Even (spread from the start) force one way.
func TestPromiseSpendForcesOneWay(t *testing.T) {
	const min = time.Minute
	for _, test := range []struct {
		spend   throttle.Spend
		maxWait time.Duration
		want    []time.Duration
	}{
		{throttle.SpendEager, 5 * min, []time.Duration{0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
		{throttle.SpendBalanced, time.Hour, []time.Duration{0, 0, 0, 0, 0, 0, 0, 0, 0, 5 * min}},
		{throttle.SpendEven, time.Hour, []time.Duration{0, min, 2 * min, 3 * min, 4 * min, 5 * min, 6 * min, 7 * min, 8 * min, 9 * min}},
	} {
		visitWindow(t, 10, 10*min, func(g *guest) {
			g.Learn.Spend, g.MaxStandstill, g.Learn.IdleAfter = test.spend, test.maxWait, -1
			for range 10 {
				g.get()
			}
			for i := range g.went {
				g.went[i] = g.went[i].Round(time.Millisecond) // the reset is known to a nanosecond
			}
			g.wantWent(0, test.want...)
		})
	}
}

// Used up: hold until the reset, then one probe goes first and the rest follow what its headers
// say.
func TestPromiseUsedUpOneProbeGoesFirst(t *testing.T) {
	const s = time.Second
	visitWindow(t, 3, 30*s, func(g *guest) {
		count := g.serve
		g.serve = func(n int) *http.Response {
			time.Sleep(s) // to the server
			return count(n)
		}
		g.get()
		g.crowd(8).Wait()
		// What is left of the window that begins after a second goes at once, and of those that begin with
		// a probe, when that has been answered.
		g.wantWent(0, 0, s, s, 31*s, 32*s, 32*s, 62*s, 63*s, 63*s)
	})
}

// Used up: hold until the reset plus a bounded jitter, upward only.
func TestPromiseJitterIsUpwardAndBounded(t *testing.T) {
	for _, test := range []struct {
		reset, jitter time.Duration // of which Rand takes half
	}{
		{10 * time.Second, 100 * time.Millisecond},
		{100 * time.Second, time.Second},
		{115 * time.Second, time.Second},
	} {
		visit(t, always(200, trio(10, 0, test.reset)...), func(g *guest) {
			g.Rand = func() float64 { return 0.5 }
			g.get()
			g.get()
			g.wantWent(1, test.reset+test.jitter/2)
		})
	}
}

// That is right for a reset which came early.
func TestPromiseResetEarly(t *testing.T) {
	visit(t, nil, func(g *guest) {
		g.serve = func(n int) *http.Response {
			if n == 0 {
				return reply(200, trio(10, 0, 30*time.Second)...)
			}
			// It came after 20 s, and others have had 4 since.
			return reply(200, trio(10, 6-n, 80*time.Second-time.Since(g.start))...)
		}
		g.get()
		g.crowd(6).Wait()
		const at = 30 * time.Second
		g.wantWent(1, at, at, at, at, at, at)
	})
}

// That is right for a reset which came late.
func TestPromiseResetLate(t *testing.T) {
	const back = 33 * time.Second
	visit(t, nil, func(g *guest) {
		g.serve = func(int) *http.Response {
			switch now := time.Since(g.start); {
			case now == 0:
				return reply(200, trio(10, 0, 30*time.Second)...)
			case now < back:
				return reply(429, trio(10, 0, 0)...)
			}
			return reply(200, trio(10, 9, 30*time.Second)...)
		}
		g.get()
		g.crowd(5).Wait()
		refused, went := g.refused(), g.went[len(g.went)-5:]
		if refused[0] != 30*time.Second || len(refused) > 7 || went[0] < back || went[4] > back+2*time.Second {
			t.Errorf("refused at %v, went at %v; want few, and soon after %v", refused, went, back)
		}
		for i := 2; i < len(refused); i++ {
			if refused[i]-refused[i-1] < refused[i-1]-refused[i-2] {
				t.Errorf("refused at %v, want no shorter pauses", refused)
			}
		}
	})
}

// That is right for a reset which came not at all.
func TestPromiseResetNever(t *testing.T) {
	visit(t, nil, func(g *guest) {
		g.serve = func(n int) *http.Response {
			if n == 0 {
				return reply(200, trio(10, 0, 30*time.Second)...)
			}
			return reply(429, trio(10, 0, 0)...)
		}
		for time.Since(g.start) < 24*time.Hour {
			g.get()
			time.Sleep(time.Second)
		}
		last := g.went[len(g.went)-1]
		if n := len(g.went); n > 4*24+20 || last < 23*time.Hour {
			t.Errorf("asked %d times in a day, the last time after %v, want one each 15 minutes in the end", n, last)
		}
	})
}

// A server may lower what is configured and never raise it.
func TestPromiseServerLowersAndNeverRaises(t *testing.T) {
	for name, test := range map[string]struct{ remaining, may int }{
		"says more": {1_000_000, 4},
		"says less": {2, 2},
	} {
		visit(t, always(200, trio(1_000_000, test.remaining, time.Minute)...), func(g *guest) {
			g.Quotas, g.Learn.Spend = pacer.Table{"/": {{N: 1, Burst: 5}}}, throttle.SpendEager
			g.get()
			if n := g.may(); n != test.may {
				t.Errorf("%s: %d may go, want %d", name, n, test.may)
			}
			time.Sleep(4 * time.Second) // all is back
			if n := g.may(); n != min(test.remaining, 5) {
				t.Errorf("%s: later %d may go, want %d", name, n, min(test.remaining, 5))
			}
		})
	}
}

// Below a fifth the rest is spread over the time to the earliest possible reset: also if
// somebody else comes and goes meanwhile.
func TestPromiseSpreadIsKept(t *testing.T) {
	visitWindow(t, 200, time.Hour, func(g *guest) {
		for range 161 {
			g.get() // 39 are left, for 40 equal pauses of 90 s
		}
		wg := g.crowd(1)
		time.Sleep(80 * time.Second)
		ctx, cancel := context.WithCancel(g.t.Context())
		go g.Acquire(ctx, lab.Request(g.t, "GET", "http://a.example/", ""))
		synctest.Wait()
		cancel()
		wg.Wait()
		if got := g.went[161].Round(time.Second); got != 90*time.Second {
			t.Errorf("went after %v, want 1m30s", got)
		}
	})
}
