package learning

import (
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
)

// TestStatedConcurrency: a server that serves ten requests at a time, for a second each, and states that, is sent as many
// at a time as ask to go, up to ten. When nothing remains of such a limit, no time is to pass: a request has to end. Only
// the slow start takes time: from one at a time to five it takes 0.75 s longer than five at a time from the beginning, and
// to ten 1 s.
func TestStatedConcurrency(t *testing.T) {
	for workers, want := range map[int]time.Duration{5: 80*time.Second + 750*time.Millisecond, 10: 41 * time.Second} {
		for _, also := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var busy, sent, refused int
				count := func(n int) int {
					mu.Lock()
					defer mu.Unlock()
					busy += n
					return busy
				}
				tr := &pacer.Transport{Rand: lab.Zero, Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
					at := count(1)
					defer count(-1)
					status := http.StatusOK
					if time.Sleep(time.Second); at > 10 {
						refused++
						status = http.StatusTooManyRequests
					}
					header := []string{"X-Concurrency-Limit", "10", "X-Concurrency-Remaining", strconv.Itoa(max(10-at, 0))}
					if also { // Zuora's
						header = append(header, "RateLimit-Limit", "50000", "RateLimit-Remaining", "49990", "RateLimit-Reset", "60")
					}
					return lab.Answer(r, status, "", header...), nil
				})}
				c, start := &http.Client{Transport: tr}, time.Now()
				var all sync.WaitGroup
				for range workers {
					all.Go(func() {
						for range 400 / workers {
							lab.Get(t, c, "http://a.example/")
							mu.Lock()
							sent++
							mu.Unlock()
						}
					})
				}
				all.Wait()
				if got := time.Since(start); sent != 400 || refused != 0 || got != want {
					t.Errorf("%d workers, a window too %v: %d in %v, %d refused, want 400 in %v, none refused", workers, also, sent, got, refused, want)
				}
			})
		}
	}
}
