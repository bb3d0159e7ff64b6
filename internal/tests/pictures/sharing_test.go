package pictures

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/pacertest"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/store"
)

// threeProcesses returns what a server saw of three processes, each with 40 requests. It grants 10 a second, as
// they know, and says nothing.
func threeProcesses(t *testing.T, shared bool) (stats pacertest.Stats) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := pacertest.NewServer(&pacertest.FixedWindow{Limit: 10, Window: time.Second}, pacertest.RetryAfterOnly)
		defer server.Close()
		memory := &store.Memory{}
		var wg sync.WaitGroup
		for process := range 3 {
			tr := &pacer.Transport{
				Base: server.Transport(), Rand: func() float64 { return 0.5 },
				Quotas: pacer.Table{"api.example.com/": quota.MustParse("10/s even")},
			}
			if shared {
				tr.Shared.Store = memory
			}
			client := &http.Client{Transport: tr}
			wg.Go(func() {
				time.Sleep(time.Duration(process) * 7 * time.Millisecond) // so that no two come at the same instant
				var requests sync.WaitGroup
				for range 40 {
					requests.Go(func() { lab.Get(t, client, "http://api.example.com/") })
				}
				requests.Wait()
				if err := tr.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		stats = server.Stats()
	})
	return stats
}

// TestSharing draws docs/sharing.svg: three processes on one quota, without a Store and with one.
func TestSharing(t *testing.T) {
	const (
		bin     = 250 * time.Millisecond
		wide    = 9
		bins    = 70
		request = 4 // the height of one
	)
	p := newPicture("Three processes, 40 requests each; the API grants 10/s")
	p.text("", edge+16, "admitted in 250 ms")
	p.words("", edge+226, p.y, "refused, and sent again")
	p.path("one", "M%d %dh10v10h-10z", edge, p.y-11)
	p.path("two", "M%d %dh10v10h-10z", edge+210, p.y-11)
	for _, shared := range []bool{false, true} {
		stats := threeProcesses(t, shared)
		name := "each for itself"
		if shared {
			name = "sharing by a Store"
		}
		took := stats.Last.Sub(stats.First)
		p.y += 6
		p.text("name", edge, name)
		result := fmt.Sprintf("%.1f s, %d refused", took.Seconds(), stats.Refused)
		p.words("", edge+200, p.y, result)
		p.said = append(p.said, name+": "+result)
		var admitted, refused [bins]int
		for _, e := range stats.Events {
			i := int(e.Time.Sub(stats.First) / bin)
			if i >= bins {
				t.Fatalf("%v is too long", took)
			}
			if e.Status == http.StatusOK {
				admitted[i]++
			} else {
				refused[i]++
			}
		}
		up, down := 0, 0
		for i := range bins {
			up, down = max(up, admitted[i]), max(down, refused[i])
		}
		zero := p.y + 10 + up*request
		for s := 0; s <= int(bins*bin/time.Second); s += 2 {
			p.path("tick", "M%d.5 %dV%d", edge+s*int(time.Second/bin)*wide, p.y+10, zero+down*request)
		}
		p.path("line", "M%d %d.5h%d", edge, zero, bins*wide)
		for i := range bins {
			if n := admitted[i]; n > 0 {
				p.path("one", "M%d %dv-%dh%dv%dz", edge+i*wide, zero, n*request, wide-2, n*request)
			}
			if n := refused[i]; n > 0 {
				p.path("two", "M%d %dv%dh%dv-%dz", edge+i*wide, zero+1, n*request, wide-2, n*request)
			}
		}
		p.y = zero + down*request
	}
	p.y += leading
	for s := 0; s <= int(bins*bin/time.Second); s += 2 {
		p.words("axis", edge+s*int(time.Second/bin)*wide-4, p.y, fmt.Sprintf("%d s", s))
	}
	compare(t, "sharing.svg", p)
}
