package throttle

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
)

// rush is how many of a priority may go at once.
func rush(t *testing.T, l *Limiter, p Priority) (n int) {
	t.Helper()
	for ; n < 1000; n++ {
		if _, _, err := l.Join(t.Context(), Claim{Priority: p, MaxWait: -1}); err != nil {
			return n
		}
	}
	return n
}

// TestReserve has normal ones take what they may, and urgent ones the rest, of each kind.
func TestReserve(t *testing.T) {
	for _, test := range []struct {
		quota          string
		reserve        float64
		normal, urgent int
	}{
		{"100/s burst 100", 0.1, 90, 10},
		{"100/s burst 100", 0.25, 75, 25},
		{"100/s burst 100", 0.999, 1, 99},
		{"100/s burst 100", 0.999999999, 1, 99},
		{"10/s burst 10", 0.3, 7, 3}, // as written, and not a hair less
		{"10/s burst 10", 0.25, 7, 3},
		{"100/s window", 0.1, 90, 10},
		{"100/s window grid", 0.1, 90, 10},
		{"100/s sliding", 0.1, 90, 10},
		{"100/s log", 0.1, 90, 10},
		{"100/s estimate", 0.1, 90, 10},
		{"100 in flight", 0.1, 90, 10},
		{"100 unanswered", 0.1, 90, 10},
		{"1/s even", 0.5, 1, 0},
		{"1 in flight", 0.9, 1, 0},
		{"2 in flight", 0.9, 1, 1},
		{"2/m log", 0.9, 1, 1},
		{"100/s burst 100, 50 in flight", 0.2, 40, 10},
	} {
		t.Run(fmt.Sprint(test.quota, " ", test.reserve), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, p := range []Priority{Background, Normal} {
					l := &Limiter{Quotas: quotas(t, test.quota), Reserve: test.reserve}
					if got := rush(t, l, p); got != test.normal {
						t.Errorf("%d of priority %d went, want %d", got, p, test.normal)
					}
					if got := rush(t, l, Urgent); got != test.urgent {
						t.Errorf("then %d urgent ones went, want %d", got, test.urgent)
					}
				}
				l := &Limiter{Quotas: quotas(t, test.quota), Reserve: test.reserve}
				if got := rush(t, l, Urgent); got != test.normal+test.urgent {
					t.Errorf("%d urgent ones went, want all %d", got, test.normal+test.urgent)
				}
				if got := rush(t, l, Normal); got != 0 {
					t.Errorf("then %d more went", got)
				}
			})
		})
	}
}

// Normal ones alone are served at their share of the rate: of 10 a second, 8.
func TestReserveRate(t *testing.T) {
	for _, text := range []string{
		"10/s burst 10", "10/s window", "10/s window grid", "10/s log", "10/s sliding", "600/m even", "100/10s burst 100",
	} {
		t.Run(text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &Limiter{Quotas: quotas(t, text), Reserve: 0.2}
				rush(t, l, Normal)
				start := time.Now()
				for range 40 {
					if err := l.Wait(t.Context(), 1); err != nil {
						t.Fatal(err)
					}
				}
				if took := time.Since(start); took != 5*time.Second {
					t.Errorf("40 took %v, want 5s", took)
				}
			})
		})
	}
}

// An urgent one goes past normal ones that wait only for what is left to them.
func TestReserveUrgentPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "10/s burst 10"), Reserve: 0.5, Aging: time.Microsecond}
		c := newCrowd()
		c.claim(t.Context(), l, "n1", Claim{N: 5}, 0)
		c.claim(t.Context(), l, "n2", Claim{}, 0) // at 200 ms: 5 a second come back for them
		time.Sleep(100 * time.Millisecond)        // so that it ranks before all who come
		c.claim(t.Context(), l, "u1", Claim{N: 4, Priority: Urgent}, 0)
		c.claim(t.Context(), l, "u2", Claim{Priority: Urgent}, 0)
		c.claim(t.Context(), l, "u3", Claim{Priority: Urgent}, 0)
		// Now nothing is left, and all wait for the same: n2 for the token of 200 ms.
		c.claim(t.Context(), l, "u4", Claim{Priority: Urgent}, 0)
		c.check(t, "n1 0s", "u1 100ms", "u2 100ms", "u3 100ms", "n2 200ms", "u4 300ms")
	})
}

