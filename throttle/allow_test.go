package throttle

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/store"
)

func TestLimiterAllow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "10/s burst 3")}
		for _, step := range []struct {
			after time.Duration
			n     int
			want  bool
		}{
			{0, 0, true},  // zero counts as one
			{0, 2, true},  // the burst is used up
			{0, 1, false}, // a token comes back after 100 ms
			{99 * time.Millisecond, 1, false},
			{time.Millisecond, 1, true},
			{time.Hour, 4, false}, // above the burst: never
			{0, 3, true},
		} {
			time.Sleep(step.after)
			if got := l.Allow(step.n); got != step.want {
				t.Errorf("%+v: got %v", step, got)
			}
		}
		if s := l.State(); s.InFlight != 0 || s.Waiting != 0 {
			t.Errorf("%+v", s)
		}
	})
}

func TestLimiterAllowNotBeforeWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "1/s burst 2")}
		if !l.Allow(1) {
			t.Error("the first")
		}
		_, w := join(t, l, Claim{N: 2})
		if l.Allow(1) {
			t.Error("overtakes a claim that waits for two tokens")
		}
		w.Leave()
		if !l.Allow(1) {
			t.Error("the second token")
		}
	})
}

func TestLimiterAllowInvalid(t *testing.T) {
	if l := (&Limiter{Quotas: quota.Quotas{{N: -1, Burst: 1}}}); l.Allow(1) {
		t.Error("allowed by an invalid quota")
	}
	defer func() {
		if got := recover(); got != "throttle: Claim.N is -1, want 0 or more" {
			t.Errorf("a negative cost panicked with %v", got)
		}
	}()
	new(Limiter).Allow(-1)
}

// With a Store, Allow grants from what is in hand, and a call that finds nothing has more fetched.
func TestLimiterAllowFromTheHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{Store: new(store.Memory), there: 5 * time.Millisecond, back: 5 * time.Millisecond}
		l := &Limiter{Name: "a", Quotas: quotas(t, "10/s burst 5"), Shared: Shared{Store: s}}
		defer l.Close()
		begin := time.Now()
		if l.Allow(1) || time.Since(begin) != 0 {
			t.Errorf("allowed with an empty hand, or blocked for %v", time.Since(begin))
		}
		if s := l.State(); s.Waiting != 1 {
			t.Errorf("%+v: nothing is fetched", s)
		}
		time.Sleep(20 * time.Millisecond)
		if s := l.State(); s.Waiting != 0 || s.Store.Hand != 1 {
			t.Errorf("%+v %+v: want one in hand, and nobody in line", s, s.Store)
		}
		if !l.Allow(1) || time.Since(begin) != 20*time.Millisecond {
			t.Errorf("not allowed with one in hand, or blocked")
		}
		if l.Allow(1) {
			t.Error("allowed more than was in hand")
		}
	})
}

// A Group that is updated while an Allow has more fetched does not wait for it.
func TestGroupUpdateDoesNotWaitForAllow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{Store: new(store.Memory), there: 5 * time.Millisecond, back: 5 * time.Millisecond}
		g := &Group{New: func([]string) *Limiter {
			return &Limiter{Name: "a", Quotas: quotas(t, "10/s burst 5"), Shared: Shared{Store: s}}
		}}
		if g.Limiter("a").Allow(1) {
			t.Error("allowed with an empty hand")
		}
		if err := within.Update(g, func() bool { return true }); err != nil {
			t.Error(err)
		}
		if err := g.Limiter("a").Wait(t.Context(), 1); err != nil {
			t.Error(err)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestLimiterAllowAllocatesNothing(t *testing.T) {
	l := &Limiter{Quotas: quotas(t, "1000000/s burst 1000000")}
	free := new(Limiter)
	if n := testing.AllocsPerRun(100, func() { l.Allow(1); free.Allow(1) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestNoWaitBelowALine: where somebody waits at the parent only, a claim that must not wait goes if it would go
// at once without this bound, and overtakes nobody who draws on the same thing.
func TestNoWaitBelowALine(t *testing.T) {
	images := Claim{Costs: quota.Costs{"images": 2}}
	for name, test := range map[string]struct {
		parent *Limiter
		ahead  Claim // waits
		from   int   // which bucket it asked: 0 is the parent
		claim  Claim // is made in bucket 2
		want   error
	}{
		"urgent, beside what is reserved":    {&Limiter{Quotas: quotas(t, "10/s burst 10"), Reserve: 0.5}, Claim{}, 0, Claim{Priority: Urgent}, nil},
		"urgent, beside a child's claim":     {&Limiter{Quotas: quotas(t, "10/s burst 10"), Reserve: 0.5}, Claim{}, 1, Claim{Priority: Urgent}, nil},
		"the same":                           {&Limiter{Quotas: quotas(t, "10/s burst 10")}, Claim{N: 6}, 0, Claim{}, ErrWouldWait},
		"the same, of a child":               {&Limiter{Quotas: quotas(t, "10/s burst 10")}, Claim{N: 6}, 1, Claim{}, ErrWouldWait},
		"another unit, and requests of both": {&Limiter{Quotas: quotas(t, "10/s burst 10, 1 images/s burst 2")}, images, 0, Claim{}, ErrWouldWait},
		"another unit":                       {&Limiter{Quotas: quotas(t, "10 tokens/s burst 10, 1 images/s burst 2")}, images, 0, tokens(5), nil},
		"another unit, of a child":           {&Limiter{Quotas: quotas(t, "10 tokens/s burst 10, 1 images/s burst 2")}, images, 1, tokens(5), nil},
		"another unit, not there":            {&Limiter{Quotas: quotas(t, "10 tokens/s burst 10, 1 images/s burst 2")}, images, 1, tokens(6), ErrWouldWait},
		"no unit":                            {&Limiter{Quotas: quotas(t, "10 tokens/s burst 10, 1 images/s burst 2")}, images, 1, Claim{}, nil},
		"both units":                         {&Limiter{Quotas: quotas(t, "10 tokens/s burst 10, 1 images/s burst 2")}, Claim{Costs: quota.Costs{"images": 2, "tokens": 1}}, 1, tokens(1), ErrWouldWait},
		"in flight":                          {&Limiter{Quotas: quotas(t, "10 in flight, 1 images/s burst 2")}, images, 1, Claim{}, ErrWouldWait},
		"what the server allows above":       {&Limiter{Rand: noJitter}, Claim{}, 0, Claim{}, nil},
		"a hold above":                       {&Limiter{Rand: noJitter}, Claim{}, 0, Claim{}, ErrWouldWait},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				host := test.parent
				ls := []*Limiter{host, {Parent: host}, {Parent: host}}
				g := grant(t, host, Claim{N: 5, Costs: quota.Costs{"images": 1, "tokens": 5}})
				switch name {
				case "what the server allows above":
					g.Answered(says(0, time.Minute))
				case "a hold above":
					host.Pause(time.Minute)
				}
				_, w := join(t, ls[test.from], test.ahead)
				if w == nil {
					t.Fatal("does not wait")
				}
				f := ls[2].Forecast(test.claim)
				c := test.claim
				c.MaxWait = -1
				_, err := ls[2].Acquire(t.Context(), c)
				if !errors.Is(err, test.want) {
					t.Errorf("MaxWait -1: %v, want %v", err, test.want)
				}
				if (f == Forecast{}) != (test.want == nil) {
					t.Errorf("forecast %+v", f)
				}
				if gone(w) {
					t.Error("the one ahead has gone")
				}
				w.Leave()
			})
		})
	}
}
