package learning

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"sort"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/pacertest"
)

// course is a program that always has work, at a server whose limit changes in the course of time, or in front
// of which something else refuses now and then.
type course struct {
	algorithm pacertest.Algorithm
	dialect   pacertest.Dialect
	status    int // of refusals; zero is 429
	rates     []rated
	span      time.Duration
	latency   time.Duration // of a round trip in the mean
	callers   int
	seed      uint64

	stray      float64 // this share of the answers are refusals of something in front of the server
	strayAfter string  // the Retry-After of these

	lying time.Duration                    // for so long the server is broken, or hostile
	lie   func(*http.Response, *rand.Rand) // what it makes of its answers then
}

// rated is a limit, in tokens per second, that holds from an instant on.
type rated struct {
	from time.Duration
	rate float64
}

// ran is how it went: when requests reached the server, and what became of them.
type ran struct {
	served, refused []time.Duration
	failed          []time.Duration // when a refusal reached the caller
}

// limited sets the rate of an algorithm from now on.
func limited(a pacertest.Algorithm, now time.Time, rate float64) {
	a.Take(now, 0)
	of := func(window time.Duration) int { return max(1, int(math.Round(rate*window.Seconds()))) }
	switch a := a.(type) {
	case *tokens:
		a.rate = rate
	case *pacertest.FixedWindow:
		a.Limit = of(a.Window)
	case *pacertest.ClockWindow:
		a.Limit = of(a.Window)
	case *pacertest.SlidingLog:
		a.Limit = of(a.Window)
	case *pacertest.EstimatedWindow:
		a.Limit = of(a.Window)
	default:
		panic("unknown algorithm")
	}
}

// tokens is a token bucket whose rate may change: a pacertest.TokenBucket counts from when it was full last.
type tokens struct {
	rate  float64 // per second
	burst int
	left  float64
	at    time.Time
}

// Fresh implements pacertest.Algorithm.
func (b *tokens) Fresh() pacertest.Algorithm { return &tokens{rate: b.rate, burst: b.burst} }

// Take implements pacertest.Algorithm.
func (b *tokens) Take(now time.Time, n int) pacertest.Verdict {
	b.left = min(b.left+b.rate*now.Sub(b.at).Seconds(), float64(b.burst))
	b.at = now
	ok := b.left >= float64(n)-1e-9
	if ok {
		b.left -= float64(n)
	}
	in := func(n float64) time.Duration { return time.Duration(max(n-b.left, 0) / b.rate * 1e9) }
	full := float64(b.burst)
	return pacertest.Verdict{OK: ok, Limit: b.burst, Remaining: int(b.left + 1e-9), Reset: in(full), RetryAfter: in(float64(n)), Window: time.Duration(full / b.rate * 1e9)}
}

// run runs the course in a bubble.
func (c course) run(t *testing.T) (r ran) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		lab.UntilToday()
		random := rand.New(rand.NewPCG(c.seed, 1))
		time.Sleep(time.Duration(random.Int64N(1e9)))
		start := time.Now()
		var mu sync.Mutex
		draw := func() float64 { mu.Lock(); defer mu.Unlock(); return random.Float64() }
		algorithm, next := c.algorithm.Fresh(), 0
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		sleep := func(d time.Duration) {
			timer := time.NewTimer(d)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ctx.Done():
			}
		}
		base := lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
			sleep(time.Duration((0.25 + 0.5*draw()) * float64(c.latency)))
			mu.Lock()
			at := time.Since(start)
			for next < len(c.rates) && at >= c.rates[next].from {
				limited(algorithm, start.Add(c.rates[next].from), c.rates[next].rate)
				next++
			}
			resp := lab.Answer(req, http.StatusOK, "")
			if c.stray > 0 && random.Float64() < c.stray {
				resp.StatusCode = http.StatusTooManyRequests
				if c.strayAfter != "" {
					resp.Header.Set("Retry-After", c.strayAfter)
				}
			} else {
				v := algorithm.Take(time.Now(), 1)
				c.dialect.Set(resp.Header, v, time.Now())
				if v.OK {
					r.served = append(r.served, at)
				} else {
					resp.StatusCode = http.StatusTooManyRequests
					if c.status != 0 {
						resp.StatusCode = c.status
					}
					r.refused = append(r.refused, at)
				}
			}
			if at < c.lying {
				c.lie(resp, random)
			}
			mu.Unlock()
			sleep(time.Duration((0.25 + 0.5*draw()) * float64(c.latency)))
			return resp, ctx.Err()
		})
		tr := &pacer.Transport{Base: base, Rand: draw}
		var wg sync.WaitGroup
		for range c.callers {
			wg.Go(func() {
				for ctx.Err() == nil {
					req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://a.example/", http.NoBody)
					resp, err := tr.RoundTrip(req)
					if ctx.Err() != nil {
						return
					}
					if err != nil {
						sleep(time.Second)
					} else if resp.StatusCode != http.StatusOK {
						mu.Lock()
						r.failed = append(r.failed, time.Since(start))
						mu.Unlock()
						if c.status != 0 {
							sleep(100 * time.Millisecond)
						}
					}
				}
			})
		}
		time.Sleep(c.span)
		cancel()
		wg.Wait()
	})
	return r
}

