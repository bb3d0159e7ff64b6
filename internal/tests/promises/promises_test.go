// Package promises holds what is promised of learning from servers, one test for each sentence, by
// what a whole Transport does: how answers are read (read_test.go), when a window ends
// (reset_test.go), how what remains of it is spent (spend_test.go), what a refusal does
// (refuse_test.go), servers that say nothing (silent_test.go), slow starts (start_test.go), and
// grants that are not used (cancel_test.go).
// This file has the guest, a program that visits one server, which all of them use.
package promises

import (
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
)

// guest is a program that calls one server, with a Transport of which nothing is set but
// what a test is about.
type guest struct {
	pacer.Transport
	t     *testing.T
	start time.Time
	serve func(n int) *http.Response // answers the request before which n came

	mu   sync.Mutex
	went []time.Duration // when requests reached the server
	got  []int           // the status that each got
}

// visit runs a test in a bubble that has reached the present.
func visit(t *testing.T, serve func(n int) *http.Response, test func(*guest)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		lab.UntilToday()
		g := &guest{t: t, serve: serve, start: time.Now()}
		g.Rand = lab.Zero
		g.Base = lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			g.mu.Lock()
			n := len(g.went)
			g.went, g.got = append(g.went, time.Since(g.start)), append(g.got, 0)
			g.mu.Unlock()
			resp := g.serve(n)
			resp.Request = r
			g.mu.Lock()
			g.got[n] = resp.StatusCode
			g.mu.Unlock()
			return resp, nil
		})
		test(g)
	})
}

// get sends a request and waits for its answer. The status is zero if pacer did not send it.
func (g *guest) get() (status int) {
	g.t.Helper()
	resp, err := g.RoundTrip(lab.Request(g.t, "GET", "http://a.example/", ""))
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

// crowd sends n requests, each by a caller of its own, in order and in one instant.
func (g *guest) crowd(n int) *sync.WaitGroup {
	g.t.Helper()
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() { g.get() })
		synctest.Wait()
	}
	return &wg
}

// may returns how many requests could go now, up to 100.
func (g *guest) may() (n int) {
	g.t.Helper()
	for range 100 {
		req := lab.Request(g.t, "GET", "http://a.example/", "")
		_, cancel, err := g.Acquire(g.t.Context(), req.WithContext(pacer.WithCall(req.Context(), &pacer.Call{Mode: pacer.ModeReject})))
		if err != nil {
			return n
		}
		defer cancel()
		n++
	}
	return n
}

func (g *guest) wantMay(want int) {
	g.t.Helper()
	if got := g.may(); got != want {
		g.t.Errorf("%d may go after %v, want %d", got, time.Since(g.start), want)
	}
}

// wantWent checks when requests went, the first of which is the one before which n went.
func (g *guest) wantWent(n int, want ...time.Duration) {
	g.t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	if got := g.went[min(n, len(g.went)):]; !slices.Equal(got, want) {
		g.t.Errorf("went at %v, want %v", got, want)
	}
}

// refused returns when the requests went that the server refused.
func (g *guest) refused() (at []time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, status := range g.got {
		if status >= 400 {
			at = append(at, g.went[i])
		}
	}
	return at
}

// reply is an answer with headers as name, value, name, value.
func reply(status int, header ...string) *http.Response {
	return lab.Answer(nil, status, "", header...)
}

// trio is what a server says of a limit, to the nanosecond.
func trio(limit, remaining int, reset time.Duration) []string {
	return []string{
		"X-RateLimit-Limit", strconv.Itoa(limit), "X-RateLimit-Remaining", strconv.Itoa(remaining),
		"X-RateLimit-Reset", strconv.FormatFloat(reset.Seconds(), 'f', 9, 64),
	}
}

// always gives the same answer to everybody.
func always(status int, header ...string) func(int) *http.Response {
	return func(int) *http.Response { return reply(status, header...) }
}

// first gives one answer to the first n requests, and another one after that.
func first(n int, before, after *http.Response) func(int) *http.Response {
	return func(i int) *http.Response {
		r := after
		if i < n {
			r = before
		}
		return answerAgain(r)
	}
}

// answerAgain returns a fresh response with the same status and headers.
func answerAgain(r *http.Response) *http.Response {
	again := lab.Answer(nil, r.StatusCode, "")
	again.Header = r.Header.Clone()
	return again
}

// pauses returns the time between one and the next.
func pauses(at []time.Duration) (d []time.Duration) {
	for i := 1; i < len(at); i++ {
		d = append(d, at[i]-at[i-1])
	}
	return d
}
