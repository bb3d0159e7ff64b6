package main

import (
	"context"
	"errors"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/throttled/throttled/v2"
	throttledredis "github.com/throttled/throttled/v2/store/goredisstore.v9"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/redisquota/goredis"
	"github.com/gopacer/pacer/throttle"
)

// limiter is one process's.
type limiter interface {
	// wait returns when one request may go.
	wait(ctx context.Context) error
	close()
}

// pauser is one that can tell others what a server said.
type pauser interface {
	pause(d time.Duration) // nothing is to go for d
	paused() bool
}

// peer is what is compared.
type peer struct {
	name string
	n    int // that a second grants
	make maker
}

// maker makes the limiter of a process. SlotLife is for those who have such a thing.
type maker = func(c *redis.Client, n int, late time.Duration) (limiter, error)

var peers = []peer{
	{"pacer, `100/s even`", 100, newPacer("100/s even")},
	{"pacer, `100/s burst 10`", 100, newPacer("100/s burst 10")},
	{"pacer, `100/s log`", 100, newPacer("100/s log")},
	{"go-redis/redis_rate v10, 100 a second", 100, newRate},
	{"throttled v2, goredisstore.v9, 100 a second", 100, newThrottled},
	{"pacer, `1000/s even`", 1000, newPacer("1000/s even")},
	{"pacer, `1000/s burst 100`", 1000, newPacer("1000/s burst 100")},
	{"pacer, `1000/s log`", 1000, newPacer("1000/s log")},
	{"go-redis/redis_rate v10, 1000 a second", 1000, newRate},
	{"throttled v2, goredisstore.v9, 1000 a second", 1000, newThrottled},
}

type pacer struct{ l *throttle.Limiter }

func newPacer(text string) maker {
	return func(c *redis.Client, _ int, late time.Duration) (limiter, error) {
		quotas, err := quota.Parse(text)
		return pacer{&throttle.Limiter{Name: text, Quotas: quotas, Shared: throttle.Shared{Store: goredis.New(c), SlotLife: late}}}, err
	}
}

func (p pacer) wait(ctx context.Context) error { return p.l.Wait(ctx, 1) }
func (p pacer) pause(d time.Duration)          { p.l.Pause(d) }
func (p pacer) paused() bool                   { return p.l.State().Held > 0 }
func (p pacer) close()                         { _ = p.l.Close() }

// rate is polled as its documentation shows.
type rate struct {
	l *redis_rate.Limiter
	n int
}

func newRate(c *redis.Client, n int, _ time.Duration) (limiter, error) {
	return rate{redis_rate.NewLimiter(c), n}, nil
}

func (r rate) wait(ctx context.Context) error {
	for {
		res, err := r.l.Allow(ctx, "api", redis_rate.PerSecond(r.n))
		if err != nil {
			return err
		}
		if res.Allowed > 0 {
			return nil
		}
		if err := sleep(ctx, res.RetryAfter); err != nil {
			return err
		}
	}
}

func (rate) close() {}

// gcra is throttled's. It has the burst that its own examples have: a tenth.
type gcra struct {
	l *throttled.GCRARateLimiterCtx
	n int
}

func newThrottled(c *redis.Client, n int, _ time.Duration) (limiter, error) {
	store, err := throttledredis.NewCtx(c, "throttled:")
	if err != nil {
		return nil, err
	}
	l, err := throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{MaxRate: throttled.PerSec(n), MaxBurst: n / 10})
	return gcra{l, n}, err
}

func (g gcra) wait(ctx context.Context) error {
	for {
		limited, res, err := g.l.RateLimitCtx(ctx, "api", 1)
		switch {
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case err != nil || limited && res.RetryAfter < 0: // others came between too often: it gives up after ten tries
			res.RetryAfter = time.Second / time.Duration(g.n)
		case !limited:
			return nil
		}
		if err := sleep(ctx, res.RetryAfter); err != nil {
			return err
		}
	}
}

func (gcra) close() {}

var errNegative = errors.New("bench: a wait without an end")

func sleep(ctx context.Context, d time.Duration) error {
	if d < 0 {
		return errNegative
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
