package pacing

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/pacertest"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// A client that is told the bucket of a server is never refused, also where a token takes no whole number of
// nanoseconds.
func TestTheCounterpartIsNeverRefused(t *testing.T) {
	for _, rate := range []int{3, 7, 9, 30, 70, 300} {
		for _, burst := range []int{1, 2, 5} {
			for _, server := range []pacertest.Algorithm{
				&pacertest.TokenBucket{Rate: float64(rate), Burst: burst},
				&pacertest.LeakyBucket{Rate: float64(rate), Depth: burst},
				&pacertest.GCRA{Rate: float64(rate), Burst: burst},
			} {
				t.Run(fmt.Sprintf("%T %d burst %d", server, rate, burst), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						l := throttle.Limiter{Quotas: quota.Quotas{{N: int64(rate), Burst: int64(burst)}}}
						for i := range 200 {
							if err := l.Wait(t.Context(), 1); err != nil {
								t.Fatal(err)
							}
							if v := server.Take(time.Now(), 1); !v.OK {
								t.Fatalf("request %d is refused: %+v", i, v)
							}
						}
					})
				})
			}
		}
	}
}
