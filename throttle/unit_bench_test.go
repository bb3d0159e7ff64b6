package throttle

import (
	"testing"

	"github.com/gopacer/pacer/quota"
)

// What it costs to look for misspelled units.
func BenchmarkWaitInTokens(b *testing.B) {
	for _, test := range []struct {
		name  string
		costs quota.Costs
	}{{"no costs", nil}, {"tokens", quota.Costs{"tokens": 1}}, {"a unit of no quota", quota.Costs{"images": 1}}} {
		b.Run(test.name, func(b *testing.B) {
			l := &Limiter{Quotas: quota.MustParse("1000000000/s burst 1000000, 1000000000 tokens/s burst 1000000")}
			b.ReportAllocs()
			for b.Loop() {
				if g, err := l.Acquire(b.Context(), Claim{Costs: test.costs}); err == nil {
					g.Answered(Answer{})
				}
			}
		})
	}
}
