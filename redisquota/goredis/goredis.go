// Package goredis has package redisquota use go-redis, version 9: one node, Sentinel, or
// a Cluster.
//
//	store := goredis.New(redis.NewClient(&redis.Options{Addr: "localhost:6379"}))
//
// By default go-redis repeats a call of which it saw no reply, and goes on reading after the end
// of a context. Both do no harm here: a call that was done before is not done again, and New's Store
// returns when the context ends. MaxRetries: -1 and ContextTimeoutEnabled: true spare the
// server the repetitions, and the program the goroutines that still read.
package goredis

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/gopacer/pacer/redisquota"
)

// New returns a Store on the server of c, which remains the caller's to close, after the
// Limiters.
func New(c redis.UniversalClient) *redisquota.Store {
	return &redisquota.Store{Client: Client{c}}
}

// Client is a [redisquota.Client].
type Client struct{ Redis redis.UniversalClient }

var script = redis.NewScript(redisquota.Script)

// reply is that of one call.
type reply struct {
	flat []string
	err  error
}

// Run implements [redisquota.Client].
func (c Client) Run(ctx context.Context, _ string, keys, args []string) ([]string, error) {
	values := make([]any, len(args))
	for i, a := range args {
		values[i] = a
	}
	done := make(chan reply, 1)
	go func() {
		flat, err := script.Run(ctx, c.Redis, keys, values...).StringSlice()
		done <- reply{flat, err}
	}()
	select {
	case r := <-done:
		return r.flat, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Subscribe implements [redisquota.Client]. go-redis renews the subscription by itself.
func (c Client) Subscribe(ctx context.Context, channel string, hear func(message string)) error {
	s := c.Redis.Subscribe(ctx, channel)
	defer s.Close()
	messages := s.Channel()
	for {
		select {
		case m, ok := <-messages:
			if !ok {
				return redis.ErrClosed
			}
			hear(m.Payload)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
