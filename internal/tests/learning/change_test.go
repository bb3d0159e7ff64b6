package learning

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/pacertest"
)

var changes = flag.Int("changes", 4, "how many servers change their limit to one of another kind")

// kindChange is a server that has one limit for a while, and then another one, of another number and often of
// another kind, which it states as it stated the one before.
type kindChange struct {
	seed          uint64
	speaks        dialect
	before, after pacertest.Algorithm
	rate          float64       // that of after
	lasts         time.Duration // the limit before
	callers       int
	latency       time.Duration // of a round trip in the mean
}

// changeDialects are how these servers speak.
var changeDialects = []dialect{
	{"epoch", pacertest.XRateLimit},
	{"delta", pacertest.XRateLimitDelta},
	{"draft 7", pacertest.RateLimitDraft7},
	{"draft 8", pacertest.RateLimitDraft8},
	{"exact", pacertest.OpenAI},
	{"RFC 3339", pacertest.Anthropic},
	{"no reset", pacertest.Dialect{Layout: pacertest.LayoutTrio, Prefix: "X-RateLimit-", Reset: pacertest.ResetOmitted}},
}

// drawnChange draws one. Numbers are even on a logarithmic scale.
func drawnChange(seed uint64) kindChange {
	r := rand.New(rand.NewPCG(seed, 4))
	between := func(least, most float64) float64 { return least * math.Pow(most/least, r.Float64()) }
	limit := func(windows ...time.Duration) (pacertest.Algorithm, float64) {
		window := windows[r.IntN(len(windows))]
		n := int(math.Round(between(max(2, 0.2*min(window, time.Minute).Seconds()), min(40*window.Seconds(), 2000))))
		rate := float64(n) / window.Seconds()
		switch r.IntN(5) {
		case 0:
			return &pacertest.FixedWindow{Limit: n, Window: window}, rate
		case 1:
			return &pacertest.ClockWindow{Limit: n, Window: window}, rate
		case 2:
			return &pacertest.SlidingLog{Limit: n, Window: window}, rate
		case 3:
			return &pacertest.EstimatedWindow{Limit: n, Window: window}, rate
		}
		return &tokens{rate: rate, burst: int(between(2, 60))}, rate
	}
	c := kindChange{seed: seed, speaks: changeDialects[r.IntN(len(changeDialects))]}
	c.before, _ = limit(time.Second, 10*time.Second, time.Minute, time.Hour)
	c.after, c.rate = limit(time.Second, 10*time.Second, time.Minute)
	c.lasts = []time.Duration{20 * time.Second, 2 * time.Minute, 10 * time.Minute}[r.IntN(3)]
	c.latency = time.Duration(between(10, 300) * float64(time.Millisecond))
	c.callers = 4 + min(int(2*c.rate*c.latency.Seconds()), 40)
	return c
}

// The rate after a change is that of these minutes, from the first answer on that tells of it: a server that
// said "in an hour" is left alone.
const changeFrom, changeTo = 5 * time.Minute, 10 * time.Minute

// play returns which part of the rate is used from changeFrom to changeTo, by a Transport that has used the
// limit before, or by a fresh one; how often it was refused since the change; and what it believes at the end.
func (c kindChange) play(t *testing.T, fresh bool) (share float64, refused int, beliefs []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		lab.UntilToday()
		random := rand.New(rand.NewPCG(c.seed, 5))
		at, lasts := c.before.Fresh(), c.lasts
		if fresh {
			lasts = 0
		}
		time.Sleep(time.Duration(random.Int64N(1e9)))
		start := time.Now()
		var mu sync.Mutex // protects all below
		var heard time.Time
		served := 0
		way := func() time.Duration {
			mu.Lock()
			defer mu.Unlock()
			return time.Duration((0.25 + 0.5*random.Float64()) * float64(c.latency))
		}
		base := lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
			time.Sleep(way())
			resp := lab.Answer(req, http.StatusOK, "")
			mu.Lock()
			now := time.Now()
			if heard.IsZero() && now.Sub(start) >= lasts {
				heard, at = now, c.after.Fresh()
			}
			v := at.Take(now, 1)
			switch since := now.Sub(heard); {
			case !v.OK:
				resp.StatusCode = http.StatusTooManyRequests
				if !heard.IsZero() {
					refused++
				}
			case !heard.IsZero() && since >= changeFrom && since < changeTo:
				served++
			}
			mu.Unlock()
			c.speaks.dialect.Set(resp.Header, v, now)
			resp.Header.Set("Date", now.UTC().Format(http.TimeFormat))
			time.Sleep(way())
			return resp, nil
		})
		over := func() bool { mu.Lock(); defer mu.Unlock(); return !heard.IsZero() && time.Since(heard) > changeTo }
		draw := func() float64 { mu.Lock(); defer mu.Unlock(); return random.Float64() }
		tr := &pacer.Transport{Base: base, Rand: draw}
		var wg sync.WaitGroup
		for range c.callers {
			wg.Go(func() {
				for !over() {
					req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://a.example/", http.NoBody)
					if _, err := tr.RoundTrip(req); err != nil {
						time.Sleep(time.Second)
					}
				}
			})
		}
		wg.Wait()
		share = float64(served) / (c.rate * (changeTo - changeFrom).Seconds())
		beliefs = lab.State(t, tr, "a.example").Beliefs
	})
	return share, refused, beliefs
}

