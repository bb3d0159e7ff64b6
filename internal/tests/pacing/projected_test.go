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
	"github.com/gopacer/pacer/pacertest"
	"github.com/gopacer/pacer/quota"
)

// TestProjectedTogether: while those ahead wait for a limit that the server states, a quota lets them go too: a
// request that can make its deadline by both is not refused as if the line began to move only then.
func TestProjectedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := pacertest.NewServer(&pacertest.FixedWindow{Limit: 10, Window: 10 * time.Second}, pacertest.XRateLimit)
		defer server.Close()
		client := &http.Client{Transport: &pacer.Transport{Base: server.Transport(), Quotas: pacer.Table{"/": quota.MustParse("1/s even")}}}
		var served atomic.Int32
		var wg sync.WaitGroup
		for range 36 { // the last of which is due 35 s after the first
			time.Sleep(time.Millisecond)
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 36*time.Second)
				defer cancel()
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://a.example/", nil)
				if err != nil {
					t.Error(err)
					return
				}
				resp, err := client.Do(req)
				if err != nil {
					t.Log(err)
					return
				}
				resp.Body.Close()
				served.Add(1)
			})
		}
		wg.Wait()
		if n := served.Load(); n != 36 {
			t.Errorf("%d of 36 were served", n)
		}
	})
}
