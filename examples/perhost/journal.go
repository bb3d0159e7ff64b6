package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gopacer/pacer"
)

// journal prints when requests go, and remembers it for each route. Like every hook, it is used by
// several requests at the same time.
type journal struct {
	out   io.Writer
	start time.Time

	mu   sync.Mutex // protects went and out
	went map[string][]time.Duration
}

// note says what a request waits for. It travels in the context of the request, which hooks can read.
type note struct {
	since time.Time // when the request began to wait
	cause string
}

type noteKey struct{}

func withNote(ctx context.Context) context.Context {
	return context.WithValue(ctx, noteKey{}, new(note))
}

// queued is the hook Queued. It runs in the goroutine of the request.
func (j *journal) queued(q pacer.Queued) {
	n := q.Request.Context().Value(noteKey{}).(*note)
	n.since, n.cause = time.Now(), string(q.Cause) // q.Wait would be the expected length of the wait
	if q.Quota != "" {
		n.cause += fmt.Sprintf(" of %q", q.Quota)
	}
}

// sent returns a RoundTripper that prints each request that goes through base.
func (j *journal) sent(base http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		now := time.Now()
		waited := ""
		if n := req.Context().Value(noteKey{}).(*note); n.cause != "" {
			waited = fmt.Sprintf("waited %.2f s: %s", now.Sub(n.since).Seconds(), n.cause)
		}
		j.add(route(req), now.Sub(j.start), waited)
		return base.RoundTrip(req)
	})
}

func (j *journal) add(route string, at time.Duration, waited string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.went == nil {
		j.went = map[string][]time.Duration{}
	}
	j.went[route] = append(j.went[route], at)
	fmt.Fprintln(j.out, line(route, at, waited))
}

// line is the line that is printed when a request goes.
func line(route string, at time.Duration, waited string) string {
	return strings.TrimRight(fmt.Sprintf("%5.2f s  %-35s %s", at.Seconds(), route, waited), " ")
}

// String lists, for each route, when its requests went.
func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	routes := make([]string, 0, len(j.went))
	for route := range j.went {
		routes = append(routes, route)
	}
	slices.Sort(routes)
	var b strings.Builder
	b.WriteString("\nAt which second the requests of each route went:\n")
	for _, route := range routes {
		fmt.Fprintf(&b, "%-36s", route)
		for _, at := range j.went[route] {
			fmt.Fprintf(&b, " %.2f", at.Seconds())
		}
		b.WriteString("\n")
	}
	return b.String()
}

// route is the name of a request in the journal. It leaves out the port, which is different in each run.
func route(req *http.Request) string {
	return req.Method + " " + req.URL.Hostname() + req.URL.Path
}

// roundTripper is a function as an http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
