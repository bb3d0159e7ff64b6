package learning

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
)

// TestSlowStartCosts: how long requests take at a server that states nothing and refuses nothing, and without pacer.
func TestSlowStartCosts(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		trip              time.Duration
		requests, callers int
		want, plain       time.Duration
	}{
		{1 * ms, 1000, 64, 63 * ms, 16 * ms},
		{1 * ms, 10000, 64, 204 * ms, 157 * ms},
		{30 * ms, 1000, 8, 3840 * ms, 3750 * ms},
		{30 * ms, 1000, 64, 960 * ms, 480 * ms},
		{100 * ms, 1000, 64, 2500 * ms, 1600 * ms},
		{300 * ms, 1000, 64, 5950 * ms, 4800 * ms},
	} {
		t.Run(fmt.Sprint(test.requests, " requests of ", test.trip, " by ", test.callers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
					time.Sleep(test.trip)
					return lab.Answer(r, http.StatusOK, ""), nil
				})
				for want, rt := range map[time.Duration]http.RoundTripper{test.want: &pacer.Transport{Base: base, Rand: lab.Zero}, test.plain: base} {
					client := &http.Client{Transport: rt}
					start := time.Now()
					var wait sync.WaitGroup
					var sent atomic.Int64
					for range test.callers {
						wait.Go(func() {
							for sent.Add(1) <= int64(test.requests) {
								lab.Get(t, client, "http://a.example/")
							}
						})
					}
					wait.Wait()
					if took := time.Since(start); took != want {
						t.Errorf("took %v, want %v", took, want)
					}
				}
			})
		})
	}
}
