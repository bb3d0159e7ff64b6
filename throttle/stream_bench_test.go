package throttle

import (
	"testing"

	"github.com/gopacer/pacer/quota"
)

// BenchmarkReader is a Read whose piece is granted at once.
func BenchmarkReader(b *testing.B) {
	r := &Reader{R: endless{}, Limiter: &Limiter{Quotas: quota.MustParse("100TB/s streamed"), Parent: &Limiter{Quotas: quota.MustParse("100TB/s streamed")}}}
	p := make([]byte, 32<<10)
	b.SetBytes(int64(len(p)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Read(p); err != nil {
			b.Fatal(err)
		}
	}
}
