package sharing

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/store"
)

// Processes share what flows, beside what they share of requests.
func TestStreamedBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		common := new(store.Memory)
		start := time.Now()
		var wg sync.WaitGroup
		for range 2 {
			tr := &pacer.Transport{
				Base: lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
					return lab.Answer(req, http.StatusOK, strings.Repeat("x", 1_000_000)), nil
				}),
				Quotas: pacer.Table{"/": quota.MustParse("1MB/s streamed, 100/s burst 100"), "a.example/x": quota.MustParse("800kB/s streamed")},
				Shared: pacer.Shared{Store: common},
			}
			if err := tr.Validate(); err != nil {
				t.Fatal(err)
			}
			wg.Go(func() {
				resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
				if err != nil {
					t.Error(err)
					return
				}
				if n, err := io.Copy(io.Discard, resp.Body); n != 1_000_000 || err != nil {
					t.Errorf("%d, %v", n, err)
				}
				resp.Body.Close()
				if err := tr.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if d := time.Since(start); d < 1950*time.Millisecond || d > 2*time.Second {
			t.Errorf("took %v, want the time in which a quota of both brings 2 MB, less what it holds", d)
		}
	})
}
