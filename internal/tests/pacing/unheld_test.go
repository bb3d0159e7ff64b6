package pacing

import (
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
)

// TestUnheld: where nothing that a server says holds a bucket (a negative MaxHold), a request that is refused
// waits by itself, for no less than its own answer asks for, or with a backoff that doubles. Another one goes
// meanwhile.
func TestUnheld(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	doubled := []time.Duration{0, 100 * ms, 300 * ms, 700 * ms, 1500 * ms}
	for name, test := range map[string]struct {
		answer  func(*http.Request) (*http.Response, error)
		maxWait time.Duration
		want    []time.Duration // when the request is sent
	}{
		"a hint":                      {lab.Status(429, "", "Retry-After", "50"), 0, []time.Duration{0, 50 * s, 100 * s, 150 * s, 200 * s}},
		"a hint of a 503":             {lab.Status(503, "", "Retry-After", "50"), 0, []time.Duration{0, 50 * s, 100 * s, 150 * s, 200 * s}},
		"a hint within MaxWait":       {lab.Status(429, "", "Retry-After", "50"), 2 * time.Minute, []time.Duration{0, 50 * s, 100 * s}},
		"too long a hint":             {lab.Status(429, "", "Retry-After", "121"), 0, []time.Duration{0}},
		"no hint":                     {lab.Status(429, ""), 0, doubled},
		"as soon as it likes":         {lab.Status(429, "", "Retry-After", "0"), 0, doubled},
		"a limit used up":             {lab.Status(429, "", "X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "50"), 0, []time.Duration{0, 50 * s, 100 * s, 150 * s, 200 * s}},
		"two limits used up":          {lab.Status(429, "", "RateLimit-Policy", `"a";q=10;w=5, "b";q=100;w=100`, "RateLimit", `"a";r=0;t=2, "b";r=0;t=50`), 0, []time.Duration{0, 50 * s, 100 * s, 150 * s, 200 * s}},
		"a limit used up, and a hint": {lab.Status(429, "", "Retry-After", "20", "X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "50"), 0, []time.Duration{0, 20 * s, 40 * s, 60 * s, 90 * s}},
		"a limit that is named":       {lab.Status(429, "", "Retry-After", "50", "X-RateLimit-Resource", "core", "X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "5", "X-RateLimit-Reset", "70"), 0, []time.Duration{0, 50 * s, 100 * s, 150 * s, 200 * s}},
		"a limit with something left": {lab.Status(429, "", "X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "5", "X-RateLimit-Reset", "50"), 0, doubled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				var sent []time.Duration
				var other time.Duration
				tr := &pacer.Transport{Rand: lab.Zero, MaxWait: test.maxWait, Retry: pacer.Retry{MaxRefusals: 4}, Learn: pacer.Learn{MaxHold: -1}}
				tr.Base = lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
					if req.URL.Path == "/other" {
						other = time.Since(start)
						return lab.Answer(req, 200, ""), nil
					}
					sent = append(sent, time.Since(start))
					return test.answer(req)
				})
				var wg sync.WaitGroup
				wg.Go(func() {
					time.Sleep(ms)
					if resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/other", "")); err != nil || resp.StatusCode != http.StatusOK {
						t.Errorf("the other one: %v, %v", resp, err)
					}
				})
				resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
				if err != nil || resp.StatusCode < 400 {
					t.Errorf("got %v, %v, want the refusal", resp, err)
				}
				wg.Wait()
				if !slices.Equal(sent, test.want) || other != ms {
					t.Errorf("it was sent after %v, the other one after %v, want %v, %v", sent, other, test.want, ms)
				}
			})
		})
	}
}
