package throttle

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
)

// left is how many tokens of the first quota may go now.
func left(l *Limiter, unit string, most int) (n int) {
	for n < most && l.Forecast(Claim{Costs: quota.Costs{unit: int64(n + 1)}}) == (Forecast{}) {
		n++
	}
	return n
}

// A Grant and what Keep returns are one: what is done to one is done to both, and once.
func TestGrantKeep(t *testing.T) {
	settled := quota.Costs{"tokens": 2}
	for name, test := range map[string]struct {
		use  func(g, kept *Grant)
		left int
		open bool // one request is still in flight
	}{
		"nothing":                {func(_, _ *Grant) {}, 0, true},
		"both are settled":       {func(g, kept *Grant) { g.Settle(settled); kept.Settle(settled) }, 8, true},
		"both are canceled":      {func(g, kept *Grant) { kept.Cancel(); g.Cancel() }, 10, false},
		"both are done":          {func(g, kept *Grant) { g.Answered(Answer{}); kept.Done() }, 0, false},
		"done, then canceled":    {func(g, kept *Grant) { kept.Answered(Answer{}); g.Cancel() }, 0, false},
		"canceled, then done":    {func(g, kept *Grant) { g.Cancel(); kept.Answered(Answer{Refused: true}) }, 10, false},
		"canceled, then settled": {func(g, kept *Grant) { g.Cancel(); kept.Settle(quota.Costs{"tokens": 20}) }, 10, false},
		"done, then settled":     {func(g, kept *Grant) { g.Answered(Answer{Spent: settled}); kept.Settle(settled) }, 8, false},
		"kept twice":             {func(g, kept *Grant) { within.Keep(g).Settle(settled); within.Keep(kept).Settle(settled) }, 8, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &Limiter{Quotas: quotas(t, "10 tokens/h burst 10"), Rand: noJitter}
				g, err := l.Acquire(t.Context(), Claim{Costs: quota.Costs{"tokens": 10}})
				if err != nil {
					t.Fatal(err)
				}
				kept := within.Keep(g)
				if kept.l != l || (inner{}).Time(kept) != (inner{}).Time(g) {
					t.Errorf("kept is of %p at %v, want %p at %v", kept.l, inner{}.Time(kept), l, inner{}.Time(g))
				}
				test.use(g, kept)
				if n := left(l, "tokens", 20); n != test.left {
					t.Errorf("%d are left, want %d", n, test.left)
				}
				if s := l.State(); s.InFlight != 0 != test.open || s.InFlight < 0 || s.Held != 0 {
					t.Errorf("%+v, want one in flight: %v", s, test.open)
				}
			})
		})
	}
}

// A Grant whose answer is read is ended by Done, and further ones do nothing.
func TestGrantKeepWhileRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "1 in flight, 100 bytes/h burst 100")}
		g, err := l.Acquire(t.Context(), Claim{})
		if err != nil {
			t.Fatal(err)
		}
		if o := g.Answered(Answer{Reading: true, Unsettled: true}); !o.Open {
			t.Errorf("%+v, want that it is open", o)
		}
		kept := within.Keep(g)
		for range 3 {
			if o := kept.Answered(Answer{Spent: quota.Costs{"bytes": 50}}); o != (Outcome{}) {
				t.Errorf("%+v", o)
			}
			kept.Settle(quota.Costs{"bytes": 30})
			kept.Done()
			g.Done()
		}
		if n := left(l, "bytes", 100); n != 70 || l.awaitEnd != 0 {
			t.Errorf("%d are left, and %d await their end, want 70 and none", n, l.awaitEnd)
		}
	})
}