// between counts instants in [from, to).
func between(at []time.Duration, from, to time.Duration) int {
	return sort.Search(len(at), func(i int) bool { return at[i] >= to }) - sort.Search(len(at), func(i int) bool { return at[i] >= from })
}

// share returns the share of a rate that was served in [from, to).
func (r ran) share(rate float64, from, to time.Duration) float64 {
	return float64(between(r.served, from, to)) / (rate * (to - from).Seconds())
}

// until returns how long after an instant a share of the rate is served, over the span that follows; -1 if that
// does not happen before the end.
func (r ran) until(share, rate float64, since, span, end time.Duration) time.Duration {
	for at := since; at+span <= end; at += time.Second {
		if r.share(rate, at, at+span) >= share {
			return at - since
		}
	}
	return -1
}

// spread is numbers in order.
type spread []float64

func (s spread) String() string {
	if len(s) == 0 {
		return "none"
	}
	sort.Float64s(s)
	q := func(p float64) float64 { return s[min(int(p*float64(len(s))), len(s)-1)] }
	return fmt.Sprintf("%7.2f %7.2f %7.2f %7.2f %7.2f", s[0], q(0.25), q(0.5), q(0.75), s[len(s)-1])
}

// courseKinds are the algorithms that a course may have, at a rate.
var courseKinds = []struct {
	name string
	of   func(r *rand.Rand, rate float64) pacertest.Algorithm
}{
	{"bucket of 1", func(_ *rand.Rand, rate float64) pacertest.Algorithm {
		return &tokens{rate: rate, burst: 1}
	}},
	{"bucket", func(r *rand.Rand, rate float64) pacertest.Algorithm {
		return &tokens{rate: rate, burst: max(2, int(rate*math.Pow(10, 1.5*r.Float64()-0.75)))}
	}},
	{"window 1 s", windowOf(time.Second)},
	{"window 10 s", windowOf(10 * time.Second)},
	{"window 60 s", windowOf(time.Minute)},
	{"log 1 s", logOf(time.Second)},
	{"log 10 s", logOf(10 * time.Second)},
	{"estimate 10 s", func(_ *rand.Rand, rate float64) pacertest.Algorithm {
		return &pacertest.EstimatedWindow{Limit: max(1, int(rate*10)), Window: 10 * time.Second}
	}},
}

func windowOf(d time.Duration) func(*rand.Rand, float64) pacertest.Algorithm {
	return func(_ *rand.Rand, rate float64) pacertest.Algorithm {
		return &pacertest.FixedWindow{Limit: max(1, int(rate*d.Seconds())), Window: d}
	}
}

func logOf(d time.Duration) func(*rand.Rand, float64) pacertest.Algorithm {
	return func(_ *rand.Rand, rate float64) pacertest.Algorithm {
		return &pacertest.SlidingLog{Limit: max(1, int(rate*d.Seconds())), Window: d}
	}
}

// drawn is a course of a seed: rate, latency and callers.
func drawn(seed uint64, kind int, most float64) (c course, rate float64) {
	r := rand.New(rand.NewPCG(seed, uint64(kind)))
	rate = math.Round(3 * math.Pow(most/3, r.Float64()))
	c = course{seed: seed, latency: time.Duration(math.Pow(300, r.Float64()) * 1e6)}
	c.callers = max(int(math.Pow(64, r.Float64())), int(math.Ceil(2*rate*c.latency.Seconds())))
	c.algorithm = courseKinds[kind].of(r, rate)
	return c, rate
}
