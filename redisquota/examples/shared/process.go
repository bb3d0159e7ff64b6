package main

import (
	"context"
	"encoding/json"
	"errors"
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

// call is one process: four workers, for the given time. Each sends one request after the other, as fast as the
// limiter lets it.
func call(ctx context.Context, url, addr string) error {
	// A log of the last second counts as the API does.
	limiter := &throttle.Limiter{Name: "api.example.com", Quotas: quota.Quotas{{N: perSecond, Kind: quota.SlidingLog}}}
	if addr != "" {
		client := redis.NewClient(&redis.Options{Addr: addr})
		defer client.Close()
		limiter.Shared.Store = goredis.New(client)
		limiter.Shared.SlotLife = 50 * time.Millisecond // on a busy machine a process may wake up late
		defer limiter.Close()
	}
	ctx, cancel := context.WithTimeout(ctx, span)
	defer cancel()
	var mu sync.Mutex // protects the variables below
	var all tally
	var errs []error
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			t, err := work(ctx, limiter, url)
			mu.Lock()
			defer mu.Unlock()
			all.Answered += t.Answered
			all.Refused += t.Refused
			errs = append(errs, err)
		})
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(all)
}

// work sends requests until the time is over. After a refusal the limiter pauses for as long as the API says.
func work(ctx context.Context, limiter *throttle.Limiter, url string) (tally, error) {
	var t tally
	for {
		err := limiter.Wait(ctx, 1)
		if errors.Is(err, context.DeadlineExceeded) {
			return t, nil
		}
		if err != nil {
			return t, err
		}
		status, after, err := get(url)
		if err != nil {
			return t, err
		}
		if status == http.StatusTooManyRequests {
			t.Refused++
			limiter.Pause(after)
		} else {
			t.Answered++
		}
	}
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
