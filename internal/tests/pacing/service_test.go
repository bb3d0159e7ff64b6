package pacing

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
)

// TestServicePage: docs/waiting.md says for how long calls take at most by default, beside those of a service
// that answers to others, and those of go-retryablehttp.
func TestServicePage(t *testing.T) {
	text, err := os.ReadFile("../../../docs/waiting.md")
	if err != nil {
		t.Fatal(err)
	}
	const s = time.Second
	clients := []func(base http.RoundTripper) *http.Client{
		func(base http.RoundTripper) *http.Client {
			return &http.Client{Transport: &pacer.Transport{Base: base, Rand: nearlyOne}}
		},
		func(base http.RoundTripper) *http.Client {
			return &http.Client{Timeout: 2 * s, Transport: &pacer.Transport{
				Base: base, Rand: nearlyOne, MaxWait: s / 2, Retry: pacer.Retry{MaxElapsed: s, AttemptTimeout: s / 2},
			}}
		},
		func(base http.RoundTripper) *http.Client {
			c := retryablehttp.NewClient()
			c.Logger, c.HTTPClient = nil, &http.Client{Transport: base}
			return c.StandardClient()
		},
	}
	for _, test := range []struct {
		what   string
		calls  int
		method string
		trip   time.Duration
		status int
		after  string
	}{
		{"50 calls at once to a new host, answered after 50 ms", 50, "GET", s / 20, 200, ""},
		{"the same, answered after 0.4 s", 50, "GET", s * 4 / 10, 200, ""},
		{"429", 1, "GET", 0, 429, ""},
		{"429, `Retry-After: 30`", 1, "GET", 0, 429, "30"},
		{"429, `Retry-After: 119`", 1, "GET", 0, 429, "119"},
		{"429, `Retry-After: 3600`", 1, "GET", 0, 429, "3600"},
		{"503, `Retry-After: 1`, of a POST", 1, "POST", 0, 503, "1"},
		{"500", 1, "GET", 0, 500, ""},
		{"500, `Retry-After: 30`", 1, "GET", 0, 500, "30"},
		{"500, of a POST", 1, "POST", 0, 500, ""},
		{"no answer for an hour", 1, "GET", time.Hour, 200, ""},
	} {
		row := "| " + test.what
		for _, client := range clients {
			synctest.Test(t, func(t *testing.T) {
				var sent, failed atomic.Int32
				c := client(lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
					sent.Add(1)
					select {
					case <-time.After(test.trip):
					case <-r.Context().Done():
						return nil, r.Context().Err()
					}
					resp := lab.Answer(r, test.status, "")
					if test.after != "" {
						resp.Header.Set("Retry-After", test.after)
					}
					return resp, nil
				}))
				var wait sync.WaitGroup
				start := time.Now()
				for range test.calls {
					wait.Go(func() {
						req, err := http.NewRequest(test.method, "http://a.example/", http.NoBody)
						if err != nil {
							t.Error(err)
						}
						resp, err := c.Do(req)
						if err != nil {
							failed.Add(1)
							return
						}
						resp.Body.Close()
					})
				}
				wait.Wait()
				row += fmt.Sprintf(" | %d×, %v", sent.Load(), time.Since(start).Round(s/100))
				if failed.Load() > 0 {
					row += ", an error"
				}
			})
		}
		if row += " |\n"; !strings.Contains(string(text), row) {
			t.Errorf("docs/waiting.md lacks %s", row)
		}
	}
}

// nearlyOne draws the longest jitter.
func nearlyOne() float64 { return 0.999999999 }
