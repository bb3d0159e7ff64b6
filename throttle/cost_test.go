package throttle

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
)

// claim starts a caller, whose request takes for as long as busy, and returns when it
// waits or has gone.
func (c *crowd) claim(ctx context.Context, l *Limiter, name string, claim Claim, busy time.Duration) {
	c.wg.Go(func() {
		g, err := l.Acquire(ctx, claim)
		c.mu.Lock()
		at := time.Since(c.start).String()
		if err != nil {
			c.went, c.errs = append(c.went, name+" refused "+at), append(c.errs, err)
		} else {
			c.went = append(c.went, name+" "+at)
		}
		c.mu.Unlock()
		if err == nil {
			time.Sleep(busy)
			g.Answered(Answer{})
		}
	})
	synctest.Wait()
}

func TestCostsEachQuotaBindsOnItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limiter{Quotas: quotas(t, "500/m even, 30000 tokens/m burst 30000")}
		c := newCrowd()
		ask := func(name string, n int) { c.claim(t.Context(), &l, name, tokens(n), 0) }
		ask("a", 29_900) // 100 tokens are left
		ask("b", 100)    // a request every 120 ms, in which 60 tokens come back
		ask("c", 120)    // 60 are there at 120 ms, and 60 more come in 120 ms, as a request does
		ask("d", 240)    // none is left at 240 ms, 240 come in 480 ms
		ask("e", 0)      // a request alone
		c.check(t, "a 0s", "b 120ms", "c 240ms", "d 720ms", "e 840ms")
	})
}

func TestCostsOfOtherUnitsAreNotDrawnOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limiter{Quotas: quotas(t, "10 tokens/s burst 10, 100 bytes/s burst 100")}
		grant(t, &l, tokens(10)).Answered(Answer{})
		for name, c := range map[string]Claim{
			"no costs":     {},
			"another unit": {Costs: quota.Costs{quota.Bytes: 50, "points": 1_000_000}},
			"zero":         tokens(0),
			"negative":     tokens(-5),
			"requests":     {N: 1_000},
		} {
			if f := l.Forecast(c); f != (Forecast{}) {
				t.Errorf("%s: %+v, want at once", name, f)
			}
		}
		grant(t, &l, tokens(-5)).Answered(Answer{}) // and takes nothing back
		if f := l.Forecast(tokens(1)); f.Wait != 100*time.Millisecond || f.Quota != "10 tokens/s burst 10" {
			t.Errorf("a token may go in %v for %q, want 100ms", f.Wait, f.Quota)
		}
	})
}

func TestCostsInRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			c    Claim
			want time.Duration // until 10 may go, of 10
		}{
			{Claim{}, time.Second / 10},
			{Claim{N: 10}, time.Second},
			{Claim{N: 10, Costs: quota.Costs{"tokens": 1}}, time.Second},
			{Claim{N: 1, Costs: quota.Costs{"tokens": 10}}, time.Second / 10},
			{Claim{Costs: quota.Costs{"tokens": 10}}, time.Second / 10},
		} {
			l := Limiter{Quotas: quotas(t, "10/s burst 10")}
			grant(t, &l, test.c)
			if got := l.Forecast(Claim{N: 10}).Wait; got != test.want {
				t.Errorf("after %+v, 10 may go in %v, want %v", test.c, got, test.want)
			}
		}
	})
}

func TestCostsTooLargeAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, text := range []string{
			"30 tokens/m burst 30", "30 tokens/m window", "30 tokens/m window grid", "30 tokens/m log",
			"30 tokens/m sliding", "30 tokens/m estimate", "30 tokens in flight", "30 tokens unanswered",
		} {
			l := Limiter{Name: "api", Quotas: quotas(t, "5/s even, "+text)}
			l.Pause(time.Hour) // it is not waited for
			_, _, err := l.Join(t.Context(), tokens(31))
			var e *Error
			if !errors.As(err, &e) || !errors.Is(err, ErrTooLarge) || e.Cost != 31 || e.Unit != "tokens" || e.Quota != text || e.Bucket != "api" || e.Wait != 0 {
				t.Errorf("%s: got %v, want ErrTooLarge, a cost of 31 tokens and the quota", text, err)
			}
			if f := l.Forecast(tokens(31)); !f.Never || !errors.Is(f.Err, ErrTooLarge) {
				t.Errorf("%s: forecast %+v, want never", text, f)
			}
			if f := l.Forecast(tokens(30)); f.Never || f.Wait != time.Hour {
				t.Errorf("%s: forecast of 30 is %+v, want an hour", text, f)
			}
		}
	})
}

func TestCostsTooLargeAfterSetQuotas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limiter{Quotas: quotas(t, "1/s even, 30 tokens/m burst 30")}
		c := newCrowd()
		c.claim(t.Context(), &l, "a", Claim{}, 0)
		c.claim(t.Context(), &l, "b", tokens(30), 0)
		c.claim(t.Context(), &l, "c", tokens(10), 0)
		if err := l.SetQuotas(quotas(t, "1/s even, 30 tokens/m burst 20")); err != nil {
			t.Fatal(err)
		}
		c.check(t, "a 0s", "b refused 0s", "c 1s")
	})
}

