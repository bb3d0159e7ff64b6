package main

import (
	"context"

	"github.com/redis/rueidis"
	"github.com/valkey-io/valkey-go"

	"github.com/gopacer/pacer/redisquota"
)

// rueidisClient is a redisquota.Client; README.md shows it.
type rueidisClient struct{ rueidis.Client }

var rueidisScript = rueidis.NewLuaScript(redisquota.Script())

func (c rueidisClient) Run(ctx context.Context, keys, args []string) ([]string, error) {
	return rueidisScript.Exec(ctx, c.Client, keys, args).AsStrSlice()
}

func (c rueidisClient) Subscribe(ctx context.Context, channel string, hear func(string)) error {
	ctx = rueidis.WithOnSubscriptionHook(ctx, func(rueidis.PubSubSubscription) { hear("") }) // what came before is missed
	return c.Receive(ctx, c.B().Subscribe().Channel(channel).Build(), func(m rueidis.PubSubMessage) { hear(m.Message) })
}

// valkeyClient is a redisquota.Client; README.md shows it.
type valkeyClient struct{ valkey.Client }

var valkeyScript = valkey.NewLuaScript(redisquota.Script())

func (c valkeyClient) Run(ctx context.Context, keys, args []string) ([]string, error) {
	return valkeyScript.Exec(ctx, c.Client, keys, args).AsStrSlice()
}

func (c valkeyClient) Subscribe(ctx context.Context, channel string, hear func(string)) error {
	ctx = valkey.WithOnSubscriptionHook(ctx, func(valkey.PubSubSubscription) { hear("") }) // what came before is missed
	return c.Receive(ctx, c.B().Subscribe().Channel(channel).Build(), func(m valkey.PubSubMessage) { hear(m.Message) })
}