// Urgent ones that take all of a quota keep normal ones from it for no longer than Aging
// says.
func TestReserveDoesNotStarveTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "10/s burst 10"), Reserve: 0.5, Aging: time.Second}
		rush(t, l, Urgent)
		start := time.Now()
		_, n := join(t, l, Claim{})
		var us []*Waiter
		for !gone(n) && time.Since(start) < time.Minute {
			for range 2 {
				_, u := join(t, l, Claim{Priority: Urgent})
				us = append(us, u)
			}
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
		}
		// 20 asked in the first second, those at 1 s count as of now.
		if took := time.Since(start); took != 2100*time.Millisecond {
			t.Errorf("went after %v, want 2.1s", took)
		}
		for _, u := range us {
			u.Leave()
		}
	})
}

func TestReserveGivenBack(t *testing.T) {
	for _, text := range []string{"10 tokens/s burst 10", "10 tokens/s window", "10 tokens/s log", "10 tokens/s sliding", "10 tokens in flight"} {
		t.Run(text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &Limiter{Quotas: quotas(t, text), Reserve: 0.5}
				for _, p := range []Priority{Normal, Urgent} {
					g := grant(t, l, Claim{Costs: quota.Costs{"tokens": 5}, Priority: p})
					g.Cancel()
					n := grant(t, l, tokens(5))
					if _, _, err := l.Join(t.Context(), Claim{Costs: quota.Costs{"tokens": 1}, MaxWait: -1}); !errors.Is(err, ErrWouldWait) {
						t.Errorf("a sixth token for normal ones: %v, want ErrWouldWait", err)
					}
					if text != "10 tokens in flight" { // a slot is not settled
						n.Settle(quota.Costs{"tokens": 3})
						m := grant(t, l, tokens(2))
						u := grant(t, l, Claim{Costs: quota.Costs{"tokens": 5}, Priority: Urgent})
						u.Settle(quota.Costs{"tokens": 1}) // gives nothing to those who are not
						if _, _, err := l.Join(t.Context(), Claim{Costs: quota.Costs{"tokens": 1}, MaxWait: -1}); !errors.Is(err, ErrWouldWait) {
							t.Errorf("a sixth token for normal ones: %v, want ErrWouldWait", err)
						}
						u.Cancel()
						m.Cancel()
					}
					n.Cancel()
				}
				grant(t, l, tokens(5))
				grant(t, l, Claim{Costs: quota.Costs{"tokens": 5}, Priority: Urgent})
			})
		})
	}
}

func TestReserveSetQuotas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "10/s burst 10"), Reserve: 0.5}
		rush(t, l, Normal)
		_, w := join(t, l, Claim{})
		if err := l.SetQuotas(quotas(t, "20/s burst 20")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100*time.Millisecond - 1)
		synctest.Wait()
		if gone(w) {
			t.Error("went before a token was back at 10 a second")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if !gone(w) {
			t.Error("still waits")
		}
		time.Sleep(time.Minute)
		if n, u := rush(t, l, Normal), rush(t, l, Urgent); n != 10 || u != 10 {
			t.Errorf("%d and %d urgent ones went, want 10 and 10", n, u)
		}
		if err := l.SetQuotas(quotas(t, "10/s window")); err != nil {
			t.Fatal(err)
		}
		if n, u := rush(t, l, Normal), rush(t, l, Urgent); n != 5 || u != 5 {
			t.Errorf("%d and %d urgent ones went, want 5 and 5", n, u)
		}
		l.SetQuotas(nil)
		if n := rush(t, l, Normal); n != 1000 {
			t.Errorf("%d went without a quota", n)
		}
	})
}

func TestReserveOfAParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &Limiter{Quotas: quotas(t, "10/s burst 10"), Reserve: 0.5}
		l := &Limiter{Parent: host}
		if n, u := rush(t, l, Normal), rush(t, l, Urgent); n != 5 || u != 5 {
			t.Errorf("%d and %d urgent ones went, want 5 and 5", n, u)
		}
	})
}

func TestReserveOfALearnedWindow(t *testing.T) {
	for _, test := range []struct {
		limit, remaining int
		reserve          float64
		normal, urgent   int
	}{
		{100, 50, 0.1, 40, 10},
		{100, 50, 0.101, 39, 11}, // rounded up
		{100, 10, 0.1, 0, 10},
		{100, 5, 0.1, 0, 5},
		{0, 50, 0.1, 50, 0}, // the server does not say of how many
		{1, 1, 0.5, 1, 0},
		{2, 2, 0.5, 1, 1},
		{2, 2, 0.9, 1, 1},
		{3, 3, 0.3, 2, 1},
	} {
		t.Run(fmt.Sprintf("%d of %d, %v", test.remaining, test.limit, test.reserve), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &Limiter{Reserve: test.reserve, Rand: noJitter}
				grant(t, l, Claim{Priority: Urgent}).Answered(Answer{Statements: []quota.Statement{{
					Limit: int64(test.limit), Remaining: int64(test.remaining), Reset: time.Minute, ResetKnown: true,
				}}})
				if n := rush(t, l, Normal); n != test.normal {
					t.Errorf("%d went, want %d", n, test.normal)
				}
				if n := rush(t, l, Urgent); n != test.urgent {
					t.Errorf("then %d urgent ones went, want %d", n, test.urgent)
				}
			})
		})
	}
}

func TestReserveTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "10/s burst 10"), Reserve: 0.5}
		if _, _, err := l.Join(t.Context(), Claim{N: 6}); !errors.Is(err, ErrTooLarge) {
			t.Errorf("6 of 5: %v, want ErrTooLarge", err)
		}
		grant(t, l, Claim{N: 6, Priority: Urgent})
	})
}

func TestReserveValidate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, reserve := range []float64{-0.1, 1, 2, math.NaN(), math.Inf(1), math.Inf(-1)} {
			l := &Limiter{Reserve: reserve}
			const want = "want a share from 0 to less than 1"
			if err := l.Wait(t.Context(), 1); err == nil || err.Error() != fmt.Sprintf("throttle: Reserve is %v, %s", reserve, want) {
				t.Errorf("Reserve %v: %v", reserve, err)
			}
			if l.SetQuotas(quotas(t, "5/s even")); l.Wait(t.Context(), 1) == nil {
				t.Errorf("Reserve %v: no error after SetQuotas", reserve)
			}
		}
	})
}

// TestReserveHeavyNormalIsNotPassedByLightOnes: a heavy claim that waits for what is left to it is not
// overtaken by lighter ones that are not urgent.
func TestReserveHeavyNormalIsNotPassedByLightOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "10/s burst 10"), Reserve: 0.5}
		grant(t, l, Claim{N: 5}).Answered(Answer{})
		c := newCrowd()
		c.claim(t.Context(), l, "heavy", Claim{N: 5}, 0)
		for i := range 10 {
			c.claim(t.Context(), l, "light"+string(rune('0'+i)), Claim{Priority: Background}, 0)
		}
		c.check(t, "heavy 1s", "light0 1.2s", "light1 1.4s", "light2 1.6s", "light3 1.8s", "light4 2s",
			"light5 2.2s", "light6 2.4s", "light7 2.6s", "light8 2.8s", "light9 3s")
	})
}

