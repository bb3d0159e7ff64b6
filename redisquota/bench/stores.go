package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gopacer/pacer/filequota"
	"github.com/gopacer/pacer/redisquota/goredis"
	"github.com/gopacer/pacer/throttle"
	"github.com/gopacer/pacer/throttle/store"
)

// plenty grants all that is asked for, so that what is measured is the asking.
const plenty, plentyN = "1000000/s burst 1000000", 1_000_000

// decider answers whether one request may go, of a quota that grants all.
type decider struct {
	name  string
	open  func(dir string, c *redis.Client) (ask func(ctx context.Context, by int) error, end func(), err error)
	share string // what is asked in one call
}

// exchanges asks a store for one slot in each call.
func exchanges(open func(dir string, c *redis.Client) (store.Store, error)) func(string, *redis.Client) (func(context.Context, int) error, func(), error) {
	return func(dir string, c *redis.Client) (func(context.Context, int) error, func(), error) {
		s, err := open(dir, c)
		if err != nil {
			return nil, nil, err
		}
		quotas, err := canonical(plenty)
		var serials [processes]int64
		return func(ctx context.Context, by int) error {
			serials[by]++
			_, err := s.Exchange(ctx, &store.Request{
				Version: 1, Bucket: "api", Quotas: quotas, SlotLife: 100 * time.Millisecond, Horizon: 500 * time.Millisecond, Member: fmt.Sprintf("%026d", by), Serial: serials[by],
				Fresh: true, Asks: []store.Ask{{Cost: []int64{1}, Count: 1, Within: -1}},
			})
			return err
		}, func() {}, err
	}
}

// limits asks a Limiter, which asks its store for many slots at once.
func limits(open func(dir string, c *redis.Client) (store.Store, error)) func(string, *redis.Client) (func(context.Context, int) error, func(), error) {
	return func(dir string, c *redis.Client) (func(context.Context, int) error, func(), error) {
		s, err := open(dir, c)
		if err != nil {
			return nil, nil, err
		}
		quotas, err := canonical("20000/s burst 20000") // a store hands out half a second of it ahead
		l := &throttle.Limiter{Name: "api", Quotas: quotas, Shared: throttle.Shared{Store: s, Fresh: true}}
		return func(ctx context.Context, _ int) error { return l.Wait(ctx, 1) }, func() { _ = l.Close() }, err
	}
}

// polls asks a peer that answers each request by itself.
func polls(make maker) func(string, *redis.Client) (func(context.Context, int) error, func(), error) {
	return func(_ string, c *redis.Client) (func(context.Context, int) error, func(), error) {
		l, err := make(c, plentyN, 0)
		if err != nil {
			return nil, nil, err
		}
		return func(ctx context.Context, _ int) error { return l.wait(ctx) }, l.close, nil
	}
}

func inMemory(string, *redis.Client) (store.Store, error)          { return new(store.Memory), nil }
func inDirectory(dir string, _ *redis.Client) (store.Store, error) { return filequota.Open(dir, nil) }
func inRedis(_ string, c *redis.Client) (store.Store, error)       { return goredis.New(c), nil }

var deciders = []decider{
	{"`store.Memory`", exchanges(inMemory), "one slot"},
	{"`filequota`", exchanges(inDirectory), "one slot"},
	{"`redisquota`", exchanges(inRedis), "one slot"},
	{"go-redis/redis_rate v10", polls(newRate), "one request"},
	{"throttled v2, goredisstore.v9", polls(newThrottled), "one request"},
	{"a Limiter with `filequota`", limits(inDirectory), "what it needs soon"},
	{"a Limiter with `redisquota`", limits(inRedis), "what it needs soon"},
}

// stores measures what it costs to ask: by one after the other, and by ten at once. Nothing is limited. Each
// line is the median of three runs.
func stores(ctx context.Context, w io.Writer, c *redis.Client, span time.Duration) error {
	fmt.Fprintln(w, "| limiter | one call is for | for each request: p50 | p99 | ten at once: requests in a second |")
	fmt.Fprintln(w, "| --- | --- | ---: | ---: | ---: |")
	for _, d := range deciders {
		const runs = 3
		var p50, p99 []time.Duration
		var rate []float64
		for range runs {
			one, err := asking(ctx, c, d, 1, span/10)
			if err != nil {
				return fmt.Errorf("%s: %w", d.name, err)
			}
			slices.Sort(one)
			p50, p99 = append(p50, one[len(one)/2]), append(p99, one[len(one)*99/100])
			ten, err := asking(ctx, c, d, processes, span/10)
			if err != nil {
				return fmt.Errorf("%s: %w", d.name, err)
			}
			rate = append(rate, float64(len(ten))/(span/10).Seconds())
		}
		slices.Sort(p50)
		slices.Sort(p99)
		slices.Sort(rate)
		fmt.Fprintf(w, "| %s | %s | %v | %v | %.0f |\n", d.name, d.share, p50[1].Round(100*time.Nanosecond), p99[1].Round(time.Microsecond), rate[1])
	}
	return nil
}

// asking has so many ask for a time, and returns how long each request took. Some are let pass first: a store
// learns whether the bucket is new.
func asking(ctx context.Context, c *redis.Client, d decider, by int, span time.Duration) (took []time.Duration, err error) {
	if err := c.FlushAll(ctx).Err(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ask, end, err := d.open(dir, c)
	if err != nil {
		return nil, err
	}
	defer end()
	for begin := time.Now(); time.Since(begin) < time.Second; {
		if err := ask(ctx, 0); err != nil {
			return nil, err
		}
	}
	var mu sync.Mutex // protects took and err
	var wait sync.WaitGroup
	until := time.Now().Add(span)
	for i := range by {
		wait.Go(func() {
			var mine []time.Duration
			var failed error
			for begin := time.Now(); begin.Before(until) && failed == nil; {
				failed = ask(ctx, i)
				now := time.Now()
				mine, begin = append(mine, now.Sub(begin)), now
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, mine...)
			if failed != nil {
				err = failed
			}
		})
	}
	wait.Wait()
	return took, err
}
