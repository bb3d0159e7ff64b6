package filequota

import (
	"slices"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/store"
)

// BenchmarkStep is one step of a process that is alone: in a row, with others in turns, and cold, with pauses.
func BenchmarkStep(b *testing.B) {
	for _, bench := range []struct {
		name   string
		stores int
		pause  time.Duration
	}{{"hot", 1, 0}, {"turns", 2, 0}, {"cold", 1, 5 * time.Millisecond}} {
		for _, text := range []string{"1000/s burst 20", "1000/s log", "10000/m sliding"} {
			b.Run(bench.name+"/"+text, func(b *testing.B) {
				b.ReportAllocs()
				dir := b.TempDir()
				var stores []*Store
				for range bench.stores {
					s, err := Open(dir, nil)
					if err != nil {
						b.Fatal(err)
					}
					stores = append(stores, s)
				}
				r := store.Request{
					Version: 1, Bucket: "api", Quotas: quota.MustParse(text).Explicit(), SlotLife: 100 * time.Millisecond, Horizon: 500 * time.Millisecond,
					Member: "MSFSEK4RPDX5UQYVWKGXQDO7RM", Asks: []store.Ask{{Cost: []int64{1}, Count: 1, Within: -1}},
				}
				var took []time.Duration
				for i := 0; b.Loop(); i++ {
					r.Serial++
					if bench.pause > 0 {
						time.Sleep(bench.pause)
					}
					begin := time.Now()
					if _, err := stores[i%len(stores)].Exchange(b.Context(), &r); err != nil {
						b.Fatal(err)
					}
					took = append(took, time.Since(begin))
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "p50-µs")
				b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "p99-µs")
			})
		}
	}
}
