package sharing

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/store"
)

// What bounds requests under way is of each process: with 5 of them, three have 15. See docs/sharing.md, What
// is shared.
func TestInFlightIsNotShared(t *testing.T) {
	for _, text := range []string{"1000/s, 5 in flight", "1000/s, 5 unanswered", "1000/s, 5 in flight overall"} {
		synctest.Test(t, func(t *testing.T) {
			var now, most atomic.Int64
			base := lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
				for n, m := now.Add(1), most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				time.Sleep(time.Second)
				now.Add(-1)
				return lab.Answer(req, 200, ""), nil
			})
			memory := new(store.Memory)
			var wg sync.WaitGroup
			for range 3 {
				tr := &pacer.Transport{Base: base, Shared: pacer.Shared{Store: memory}, Quotas: lab.All(quota.MustParse(text)...)}
				defer tr.Close()
				for range 20 {
					wg.Go(func() { lab.Get(t, &http.Client{Transport: tr}, "http://a.example/") })
				}
			}
			if wg.Wait(); most.Load() != 15 {
				t.Errorf("%s: %d at a time, want 15", text, most.Load())
			}
		})
	}
}

// A token bucket of a host, with quotas of a route beside it, wants a SlotLife in which one token comes. The
// error names it, and a window wants none. See docs/sharing.md, What is shared.
func TestHostAndRouteWantALate(t *testing.T) {
	for _, test := range []struct {
		host     string
		slotLife time.Duration
		want     string
	}{
		{"20/s even", 0, "set SlotLife (of a Transport, Shared.SlotLife) to 50ms or more"},
		{"20/s even", 50 * time.Millisecond, ""},
		{"20/s", 0, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			tr := &pacer.Transport{
				Base: lab.OK(), Shared: pacer.Shared{Store: new(store.Memory), SlotLife: test.slotLife},
				Quotas: pacer.Table{"a.example/": quota.MustParse(test.host), "GET a.example/search/": quota.MustParse("5/s")},
			}
			defer tr.Close()
			err := tr.Validate()
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s, SlotLife %v: got %v, want %q", test.host, test.slotLife, err, test.want)
			}
			if err != nil {
				return
			}
			if got := lab.Get(t, &http.Client{Transport: tr}, "http://a.example/search/"); got != 200 {
				t.Errorf("%s, SlotLife %v: status %d", test.host, test.slotLife, got)
			}
		})
	}
}
