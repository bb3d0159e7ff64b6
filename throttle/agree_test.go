package throttle

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
)

// What must wait is foretold with a cause, and refused with one if it must not wait; what goes is foretold
// without a wait. In random trees, claims of all priorities, flows and costs stand in line, with deadlines,
// while others end.
func TestForecastAndRefusalAgree(t *testing.T) {
	texts := []string{"5/s burst 2", "2/s even", "3/2s window", "1 in flight", "2 in flight, 9/s", "6/s", "10/2s sliding", "5/s estimate", "4/s warm-up 3s", "20 tokens/s burst 20, 9/s"}
	for seed := range uint64(150) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 3))
			some := func() quota.Quotas { return quota.MustParse(texts[r.IntN(len(texts))]) }
			top := &Limiter{Name: "top", Quotas: some(), Reserve: float64(r.IntN(2)) * 0.3}
			all := []*Limiter{
				top,
				{Name: "a", Parent: top, Quotas: some(), SlowStart: r.IntN(2) == 0},
				{Name: "b", Parent: top, Quotas: some(), Reserve: float64(r.IntN(2)) * 0.3},
				{Name: "c", Parent: top},
			}
			claim := func() (*Limiter, Claim) {
				return all[r.IntN(len(all))], Claim{
					N: r.IntN(3), Priority: []Priority{Background, Normal, Urgent}[r.IntN(3)], Flow: []string{"", "", "x", "y"}[r.IntN(4)*int(seed%2)],
					Costs: quota.Costs{"tokens": r.IntN(8)},
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			for range 60 {
				time.Sleep(time.Duration(r.Int64N(3e8)))
				l, c := claim()
				if r.IntN(4) > 0 {
					took := time.Duration(r.Int64N(4e8))
					go func() {
						within, end := context.WithTimeout(ctx, 9*time.Second)
						defer end()
						if g, err := l.Acquire(within, c); err == nil {
							time.Sleep(took)
							g.Answered(Answer{})
						}
					}()
				}
				synctest.Wait()
				l, c = claim()
				f := l.Forecast(c)
				c.MaxWait = -1
				g, err := l.Acquire(t.Context(), c)
				var why *Error
				switch {
				case err == nil && f.Cause != "":
					t.Errorf("seed %d: foretold %+v, and it went at once", seed, f)
				case err != nil && (f.Cause == "" || f.Bucket == "") && seed%2 == 0: // where flows go in turns, another may go first
					t.Errorf("seed %d: foretold %+v: %v", seed, f, err)
				case err != nil && (!errors.As(err, &why) || why.Cause == "" || why.Bucket == ""):
					t.Errorf("seed %d: no cause, or no bucket: %v", seed, err)
				}
				if err == nil {
					g.Answered(Answer{})
				}
			}
			cancel()
			time.Sleep(time.Second)
		})
	}
}
