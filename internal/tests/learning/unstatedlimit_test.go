package learning

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/pacertest"
)

// TestRefusalsWithoutALimit: a server states of how many something remains where it serves a request, and that
// nothing remains where it refuses one. The limit is the same: so what is known of it holds, such as that it
// refills.
func TestRefusalsWithoutALimit(t *testing.T) {
	for _, algorithm := range []pacertest.Algorithm{
		&pacertest.TokenBucket{Rate: 10, Burst: 20},
		&pacertest.TokenBucket{Rate: 2, Burst: 3},
		&pacertest.SlidingLog{Limit: 20, Window: 10 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := pacertest.NewServer(algorithm, pacertest.XRateLimit)
			defer server.Close()
			server.Latency = 80 * time.Millisecond
			base := server.Transport()
			tr := &pacer.Transport{Rand: lab.Zero, Base: lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
				resp, err := base.RoundTrip(req)
				if err == nil && resp.StatusCode == http.StatusTooManyRequests {
					resp.Header.Del("X-RateLimit-Limit")
				}
				return resp, err
			})}
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					for range 40 {
						if status := lab.Get(t, &http.Client{Transport: tr}, "http://a.example/"); status != http.StatusOK {
							t.Errorf("%T: %d", algorithm, status)
						}
					}
				})
			}
			wg.Wait()
			if got := server.Stats().Refused; got > 20 {
				t.Errorf("%T: %d refused of 320, want 20 at most", algorithm, got)
			}
		})
	}
}
