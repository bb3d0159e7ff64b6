package sharing

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/store"
)

// distant is a store that is far away.
type distant struct{ store.Memory }

func (d *distant) Exchange(ctx context.Context, r *store.Request) (*store.Reply, error) {
	time.Sleep(200 * time.Millisecond)
	return d.Memory.Exchange(ctx, r)
}

// Who waits for the reply of a store is told so, and not that a quota stands in the way; and who waits for a
// quota is told that.
func TestWaitForTheReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var got []string
		tr := &pacer.Transport{
			Base: lab.OK(), Quotas: pacer.Table{"/": quota.MustParse("1/s even")}, Shared: pacer.Shared{Store: new(distant), Fresh: true, SlotLife: time.Second},
			Trace: &pacer.Trace{
				Queued: func(e pacer.Queued) {
					mu.Lock()
					defer mu.Unlock()
					got = append(got, fmt.Sprintf("queued %v %s %q", e.Wait, e.Cause, e.Quota))
				},
				Went: func(e pacer.Went) {
					mu.Lock()
					defer mu.Unlock()
					for _, w := range e.Waits {
						got = append(got, fmt.Sprintf("%v %s %q", w.For, w.Cause, w.Quota))
					}
				},
			},
		}
		client := &http.Client{Transport: tr}
		lab.Get(t, client, "http://a.example/")
		lab.Get(t, client, "http://a.example/")
		time.Sleep(time.Minute)
		lab.Get(t, client, "http://a.example/")
		want := []string{
			`queued 0s store_asked ""`, `200ms store_asked ""`,
			`queued 2s pace "1/s even"`, `2s pace "1/s even"`,
			`queued 0s store_asked ""`, `200ms store_asked ""`,
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	})
}
