package main

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gopacer/pacer/pacertest"
)

// kind is a kind of server.
type kind struct {
	name, quota, headers string

	algorithm pacertest.Algorithm
	dialect   pacertest.Dialect
}

// lane is a server and the one client that calls it.
type lane struct {
	kind   kind
	client string // its name

	server *pacertest.Server
	url    string
	http   *http.Client
}

// newLane starts a server of that kind.
func newLane(k kind, name string, client *http.Client) *lane {
	server := pacertest.NewServer(k.algorithm, k.dialect)
	return &lane{kind: k, client: name, server: server, url: server.Start(), http: client}
}

// run sends n requests, by so many callers at the same time.
func (l *lane) run(ctx context.Context, n, callers int) {
	var sent atomic.Int64
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for sent.Add(1) <= int64(n) {
				get(ctx, l.http, l.url)
			}
		})
	}
	wg.Wait()
}

// result is what a server has seen of its client.
type result struct {
	kind   kind
	client string

	wanted int // requests of the batch
	stats  pacertest.Stats
}

func (l *lane) result() result {
	return result{kind: l.kind, client: l.client, wanted: requests, stats: l.server.Stats()}
}

// took returns the time from the first admitted request to the last one.
func (r *result) took() time.Duration { return r.stats.Last.Sub(r.stats.First) }

// least returns the time in which a client that knows the server's algorithm and state can send as many requests, from the same instant
// on (a sliding window counts in windows of the clock, so it matters when one begins).
func (r *result) least() time.Duration {
	return pacertest.LeastAt(r.kind.algorithm, r.stats.First, r.stats.Accepted)
}

// refusedPer100 returns the refusals for every hundred requests that were admitted.
func (r *result) refusedPer100() float64 {
	return 100 * float64(r.stats.Refused) / float64(max(r.stats.Accepted, 1))
}

// rate returns how many requests were admitted in the second before now.
func (r *result) rate(now time.Time) int {
	n := 0
	for _, e := range r.stats.Events {
		if e.Status == http.StatusOK && now.Sub(e.Time) <= time.Second {
			n++
		}
	}
	return n
}
