package learning

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/pacertest"
)

// TestNothingLeftOfAnotherUnit: of credits of which nothing is left after each request, and of which no reset
// is stated, each look that is served has found something. So the looks go on to come each second, be it that a
// credit comes back in each, or that the requests cost none, and nobody fails. Such looks once counted as vain,
// and came ever more seldom, until 187 of 200 requests failed, as nothing could go within MaxStandstill.
func TestNothingLeftOfAnotherUnit(t *testing.T) {
	for name, server := range map[string]pacertest.TokenBucket{"a credit a second": {Rate: 1, Burst: 1}, "they cost none": {Rate: math.Inf(1)}} {
		for _, workers := range []int{1, 5} {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				refused, algorithm := 0, server.Fresh()
				tr := &pacer.Transport{Rand: lab.Zero, Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
					time.Sleep(50 * time.Millisecond)
					mu.Lock()
					defer mu.Unlock()
					status := http.StatusOK
					if !algorithm.Take(time.Now(), 1).OK {
						refused++
						status = http.StatusTooManyRequests
					}
					return lab.Answer(r, status, "", "X-Credits-Remaining", "0", "X-Credits-Limit", "1000"), nil
				})}
				c, start := &http.Client{Transport: tr}, time.Now()
				var all sync.WaitGroup
				for range workers {
					all.Go(func() {
						for range 200 / workers {
							if got := lab.Get(t, c, "http://a.example/"); got != http.StatusOK {
								t.Errorf("%s: status %d", name, got)
							}
						}
					})
				}
				all.Wait()
				if got, want := time.Since(start), 199*(time.Second+50*time.Millisecond)+50*time.Millisecond; got != want || refused != 0 {
					t.Errorf("%s, %d workers: 200 in %v, %d refused, want %v, none refused", name, workers, got, refused, want)
				}
			})
		}
	}
}

// TestLookThatWasCoveredByWhatWasLeft: of 100 credits in each window, dear requests cost 10 and others none,
// and nobody says it. As costs vary, the last 10 seem too few at first, so the tenth dear request goes as a
// look, a second later. It leaves nothing, but it has found nothing: else looks would come each second for
// ever, and be refused.
func TestLookThatWasCoveredByWhatWasLeft(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const window, windows = 10 * time.Second, 20
				random := rand.New(rand.NewPCG(seed, 7))
				left, dear, refused, began := 100, 0, 0, time.Now()
				c := &http.Client{Transport: &pacer.Transport{Rand: lab.Zero, Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
					time.Sleep(25 * time.Millisecond)
					defer time.Sleep(25 * time.Millisecond)
					if passed := time.Since(began).Truncate(window); passed > 0 {
						left, began = 100, began.Add(passed)
					}
					cost, _ := strconv.Atoi(r.URL.RawQuery)
					status := http.StatusOK
					switch left -= cost; {
					case left < 0:
						left, status = left+cost, http.StatusTooManyRequests
						refused++
					case cost > 0:
						dear++
					}
					return lab.Answer(r, status, "", "X-Credits-Limit", "100", "X-Credits-Remaining", strconv.Itoa(left)), nil
				})}}
				for start := time.Now(); time.Since(start) < windows*window; {
					cost := 10
					if random.IntN(5) == 0 {
						cost = 0
					}
					if got := lab.Get(t, c, fmt.Sprint("http://a.example/", cost, "?", cost)); got != http.StatusOK {
						t.Errorf("status %d", got)
					}
				}
				if refused > 10 || dear < 8*windows {
					t.Errorf("%d dear ones served and %d refused, want %d and 10", dear, refused, 8*windows)
				}
			})
		})
	}
}
