// The program starts rate-limited servers on loopback and sends the same batch of requests to each of them through two clients: one that
// only retries, and one that paces with pacer, which is told nothing about the servers. It runs offline and takes about ten seconds.
//
// Every server has one client, so that the clients do not disturb each other. All figures are counted by the servers.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/gopacer/pacer/pacertest"
)

const (
	requests = 200 // to each server
	callers  = 16  // at the same time, in each client

	// patience ends a run that does not get through. What is missing then is reported.
	patience = 18 * time.Second
)

// kinds are the servers: what they allow, and the headers in which they say so.
var kinds = []kind{
	{
		name:      "fixed window",
		quota:     "50 in 2 s",
		headers:   "X-RateLimit-* as GitHub",
		algorithm: &pacertest.FixedWindow{Limit: 50, Window: 2 * time.Second},
		dialect:   pacertest.XRateLimit,
	},
	{
		name:      "sliding window",
		quota:     "50 in 2 s",
		headers:   "X-RateLimit-*, Retry-After as httprate",
		algorithm: &pacertest.SlidingWindow{Limit: 50, Window: 2 * time.Second},
		dialect: pacertest.Dialect{
			Layout: pacertest.Trio, Prefix: "X-RateLimit-", Reset: pacertest.ResetEpoch, ResetFloor: true,
			RetryAfter: pacertest.RetryAfterWindow,
		},
	},
	{
		name:      "token bucket",
		quota:     "25/s, burst 25",
		headers:   "RateLimit, Retry-After as the IETF draft",
		algorithm: &pacertest.TokenBucket{Rate: 25, Burst: 25},
		dialect:   pacertest.RateLimitDraft8,
	},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()

	var lanes []*lane
	for _, k := range kinds {
		lanes = append(lanes, newLane(k, "retryablehttp", retrying()), newLane(k, "pacer", pacing()))
	}
	screen := newScreen(os.Stdout)
	screen.intro()

	start := time.Now()
	var wg sync.WaitGroup
	for _, l := range lanes {
		wg.Go(func() { l.run(ctx, requests, callers) })
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		wg.Wait()
	}()
	screen.watch(lanes, start, done)

	results := make([]result, len(lanes))
	for i, l := range lanes {
		results[i] = l.result()
		l.server.Close()
	}
	fmt.Println()
	for i := 0; i < len(results); i += 2 {
		screen.print(timelines(results[i : i+2]))
		fmt.Println()
	}
	screen.print(table(results))
	screen.outro()
}