func TestAcquireAllocatesNothing(t *testing.T) {
	l := &Limiter{Quotas: quotas(t, "1000000/s burst 1000000")}
	ctx := context.Background()
	g := new(Group)
	find := func() *Limiter { return l }
	if n := testing.AllocsPerRun(100, func() {
		grant, err := l.Acquire(ctx, Claim{N: 1})
		if err != nil {
			t.Error(err)
			return
		}
		defer grant.Cancel() // does no harm
		grant.Answered(Answer{})
		search := within.Search(g, find, nil, nil)
		if grant, err = search.Acquire(ctx, false, Claim{}, new(Grant)); err != nil {
			t.Error(err)
			return
		}
		grant.Answered(Answer{})
		grant, _ = l.Observe(Claim{})
		grant.Answered(Answer{})
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestRefusalMakesItsErrorAlone: what a claim needs that may have to wait is there for the next one also if it
// was refused.
func TestRefusalMakesItsErrorAlone(t *testing.T) {
	l := &Limiter{Quotas: quotas(t, "1/h burst 1")}
	l.Allow(1)
	if n := testing.AllocsPerRun(100, func() {
		if l.Allow(1) {
			t.Error("granted")
		}
	}); n != 1 {
		t.Errorf("%v allocations, want 1", n)
	}
}

// An Error that a caller has made prints, whatever it lacks.
func TestErrorOfACaller(t *testing.T) {
	for want, e := range map[string]*Error{
		"throttle: not sent":                          {},
		"throttle: a: not sent: hold, could go in 1s": {Bucket: "a", Cause: CauseHold, Wait: time.Second},
		"throttle: not sent: queue is full":           {Err: ErrQueueFull},

		"throttle: a: not sent: cost above what the quota ever grants at once, cost 3": {Bucket: "a", Err: ErrTooLarge, Cost: 3},
	} {
		if got := fmt.Sprint(e); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if errors.Is(e, ErrDeadline) || e.Timeout() {
			t.Errorf("%v is a timeout", e)
		}
	}
}

// Rand is called without the lock. If it panics, or ends its goroutine as t.FailNow does, the grant ends.
func TestGrantDoneWhoseRandPanics(t *testing.T) {
	answers := map[string]Answer{
		"refused":   {Refused: true, Hold: &quota.Hold{For: time.Second}},
		"stated":    {Statements: []quota.Statement{{Limit: 10, Reset: time.Second, ResetKnown: true}}},
		"named":     {Counter: "a", Statements: []quota.Statement{{Counter: "a", Limit: 10, Reset: time.Second, ResetKnown: true}}},
		"unsettled": {MayRefuse: true, Unsettled: true, Reading: true},
	}
	for name, answer := range answers {
		for how, spring := range map[string]func(){"panics": func() { panic("oops") }, "exits": runtime.Goexit, "returns": func() {}} {
			t.Run(name+" "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var l *Limiter
					calls := 0
					g := Group{New: func(path []string) *Limiter {
						return &Limiter{Name: path[0], Quotas: quotas(t, "1 in flight"), Rand: func() float64 {
							l.State()
							if calls++; calls == 1 {
								spring()
							}
							return 0
						}}
					}}
					l = g.Limiter("a")
					var recovered any
					done := make(chan struct{})
					go func() {
						defer close(done)
						defer func() { recovered = recover() }()
						grant, err := l.Acquire(t.Context(), Claim{})
						if err != nil {
							t.Error(err)
						}
						if o := grant.Answered(answer); o.Open {
							grant.Done()
						}
					}()
					<-done
					if calls != 1 || (recovered == "oops") != (how == "panics") {
						t.Errorf("%d calls; recovered %v", calls, recovered)
					}
					if s := l.State(); s.InFlight != 0 || s.Waiting != 0 || s.Limits[0].Available != 1 {
						t.Errorf("state %+v", s)
					}
				})
			})
		}
	}
}

// TestCancelGivesBackAbove: what is not sent costs nothing above either.
func TestCancelGivesBackAbove(t *testing.T) {
	for _, text := range []string{"1/s", "1/s burst 1", "1/s window", "1/s window grid", "1/s estimate", "1 in flight", "1 unanswered"} {
		synctest.Test(t, func(t *testing.T) {
			above := &Limiter{Quotas: quotas(t, text)}
			l := &Limiter{Parent: above}
			g := grant(t, l, Claim{})
			if f := above.Forecast(Claim{}); f == (Forecast{}) {
				t.Errorf("%s: nothing was charged above", text)
			}
			g.Cancel()
			if f := above.Forecast(Claim{}); f != (Forecast{}) {
				t.Errorf("%s: after a cancel above: %+v", text, f)
			}
		})
	}
}

// The grant of Wait ends at once. Who waits for what is in flight goes in the same instant.
func TestWaitEndsWhatItHadInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Rand: noJitter}
		grant(t, l, Claim{}).Answered(says(1, time.Minute))
		l.Pause(time.Second)
		start := time.Now()
		for i := range 3 {
			go func() {
				if err := l.Wait(t.Context(), 1); err != nil || time.Since(start) != time.Second {
					t.Errorf("%d went after %v: %v, want 1s", i, time.Since(start), err)
				}
			}()
		}
		time.Sleep(time.Hour)
	})
}