// changed is how a change went.
type changed struct {
	kindChange
	share, fresh   float64
	refused, least int // by the two
	beliefs        []string
}

func (c kindChange) compare(t *testing.T) (r changed) {
	t.Helper()
	r.kindChange = c
	r.share, r.refused, r.beliefs = c.play(t, false)
	r.fresh, r.least, _ = c.play(t, true)
	return r
}

// part is what is used of what a fresh Transport uses.
func (r *changed) part() float64 { return r.share / r.fresh }

// counts describes how a server counts.
func counts(a pacertest.Algorithm) string {
	switch a := a.(type) {
	case *pacertest.FixedWindow:
		return fmt.Sprintf("window of %d in %v", a.Limit, a.Window)
	case *pacertest.ClockWindow:
		return fmt.Sprintf("clock window of %d in %v", a.Limit, a.Window)
	case *pacertest.SlidingLog:
		return fmt.Sprintf("log of %d in %v", a.Limit, a.Window)
	case *pacertest.EstimatedWindow:
		return fmt.Sprintf("estimate of %d in %v", a.Limit, a.Window)
	case *tokens:
		return fmt.Sprintf("bucket of %d, %.3g/s", a.burst, a.rate)
	}
	panic("unknown algorithm")
}

// String says how it went.
func (r *changed) String() string {
	return fmt.Sprintf("%d: %.2f of a fresh one's %.2f; %d refused, and %d; %s, %s, after %v %s; %d callers, latency %v; %q",
		r.seed, r.part(), r.fresh, r.refused, r.least, r.speaks.name, counts(r.before), r.lasts, counts(r.after), r.callers, r.latency.Round(time.Millisecond), r.beliefs)
}

// leastOfFresh is used of what a fresh Transport uses. Of 250 changes from seed 0 on, it was 0.57 in the worst,
// less than 0.8 in five, and less than 0.9 in seven.
const leastOfFresh = 0.5

// TestChangeOfKind: a limit that has become another one, of another number and kind, is used as a Transport
// uses it that has known no other. With -v, it tells how it went with each, the worst first.
func TestChangeOfKind(t *testing.T) {
	var all []changed
	for i := range uint64(*changes) {
		all = append(all, drawnChange(*from+i).compare(t))
	}
	slices.SortFunc(all, func(a, b changed) int { return cmp.Compare(a.part(), b.part()) })
	for i := range all {
		if t.Log(&all[i]); all[i].part() < leastOfFresh {
			t.Errorf("less than %v of what a fresh Transport uses: %v", leastOfFresh, &all[i])
		}
	}
	under := func(part float64) (n int) {
		for i := range all {
			if all[i].part() < part {
				n++
			}
		}
		return n
	}
	t.Logf("of %d: under 0.5 %d, under 0.8 %d, under 0.9 %d; a twentieth %.2f, a quarter %.2f, half %.2f",
		len(all), under(0.5), under(0.8), under(0.9), all[len(all)/20].part(), all[len(all)/4].part(), all[len(all)/2].part())
}

// TestChangeOfSlowLimit: a limit that gives a request in minutes becomes one that gives some in seconds, and is
// used as by a fresh Transport. Where the old rate was believed for ever, it was used to 0.01 to 0.07.
func TestChangeOfSlowLimit(t *testing.T) {
	for i, c := range []kindChange{
		{speaks: changeDialects[1], before: &tokens{rate: 9.0 / 3600, burst: 9}, after: &pacertest.FixedWindow{Limit: 5, Window: 10 * time.Second}, rate: 0.5, lasts: 20 * time.Second},
		{speaks: changeDialects[5], before: &tokens{rate: 1.0 / 120, burst: 30}, after: &pacertest.ClockWindow{Limit: 34, Window: time.Second}, rate: 34, lasts: 2 * time.Minute},
		{speaks: changeDialects[5], before: &tokens{rate: 13.0 / 3600, burst: 13}, after: &pacertest.EstimatedWindow{Limit: 21, Window: 10 * time.Second}, rate: 2.1, lasts: 20 * time.Second},
		{speaks: changeDialects[3], before: &tokens{rate: 0.011, burst: 4}, after: &pacertest.SlidingLog{Limit: 4, Window: time.Second}, rate: 4, lasts: 10 * time.Minute}, // the window alone is another
		{speaks: changeDialects[1], before: &tokens{rate: 10.0 / 3600, burst: 10}, after: &tokens{rate: 10.0 / 60, burst: 10}, rate: 10.0 / 60, lasts: 2 * time.Hour},      // the rate alone: 0.2 was used
		{speaks: changeDialects[6], before: &pacertest.FixedWindow{Limit: 448, Window: time.Hour}, after: &pacertest.FixedWindow{Limit: 269, Window: 10 * time.Second}, rate: 26.9, lasts: 10 * time.Minute},
	} {
		if !whole.Part(2, fmt.Sprint("slow", i)) {
			continue
		}
		c.seed, c.callers, c.latency = uint64(i), 8, 100*time.Millisecond
		if r := c.compare(t); r.part() < 0.9 {
			t.Errorf("want 0.9: %v", &r)
		}
	}
}
