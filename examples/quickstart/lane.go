package main

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/gopacer/pacer/pacertest"
)

// lane is a server, the one client that calls it, and the batch of requests that the client sends.
type lane struct {
	kind     kind
	client   client
	requests int // in the batch

	server *pacertest.Server
	url    string
}

// newLane makes a server of the kind k for the client. It is not started.
func newLane(k kind, c client) *lane {
	return &lane{kind: k, client: c, requests: requests, server: pacertest.NewServer(k.algorithm, k.dialect)}
}

// run sends the batch through the client, with so many callers at the same time.
func (l *lane) run(ctx context.Context, callers int) {
	var sent atomic.Int64
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for sent.Add(1) <= int64(l.requests) {
				get(ctx, l.client.http, l.url)
			}
		})
	}
	wg.Wait()
}

// result returns what the server has seen so far.
func (l *lane) result() result {
	return result{kind: l.kind, client: l.client.name, short: l.client.short, wanted: l.requests, stats: l.server.Stats()}
}

// collect returns the results of all lanes.
func collect(lanes []*lane) []result {
	results := make([]result, len(lanes))
	for i, l := range lanes {
		results[i] = l.result()
	}
	return results
}
