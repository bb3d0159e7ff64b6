package main

import (
	"context"
	"errors"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/throttled/throttled/v2"
	throttledredis "github.com/throttled/throttled/v2/store/goredisstore.v9"

	"github.com/gopacer/pacer/redisquota/goredis"
	"github.com/gopacer/pacer/throttle"
)

// perSecond is the limit of all.
const perSecond = 100

// limiter is one process's.
type limiter interface {
	// wait returns when one request may go.
	wait(ctx context.Context) error
	// pause is told that the server wants nothing for d; false if it cannot tell the others.
	pause(d time.Duration) bool
	close()
}

// maker makes the limiter of a process. Late is for those who have such a thing.
type maker = func(c *redis.Client, late time.Duration) (limiter, error)

// peers are what is compared.
var peers = []struct {
	name string
	make maker
}{
	{"pacer, `100/s`", newPacer("100/s")},
	{"pacer, `100/s burst 10`", newPacer("100/s burst 10")},
	{"pacer, `100/s log`", newPacer("100/s log")},
	{"go-redis/redis_rate v10", func(c *redis.Client, _ time.Duration) (limiter, error) { return rate{redis_rate.NewLimiter(c)}, nil }},
	{"throttled v2, goredisstore.v9", newThrottled},
}

type pacer struct{ l *throttle.Limiter }

func newPacer(text string) maker {
	return func(c *redis.Client, late time.Duration) (limiter, error) {
		quotas, err := throttle.ParseQuotas(text)
		return pacer{&throttle.Limiter{Name: text, Quotas: quotas, Store: goredis.New(c), Late: late}}, err
	}
}

func (p pacer) wait(ctx context.Context) error { return p.l.Wait(ctx, 1) }
func (p pacer) pause(d time.Duration) bool     { p.l.Pause(d); return true }
func (p pacer) close()                         { _ = p.l.Close() }

// rate is polled as its documentation shows.
type rate struct{ l *redis_rate.Limiter }

func (r rate) wait(ctx context.Context) error {
	for {
		res, err := r.l.Allow(ctx, "api", redis_rate.PerSecond(perSecond))
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

func (rate) pause(time.Duration) bool { return false }
func (rate) close()                   {}

// gcra is throttled's. It has the burst that its own examples have: a tenth.
type gcra struct{ l *throttled.GCRARateLimiterCtx }

func newThrottled(c *redis.Client, _ time.Duration) (limiter, error) {
	store, err := throttledredis.NewCtx(c, "throttled:")
	if err != nil {
		return nil, err
	}
	l, err := throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{MaxRate: throttled.PerSec(perSecond), MaxBurst: perSecond / 10})
	return gcra{l}, err
}

func (g gcra) wait(ctx context.Context) error {
	for {
		limited, res, err := g.l.RateLimitCtx(ctx, "api", 1)
		switch {
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case err != nil: // others came between too often: it gives up after ten tries
			res.RetryAfter = time.Second / perSecond
		case !limited:
			return nil
		}
		if err := sleep(ctx, res.RetryAfter); err != nil {
			return err
		}
	}
}

func (gcra) pause(time.Duration) bool { return false }
func (gcra) close()                   {}

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
