package throttle

import (
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/gopacer/pacer/quota"
)

// keepsAll is a Group that forgets no bucket.
func keepsAll() *Group {
	g := &Group{
		New: func(path []string) *Limiter { return &Limiter{Name: path[0], Quotas: quota.Quotas{{N: 5, Burst: 10}}} },
	}
	g.buckets.SweepAt = math.MaxInt
	return g
}

// What it costs to find a bucket among many, of one key and of two.
func BenchmarkGroupLimiter(b *testing.B) {
	for _, below := range []bool{false, true} {
		for _, n := range []int{1, 1000, 100_000} {
			b.Run(fmt.Sprintf("below=%v/buckets=%d", below, n), func(b *testing.B) {
				g := keepsAll()
				paths := make([][]string, n)
				for i := range n {
					paths[i] = []string{fmt.Sprint(i)}
					if below {
						paths[i] = []string{"a", paths[i][0]}
					}
					g.Limiter(paths[i]...)
				}
				runtime.GC() // what was made is not to be marked while it is measured
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					g.Limiter(paths[i*7919%n]...)
				}
			})
		}
	}
}

// What a bucket weighs, in bytes: a new one, and one that was used.
func BenchmarkGroupMemory(b *testing.B) {
	const n = 10_000
	for _, used := range []bool{false, true} {
		b.Run(fmt.Sprintf("used=%v", used), func(b *testing.B) {
			for b.Loop() {
				g := keepsAll()
				before := heap()
				for i := range n {
					l := g.Limiter(fmt.Sprintf("h%d.example", i))
					if used {
						grant, err := l.Acquire(b.Context(), Claim{})
						if err != nil {
							b.Fatal(err)
						}
						grant.Answered(Answer{})
					}
				}
				b.ReportMetric(float64(heap()-before)/n, "B/bucket")
				runtime.KeepAlive(g)
			}
		})
	}
}

// heap is how much memory is in use.
func heap() uint64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

// What it costs to replace the quotas of many buckets.
func BenchmarkGroupUpdate(b *testing.B) {
	for _, n := range []int{1, 1000, 10_000} {
		b.Run(fmt.Sprintf("buckets=%d", n), func(b *testing.B) {
			rate := 0
			g := keepsAll()
			g.New = func(path []string) *Limiter {
				return &Limiter{Name: path[0], Quotas: quota.Quotas{{N: int64(5 + rate%2), Burst: 1}}}
			}
			for i := range n {
				g.Limiter(fmt.Sprint(i))
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := within.Update(g, func() bool { rate++; return false }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
