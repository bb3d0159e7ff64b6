package main

import (
	"context"
	"fmt"
	"io"
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
	fmt.Fprintln(w, "| limiter | most in a second | utilisation | round trips per request | Jain | added wait, Redis 20 ms away, p50 | p99 | all stop after |")
	fmt.Fprintln(w, "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
	far, err := newFar(ctx, addr, 10*time.Millisecond)
	if err != nil {
		return err
	}
	defer far.close()
	for _, p := range peers {
		r, err := saturate(ctx, addr, span, p.make)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		p50, p99, err := distant(ctx, addr, far.addr, span/2, p.make)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		stop := "never"
		if r.stops {
			stop = r.stop.Round(10 * time.Microsecond).String()
		}
		fmt.Fprintf(w, "| %s | %d | %.3f | %.2f | %.3f | %v | %v | %s |\n", p.name, r.most, r.used, r.trips, r.jain,
			p50.Round(100*time.Microsecond), p99.Round(100*time.Microsecond), stop)
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
	stop              time.Duration
	stops             bool
}

// fleet makes the limiters, on a server that knows nothing, and lets what is there at the beginning be used up.
func fleet(ctx context.Context, plain, addr string, n int, late time.Duration, mk maker) (all []limiter, trips *counter, end func(), err error) {
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
		l, err := mk(c, late)
		if err != nil {
			return nil, nil, nil, err
		}
		all = append(all, l)
	}
	return all, trips, end, nil
}

// saturate has all workers always want more, and at the end has one process be told to stop for a second.
func saturate(ctx context.Context, addr string, span time.Duration, mk maker) (r result, err error) {
	all, trips, end, err := fleet(ctx, addr, addr, processes, 0, mk)
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
	r.used = float64(n) / (finish.Sub(begin).Seconds() * perSecond)
	r.trips = float64(trips1-trips0) / float64(n)
	var sum, squares float64
	for i := range each1 {
		d := each1[i] - each0[i]
		sum += d
		squares += d * d
	}
	r.jain = sum * sum / (processes * squares)
	told := time.Now()
	if r.stops = all[0].pause(time.Second); r.stops {
		if err := sleep(ctx, 900*time.Millisecond); err != nil {
			return r, err
		}
		_, sent, _, _ := snapshot()
		r.stop = max(sent[len(sent)-1].Sub(told), 0)
	}
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

// distant has two processes use a half of the limit, each a request each 40 ms, with Redis far away, and returns how long
// they waited. Late is longer than a round trip there.
func distant(ctx context.Context, plain, addr string, span time.Duration, mk maker) (p50, p99 time.Duration, err error) {
	all, _, end, err := fleet(ctx, plain, addr, 2, 50*time.Millisecond, mk)
	if err != nil {
		return 0, 0, err
	}
	defer end()
	var mu sync.Mutex
	var waits []time.Duration
	ctx, cancel := context.WithTimeout(ctx, span+2*time.Second)
	defer cancel()
	begin := time.Now()
	var wait sync.WaitGroup
	for _, l := range all {
		wait.Go(func() {
			tick := time.NewTicker(40 * time.Millisecond)
			defer tick.Stop()
			for ctx.Err() == nil {
				<-tick.C
				wait.Go(func() {
					start := time.Now()
					if l.wait(ctx) != nil || start.Sub(begin) < 2*time.Second {
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
