package pacing

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/quota"
)

// TestCostsNobodyEstimates has 40 goroutines ask a language model all the time. What a request costs varies
// tenfold, and stands in a header of its answer, or at the end of its body. In half an hour, the quota of
// tokens is used to 95 of 100, and no more.
func TestCostsNobodyEstimates(t *testing.T) {
	const minutes = 30
	for _, inBody := range []bool{false, true} {
		t.Run(fmt.Sprintf("in the body %v", inBody), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				r := rand.New(rand.NewPCG(1, 2))
				used, n := 0, 0
				base := lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
					mu.Lock()
					cost := int(100 * math.Pow(10, r.Float64()))
					used, n = used+cost, n+1
					mu.Unlock()
					time.Sleep(time.Second)
					if inBody {
						return lab.Answer(req, 200, strconv.Itoa(cost)), nil
					}
					return lab.Answer(req, 200, "", "X-Tokens", strconv.Itoa(cost)), nil
				})
				tr := &pacer.Transport{Base: base, Rand: lab.Zero, Quotas: lab.All(quota.Quota{N: 30_000, Unit: "tokens", Per: time.Minute})}
				if inBody {
					tr.Cost = func(*http.Request) quota.Costs { return nil } // Calls say it
				} else {
					tr.Spent = func(resp *http.Response) quota.Costs {
						cost, _ := strconv.Atoi(resp.Header.Get("X-Tokens"))
						return quota.Costs{"tokens": int64(cost)}
					}
				}
				client := &http.Client{Transport: tr}
				start := time.Now()
				var all sync.WaitGroup
				for range 40 {
					all.Go(func() {
						for time.Since(start) < minutes*time.Minute {
							var call pacer.Call
							req, _ := http.NewRequestWithContext(pacer.WithCall(t.Context(), &call), http.MethodPost, "http://a.example/v1/chat", strings.NewReader("hi"))
							resp, err := client.Do(req)
							if err != nil {
								t.Error(err)
								return
							}
							text, _ := io.ReadAll(resp.Body)
							resp.Body.Close()
							if inBody {
								cost, _ := strconv.Atoi(string(text))
								call.Settle(quota.Costs{"tokens": int64(cost)})
							}
						}
					})
				}
				all.Wait()
				granted := 30_000 * (int(time.Since(start)/time.Minute) + 1)
				share, mean := float64(used)/float64(granted), used/n
				t.Logf("%d requests used %.3f of %d tokens", n, share, granted)
				if share < 0.95 || used > granted+mean {
					t.Errorf("%d tokens of %d were used, want 95 of 100 at least, and %d more at most", used, granted, mean)
				}
			})
		})
	}
}
