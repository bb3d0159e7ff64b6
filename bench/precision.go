package bench

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// Pacing is how waiters went that came back at once, each time they were granted.
type Pacing struct {
	Name    string
	Rate    int           // tokens a second
	Burst   int           // as many may go at once
	Waiters int           // how many
	Share   float64       // how many were granted of those that the rate allows
	Most    int           // in any second
	Busy    float64       // how many processors worked for it
	Late    time.Duration // behind the schedule that began with the first grant: the 99th of a hundred
}

// Allowed is the most that may go in any second: the rate, the burst, and what comes back in 2 ms.
func (p *Pacing) Allowed() int { return p.Rate + p.Burst + p.Rate*2/1000 }

// pacers are what is compared.
var pacers = []struct {
	name string
	wait func(perSecond, burst int) func(context.Context) error
}{
	{"throttle Wait", func(n, burst int) func(context.Context) error {
		l := &throttle.Limiter{Quotas: quota.Quotas{{N: int64(n), Burst: int64(burst)}}}
		return func(ctx context.Context) error { return l.Wait(ctx, 1) }
	}},
	{"rate.Limiter Wait", func(n, burst int) func(context.Context) error {
		return rate.NewLimiter(rate.Limit(n), burst).Wait
	}},
}

// Precision measures pacing for so long each, with a burst, beside so many goroutines that compute and do
// nothing else.
func Precision(d time.Duration, burst, busy int, rates, waiters []int, found func(Pacing)) error {
	defer compute(busy)()
	for _, n := range rates {
		for _, many := range waiters {
			for _, p := range pacers {
				cpu, start := CPU(), time.Now()
				at, err := pace(p.wait(n, burst), many, d)
				if err != nil {
					return err
				}
				busy := (CPU() - cpu).Seconds() / time.Since(start).Seconds()
				paced := pacing(p.name, n, burst, many, d, at)
				paced.Busy = busy
				found(paced)
			}
		}
	}
	return nil
}

// pace has waiters come back at once for some time, and returns when they were granted.
func pace(wait func(context.Context) error, waiters int, d time.Duration) (at []time.Duration, err error) {
	if err := wait(context.Background()); err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	start := time.Now()
	for range waiters {
		wg.Go(func() {
			var mine []time.Duration
			for {
				if e := wait(context.Background()); e != nil {
					mu.Lock()
					err = e
					mu.Unlock()
					return
				}
				t := time.Since(start)
				if t > d {
					break
				}
				mine = append(mine, t)
			}
			mu.Lock()
			at = append(at, mine...)
			mu.Unlock()
		})
	}
	wg.Wait()
	slices.Sort(at)
	return at, err
}

// compute keeps processors busy by n goroutines, until stop is called.
func compute(n int) (stop func()) {
	var stopped atomic.Bool
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for !stopped.Load() {
			}
		})
	}
	return func() {
		stopped.Store(true)
		wg.Wait()
	}
}

func pacing(name string, perSecond, burst, waiters int, d time.Duration, at []time.Duration) Pacing {
	p := Pacing{Name: name, Rate: perSecond, Burst: burst, Waiters: waiters, Share: float64(len(at)) / (float64(perSecond) * d.Seconds())}
	gap, first := time.Second/time.Duration(perSecond), 0
	late := make([]time.Duration, len(at))
	for i, t := range at {
		for t-at[first] >= time.Second {
			first++
		}
		p.Most = max(p.Most, i-first+1)
		late[i] = t - time.Duration(i+1)*gap
	}
	if slices.Sort(late); len(late) > 0 {
		p.Late = late[len(late)*99/100]
	}
	return p
}
