package throttle

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkKinds is the arithmetic of a quota that is used up all the time: when the
// next may go, and its charge.
func BenchmarkKinds(b *testing.B) {
	for kind := TokenBucket; kind <= EstimatedWindow; kind++ {
		for _, n := range []int{100, 100_000} {
			b.Run(fmt.Sprintf("%v/N=%d", kind, n), func(b *testing.B) {
				l := newLimit(Quota{N: n, Per: time.Second, Kind: kind}, 0)
				at := instant(1)
				b.ReportAllocs()
				for b.Loop() {
					at, _ = l.when(at+1000, 0, 1)
					l.take(at, at, 1)
				}
			})
		}
	}
}
