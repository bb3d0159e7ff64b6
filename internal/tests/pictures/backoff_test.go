package pictures

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/backoff"
	"github.com/gopacer/pacer/internal/tests/lab"
)

// TestBackoff draws docs/backoff.svg: when 100 clients come back that failed together, with each jitter.
func TestBackoff(t *testing.T) {
	const (
		clients  = 100
		attempts = 5
		bin      = 25 * time.Millisecond
		bins     = 126
		wide     = 5 // a bin
		tallest  = 50
	)
	p := newPicture("100 clients that failed together come back")
	p.text("", edge, "Four retries after 100 ms, doubling: how many in each 25 ms.")
	for _, kind := range []struct {
		name string
		make func(rand func() float64) backoff.Backoff
	}{
		{"no jitter", func(rand func() float64) backoff.Backoff {
			return backoff.Exponential{Jitter: backoff.NoJitter, Rand: rand}
		}},
		{"equal jitter", func(rand func() float64) backoff.Backoff {
			return backoff.Exponential{Jitter: backoff.EqualJitter, Rand: rand}
		}},
		{"full jitter, the default", func(rand func() float64) backoff.Backoff { return backoff.Exponential{Rand: rand} }},
		{"decorrelated", func(rand func() float64) backoff.Backoff { return backoff.Decorrelated{Rand: rand} }},
	} {
		var counts [bins]int
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex // protects counts
			var wg sync.WaitGroup
			for client := range clients {
				wg.Go(func() {
					policy := kind.make(rand.New(rand.NewPCG(1, uint64(client))).Float64)
					n := 0
					backoff.Do(t.Context(), func(context.Context) error {
						if n++; n > 1 {
							mu.Lock()
							defer mu.Unlock()
							if i := int(time.Since(lab.Epoch) / bin); i < bins {
								counts[i]++
							}
						}
						return errors.New("down")
					}, &backoff.Options{Backoff: policy, MaxAttempts: attempts})
				})
			}
			wg.Wait()
		})
		most := slices.Max(counts[:])
		p.y += 6
		p.text("name", edge, kind.name)
		p.words("", edge+230, p.y, fmt.Sprintf("%d in 25 ms, at most", most))
		zero := p.y + 10 + tallest
		for s := range 4 {
			p.path("tick", "M%d.5 %dV%d", edge+s*40*wide, zero-tallest, zero)
		}
		p.path("line", "M%d %d.5h%d", edge, zero, bins*wide)
		for i, n := range counts {
			if n > 0 {
				tall := max(2, n*tallest/clients)
				p.path("one", "M%d %dv-%dh%dv%dz", edge+i*wide, zero, tall, wide-1, tall)
			}
		}
		p.y = zero
		p.said = append(p.said, fmt.Sprintf("%s: %d in 25 ms, at most", kind.name, most))
	}
	p.y += leading
	for s := range 4 {
		p.words("axis", edge+s*40*wide-4, p.y, fmt.Sprintf("%d s", s))
	}
	compare(t, "backoff.svg", p)
}
