package learning

import (
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/pacertest"
)

// TestFullWithinARoundTrip: a bucket of two comes back at 100 a second, and a round trip takes half a second.
// So two at a time are a twentieth of what is granted, which is three thousand in half a minute; and what
// remains, or a reset that has come when its answer does, never shows that.
func TestFullWithinARoundTrip(t *testing.T) {
	for name, said := range map[string]pacertest.Dialect{"instants": pacertest.XRateLimit, "whole seconds": pacertest.XRateLimitDelta} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lab.UntilToday()
				server := pacertest.NewServer(&pacertest.TokenBucket{Rate: 100, Burst: 2}, said)
				server.Latency = 500 * time.Millisecond
				defer server.Close()
				tr := &pacer.Transport{Base: lab.Direct(server), Rand: lab.Zero}
				end := time.Now().Add(time.Minute)
				var wg sync.WaitGroup
				for range 64 {
					wg.Go(func() {
						for time.Now().Before(end) {
							resp, err := tr.RoundTrip(lab.Request(t, http.MethodGet, "http://a.example/", ""))
							if err != nil {
								t.Error(err)
								return
							}
							io.Copy(io.Discard, resp.Body)
							resp.Body.Close()
						}
					})
				}
				time.Sleep(30 * time.Second)
				before := server.Stats()
				wg.Wait()
				stats := server.Stats()
				if served, refused := stats.Admitted-before.Admitted, stats.Refused-before.Refused; served < 2400 || refused > 24 {
					t.Errorf("%d served and %d refused in the second half of a minute, want 2400 of 3000 at least, and 24 at most", served, refused)
				}
			})
		})
	}
}
