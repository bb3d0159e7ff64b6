// The program compares two clients. It starts three kinds of rate-limited servers on loopback, and
// sends the same batch of requests to each of them: through a client that only retries, and through a
// client that paces with pacer. It tells pacer nothing about the servers. It runs offline and takes
// about twelve seconds.
//
// Every server has one client, so that the clients do not disturb each other. All figures are
// counted by the servers.
//
// With -svg FILE, the program also draws what the first kind of server saw into FILE. The test of this
// package runs the same clients in virtual time, where nothing is late, and compares the drawing with
// docs/quickstart.svg. With -update, the test writes that file.
package main

import (
	"context"
	"flag"
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
	file := flag.String("svg", "", "draw the first server's timelines into this `file` too")
	flag.Parse()
	if err := run(*file); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// run is the program. It draws into the file if one is named.
func run(file string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()

	var lanes []*lane
	ks := kinds(time.Now())
	for _, k := range ks {
		lanes = append(lanes,
			newLane(k, retrying(connections(callers))),
			newLane(k, pacing(connections(callers))))
	}
	for _, l := range lanes {
		l.url = l.server.Start()
		defer l.server.Close()
	}
	screen := newScreen(os.Stdout)
	screen.intro(ks, requests, callers)

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
	fmt.Println()
	for i := 0; i < len(results); i += 2 {
		screen.print(timelines(results[i : i+2]))
		fmt.Println()
	}
	screen.print(table(results))
	screen.outro()
	if file == "" {
		return nil
	}
	return os.WriteFile(file, []byte(svg(results[:2])), 0o644)
}
