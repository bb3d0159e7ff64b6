package limit

import (
	"fmt"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// BenchmarkKinds is the arithmetic of a quota that is used up all the time: when the
// next may go, and its charge.
func BenchmarkKinds(b *testing.B) {
	for _, kind := range timed[1:] {
		for _, n := range []int{100, 100_000} {
			b.Run(fmt.Sprintf("%v/N=%d", kind, n), func(b *testing.B) {
				l := New(explicit(quota.Quota{N: int64(n), Per: time.Second, Kind: kind}), 0)
				at := monotime.Time(1)
				b.ReportAllocs()
				for b.Loop() {
					at, _ = l.When(at+1000, 0, 1)
					l.Take(at, at, 1)
				}
			})
		}
	}
}
