package learning

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
)

// TestSlowStartCosts: how long requests take at a server that states nothing and refuses nothing, and without
// pacer. Each round trip is a nanosecond longer than the one before, which is less than a millisecond in all:
// of callers who ask at one instant, chance would say which is first.
func TestSlowStartCosts(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		trip              time.Duration
		requests, callers int
		want, plain       time.Duration
	}{
		{1 * ms, 1000, 64, 65 * ms, 16 * ms},
		{1 * ms, 10000, 64, 205 * ms, 157 * ms},
		{30 * ms, 1000, 8, 3840 * ms, 3750 * ms},
		{30 * ms, 1000, 64, 960 * ms, 480 * ms},
		{100 * ms, 1000, 64, 2500 * ms, 1600 * ms},
		{249 * ms, 64, 64, (249 + 1494) * ms, 249 * ms}, // the answers come just before one more would go: 1.5 s is the most that 64 callers lose
		{251 * ms, 64, 64, (251 + 1003) * ms, 251 * ms},
		{300 * ms, 1000, 64, 5950 * ms, 4800 * ms},
		{5000 * ms, 64, 64, (5000 + 1500) * ms, 5000 * ms},
	} {
		t.Run(fmt.Sprint(test.requests, " requests of ", test.trip, " by ", test.callers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var begun atomic.Int64
				base := lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
					time.Sleep(test.trip + time.Duration(begun.Add(1)))
					return lab.Answer(r, http.StatusOK, ""), nil
				})
				for want, rt := range map[time.Duration]http.RoundTripper{test.want: &pacer.Transport{Base: base, Rand: lab.Zero}, test.plain: base} {
					client := &http.Client{Transport: rt}
					begun.Store(0)
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
					if took := time.Since(start); took.Truncate(ms) != want {
						t.Errorf("took %v, want %v", took, want)
					}
				}
			})
		})
	}
}

// TestSlowStartEndsByDegrees: a line that has grown in a slow start does not go all at once when that ends, but
// by twice as many in each round trip at the most. 1500 requests a second come, at a server that answers after
// 100 ms.
func TestSlowStartEndsByDegrees(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const trip = 100 * time.Millisecond
		var mu sync.Mutex
		var went [40]int // by round trip
		start := time.Now()
		client := &http.Client{Transport: &pacer.Transport{Rand: lab.Zero, Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			went[time.Since(start)/trip]++
			mu.Unlock()
			time.Sleep(trip)
			return lab.Answer(r, http.StatusOK, ""), nil
		})}}
		var wait sync.WaitGroup
		for range 3750 {
			wait.Go(func() { lab.Get(t, client, "http://a.example/") })
			time.Sleep(time.Second / 1500)
		}
		wait.Wait()
		most := 0
		for i, n := range went[1:] {
			if n > 2*went[i]+1 {
				t.Errorf("in round trip %d, %d requests go, and %d before: %v", i+1, n, went[i], went)
			}
			most = max(most, n)
		}
		if most < 600 {
			t.Errorf("%d in a round trip at most: the line of 1700 was to go", most)
		}
	})
}

// TestSlowStartWithoutAnswers: requests that end without an answer, since their connection breaks or their
// caller does not wait for longer, let twice as many go in each step, whether they end sooner or later than
// that. A step is a quarter of a second, and all go at an eighth of what callers have. So a server that is down
// is not asked by one after the other for ever, nor by all at once.
func TestSlowStartWithoutAnswers(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		trip, patience time.Duration // of the server, and of the callers; zero means for ever
		took           time.Duration // until 1000 requests have ended
		most           []int         // in flight in each quarter of a second
	}{
		{100 * ms, 0, 2850 * ms, []int{1, 2, 4, 8, 16, 32, 64}},
		{200 * ms, 0, 4500 * ms, []int{1, 2, 4, 8, 16, 32, 64}},
		{300 * ms, 0, 6050 * ms, []int{1, 2, 4, 8, 16, 32, 64}},
		{time.Hour, 200 * ms, 3200 * ms, []int{64, 64, 64, 64, 64, 64, 64}}, // who asks waits for an eighth of that
		{time.Hour, 3 * time.Second, 48 * time.Second, []int{1, 64, 0, 0, 0, 0, 0}},
		{time.Hour, 6 * time.Second, 96 * time.Second, []int{1, 2, 4, 64, 0, 0, 0}},
		{time.Hour, 15 * time.Second, 240 * time.Second, []int{1, 2, 4, 8, 16, 32, 64}},
	} {
		t.Run(fmt.Sprint(test.trip, test.patience), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				start, begun, inFlight := time.Now(), 0, 0
				most := make([]int, len(test.most))
				tr := &pacer.Transport{Rand: lab.Zero, Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
					mu.Lock()
					inFlight++
					if i := int(time.Since(start) / (250 * ms)); i < len(most) {
						most[i] = max(most[i], inFlight)
					}
					mu.Unlock()
					defer func() {
						mu.Lock()
						inFlight--
						mu.Unlock()
					}()
					select {
					case <-time.After(test.trip):
						return nil, errors.New("broken")
					case <-r.Context().Done():
						return nil, r.Context().Err()
					}
				})}
				var wait sync.WaitGroup
				for range 64 {
					wait.Go(func() {
						for {
							mu.Lock()
							begun++
							over := begun > 1000
							mu.Unlock()
							if over {
								return
							}
							ctx, cancel := context.WithTimeout(t.Context(), cmp.Or(test.patience, 2*time.Hour))
							if resp, err := tr.RoundTrip(lab.Request(t, "POST", "http://a.example/", "").WithContext(ctx)); err == nil {
								resp.Body.Close()
								t.Error("a request was answered")
							}
							cancel()
						}
					})
				}
				wait.Wait()
				if took := time.Since(start); took != test.took || !slices.Equal(most, test.most) {
					t.Errorf("took %v, with %v in flight, want %v with %v", took, most, test.took, test.most)
				}
			})
		})
	}
}
