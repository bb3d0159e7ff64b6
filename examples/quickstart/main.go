// The program compares two clients. It starts rate-limited servers on loopback and sends the same
// batch of requests to each of them: through a client that only retries, and through a client that
// paces with pacer. It tells pacer nothing about the servers. It runs offline and takes about ten
// seconds.
//
// Every server has one client, so that the clients do not disturb each other. All figures are
// counted by the servers.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"time"
)

const (
	requests = 200 // to each server
	callers  = 16  // at the same time, in each client

	// patience ends a run that takes too long. The table then says what is missing.
	patience = 18 * time.Second
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()

	var lanes []*lane
	for _, k := range kinds {
		lanes = append(lanes, newLane(k, "retryablehttp", retrying(callers), requests), newLane(k, "pacer", pacing(callers), requests))
	}
	screen := newScreen(os.Stdout)
	screen.intro(len(lanes), requests, callers)

	start := time.Now()
	var wg sync.WaitGroup
	for _, l := range lanes {
		wg.Go(func() { l.run(ctx, callers) })
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		wg.Wait()
	}()
	screen.watch(lanes, start, done)

	results := collect(lanes)
	for _, l := range lanes {
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
