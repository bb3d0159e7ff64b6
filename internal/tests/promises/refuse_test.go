package promises

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/internal/tests/lab"
)

// A retry hint (Retry-After in all its forms, and its vendor relatives) holds the bucket, not only
// the call: all queued callers wait, none wakes early.
func TestPromiseHintHoldsTheBucket(t *testing.T) {
	const date, later = "Sat, 21 Nov 2026 08:00:00 GMT", "Sat, 21 Nov 2026 08:00:30 GMT"
	for _, hint := range [][]string{
		{"Retry-After", "30"},
		{"Retry-After", "30.000"},
		{"Retry-After", later, "Date", date},
		{"Retry-After-Ms", "30000"},
		{"X-Ms-Retry-After-Ms", "30000"},
		{"X-RateLimit-Retry-After", "30"},
		{"Retry-After", "1795248030", "Date", date}, // an instant, by mistake
	} {
		visit(t, first(1, reply(429, hint...), reply(200)), func(g *guest) {
			g.crowd(4).Wait()
			const at = 30 * time.Second
			if !slices.Equal(g.went, []time.Duration{0, at, at, at, at}) {
				t.Errorf("%q: went at %v, want one now and four after 30s", hint, g.went)
			}
		})
	}
}

// Hints only extend a running hold.
func TestPromiseHintsOnlyExtend(t *testing.T) {
	visit(t, nil, func(g *guest) {
		hints := [4]string{1: "30", 2: "5", 3: "60"}
		g.serve = func(n int) *http.Response {
			switch {
			case n == 0:
				return reply(200, trio(10, 9, time.Hour)...) // so that three may be in flight
			case n < len(hints):
				time.Sleep(time.Duration(n) * time.Second)
				return reply(429, append(trio(10, 6, time.Hour), "Retry-After", hints[n])...)
			}
			return reply(200)
		}
		g.get()
		all := g.crowd(3)
		for _, want := range []time.Duration{30 * time.Second, 29 * time.Second, 60 * time.Second} {
			time.Sleep(time.Second)
			synctest.Wait()
			if got := g.State()[0].Held; got != want {
				t.Errorf("held for %v after %v, want %v", got, time.Since(g.start), want)
			}
		}
		all.Wait()
		if at := g.went[4]; at != 63*time.Second {
			t.Errorf("went after %v, want 1m3s", at)
		}
	})
}

// Beyond what may be waited for, the call ends with the response in hand at once; the bucket is
// parked for a bounded time and then probed, since some servers lie by days.
func TestPromiseBeyondMaxWait(t *testing.T) {
	visit(t, first(1, reply(429, "Retry-After", "259200"), reply(200)), func(g *guest) {
		serve := g.serve
		g.serve = func(n int) *http.Response {
			time.Sleep(trip)
			resp := serve(n)
			resp.Body = io.NopCloser(bytes.NewBufferString("come back in three days"))
			return resp
		}
		queued := make(chan time.Duration, 1)
		synctest.Wait()
		go func() {
			time.Sleep(time.Millisecond)
			g.get()
			queued <- time.Since(g.start)
		}()
		resp, err := g.RoundTrip(lab.Request(g.t, "GET", "http://a.example/", ""))
		if err != nil || resp.StatusCode != http.StatusTooManyRequests || time.Since(g.start) != trip || lab.Read(t, resp) != "come back in three days" {
			t.Errorf("got %v, %v after %v, want the server's own 429 after 200ms", resp, err, time.Since(g.start))
		}
		if at := <-queued; at != trip {
			t.Errorf("who waited in line was refused after %v, want %v", at, trip)
		}
		for g.get() == 0 {
			time.Sleep(time.Second)
		}
		// A call that comes in the last two minutes before 15 are over waits for that.
		g.wantWent(0, 0, trip+15*time.Minute)
	})
}

// Where a hint is an instant, requests go when it comes by the server's clock, and no sooner. What Date leaves
// open, a second at first, is known better with each refusal.
func TestPromiseInstantsAreOfTheServersClock(t *testing.T) {
	visit(t, nil, func(g *guest) {
		const ahead = 300 * time.Millisecond
		phases := []time.Duration{200 * time.Millisecond, 710 * time.Millisecond, 400 * time.Millisecond} // of the local clock
		var want []time.Duration
		g.serve = func(n int) *http.Response {
			if n%40 != 0 || n/40 >= len(phases) {
				return reply(200)
			}
			clock := time.Now().Add(ahead).UTC()
			instant := clock.Truncate(time.Second).Add(time.Second)
			want = append(want, instant.Add(-ahead).Sub(g.start))
			return reply(429, "Date", clock.Format(http.TimeFormat), "Retry-After", instant.Format(http.TimeFormat))
		}
		for len(g.went) < 40*len(phases) {
			if n := len(g.went); n%40 == 0 {
				time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second + phases[n/40])))
			}
			if status := g.get(); status != 200 {
				t.Fatalf("request %d got %d", len(g.went), status)
			}
		}
		// A second after each; then as long as 710 ms are after a tick of Date; and that again, though 400 ms
		// are far from one.
		for i, late := range []time.Duration{500 * time.Millisecond, 10 * time.Millisecond, 10 * time.Millisecond} {
			if got := g.went[40*i+1]; got != want[i]+late {
				t.Errorf("refusal %d: went at %v, want %v after %v", i, got, late, want[i])
			}
		}
	})
}
