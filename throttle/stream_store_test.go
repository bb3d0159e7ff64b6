package throttle

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/throttle/store"
)

// Processes share a streamed quota: together they have what it grants, and never more in a second. If the store
// is so far away that a Burst is back within a round trip, they have less.
func TestStreamsStore(t *testing.T) {
	for _, test := range []struct {
		text        string
		rate, burst int
		away        time.Duration
	}{
		{"1MB/s streamed", 1_000_000, 50_000, time.Millisecond / 4},
		{"64kB/s streamed", 64_000, 3200, time.Millisecond / 4},
		{"1MB/s burst 1MB streamed", 1_000_000, 1_000_000, time.Millisecond / 4},
		{"1MB/s streamed", 1_000_000, 50_000, 30 * time.Millisecond},
	} {
		for _, streams := range []int{1, 5} {
			synctest.Test(t, func(t *testing.T) {
				shared := &slowStore{Store: new(store.Memory), there: test.away, back: test.away}
				f := newFlown()
				ctx, cancel := context.WithCancel(t.Context())
				for range 2 {
					l := member(t, shared, test.text)
					for range streams {
						go func() { _, _ = io.Copy(struct{ io.Writer }{f}, &Reader{R: endless{}, Limiter: l, Context: ctx}) }()
					}
				}
				time.Sleep(10 * time.Second)
				synctest.Wait()
				least := 10 * test.rate
				if test.away > time.Millisecond {
					least = test.rate
				}
				if sum, most := f.sum(), f.mostIn(time.Second); sum < least || sum > 10*test.rate+test.burst || most > test.rate+test.burst {
					t.Errorf("%+v, %d streams of 2 processes: %d in 10 s, up to %d in one", test, streams, sum, most)
				}
				cancel()
				synctest.Wait()
			})
		}
	}
}
