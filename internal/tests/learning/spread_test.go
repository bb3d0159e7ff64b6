package learning

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/pacertest"
)

// TestLimitOfTenMinutesNeverRunsDry: of a limit of ten minutes, the last fifth is spread until the reset may be
// waited for, also where that is stated in whole seconds and is looked at a little later. Once the rest went at
// once when the reset was two minutes away at the soonest, and nobody could wait for it any more: 200 of 400
// requests failed.
func TestLimitOfTenMinutesNeverRunsDry(t *testing.T) {
	for _, dialect := range []pacertest.Dialect{pacertest.XRateLimit, pacertest.XRateLimitDelta, {Layout: pacertest.LayoutTrio, Prefix: "X-RateLimit-", Reset: pacertest.ResetDelta, ResetFloor: true}} {
		for seed := range uint64(4) {
			t.Run(fmt.Sprint(dialect.Reset, dialect.ResetFloor, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					server := &pacertest.Server{Algorithm: &pacertest.FixedWindow{Limit: 100, Window: 10 * time.Minute}, Dialect: dialect, Latency: 80 * time.Millisecond}
					c := &http.Client{Transport: &pacer.Transport{Base: lab.Direct(server), Rand: lab.Random(seed, 3)}}
					var callers sync.WaitGroup
					for range 8 {
						callers.Go(func() {
							for range 50 {
								if got := lab.Get(t, c, "http://a.example/"); got != http.StatusOK {
									t.Errorf("status %d", got)
								}
							}
						})
					}
					callers.Wait()
				})
			})
		}
	}
}
