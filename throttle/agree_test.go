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
// while others end; every third server states what remains.
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
			answer := func() Answer {
				if seed%3 != 0 {
					return Answer{}
				}
				return says(r.IntN(4), time.Duration(r.Int64N(2e9)))
			}
			claim := func() (*Limiter, Claim) {
				return all[r.IntN(len(all))], Claim{
					N: r.IntN(3), Priority: []Priority{Background, Normal, Urgent}[r.IntN(3)], Flow: []string{"", "", "x", "y"}[r.IntN(4)*int(seed%2)],
					Costs: quota.Costs{"tokens": int64(r.IntN(8))},
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			for range 60 {
				time.Sleep(time.Duration(r.Int64N(3e8)))
				l, c := claim()
				if r.IntN(4) > 0 {
					took, says := time.Duration(r.Int64N(4e8)), answer()
					go func() {
						within, end := context.WithTimeout(ctx, 9*time.Second)
						defer end()
						if g, err := l.Acquire(within, c); err == nil {
							time.Sleep(took)
							g.Answered(says)
						}
					}()
				}
				synctest.Wait()
				l, c = claim()
				c.MaxWait = -1
				f := l.Forecast(c)
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
					g.Answered(answer())
				}
			}
			cancel()
			time.Sleep(time.Second)
		})
	}
}

// When a stated reset has come, the next claim goes at once, and finds out: nothing is foretold that it would
// wait for. Those behind it are told what they wait for until its answer comes.
func TestNothingIsForetoldAfterAReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Name: "l", Rand: noJitter}
		grant(t, l, Claim{}).Answered(says(0, time.Minute))
		used := Forecast{Bucket: "l", Cause: CauseWindowUsedUp, Quota: "the server's limit of 10"}
		before := used
		before.Wait = 1
		time.Sleep(time.Minute - 1)
		if f := l.Forecast(Claim{}); f != before {
			t.Errorf("before the reset: %+v, want %+v", f, before)
		}
		time.Sleep(time.Nanosecond)
		if f := l.Forecast(Claim{}); f != (Forecast{}) {
			t.Errorf("after it: %+v, want nothing", f)
		}
		if s := l.State(); s.Next != (Forecast{}) {
			t.Errorf("State: %+v, want nothing", s.Next)
		}
		if _, f := l.Observe(Claim{}); f != (Forecast{}) {
			t.Errorf("observed: %+v, want nothing", f)
		}
		if f := l.Forecast(Claim{}); f != used {
			t.Errorf("behind that: %+v, want %+v", f, used)
		}
	})
}

// When a quarter of a second has passed without an answer, the next claim of a slow start goes at once: nothing
// is foretold that it would wait for.
func TestNothingIsForetoldWhenASlowStartGoesAnyway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Name: "l", SlowStart: true}
		grant(t, l, Claim{})
		start := Forecast{Bucket: "l", Cause: CauseSlowStart}
		time.Sleep(250*time.Millisecond - 1)
		if f := l.Forecast(Claim{}); f != start {
			t.Errorf("before: %+v, want %+v", f, start)
		}
		time.Sleep(time.Nanosecond)
		if f := l.Forecast(Claim{}); f != (Forecast{}) {
			t.Errorf("then: %+v, want nothing", f)
		}
		if _, f := l.Observe(Claim{}); f != (Forecast{}) {
			t.Errorf("observed: %+v, want nothing", f)
		}
		if f := l.Forecast(Claim{}); f != start {
			t.Errorf("behind that: %+v, want %+v", f, start)
		}
	})
}
