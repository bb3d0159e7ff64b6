package learning

import (
	"flag"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/pacertest"
)

// strangers has three processes that do not know of each other send 300 requests to a server that wants them 50
// ms apart, as throttled without a burst: 16 callers each, and answers that take some 5 ms. It returns how long
// that took over the least, how many were refused per 100, and how long a request waited at most, in seconds.
func strangers(t *testing.T, seed uint64) (took, refused, waited float64) {
	t.Helper()
	const processes, callers, requests = 3, 16, 300
	synctest.Test(t, func(t *testing.T) {
		lab.UntilToday()
		random := rand.New(rand.NewPCG(seed, 3))
		var mu sync.Mutex
		drawn := func() float64 {
			mu.Lock()
			defer mu.Unlock()
			return random.Float64()
		}
		server := pacertest.NewServer(&pacertest.GCRA{Rate: 20, Burst: 1}, pacertest.XRateLimitDelta)
		defer server.Close()
		direct := lab.Direct(server)
		base := lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			return delayed(direct, time.Duration((5+0.8*drawn())*float64(time.Millisecond))).RoundTrip(r)
		})
		start := time.Now()
		var wg sync.WaitGroup
		for range processes {
			tr := &pacer.Transport{Base: base, Rand: drawn}
			left := make(chan struct{}, requests/processes)
			for range cap(left) {
				left <- struct{}{}
			}
			close(left)
			begin := time.Duration(drawn() * float64(20*time.Millisecond))
			for range callers {
				wg.Go(func() {
					time.Sleep(begin)
					for range left {
						begun := time.Now()
						resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
						if err != nil || resp.StatusCode != http.StatusOK {
							t.Errorf("after %v: %v, %v", time.Since(start), resp, err)
							return
						}
						resp.Body.Close()
						mu.Lock()
						waited = max(waited, time.Since(begun).Seconds())
						mu.Unlock()
					}
				})
			}
		}
		wg.Wait()
		took = time.Since(start).Seconds() / (requests - 1) * 20
		refused = 100 * float64(server.Stats().Refused) / requests
	})
	return took, refused, waited
}

// TestStrictSpacingOfStrangers: of processes that do not know of each other, the first that knows the spacing
// holds it. When it is done, the others find it soon.
func TestStrictSpacingOfStrangers(t *testing.T) {
	var took, refused, waited []float64
	log := 0.0
	for seed := range uint64(*strangerSeeds) {
		a, b, c := strangers(t, seed)
		took, refused, waited = append(took, a), append(refused, b), append(waited, c)
		log += math.Log(a)
	}
	for _, of := range [][]float64{took, refused, waited} {
		slices.Sort(of)
	}
	mean, middle := math.Exp(log/float64(len(took))), len(took)/2
	t.Logf("%.3f of the least (%.3f in the mean, %.3f at most), %.1f refused of 100 (%.1f), %.1f s waited (%.1f)", took[middle], mean, took[len(took)-1], refused[middle], refused[len(took)-1], waited[middle], waited[len(took)-1])
	if mean > 1.5 || refused[middle] > 12 || waited[middle] > 18 {
		t.Error("want 1.5 in the mean, 12 refused and 18 s at most in the median")
	}
}

var strangerSeeds = flag.Int("strangers", 20, "how many times strangers share strict spacing")
