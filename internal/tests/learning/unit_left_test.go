package learning

import (
	"math"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/pacertest"
)

// TestNothingLeftOfAnotherUnit: of credits of which nothing is left after each request, and of which no reset is stated,
// each look that is served has found something. So the looks go on to come each second, be it that a credit comes back
// in each, or that the requests cost none, and nobody fails. Such looks once counted as vain, and came ever more seldom,
// until 187 of 200 requests failed, as nothing could go within MaxStandstill.
func TestNothingLeftOfAnotherUnit(t *testing.T) {
	for name, server := range map[string]pacertest.TokenBucket{"a credit a second": {Rate: 1, Burst: 1}, "they cost none": {Rate: math.Inf(1)}} {
		for _, workers := range []int{1, 5} {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				refused, algorithm := 0, server.Fresh()
				tr := &pacer.Transport{Rand: lab.Zero, Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
					time.Sleep(50 * time.Millisecond)
					mu.Lock()
					defer mu.Unlock()
					status := http.StatusOK
					if !algorithm.Take(time.Now(), 1).OK {
						refused++
						status = http.StatusTooManyRequests
					}
					return lab.Answer(r, status, "", "X-Credits-Remaining", "0", "X-Credits-Limit", "1000"), nil
				})}
				c, start := &http.Client{Transport: tr}, time.Now()
				var all sync.WaitGroup
				for range workers {
					all.Go(func() {
						for range 200 / workers {
							if got := lab.Get(t, c, "http://a.example/"); got != http.StatusOK {
								t.Errorf("%s: status %d", name, got)
							}
						}
					})
				}
				all.Wait()
				if got, want := time.Since(start), 199*(time.Second+50*time.Millisecond)+50*time.Millisecond; got != want || refused != 0 {
					t.Errorf("%s, %d workers: 200 in %v, %d refused, want %v, none refused", name, workers, got, refused, want)
				}
			})
		}
	}
}
