package learning

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/pacertest"
	"github.com/gopacer/pacer/throttle"
)

// TestMaxStandstillOutlastsAWindow: who lets requests wait for a quarter of an hour gets all that a server
// allows in ten minutes, be it that it says nothing, states no reset, or says when to come back. Unless that is
// set, callers get a refusal or an error, as nothing tells the server from one that serves no more.
func TestMaxStandstillOutlastsAWindow(t *testing.T) {
	for name, dialect := range map[string]pacertest.Dialect{"silent": pacertest.NoHeaders, "no reset": {Layout: pacertest.LayoutTrio, Prefix: "X-RateLimit-", Reset: pacertest.ResetOmitted}, "hint": pacertest.RetryAfterOnly} {
		for _, bound := range []time.Duration{0, 15 * time.Minute, pacer.Forever} {
			t.Run(fmt.Sprint(name, bound), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					server := &pacertest.Server{Algorithm: &pacertest.FixedWindow{Limit: 100, Window: 10 * time.Minute}, Dialect: dialect, Latency: 80 * time.Millisecond}
					tr := &pacer.Transport{Base: lab.Direct(server), Rand: lab.Zero, MaxStandstill: bound}
					served := make([]int, 8)
					var callers sync.WaitGroup
					for i := range served {
						callers.Go(func() {
							for range 50 {
								resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
								if err != nil && !errors.Is(err, throttle.ErrStandstill) {
									t.Error(err)
								} else if err == nil && resp.StatusCode == http.StatusOK {
									served[i]++
								}
							}
						})
					}
					callers.Wait()
					want := 400
					if bound == 0 {
						want = 100
					}
					got := 0
					for _, n := range served {
						got += n
					}
					if got != want {
						t.Errorf("%d served, want %d", got, want)
					}
				})
			})
		}
	}
}
