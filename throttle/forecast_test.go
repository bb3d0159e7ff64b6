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

// A claim that costs none of a quota goes with the last of those ahead that do: of a debt, and of what warms up, before that
// is paid. It must not be refused for a deadline that it makes.
func TestForecastBehindADebt(t *testing.T) {
	for text, want := range map[string]time.Duration{"1000 tokens/s debt": 20 * time.Second, "1000 tokens/s warm-up 1ms": 20*time.Second + 500*time.Microsecond} {
		synctest.Test(t, func(t *testing.T) {
			l, start := &Limiter{Quotas: quota.MustParse(text)}, time.Now()
			var wait sync.WaitGroup
			for range 3 {
				wait.Go(func() { l.Acquire(t.Context(), Claim{Costs: quota.Costs{"tokens": 10000}}) })
				synctest.Wait()
			}
			free := Claim{Costs: quota.Costs{"tokens": 0}, MaxWait: 25 * time.Second}
			if f := l.Forecast(free); f.Err != nil || f.Wait == 0 {
				t.Errorf("%s: %+v was forecast", text, f)
			}
			_, err := l.Acquire(t.Context(), free)
			if took := time.Since(start); err != nil || took != want {
				t.Errorf("%s: it took %v, %v", text, took, err)
			}
			wait.Wait()
		})
	}
}
