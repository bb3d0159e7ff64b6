package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/redisquota/goredis"
	"github.com/gopacer/pacer/throttle"
)

// call is one process: four workers that send one request after the other, as fast as the limiter lets them. After a
// refusal the limiter pauses for as long as the API says.
func call(ctx context.Context, url, addr string) error {
	// A log of the last second counts as the API does. On a busy machine a process may wake up late.
	limiter := &throttle.Limiter{Name: "api.example.com", Quotas: quota.Quotas{{N: perSecond, Kind: quota.SlidingLog}}, Late: 50 * time.Millisecond}
	if addr != "" {
		client := redis.NewClient(&redis.Options{Addr: addr})
		defer client.Close()
		limiter.Store = goredis.New(client)
		defer limiter.Close()
	}
	ctx, cancel := context.WithTimeout(ctx, span)
	defer cancel()
	var mu sync.Mutex
	var t tally
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for limiter.Wait(ctx, 1) == nil {
				status, after, err := get(url)
				if err != nil {
					continue
				}
				mu.Lock()
				if status == http.StatusTooManyRequests {
					t.Refused++
					limiter.Pause(after)
				} else {
					t.Answered++
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	return json.NewEncoder(os.Stdout).Encode(t)
}

var client = &http.Client{Timeout: 5 * time.Second}

// get sends a request, and returns the status of the answer and its Retry-After.
func get(url string) (status int, after time.Duration, err error) {
	resp, err := client.Get(url) //nolint:noctx // the client has a timeout
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	if s := resp.Header.Get("Retry-After"); s != "" { // the API writes whole seconds
		n, err := strconv.Atoi(s)
		if err != nil {
			return 0, 0, err
		}
		after = time.Duration(n) * time.Second
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, after, err
}
