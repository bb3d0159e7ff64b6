// Shared waits for a quota that is in a Redis in this process.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/redisquota/goredis"
	"github.com/gopacer/pacer/throttle"
)

func main() {
	server, err := miniredis.Run()
	if err != nil {
		log.Fatal(err)
	}
	quotas, err := quota.Parse("100/s")
	if err != nil {
		log.Fatal(err)
	}
	store := goredis.New(redis.NewClient(&redis.Options{Addr: server.Addr()}))
	limiter := &throttle.Limiter{Name: "shared", Quotas: quotas, Shared: throttle.Shared{Store: store}}
	if err := limiter.Wait(context.Background(), 1); err != nil {
		log.Fatal(err)
	}
	fmt.Println("shared: granted")
}