// TestReserveUrgentNeedNotWaitBehindNormals: an urgent claim that may go goes, also if it would not wait.
func TestReserveUrgentNeedNotWaitBehindNormals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "10/s burst 10"), Reserve: 0.5}
		grant(t, l, Claim{N: 5}).Answered(Answer{})
		_, w := join(t, l, Claim{})
		if _, _, err := l.Join(t.Context(), Claim{Priority: Urgent, MaxWait: -1}); err != nil {
			t.Errorf("5 are reserved: %v", err)
		}
		w.Leave()
	})
}

// TestReserveOfAScarceLimit: without what is reserved, the rest is spread over the time to the reset.
func TestReserveOfAScarceLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, reserve := range []float64{0, 0.1} {
			l := &Limiter{MaxWait: time.Minute, IdleAfter: -1, Rand: noJitter, Reserve: reserve}
			grant(t, l, Claim{}).Answered(Answer{Statements: []quota.Statement{{Limit: 1000, Remaining: 190, Reset: time.Hour, ResetKnown: true}}})
			if f := l.Forecast(Claim{}); f.Wait > 40*time.Second {
				t.Errorf("Reserve %v: %+v, want an hour for what is left: a 91st or a 191st of it", reserve, f)
			}
		}
	})
}

// TestReserveOfALimitThatRefills: what comes back token by token is reserved, too.
func TestReserveOfALimitThatRefills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Rand: noJitter, Reserve: 0.5, IdleAfter: -1}
		left := 60
		for i := range 30 { // as much as normals may
			left--
			grant(t, l, Claim{Priority: Urgent}).Answered(Answer{Statements: []quota.Statement{{
				Limit: 60, Remaining: int64(left), Reset: time.Second * time.Duration(i+1), ResetKnown: true,
			}}})
		}
		if s := l.State(); s.Limits[0].Rate != 1 {
			t.Fatal(s)
		}
		// The server's bucket gains one a second, and others use it up.
		time.Sleep(20 * time.Second)
		g := grant(t, l, Claim{Priority: Urgent})
		g.Answered(Answer{Statements: []quota.Statement{{Limit: 60, Remaining: 29, Reset: 31 * time.Second, ResetKnown: true}}})
		if _, _, err := l.Join(t.Context(), Claim{MaxWait: -1}); err == nil {
			t.Error("29 of 60 remain and 30 are reserved, and a normal one goes")
		}
	})
}

// TestReserveOneLooksAfterTheReset: after the reset one goes to look, and not all.
func TestReserveOneLooksAfterTheReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := asker{t, &Limiter{Rand: noJitter, Reserve: 0.5, IdleAfter: -1}}
		grant(t, a.l, Claim{}).Answered(says(5, time.Minute))
		a.wantOpen(0)
		time.Sleep(time.Minute)
		n := 0
		for ; n < 10; n++ {
			if _, _, err := a.l.Join(t.Context(), Claim{MaxWait: -1}); err != nil {
				break
			}
		}
		if n != 1 {
			t.Errorf("%d normals went after the reset, want 1 to look", n)
		}
	})
}

// TestReserveUrgentPassesWhoMustWaitInAnyCase: one that has to wait longer for what is left to it keeps nobody
// from what is reserved.
func TestReserveUrgentPassesWhoMustWaitInAnyCase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "10/s burst 10"), Reserve: 0.5, Aging: time.Microsecond}
		c := newCrowd()
		c.claim(t.Context(), l, "n1", Claim{N: 5}, 0)
		c.claim(t.Context(), l, "n2", Claim{N: 5}, 0) // not before 1 s, whoever else goes
		time.Sleep(100 * time.Millisecond)
		c.claim(t.Context(), l, "u1", Claim{N: 4, Priority: Urgent}, 0)
		c.claim(t.Context(), l, "u2", Claim{N: 2, Priority: Urgent}, 0)
		c.check(t, "n1 0s", "u1 100ms", "u2 100ms", "n2 1s")
	})
}
