package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// The fleet: so many processes, each with so many workers that each send one request after the other.
const processes, workers = 10, 4

// compare runs each peer: saturated, at a distance, and told to stop.
func compare(ctx context.Context, w io.Writer, addr string, span time.Duration) error {
	fmt.Fprintln(w, "| limiter | most in a second | utilisation | round trips per request | Jain | added wait, Redis 20 ms away, p50 | p99 | all hear of a hold after |")
	fmt.Fprintln(w, "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
	far, err := newFar(ctx, addr, 10*time.Millisecond)
	if err != nil {
		return err
	}
	defer far.close()
	for _, p := range peers {
		r, err := saturate(ctx, addr, span, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		p50, p99, err := distant(ctx, addr, far.addr, span, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		stop, err := stopped(ctx, addr, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		fmt.Fprintf(w, "| %s | %d | %.3f | %.3f | %.3f | %v | %v | %s |\n", p.name, r.most, r.used, r.trips, r.jain,
			p50.Round(10*time.Microsecond), p99.Round(10*time.Microsecond), stop)
	}
	return nil
}

// counter counts round trips.
type counter struct{ n atomic.Int64 }

func (*counter) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *counter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { c.n.Add(1); return next(ctx, cmd) }
}

func (c *counter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { c.n.Add(1); return next(ctx, cmds) }
}

// result is of a saturated fleet.
type result struct {
	most              int
	used, trips, jain float64
}

// fleet makes the limiters, on a server that knows nothing, and lets what is there at the beginning be used up.
func fleet(ctx context.Context, plain, addr string, n int, late time.Duration, p peer) (all []limiter, trips *counter, end func(), err error) {
	c := redis.NewClient(&redis.Options{Addr: plain})
	err = c.FlushAll(ctx).Err()
	_ = c.Close()
	if err != nil {
		return nil, nil, nil, err
	}
	trips = new(counter)
	var clients []*redis.Client
	end = func() {
		for _, l := range all {
			l.close()
		}
		for _, c := range clients {
			_ = c.Close()
		}
	}
	for range n {
		c := redis.NewClient(&redis.Options{Addr: addr})
		c.AddHook(trips)
		clients = append(clients, c)
		l, err := p.make(c, p.n, late)
		if err != nil {
			return nil, nil, nil, err
		}
		all = append(all, l)
	}
	return all, trips, end, nil
}

// saturate has all workers always want more.
func saturate(ctx context.Context, addr string, span time.Duration, p peer) (r result, err error) {
	all, trips, end, err := fleet(ctx, addr, addr, processes, 0, p)
	if err != nil {
		return r, err
	}
	defer end()
	var mu sync.Mutex
	var sends []time.Time
	each := make([]float64, processes)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wait sync.WaitGroup
	for i, l := range all {
		for range workers {
			wait.Go(func() {
				for l.wait(ctx) == nil {
					mu.Lock()
					sends = append(sends, time.Now())
					each[i]++
					mu.Unlock()
				}
			})
		}
	}
	if err := sleep(ctx, time.Second); err != nil {
		return r, err
	}
	snapshot := func() (time.Time, []time.Time, []float64, int64) {
		mu.Lock()
		defer mu.Unlock()
		return time.Now(), slices.Clone(sends), slices.Clone(each), trips.n.Load()
	}
	begin, first, each0, trips0 := snapshot()
	if err := sleep(ctx, span); err != nil {
		return r, err
	}
	finish, last, each1, trips1 := snapshot()
	n := len(last) - len(first)
	r.most = most(last)
	r.used = float64(n) / (finish.Sub(begin).Seconds() * float64(p.n))
	r.trips = float64(trips1-trips0) / float64(n)
	var sum, squares float64
	for i := range each1 {
		d := each1[i] - each0[i]
		sum += d
		squares += d * d
	}
	r.jain = sum * sum / (processes * squares)
	cancel()
	wait.Wait()
	return r, nil
}

// most is how many there were in any second.
func most(sends []time.Time) (n int) {
	slices.SortFunc(sends, time.Time.Compare)
	first := 0
	for i := range sends {
		for sends[i].Sub(sends[first]) >= time.Second {
			first++
		}
		n = max(n, i-first+1)
	}
	return n
}

// stopped has one process of ten be told to hold, again and again, and returns when the others know of it, in
// the median.
func stopped(ctx context.Context, addr string, p peer) (string, error) {
	all, _, end, err := fleet(ctx, addr, addr, processes, 0, p)
	if err != nil {
		return "", err
	}
	defer end()
	if _, ok := all[0].(pauser); !ok {
		return "never", nil
	}
	for _, l := range all {
		if err := l.wait(ctx); err != nil {
			return "", err
		}
	}
	const times, hold = 21, 200 * time.Millisecond
	var took []time.Duration
	for range times {
		if err := sleep(ctx, 2*hold); err != nil {
			return "", err
		}
		start := time.Now()
		all[0].(pauser).pause(hold)
		for _, l := range all[1:] {
			for !l.(pauser).paused() {
				if time.Since(start) > hold {
					return "", errors.New("a hold that nobody heard of")
				}
				if err := sleep(ctx, 20*time.Microsecond); err != nil {
					return "", err
				}
			}
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	return took[times/2].Round(10 * time.Microsecond).String(), nil
}

// farLate is the SlotLife of those who have one when the server is 20 ms away.
const farLate = 200 * time.Millisecond

// distant has two processes use a half of the limit, at random, with Redis far away, and returns how long
// they waited.
func distant(ctx context.Context, plain, addr string, span time.Duration, p peer) (p50, p99 time.Duration, err error) {
	all, _, end, err := fleet(ctx, plain, addr, 2, farLate, p)
	if err != nil {
		return 0, 0, err
	}
	defer end()
	var mu sync.Mutex
	var waits []time.Duration
	ctx, cancel := context.WithTimeout(ctx, 2*span) // who still waits then counts as one that went
	defer cancel()
	begin := time.Now()
	var wait sync.WaitGroup
	for i, l := range all {
		r := rand.New(rand.NewPCG(uint64(i), 1))
		wait.Go(func() {
			next := time.Now()
			for next.Sub(begin) < span {
				next = next.Add(time.Duration(r.ExpFloat64() * float64(4*time.Second) / float64(p.n)))
				if sleep(ctx, max(time.Until(next), 0)) != nil {
					return
				}
				wait.Go(func() {
					start := time.Now()
					if err := l.wait(ctx); err != nil && ctx.Err() == nil || start.Sub(begin) < 2*time.Second {
						return
					}
					mu.Lock()
					waits = append(waits, time.Since(start))
					mu.Unlock()
				})
			}
		})
	}
	wait.Wait()
	if len(waits) == 0 {
		return 0, 0, errNegative
	}
	slices.Sort(waits)
	return waits[len(waits)/2], waits[len(waits)*99/100], nil
}
