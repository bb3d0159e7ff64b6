package redisquota_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/redisquota"
	"github.com/gopacer/pacer/redisquota/goredis"
	"github.com/gopacer/pacer/throttle"
)

// Two Limiters, as they may be in two processes, share 20 requests a second.
func Example() {
	server, err := miniredis.Run() // or a Redis or Valkey that is there
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()

	begin := time.Now()
	var processes sync.WaitGroup
	for range 2 {
		processes.Go(func() {
			limiter := &throttle.Limiter{Name: "api.example.com", Quotas: quota.MustParse("20/s even"), Shared: throttle.Shared{Store: goredis.New(client)}}
			defer limiter.Close()
			for range 10 {
				if err := limiter.Wait(context.Background(), 1); err != nil {
					fmt.Println(err)
				}
			}
		})
	}
	processes.Wait()
	fmt.Println("20 of 20/s, 50 ms apart:", time.Since(begin) > 19*50*time.Millisecond)
	// Output: 20 of 20/s, 50 ms apart: true
}

// counted is a Client that counts calls, as one may that measures them.
type counted struct {
	redisquota.Client
	calls atomic.Int64
}

// Run implements redisquota.Client.
func (c *counted) Run(ctx context.Context, keys, args []string) ([]string, error) {
	c.calls.Add(1)
	return c.Client.Run(ctx, keys, args)
}

// A Client around the one for go-redis, and a Prefix of the program's own.
func ExampleClient() {
	server, err := miniredis.Run()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()

	calls := &counted{Client: goredis.New(client).Client}
	limiter := &throttle.Limiter{
		Name: "api.example.com", Quotas: quota.MustParse("1000/s burst 100"),
		Shared: throttle.Shared{Store: &redisquota.Store{Client: calls, Prefix: "crawler"}},
	}
	var requests sync.WaitGroup
	for range 100 { // one call asks for all that wait
		requests.Go(func() {
			if err := limiter.Wait(context.Background(), 1); err != nil {
				fmt.Println(err)
			}
		})
	}
	requests.Wait()
	fmt.Println(limiter.Close())
	fmt.Println("fewer calls than requests:", calls.calls.Load() < 100)
	// Output:
	// <nil>
	// fewer calls than requests: true
}
