// Package interop runs clients against rate limiters that others wrote: unmodified,
// in pinned versions, on loopback. It measures whether a client uses the whole quota
// and no more.
//
//	go run ./cmd/servers                    # pacer beside what a program would otherwise use
//	go run ./cmd/servers -h                 # which servers, clients and workloads there are
//	go test ./...                           # pacer alone, against a few servers
//
// A [Cell] is one server, one client and one workload. Its limiter has a quota that
// nobody else draws on; its clients are processes of their own. What is admitted and
// what is refused is counted in front of the limiter, where the answers pass, and no
// header is changed there. A request is under way for 2.5 ms before it reaches the
// limiter, and so is its answer, as over a short network.
//
// The figures are the makespan over the least that is possible, and the refusals for
// every 100 requests that are admitted. They belong together: who asks again every
// 50 ms is fast. "Least" is computed from the server's algorithm, and the client
// named oracle, which knows that algorithm and its state, shows that it can be done.
package interop

import (
	"context"
	"fmt"
	"time"
)

// Workload is what has to be done.
type Workload struct {
	Name      string
	Processes int           // that do not know of each other, each with an equal part of the requests
	Before    int           // requests before the idling, which are not measured
	Idle      time.Duration // before the measured ones
	Requests  int           // that are measured
	Callers   int           // at the same time, in each process
}

// Workloads returns all workloads with n requests each, of which the burst has half.
func Workloads(n int) []Workload {
	return []Workload{
		{Name: "one process", Processes: 1, Requests: n, Callers: 16},
		{Name: "three processes", Processes: 3, Requests: n, Callers: 16},
		{Name: "burst after idling", Processes: 1, Before: n / 3, Idle: 3 * time.Second, Requests: n / 2, Callers: 16},
	}
}

// String says what has to be done.
func (w Workload) String() string {
	s := fmt.Sprintf("%s: %d requests from %d callers", w.Name, w.Requests, w.Processes*w.Callers)
	if w.Before > 0 {
		s += fmt.Sprintf(", after %d others and %v of idling", w.Before, w.Idle)
	}
	return s
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
