package goredis_test

import (
	"context"
	"fmt"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/redisquota/goredis"
	"github.com/gopacer/pacer/throttle"
)

// The quotas of a Limiter live in Redis, under a prefix of the program's own.
func ExampleNew() {
	server, err := miniredis.Run() // or a Redis or Valkey that is there
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()

	store := goredis.New(client)
	store.Prefix = "crawler"
	limiter := &throttle.Limiter{Name: "api.example.com", Quotas: quota.MustParse("50/s burst 10"), Shared: throttle.Shared{Store: store, Fresh: true}}
	defer limiter.Close()
	fmt.Println(limiter.Wait(context.Background(), 1))
	fmt.Println(server.Exists("{crawler:api.example.com}:state"))
	// Output:
	// <nil>
	// true
}
