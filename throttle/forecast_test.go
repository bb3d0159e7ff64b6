package throttle

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/quota"
)

// A forecast is never too long: it is played. Of one quota, with or without a hold, it is exact, but for cells: those ahead
// may go in one, or in the next one.
func TestForecastIsNotTooLong(t *testing.T) {
	const cells = "5/s sliding 5"
	texts := []string{cells, "10/s warm-up 2s", "20/s warm-up 500ms cold 5", "4/s even", "5/s burst 3", "4/s window", "6/2s log", "10/s burst 2 debt", "4/s window grid"}
	for seed := range whole.Or[uint64](300, 3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		of := make([]string, 1+r.IntN(2))
		for i := range of {
			of[i] = texts[r.IntN(len(texts))]
		}
		slices.Sort(of)
		of = slices.Compact(of)
		synctest.Test(t, func(t *testing.T) {
			l := &Limiter{}
			for _, text := range of {
				l.Quotas = append(l.Quotas, quota.MustParse(text)...)
			}
			var wait sync.WaitGroup
			join := func(n int) {
				for range n {
					wait.Go(func() { l.Acquire(t.Context(), Claim{}) })
					synctest.Wait()
				}
			}
			time.Sleep(time.Duration(r.Int64N(1e9)))
			join(r.IntN(15))
			wait.Wait()
			time.Sleep(time.Duration(r.Int64N(2e9))) // what warms up cools for a while
			join(1 + r.IntN(8))
			if r.IntN(3) == 0 {
				l.Pause(time.Duration(r.Int64N(3e9)))
			}
			f, start := l.Forecast(Claim{}), time.Now()
			if _, err := l.Acquire(t.Context(), Claim{}); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took < f.Wait || len(of) == 1 && of[0] != cells && took != f.Wait {
				t.Errorf("seed %d, %v: %v were forecast, and it took %v", seed, of, f.Wait, took)
			}
		})
	}
}
