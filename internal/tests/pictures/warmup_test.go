package pictures

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// recorded returns when Guava's RateLimiter let callers go who came at 0 and at 5 s, at 10 a second with a
// warm-up of 2 s.
func recorded(t *testing.T) (went []time.Duration) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "warmup", "testdata", "guava.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			Name string
			Ops  []struct {
				Op   string
				T    int64 // in microseconds, as Wait
				Wait int64
			}
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, c := range file.Cases {
		if c.Name != "concurrent callers reserve while the clock stands (warmup)" {
			continue
		}
		for _, op := range c.Ops {
			if op.Op == "acquire" {
				went = append(went, time.Duration(op.T+op.Wait)*time.Microsecond)
			}
		}
	}
	if len(went) != 50 {
		t.Fatalf("%d recorded, want 50", len(went))
	}
	return went
}

// TestWarmUp draws docs/warmup.svg: the same callers at a Limiter of ours, with the quota that has such a
// warm-up.
func TestWarmUp(t *testing.T) {
	guava := recorded(t)
	var went []time.Duration
	synctest.Test(t, func(t *testing.T) {
		l := throttle.Limiter{Quotas: quota.MustParse("10/s warm-up 2s")}
		var mu sync.Mutex // protects went
		var wg sync.WaitGroup
		for _, at := range []time.Duration{0, 5 * time.Second} {
			for range 25 {
				wg.Go(func() {
					time.Sleep(at)
					if err := l.Wait(t.Context(), 1); err != nil {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					went = append(went, time.Since(lab.Epoch))
				})
			}
		}
		wg.Wait()
	})
	slices.Sort(went)
	if !slices.Equal(went, guava) {
		t.Errorf("went at %v, with Guava at %v", went, guava)
	}

	const second, request, most = 76, 5, 50
	p := newPicture("10/s warm-up 2s, beside Guava's SmoothWarmingUp")
	p.text("line-of-text", edge, "25 requests come at once, cold, and 25 more at 5 s.")
	p.text("legend", edge+16, "pacer")
	p.words("legend", edge+96, p.y, "Guava, as recorded")
	fmt.Fprintf(p, `<circle class="one" cx="%d" cy="%d" r="3"/><circle class="ring" cx="%d" cy="%d" r="5"/>`+"\n", edge+6, p.y-5, edge+86, p.y-5)
	top := p.y + 12
	zero := top + most*request
	for s := 0; s <= 8; s++ {
		p.path("tick", "M%d.5 %dV%d", edge+s*second, top, zero)
		p.words("axis", edge+s*second-4, zero+leading, fmt.Sprintf("%d s", s))
	}
	p.path("line", "M%d %d.5H%d", edge, zero, width-edge)
	for i := range went {
		x := func(d time.Duration) int { return edge + int(d*second/time.Second) }
		fmt.Fprintf(p, `<circle class="ring" cx="%d" cy="%d" r="5"/><circle class="one" cx="%d" cy="%d" r="3"/>`+"\n",
			x(guava[i]), zero-request*(i+1), x(went[i]), zero-request*(i+1))
	}
	p.y = zero + leading
	p.said = append(p.said, "each request goes at the same instant as with Guava",
		fmt.Sprintf("the 11th after %.0f s: at a third of the rate at first, and at all of it after the warm-up", went[10].Seconds()))
	compare(t, "warmup.svg", p)
}
