package throttle

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/pacertest"
)

// besiege has callers send n requests, and returns how many answers were failures that were not
// taken for refusals, and how long it took.
func besiege(t *testing.T, l *Limiter, callers, n int, serve func() bool) (failed int, took time.Duration) {
	t.Helper()
	start := time.Now()
	var wg sync.WaitGroup
	var mu sync.Mutex // protects n and failed
	for range callers {
		wg.Go(func() {
			for {
				mu.Lock()
				n--
				done := n < 0
				mu.Unlock()
				if done {
					return
				}
				g, err := l.Acquire(context.Background(), Claim{})
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(5 * time.Millisecond)
				mu.Lock()
				ok := serve()
				if !ok && !refusesByFailing(l) {
					failed++
				}
				mu.Unlock()
				g.Answered(Answer{MayRefuse: !ok})
			}
		})
	}
	wg.Wait()
	return failed, time.Since(start)
}

// TestOverloadByALimit has a server fail what is over its limit: it is found out, and then
// few fail.
func TestOverloadByALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &pacertest.GCRA{Rate: 25, Burst: 5}
		served := 0
		l := &Limiter{SlowStart: true, Rand: noJitter}
		start := time.Now()
		failed, _ := besiege(t, l, 16, 600, func() bool {
			ok := server.Take(time.Now(), 1).OK
			if ok {
				served++
			}
			return ok
		})
		if !refusesByFailing(l) || failed > 20 || served < 540 {
			t.Errorf("found out %v, %d served, %d failed; want it found out after 20 at most", refusesByFailing(l), served, failed)
		}
		if rate := float64(served) / time.Since(start).Seconds(); rate < 0.8*25 {
			t.Errorf("%.1f a second, want about 25", rate)
		}
	})
}

// TestOverloadAtRandom has a server fail one in three, however fast it is asked: failures stay
// failures, and nothing slows down for long.
func TestOverloadAtRandom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(1, 2))
		l := &Limiter{SlowStart: true, Rand: noJitter}
		besiege(t, l, 16, 2000, func() bool { return random.IntN(3) > 0 })
		if refusesByFailing(l) {
			t.Error("failures at random are taken for refusals")
		}
		if _, took := besiege(t, l, 16, 2000, func() bool { return random.IntN(3) > 0 }); took > 2*2000/16*5*time.Millisecond {
			t.Errorf("took %v: it is slowed down", took)
		}
	})
}

// TestOverloadInAnOutage has a server that worked fail all: failures are failures within seconds; after more
// than a minute where requests have begun less than a minute ago, since that is how long windows take.
func TestOverloadInAnOutage(t *testing.T) {
	for worked, within := range map[time.Duration]time.Duration{2 * time.Minute: 2 * patience, time.Second: 17 * patience} {
		shedInAnOutage(t, worked, within)
	}
}

func shedInAnOutage(t *testing.T, worked, within time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{SlowStart: true, Rand: noJitter}
		start := time.Now()
		for time.Since(start) < worked {
			besiege(t, l, 16, 200, func() bool { return true })
		}
		start = time.Now()
		for time.Since(start) < within {
			g, err := l.Acquire(t.Context(), Claim{})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Millisecond)
			g.Answered(Answer{MayRefuse: true})
			time.Sleep(100 * time.Millisecond)
		}
		if refusesByFailing(l) {
			t.Error("an outage is taken for refusals")
		}
	})
}

// TestOverloadAtAnyRate has servers fail some at random, from one in ten to one in two, however fast they are
// asked: hardly ever are these taken for refusals.
func TestOverloadAtAnyRate(t *testing.T) {
	const runs = 12
	for _, callers := range []int{1, 4, 16} {
		for _, in := range []int{10, 5, 3, 2} {
			taken := 0
			for seed := range runs {
				synctest.Test(t, func(t *testing.T) {
					random := rand.New(rand.NewPCG(uint64(seed), 5))
					l := &Limiter{SlowStart: true, Rand: noJitter}
					besiege(t, l, callers, 2000, func() bool { return random.IntN(in) > 0 })
					if refusesByFailing(l) {
						taken++
					}
				})
			}
			if taken > 1 {
				t.Errorf("%d callers, one in %d fails: taken for refusals in %d of %d runs", callers, in, taken, runs)
			}
		}
	}
}
