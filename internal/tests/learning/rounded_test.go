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

// TestRoundedFromTheStart: a new Transport whose 120 requests go at once to a window of 50 in 2 s, the reset of
// which is rounded to whole seconds, is refused nothing and takes three windows, in whatever part of a second
// it begins: also where all answers but the first come after the second, so that less than two are left to
// wait.
func TestRoundedFromTheStart(t *testing.T) {
	dialects := map[string]pacertest.Dialect{"as an instant": pacertest.XRateLimit, "as seconds": pacertest.XRateLimitDelta, "draft 8": pacertest.RateLimitDraft8}
	for name, dialect := range dialects {
		for _, phase := range []int{0, 1, 100, 250, 500, 750, 900, 980, 984, 986, 988, 990, 992, 994, 996} {
			synctest.Test(t, func(t *testing.T) {
				lab.UntilToday()
				time.Sleep(time.Duration(phase) * time.Millisecond)
				server := pacertest.NewServer(&pacertest.FixedWindow{Limit: 50, Window: 2 * time.Second}, dialect)
				base := lab.Direct(server)
				const oneWay = 1300 * time.Microsecond
				client := &http.Client{Transport: &pacer.Transport{Rand: func() float64 { return 0.5 }, Base: lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
					time.Sleep(oneWay)
					defer time.Sleep(oneWay)
					return base(req)
				})}}
				start := time.Now()
				var wg sync.WaitGroup
				for range 120 {
					wg.Go(func() { lab.Get(t, client, "http://a.example/") })
				}
				wg.Wait()
				if refused, took := server.Stats().Refused, time.Since(start); refused > 0 || took > 4100*time.Millisecond {
					t.Errorf("%s, begun %d ms after a second: %d refused, in %v; want none, in 4.1 s at most", name, phase, refused, took)
				}
			})
		}
	}
}
