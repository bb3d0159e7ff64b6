package pacing

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
)

// Whose Timeout leaves an eighth beyond what answers of a new host take gets one, however many come at once.
// Where answers take more, who has waited for the slow start gets none; a short MaxWait, and Acquire, have all
// get theirs: docs/waiting.md, "Before anything is known of a host".
func TestSlowStartBesideTimeout(t *testing.T) {
	for _, test := range []struct {
		name    string
		timeout time.Duration
		maxWait time.Duration
		acquire bool
		takes   time.Duration
		answers int64
	}{
		{"Timeout", 5 * time.Second, 0, false, 4374 * time.Millisecond, 100},
		{"a short Timeout", time.Second, 0, false, 874 * time.Millisecond, 100},
		{"a long Timeout", 10 * time.Second, 0, false, 8749 * time.Millisecond, 100},
		{"a longer one", time.Minute, 0, false, 58 * time.Second, 100},                           // the slow start is over after 1.75 s
		{"answers take nearly all of it", 5 * time.Second, 0, false, 4400 * time.Millisecond, 4}, // those that went within 0.5 s: 1, 2 and 4 under way
		{"nearly all, and MaxWait", 5 * time.Second, 400 * time.Millisecond, false, 4400 * time.Millisecond, 100},
		{"nearly all, and Acquire", 5 * time.Second, 0, true, 4400 * time.Millisecond, 100},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slow := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){func(req *http.Request) (*http.Response, error) {
					select {
					case <-time.After(test.takes):
						return lab.Answer(req, 200, ""), nil
					case <-req.Context().Done():
						return nil, context.Cause(req.Context())
					}
				}}}
				tr := &pacer.Transport{Base: slow, MaxWait: test.maxWait}
				client := &http.Client{Transport: tr, Timeout: test.timeout}
				var answers atomic.Int64
				var wg sync.WaitGroup
				for range 100 {
					wg.Go(func() {
						req := lab.Request(t, "GET", "http://a.example/", "")
						if test.acquire {
							paid, cancel, err := tr.Acquire(t.Context(), req)
							if err != nil {
								t.Error(err)
								return
							}
							defer cancel()
							req = paid
						}
						resp, err := client.Do(req)
						if err != nil {
							return
						}
						resp.Body.Close()
						answers.Add(1)
					})
				}
				wg.Wait()
				if got := answers.Load(); got != test.answers {
					t.Errorf("%d of 100 requests were answered, want %d", got, test.answers)
				}
			})
		})
	}
}
