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

// Where answers of a new host take nearly all of a Timeout, who has waited for the slow start gets none; a short
// MaxWait, and Acquire, have all get theirs: docs/waiting.md, "Before anything is known of a host".
func TestSlowStartBesideTimeout(t *testing.T) {
	for _, test := range []struct {
		name    string
		maxWait time.Duration
		acquire bool
		answers int64
	}{
		{"Timeout", 0, false, 8}, // those that went within 0.75 s: 1, 2, 4 and 8 under way
		{"Timeout and MaxWait", 400 * time.Millisecond, false, 100},
		{"Acquire", 0, true, 100},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slow := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){func(req *http.Request) (*http.Response, error) {
					select {
					case <-time.After(4100 * time.Millisecond):
						return lab.Answer(req, 200, ""), nil
					case <-req.Context().Done():
						return nil, context.Cause(req.Context())
					}
				}}}
				tr := &pacer.Transport{Base: slow, MaxWait: test.maxWait}
				client := &http.Client{Transport: tr, Timeout: 5 * time.Second}
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
