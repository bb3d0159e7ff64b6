// Package goredis has package redisquota use go-redis, version 9: one node, Sentinel, or a Cluster.
//
//	client := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
//	limiter := &throttle.Limiter{Name: "api.example.com", Quotas: quotas, Store: goredis.New(client)}
//	defer client.Close()
//
// By default go-redis repeats a call of which it saw no reply, and goes on reading after the end of a
// context. Both do no harm here: a call that was done before is not done again, and the Store returns when
// the context ends. MaxRetries: -1 and ContextTimeoutEnabled: true spare the server the repetitions, and the
// program the goroutines that still read.
package goredis

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/gopacer/pacer/redisquota"
)

// New returns a Store on the server of c. The caller closes c, after the Limiters. The Store's Prefix may be
// set, and its Client wrapped, before the Store is used.
func New(c redis.UniversalClient) *redisquota.Store {
	return &redisquota.Store{Client: client{c}}
}

// client is a redisquota.Client.
type client struct{ redis redis.UniversalClient }

var script = redis.NewScript(redisquota.Script())

// reply is that of one call.
type reply struct {
	flat []string
	err  error
}

// Run implements redisquota.Client.
func (c client) Run(ctx context.Context, keys, args []string) ([]string, error) {
	values := make([]any, len(args))
	for i, a := range args {
		values[i] = a
	}
	done := make(chan reply, 1)
	go func() {
		flat, err := script.Run(ctx, c.redis, keys, values...).StringSlice()
		done <- reply{flat, err}
	}()
	select {
	case r := <-done:
		return r.flat, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Subscribe implements redisquota.Client. go-redis renews the subscription by itself.
func (c client) Subscribe(ctx context.Context, channel string, hear func(message string)) error {
	s := c.redis.Subscribe(ctx, channel)
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
