package throttle

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/quota"
)

func TestWindowLeastRemainingLessInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := server10(t)
		a.get().Answered(says(9, time.Minute))
		b, c, d := a.get(), a.get(), a.get()
		a.wantOpen(6)
		time.Sleep(time.Millisecond)
		d.Answered(says(6, time.Minute)) // the server has seen all three
		a.wantOpen(4)                    // two are in flight as far as we know
		b.Answered(says(8, time.Minute)) // older news
		a.wantOpen(5)
		c.Answered(says(7, time.Minute))
		a.wantOpen(6)
	})
}

func TestWindowFollowsOtherConsumers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := server10(t)
		a.get().Answered(says(9, time.Minute))
		a.get().Answered(says(2, time.Minute))
		a.wantOpen(2)
	})
}

func TestWindowNewsRaisesOldNewsDoesNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := server10(t)
		a.get().Answered(says(3, time.Minute))
		old := a.get()
		g := a.get()
		time.Sleep(time.Millisecond)
		g.Answered(says(1, time.Minute))
		old.Answered(says(2, time.Minute)) // was written before
		a.wantOpen(1)
		a.get().Answered(says(9, time.Minute)) // was asked after: the window has rolled
		a.wantOpen(9)
	})
}

func TestWindowUsedUpHoldsUntilResetThenOneProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := server10(t)
		a.get().Answered(says(0, time.Minute))
		a.wantOpen(0)
		time.Sleep(time.Minute - 1)
		a.wantOpen(0)
		time.Sleep(time.Nanosecond)
		a.wantOpen(1)
		probe := a.get()
		a.wantOpen(0)
		probe.Answered(says(9, time.Minute))
		a.wantOpen(9)
	})
}

func TestWindowProbeRetimesWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := server10(t)
		a.get().Answered(says(0, time.Minute))
		c := newCrowd()
		for _, name := range []string{"a", "b", "c"} {
			c.wg.Go(func() {
				g := a.get()
				c.mu.Lock()
				c.went = append(c.went, name+" "+time.Since(c.start).String())
				c.mu.Unlock()
				time.Sleep(100 * time.Millisecond)
				g.Answered(says(1, time.Minute))
			})
			synctest.Wait()
		}
		// a is the probe; b goes on its answer, which leaves one; c on b's.
		c.check(t, "a 1m0s", "b 1m0.1s", "c 1m0.2s")
	})
}

func TestWindowResetAsAnInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := server10(t)
		whole := func(remaining int, reset time.Duration) Answer {
			s := says(remaining, reset)
			s.Statements[0].Resolution = time.Second
			return s
		}
		// The reset is at 2.3 s. Whole seconds, rounded up: not after 3, then, when
		// 2 is said at 0.3 s, not after 2.3 s.
		a.get().Answered(whole(9, 3*time.Second))
		time.Sleep(300 * time.Millisecond)
		a.get().Answered(whole(8, 2*time.Second))
		time.Sleep(700 * time.Millisecond)
		a.get().Answered(whole(0, 2*time.Second)) // not after 3 s: nothing new
		start := time.Now()
		a.get().Answered(whole(9, 3*time.Second))
		if got := time.Since(start); got != 1300*time.Millisecond {
			t.Errorf("probe after %v, want 1.3s", got)
		}
	})
}

func TestWindowRoundedDownIsLearned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := server10(t)
		whole := func(remaining int, reset time.Duration, refused bool) Answer {
			s := says(remaining, reset)
			s.Statements[0].Resolution, s.Refused = time.Second, refused
			return s
		}
		start := time.Now()
		a.get().Answered(whole(0, 4*time.Second, false)) // 4.9 s, rounded down
		probe := a.get()
		if got := time.Since(start); got != 4*time.Second {
			t.Errorf("probe after %v, want 4s", got)
		}
		probe.Answered(whole(0, 0, true)) // 0.9 s
		a.get().Answered(whole(9, 4*time.Second, false))
		a.get().Answered(whole(0, 4*time.Second, false))
		if got := time.Since(start); got != 5*time.Second {
			t.Errorf("second probe after %v, want 5s: the end of the second", got)
		}
		a.get() // now it is known
		if got := time.Since(start); got != 10*time.Second {
			t.Errorf("third probe after %v, want 10s", got)
		}
	})
}

func TestWindowWithoutResetIsLookedAtAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := server10(t)
		a.get().Answered(Answer{Statements: []quota.Statement{{Remaining: 0}}})
		start := time.Now()
		a.get().Answered(Answer{Statements: []quota.Statement{{Remaining: 0}}})
		a.get().Answered(Answer{Statements: []quota.Statement{{Remaining: 5}}})
		if got := time.Since(start); got != 2*unsaidReset {
			t.Errorf("took %v, want %v", got, 2*unsaidReset)
		}
		a.wantOpen(5)
	})
}

func TestWindowIsForgottenWhenNoLongerStated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := server10(t)
		a.get().Answered(says(1, 30*time.Second))
		a.get().Answered(Answer{}) // says nothing, but counted
		a.wantOpen(0)
		time.Sleep(30 * time.Second)
		a.get().Answered(Answer{}) // the reset has passed, and still nothing
		a.wantOpen(1000)
	})
}

func TestWindowsOfSeveralNamesAllBind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := server10(t)
		a.get().Answered(Answer{Statements: []quota.Statement{
			{Name: "second", Limit: 10, Remaining: 9, Reset: time.Second, ResetKnown: true},
			{Name: "hour", Limit: 100, Remaining: 3, Reset: time.Hour, ResetKnown: true},
		}})
		a.wantOpen(3)
		_, w, err := a.l.Join(t.Context(), Claim{N: 4, MaxWait: -1})
		var e *Error
		if w != nil || err == nil || !asError(err, &e) || e.Quota != "hour of 100" || e.Cause != CauseWindowUsedUp {
			t.Errorf("got %v, %v", w, err)
		}
	})
}

func TestWindowNamesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := server10(t)
		for i := range 1000 {
			a.get().Answered(Answer{Statements: []quota.Statement{{Name: string(rune('a' + i)), Limit: 10000, Remaining: 9000, Reset: time.Second, ResetKnown: true}}})
		}
		if n := len(a.l.State().Limits); n != maxWindows {
			t.Errorf("%d windows, want %d", n, maxWindows)
		}
	})
}

func TestHintHoldsAllAndOnlyExtends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := server10(t)
		a.l.SlowStart = false
		x, y := a.get(), a.get()
		start := time.Now()
		if held := x.Answered(Answer{Refused: true, Hold: &quota.Hold{For: 10 * time.Second}}).Held; held != 10*time.Second {
			t.Errorf("held for %v", held)
		}
		if held := y.Answered(Answer{Refused: true, Hold: &quota.Hold{For: time.Second}}).Held; held != 10*time.Second {
			t.Errorf("held for %v", held)
		}
		a.get()
		if got := time.Since(start); got != 10*time.Second {
			t.Errorf("went after %v, want 10s", got)
		}
	})
}

func TestAfterAHoldOneGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := server10(t)
		a.get().Answered(Answer{Refused: true, Hold: &quota.Hold{For: time.Second}})
		time.Sleep(time.Second)
		a.wantOpen(1)
		a.get().Answered(Answer{})
		a.wantOpen(2)
	})
}

func TestRefusalsWithoutHintDouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := server10(t)
		for _, want := range []string{"100ms", "200ms", "400ms", "800ms"} {
			if held := a.get().Answered(Answer{Refused: true}).Held; held.String() != want {
				t.Errorf("held for %v, want %v", held, want)
			}
		}
		a.get().Answered(Answer{})
		if held := a.get().Answered(Answer{Refused: true}).Held; held != 100*time.Millisecond {
			t.Errorf("held for %v after a success", held)
		}
	})
}

func TestABurstOfRefusalsIsOneSignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := server10(t)
		a.l.SlowStart = false
		var grants []*Grant
		for range 10 {
			grants = append(grants, a.get())
		}
		time.Sleep(time.Millisecond)
		for _, g := range grants {
			if held := g.Answered(Answer{Refused: true}).Held; held != 100*time.Millisecond {
				t.Errorf("held for %v", held)
			}
		}
	})
}

func TestAServersWordIsBounded(t *testing.T) {
	const years = 100 * 365 * 24 * time.Hour
	span := whole.Or(6*time.Hour, 24*time.Hour)
	for name, lie := range map[string]Answer{
		"hint":             {Refused: true, Hold: &quota.Hold{For: years}},
		"reset":            says(0, 1<<63-1),
		"reset and hint":   {Refused: true, Hold: &quota.Hold{For: 1<<63 - 1}, Statements: says(0, years).Statements},
		"never, refused":   {Refused: true, Statements: []quota.Statement{{Limit: math.MaxInt, Remaining: -5, Reset: -years, ResetKnown: true}}},
		"remaining 0 only": {Statements: []quota.Statement{{Remaining: 0}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := server10(t)
				a.l.MaxHold = 10 * time.Minute
				start := time.Now()
				n := 0
				for ; time.Since(start) < span; n++ {
					before := time.Now()
					a.get().Answered(lie)
					if took := time.Since(before); took > 10*time.Minute {
						t.Fatalf("held for %v", took)
					}
				}
				if n > int(span/time.Second)+2 {
					t.Errorf("%d requests in %v: hammers", n, span)
				}
			})
		})
	}
}

// TestAServersWordIsBoundedBesideAWindow: so it is where the server serves as many in each window, which it
// does not state: its word is not that of the window.
func TestAServersWordIsBoundedBesideAWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := server10(t)
		a.l.MaxHold = 10 * time.Second
		start, from, used := time.Now(), time.Now(), 0
		for n := 0; time.Since(start) < 10*time.Minute; n++ {
			before := time.Now()
			g := a.get()
			if took := time.Since(before); took > 15*time.Second {
				t.Fatalf("request %d was held for %v, %v after the first", n, took, time.Since(start))
			}
			if time.Since(from) >= 10*time.Second {
				from, used = time.Now(), 0
			}
			time.Sleep(10 * time.Millisecond)
			if used++; used > 20 {
				g.Answered(Answer{Refused: true, Hold: &quota.Hold{For: 10 * 365 * 24 * time.Hour}})
			} else {
				g.Answered(Answer{})
			}
		}
	})
}

func TestRefillSeenByAResetThatMovesOn(t *testing.T) {
	// A token bucket of 60 that refills one a second: the reset is the time to
	// full, so it moves while Remaining falls.
	synctest.Test(t, func(t *testing.T) {
		a := server10(t)
		for i := range 60 {
			a.get().Answered(Answer{Statements: []quota.Statement{{
				Limit: 60, Remaining: int64(59 - i), Reset: time.Second * time.Duration(i+1), ResetKnown: true,
			}}})
		}
		start := time.Now()
		a.get()
		if got := time.Since(start); got != time.Second {
			t.Errorf("waited %v, want 1s: when a token is back, not when all are", got)
		}
		if s := a.l.State(); len(s.Limits) != 1 || s.Limits[0].Rate != 1 {
			t.Errorf("state %+v, want a rate of 1/s", s)
		}
	})
}

func TestIdleLimiterMayBeForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := asker{t, &Limiter{Quotas: quota.Quotas{{N: 1, Kind: quota.TokenBucket}}, Rand: noJitter}}
		if !a.l.Idle() {
			t.Error("a new one is not idle")
		}
		g := a.get()
		time.Sleep(time.Hour)
		if a.l.Idle() {
			t.Error("idle with a request in flight")
		}
		g.Answered(says(0, time.Minute))
		if a.l.Idle() {
			t.Error("idle with a window used up")
		}
		time.Sleep(time.Minute)
		if !a.l.Idle() {
			t.Error("not idle after the reset")
		}
		a.l.Pause(time.Second)
		if a.l.Idle() {
			t.Error("idle while held")
		}
		time.Sleep(time.Second)
		a.get().Answered(Answer{})
		if a.l.Idle() {
			t.Error("idle with a token short")
		}
	})
}

func TestScarceLimitIsSpreadOverAFarReset(t *testing.T) {
	for _, test := range []struct {
		limit int
		gap   time.Duration // of what remains, below a fifth of the limit
	}{
		{limit: 1000, gap: time.Hour / 200},
		{limit: 100, gap: time.Minute}, // 20 would last with gaps of 3 minutes: nobody waits for so long
	} {
		synctest.Test(t, func(t *testing.T) {
			a := asker{t, &Limiter{SlowStart: true, MaxWait: time.Minute, IdleAfter: -1, Rand: noJitter}}
			left, start := test.limit, time.Now()
			ask := func() time.Duration {
				left--
				a.get().Answered(Answer{Statements: []quota.Statement{{
					Limit: int64(test.limit), Remaining: int64(left), Reset: time.Hour - time.Since(start), ResetKnown: true,
				}}})
				return time.Since(start)
			}
			for left > test.limit/5-1 {
				if at := ask(); at != 0 {
					t.Fatalf("with %d of %d left, went at %v: nothing is scarce yet", left, test.limit, at)
				}
			}
			if f := a.l.Forecast(Claim{}); f.Cause != CauseSpread || f.Quota == "" {
				t.Fatalf("%+v, want the limit as the cause, and that it is spread", f)
			}
			for i := range test.limit/5 - 5 { // the last minute is waited for
				if at, want := ask(), test.gap*time.Duration(i+1); at != want {
					t.Fatalf("with %d of %d left, went at %v, want %v", left, test.limit, at, want)
				}
			}
		})
	}
}

func TestScarceLimitIsSpentWhereItsResetIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, maxWait := range []time.Duration{0, 2 * time.Hour} {
			a := asker{t, &Limiter{MaxWait: maxWait, Rand: noJitter}}
			a.get().Answered(Answer{Statements: []quota.Statement{{Limit: 100, Remaining: 10, Reset: time.Hour, ResetKnown: true}}})
			a.wantOpen(10)
		}
	})
}

// Requests that are only observed go while the bucket is held. Where the server refuses them, the hold lasts as
// long as it asks for since the hold began, and they do not extend it for ever.
func TestObservedRequestsDoNotExtendAHoldForEver(t *testing.T) {
	for _, c := range []struct {
		hold time.Duration // that the server asks for; zero if it does not say
		want time.Duration // since the first refusal, when a claim goes that waits
	}{
		{0, 300 * time.Millisecond},
		{time.Second, time.Second},
		{10 * time.Second, 10 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := &Limiter{Rand: noJitter}
			observe := func(hold time.Duration) Outcome {
				g, _ := l.Observe(Claim{})
				return g.Answered(Answer{Refused: true, Hold: holdIf(hold, hold > 0)})
			}
			start := time.Now()
			observe(300 * time.Millisecond)
			for time.Since(start) < 250*time.Millisecond {
				time.Sleep(50 * time.Millisecond)
				if o := observe(c.hold); !o.Refused || o.Backoff != 0 || o.Held != c.want-time.Since(start) {
					t.Errorf("hold %v, after %v: %+v", c.hold, time.Since(start), o)
				}
			}
			if err := l.Wait(t.Context(), 1); err != nil || time.Since(start) != c.want {
				t.Errorf("hold %v: went after %v, want %v: %v", c.hold, time.Since(start), c.want, err)
			}
			if o := observe(time.Second); o.Held != time.Second {
				t.Errorf("after the hold: %+v", o)
			}
		})
	}
}