func TestDebt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limiter{Quotas: quotas(t, "10 tokens/s burst 10 debt")}
		c := newCrowd()
		ask := func(name string, n int) { c.claim(t.Context(), &l, name, tokens(n), 0) }
		ask("a", 4)
		ask("b", 100) // when the bucket is full, at 0.4 s
		ask("c", 1)   // 90 owed, and 1
		ask("d", 30)  // full again a second after c, which left nothing
		ask("e", 10)  // 20 owed, and 10
		if f := l.Forecast(tokens(1_000)); f.Never || f.Wait != 14500*time.Millisecond {
			t.Errorf("forecast %+v, want when all is paid and the bucket is full: 14.5s", f)
		}
		c.check(t, "a 0s", "b 400ms", "c 9.5s", "d 10.5s", "e 13.5s")
	})
}

func TestDebtInAStackAndAParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := Limiter{Quotas: quotas(t, "100 bytes/s burst 50 debt")}
		l := Limiter{Quotas: quota.Quotas{{N: 10, Burst: 3}, {N: 1000, Unit: quota.Bytes, Burst: 10, Debt: true}}, Parent: &host}
		c := newCrowd()
		for _, name := range []string{"a", "b", "c"} {
			c.claim(t.Context(), &l, name, Claim{Costs: quota.Costs{quota.Bytes: 150}}, 0)
		}
		// The host's is full again after 1.5 s each time, that of l after 150 ms.
		c.check(t, "a 0s", "b 1.5s", "c 3s")
	})
}

func TestCostsOfWaitersAreCopied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limiter{Quotas: quotas(t, "10 tokens/s burst 10")}
		grant(t, &l, tokens(10))
		costs := quota.Costs{"tokens": 10}
		_, w := join(t, &l, Claim{Costs: costs})
		costs["tokens"] = 1
		time.Sleep(time.Second - 1)
		synctest.Wait()
		if gone(w) {
			t.Error("went early")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if !gone(w) {
			t.Error("still waits")
		}
	})
}

func TestCostsOfLearnedWindows(t *testing.T) {
	tells := func(remaining int) Answer {
		return Answer{Statements: []quota.Statement{
			{Name: "requests", Limit: 100, Remaining: 50, Reset: time.Minute, ResetKnown: true},
			{Name: "tokens", Unit: "tokens", Limit: 1000, Remaining: int64(remaining), Reset: time.Minute, ResetKnown: true},
		}}
	}
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Rand: noJitter}
		available := func(want int) {
			t.Helper()
			if got := l.State().Limits[1]; got.Unit != "tokens" || got.Available != int64(want) {
				t.Errorf("%+v, want %d tokens available", got, want)
			}
		}
		grant(t, l, tokens(100)).Answered(tells(900))
		g, h := grant(t, l, tokens(400)), grant(t, l, tokens(400))
		available(100)
		if f := l.Forecast(tokens(100)); f != (Forecast{}) {
			t.Errorf("100 tokens are left: %+v", f)
		}
		if _, _, err := l.Join(t.Context(), Claim{MaxWait: -1, Costs: quota.Costs{"tokens": 101}}); !errors.Is(err, ErrWouldWait) {
			t.Errorf("101 of 100: %v", err)
		}
		g.Settle(quota.Costs{"tokens": 10})
		g.Answered(tells(490)) // the server may have seen h, too, or not
		available(90)
		h.Cancel()
		available(490)
		u := grant(t, l, Claim{}) // who does not know its cost counts as one
		available(489)
		u.Answered(tells(0))
		if f := l.Forecast(tokens(1)); f.Wait != time.Minute || f.Cause != CauseWindowUsedUp || f.Quota != "tokens of 1000 tokens" {
			t.Errorf("%+v, want a minute for the tokens", f)
		}
	})
}

// TestCostsAreThoseOfTheClaim: what the caller does with its map while the claim waits makes no difference.
func TestCostsAreThoseOfTheClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "10 tokens/s burst 10")}
		grant(t, l, tokens(10))
		claim := tokens(5)
		_, w := join(t, l, claim)
		claim.Costs["tokens"] = 1
		time.Sleep(500*time.Millisecond - 1)
		if synctest.Wait(); gone(w) {
			t.Error("it went before its 5 tokens were there")
		}
		time.Sleep(time.Nanosecond)
		if synctest.Wait(); !gone(w) {
			t.Error("it waits, and its 5 tokens are there")
		}
		if f := l.Forecast(tokens(1)); f.Wait != 100*time.Millisecond {
			t.Errorf("one more token in %v, want 100ms: 5 were charged", f.Wait)
		}
	})
}

// A claim that waits uses what one that was granted has left, and so do its place in line, and that of its
// bucket in the agenda.
func TestWaitMakesLittleGarbage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "1000/s even")}
		if n := testing.AllocsPerRun(1000, func() {
			if err := l.Wait(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("%v allocations for each wait, want none", n)
		}
	})
}
