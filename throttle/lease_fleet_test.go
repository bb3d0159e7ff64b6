package throttle

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/throttle/store"
)

func TestLeaseFleetSaturated(t *testing.T) {
	for i, c := range []struct {
		text       string
		members    int
		roundTrips float64 // at most, per request
	}{
		{"10/s even", 2, 1.1},
		{"10/s even", 10, 1.1},
		{"100/s even", 2, 0.08},
		{"100/s even", 10, 0.3},
		{"100/s even", 50, 1.1},
		{"1000/s even", 2, 0.02},
		{"1000/s even", 10, 0.05},
		{"100/s log", 10, 0.4},
		{"100/s window grid", 10, 0.4},
		{"1000/s log", 2, 0.03},
		{"1000/s log", 10, 0.1},
		{"1000/s sliding", 10, 0.1},
	} {
		if *times == 1 && i%2 == 0 {
			continue // each takes half a second
		}
		t.Run(fmt.Sprintf("%s by %d", c.text, c.members), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fleet{t: t, start: time.Now(), each: make([]int, c.members)}
				f.shared = &slowStore{Store: new(store.Memory), there: 400 * time.Microsecond, back: 600 * time.Microsecond}
				span := 60 * time.Second
				if *times == 1 && quotas(t, c.text)[0].N >= 1000 {
					span = 40 * time.Second // 60,000 requests take seconds
				}
				ctx, cancel := context.WithTimeout(t.Context(), span)
				defer cancel()
				r := rand.New(rand.NewPCG(1, 2))
				var limiters []*Limiter
				var n float64
				for i := range c.members {
					l := &Limiter{Name: "api", Quotas: quotas(t, c.text), Shared: Shared{Store: f.shared}}
					n = float64(l.Quotas[0].N)
					limiters = append(limiters, l)
					for range 4 {
						first := time.Duration(r.IntN(int(100 * time.Millisecond)))
						f.worker(ctx, i, l, func() time.Duration { d := first; first = 0; return d })
					}
				}
				f.wait.Wait()
				calls := 0
				wasted := 0
				for _, l := range limiters {
					if err := l.Close(); err != nil {
						t.Error(err)
					}
					s := l.State().Store
					calls += s.Calls
					wasted += int(s.Wasted)
				}
				sent := len(f.sends)
				used := float64(sent) / (n * span.Seconds())
				trips := float64(calls) / float64(sent)
				t.Logf("utilisation %.4f, round trips per request %.3f, Jain %.4f, wasted %.4f", used, trips, jain(f.each), float64(wasted)/float64(sent))
				if used < 0.983 || used > 1.001 {
					t.Errorf("utilisation %.4f", used)
				}
				if trips > c.roundTrips {
					t.Errorf("%.3f round trips per request, want at most %v", trips, c.roundTrips)
				}
				if j := jain(f.each); j < 0.99 && int(n)*20/c.members > 100 {
					t.Errorf("Jain %.4f, want 0.99", j)
				}
			})
		})
	}
}
