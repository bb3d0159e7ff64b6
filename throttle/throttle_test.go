package throttle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
)

// when returns the time at the end of "name time".
func when(s string) time.Duration {
	d, err := time.ParseDuration(s[strings.LastIndexByte(s, ' ')+1:])
	if err != nil {
		panic(err)
	}
	return d
}

func TestLimiterZeroValueGrantsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Limiter
		for range 1000 {
			if err := l.Wait(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
		}
		if !l.Idle() {
			t.Error("not idle")
		}
	})
}

func TestLimiterBurstThenPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limiter{Quotas: quota.Quotas{{N: 5, Burst: 3}}}
		c := newCrowd()
		for i := range 6 {
			c.wait(t.Context(), &l, fmt.Sprint(i), 1)
		}
		c.check(t, "0 0s", "1 0s", "2 0s", "3 200ms", "4 400ms", "5 600ms")
	})
}

func TestLimiterExactOverManyGrants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limiter{Quotas: quota.Quotas{{N: 1, Kind: quota.TokenBucket}}}
		start := time.Now()
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				if err := l.Wait(t.Context(), 1); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if got := time.Since(start); got != 99*time.Second {
			t.Errorf("100 waits at 1/s took %v, want 1m39s", got)
		}
	})
}

func TestLimiterWeights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limiter{Quotas: quota.Quotas{{N: 10, Burst: 10}}}
		c := newCrowd()
		c.wait(t.Context(), &l, "eight", 8)
		c.wait(t.Context(), &l, "ten", 10)    // 2 are there, 8 come in 800 ms
		c.wait(t.Context(), &l, "one", 1)     // not before the heavy one, though it could
		c.wait(t.Context(), &l, "eleven", 11) // never
		c.check(t, "eight 0s", "eleven refused 0s", "ten 800ms", "one 900ms")
		if err := c.errs[0]; !errors.Is(err, ErrTooLarge) {
			t.Errorf("got %v, want ErrTooLarge", err)
		}
	})
}

func TestLimiterStackedQuotas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limiter{Quotas: quota.Quotas{{N: 10, Burst: 10}, {N: 60, Per: time.Minute, Burst: 12}}}
		c := newCrowd()
		for i := range 14 {
			c.wait(t.Context(), &l, fmt.Sprint(i), 1)
		}
		// Ten by the first burst, two more at its pace, then the minute's quota.
		// What was short was not charged to the other.
		c.check(t, "0 0s", "1 0s", "2 0s", "3 0s", "4 0s", "5 0s", "6 0s", "7 0s", "8 0s", "9 0s",
			"10 100ms", "11 200ms", "12 1s", "13 2s")
	})
}

func TestLimiterCancelMovesOthersUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limiter{Quotas: quota.Quotas{{N: 1, Kind: quota.TokenBucket}}}
		c := newCrowd()
		c.wait(t.Context(), &l, "a", 1)
		ctx, cancel := context.WithCancelCause(t.Context())
		c.wait(ctx, &l, "b", 1)
		c.wait(t.Context(), &l, "c", 1)
		time.Sleep(500 * time.Millisecond)
		why := errors.New("changed my mind")
		cancel(why)
		c.check(t, "a 0s", "b refused 500ms", "c 1s")
		if err := c.errs[0]; !errors.Is(err, ErrCanceled) || !errors.Is(err, why) {
			t.Errorf("got %v, want ErrCanceled and the cause", err)
		}
		if s := l.State(); s.Waiting != 0 || s.InFlight != 0 {
			t.Errorf("state %+v, want nobody left", s)
		}
	})
}

func TestLimiterManyCanceledLeaveNoDebt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limiter{Quotas: quota.Quotas{{N: 10, Burst: 10}}}
		if err := l.Wait(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		c := newCrowd()
		for range 200 {
			c.wg.Go(func() { l.Wait(ctx, 1) })
		}
		synctest.Wait()
		cancel()
		c.wg.Wait()
		c.wait(t.Context(), &l, "next", 1)
		c.check(t, "next 100ms")
	})
}

func TestGrantCancelGivesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limiter{Quotas: quota.Quotas{{N: 1, Kind: quota.TokenBucket}}}
		g, err := l.Acquire(t.Context(), Claim{})
		if err != nil {
			t.Fatal(err)
		}
		c := newCrowd()
		c.wait(t.Context(), &l, "b", 1)
		c.wait(t.Context(), &l, "c", 1)
		time.Sleep(250 * time.Millisecond)
		g.Cancel()
		// The token was there all the time, and a full bucket gains nothing, so
		// the next is due a second after it is taken.
		c.check(t, "b 250ms", "c 1.25s")
	})
}

func TestLimiterDeadlineIsCheckedOnEntry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limiter{Name: "api.example.com", Quotas: quota.Quotas{{N: 1, Kind: quota.TokenBucket}}}
		c := newCrowd()
		c.wait(t.Context(), &l, "a", 1)
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		c.wait(ctx, &l, "b", 1)
		c.wait(ctx, &l, "c", 1) // due at 2 s
		c.check(t, "a 0s", "c refused 0s", "b 1s")
		err := c.errs[0]
		var e *Error
		if !errors.As(err, &e) || !errors.Is(err, ErrDeadline) || !errors.Is(err, context.DeadlineExceeded) || !e.Timeout() {
			t.Errorf("got %v, want ErrDeadline, a timeout", err)
		}
		if e.Wait != 2*time.Second || e.Bucket != l.Name || e.Quota != "1/s even" || e.Cause != CausePace {
			t.Errorf("got %+v", e)
		}
		const text = `throttle: api.example.com: not sent: wait past the deadline (in 1.5s): pace "1/s even", could go in 2s`
		if err.Error() != text {
			t.Errorf("text\n%s\nwant\n%s", err, text)
		}
	})
}

func TestLimiterMaxWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limiter{Quotas: quota.Quotas{{N: 1, Kind: quota.TokenBucket}}, MaxWait: 1500 * time.Millisecond}
		c := newCrowd()
		for _, name := range []string{"a", "b", "c"} {
			c.wait(t.Context(), &l, name, 1)
		}
		c.check(t, "a 0s", "c refused 0s", "b 1s")
		if !errors.Is(c.errs[0], ErrMaxWait) {
			t.Errorf("got %v, want ErrMaxWait", c.errs[0])
		}
	})
}

func TestLimiterMaxWaitOfAWaiter(t *testing.T) {
	// A wait that grows after it began ends when it is known to be too long.
	synctest.Test(t, func(t *testing.T) {
		l := Limiter{MaxWait: 5 * time.Second}
		l.Pause(time.Second)
		c := newCrowd()
		c.wait(t.Context(), &l, "a", 1)
		time.Sleep(500 * time.Millisecond)
		l.Pause(4500 * time.Millisecond) // exactly as long as a may wait
		c.wait(t.Context(), &l, "b", 1)
		l.Pause(4500*time.Millisecond + 1)
		c.check(t, "a refused 500ms", "b 5.000000001s")
	})
}

func TestLimiterNoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limiter{Quotas: quota.Quotas{{N: 1, Kind: quota.TokenBucket}}, MaxWait: -1}
		if err := l.Wait(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		var e *Error
		if err := l.Wait(t.Context(), 1); !errors.As(err, &e) || !errors.Is(err, ErrWouldWait) || e.Wait != time.Second {
			t.Errorf("got %v, want ErrWouldWait of 1s", err)
		}
		if got, want := l.Forecast(Claim{}), (Forecast{Wait: time.Second, Cause: CausePace, Quota: "1/s even"}); got != want {
			t.Errorf("Forecast = %+v, want %+v", got, want)
		}
	})
}

func TestLimiterCancelChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Limiter
		l.Pause(time.Hour)
		cancel := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(cancel) })
		start := time.Now()
		if _, err := l.Acquire(t.Context(), Claim{Cancel: cancel}); !errors.Is(err, ErrCanceled) || time.Since(start) != time.Second {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
	})
}

// TestLimiterCancelChannelClosed: a claim whose Cancel channel is closed already is not granted, nor charged,
// also where nothing delays it.
func TestLimiterCancelChannelClosed(t *testing.T) {
	closed, open := make(chan struct{}), make(chan struct{})
	close(closed)
	for _, text := range []string{"", "1000/s burst 1000", "1000/s", "5 in flight"} {
		synctest.Test(t, func(t *testing.T) {
			l := &Limiter{Name: "a"}
			if text != "" {
				l.Quotas = quota.MustParse(text)
			}
			for range 3 { // the first looks at the bucket, the next may go at a glance
				_, err := l.Acquire(t.Context(), Claim{Cancel: closed})
				if want := "throttle: a: not sent: canceled, since Cancel has already been closed: context canceled"; !errors.Is(err, ErrCanceled) || err.Error() != want {
					t.Errorf("%q: Acquire = %v, want %s", text, err, want)
				}
				g, err := l.Acquire(t.Context(), Claim{Cancel: open})
				if err != nil {
					t.Fatal(err)
				}
				g.Cancel()
			}
			s := l.State()
			if s.InFlight != 0 {
				t.Errorf("%q: %d in flight", text, s.InFlight)
			}
			for _, q := range s.Limits {
				if q.Available != q.Limit {
					t.Errorf("%q: %+v, want nothing charged", text, q)
				}
			}
		})
	}
}

// TestAtOnceAfterARefusal: claims go at a glance again when requests were served for a day after a refusal.
func TestAtOnceAfterARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{SlowStart: true, Rand: noJitter}
		serve := func(n int, a Answer) {
			for range n {
				g, err := l.Acquire(t.Context(), Claim{})
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(100 * time.Microsecond)
				g.Answered(a)
			}
		}
		atOnce := func() bool {
			g := within.AtOnce(t.Context(), l, "", "")
			if g != nil {
				g.Answered(Answer{})
			}
			return g != nil
		}
		if serve(300, Answer{}); !atOnce() {
			t.Fatal("a claim does not go at a glance at first")
		}
		serve(1, Answer{Refused: true, Hold: &quota.Hold{For: time.Second}})
		for start := time.Now(); time.Since(start) < 24*time.Hour; time.Sleep(30 * time.Second) {
			if serve(10, Answer{}); atOnce() {
				t.Fatalf("at a glance %v after a refusal", time.Since(start))
			}
		}
		if serve(100, Answer{}); !atOnce() {
			t.Errorf("a day after a refusal no claim goes at a glance: %+v", l.State())
		}
	})
}

func TestSetQuotasRetimesWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limiter{Quotas: quota.Quotas{{N: 1, Per: time.Minute, Kind: quota.TokenBucket}}}
		c := newCrowd()
		for _, name := range []string{"a", "b", "c", "d"} {
			c.wait(t.Context(), &l, name, 1)
		}
		time.Sleep(6 * time.Second) // a tenth of a token has come back
		if err := l.SetQuotas(quota.Quotas{{N: 10, Burst: 1}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if err := l.SetQuotas(quota.Quotas{{N: 1, Kind: quota.TokenBucket}}); err != nil { // and down again
			t.Fatal(err)
		}
		c.check(t, "a 0s", "b 6.09s", "c 7s", "d 8s")
		if err := l.SetQuotas(quota.Quotas{{N: -1, Burst: 1}}); err == nil {
			t.Error("no error for a bad quota")
		}
	})
}

func TestSetQuotasBelowCostRefusesWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limiter{Quotas: quota.Quotas{{N: 1, Burst: 5}}}
		c := newCrowd()
		c.wait(t.Context(), &l, "a", 5)
		c.wait(t.Context(), &l, "b", 5)
		l.SetQuotas(quota.Quotas{{N: 1, Burst: 2}})
		c.check(t, "a 0s", "b refused 0s")
	})
}

func TestPauseHoldsAndOnlyExtends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Limiter
		c := newCrowd()
		l.Pause(10 * time.Second)
		c.wait(t.Context(), &l, "a", 1)
		l.Pause(time.Second) // shorter: nothing changes
		time.Sleep(5 * time.Second)
		l.Pause(20 * time.Second) // longer: the sleeper is re-timed
		c.check(t, "a 25s")
	})
}

func TestResumeReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limiter{Quotas: quota.Quotas{{N: 1, Kind: quota.TokenBucket}}}
		l.Pause(time.Hour)
		c := newCrowd()
		c.wait(t.Context(), &l, "a", 1)
		c.wait(t.Context(), &l, "b", 1)
		time.Sleep(time.Minute)
		l.Resume()
		c.check(t, "a 1m0s", "b 1m1s")
	})
}

func TestParentGrantsWithChildOrNotAtAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := Limiter{Name: "host", Quotas: quota.Quotas{{N: 2, Burst: 2}}}
		slow := Limiter{Name: "slow", Parent: &host, Quotas: quota.Quotas{{N: 1, Per: 10 * time.Second, Kind: quota.TokenBucket}}}
		c := newCrowd()
		c.wait(t.Context(), &slow, "slow1", 1)
		c.wait(t.Context(), &slow, "slow2", 1) // due at 10 s
		c.wait(t.Context(), &host, "host1", 1) // is not blocked by it
		c.wait(t.Context(), &host, "host2", 1)
		c.wait(t.Context(), &host, "host3", 1)
		c.check(t, "host1 0s", "slow1 0s", "host2 500ms", "host3 1s", "slow2 10s")
	})
}

func TestChildrenShareParentInOrderOfArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := Limiter{Quotas: quota.Quotas{{N: 1, Kind: quota.TokenBucket}}}
		a, b := Limiter{Parent: &host}, Limiter{Parent: &host}
		c := newCrowd()
		for i, l := range []*Limiter{&a, &a, &a, &b, &host, &b, &a} {
			c.wait(t.Context(), l, fmt.Sprint(i), 1)
		}
		c.check(t, "0 0s", "1 1s", "2 2s", "3 3s", "4 4s", "5 5s", "6 6s")
	})
}

func TestPauseOfChildWhileItWaitsAtParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := Limiter{Quotas: quota.Quotas{{N: 1, Kind: quota.TokenBucket}}}
		child := Limiter{Parent: &host}
		c := newCrowd()
		c.wait(t.Context(), &host, "a", 1)
		c.wait(t.Context(), &child, "b", 1) // stands in the host's line
		c.wait(t.Context(), &host, "c", 1)
		child.Pause(5 * time.Second) // no longer blocks c
		c.check(t, "a 0s", "c 1s", "b 5s")
	})
}

func TestAskingAgainGoesToTheFront(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limiter{Quotas: quota.Quotas{{N: 1, Kind: quota.TokenBucket}}, Rand: noJitter}
		g, err := l.Acquire(t.Context(), Claim{})
		if err != nil {
			t.Fatal(err)
		}
		c := newCrowd()
		c.wait(t.Context(), &l, "b", 1)
		c.wait(t.Context(), &l, "c", 1)
		g.Answered(Answer{Refused: true, Hold: &quota.Hold{For: 2 * time.Second}})
		if _, err := l.Acquire(t.Context(), Claim{After: g}); err != nil {
			t.Fatal(err)
		}
		if got := time.Since(c.start); got != 2*time.Second {
			t.Errorf("asked again, went after %v, want 2s", got)
		}
		c.check(t, "b 3s", "c 4s")
	})
}

func TestLateTimersLoseNoQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limiter{Quotas: quota.Quotas{{N: 1000, Burst: 1}}}
		c := newCrowd()
		for i := range 6 {
			c.wait(t.Context(), &l, fmt.Sprint(i), 1)
		}
		stopTimer(&l)
		time.Sleep(2500 * time.Microsecond)
		l.tick() // the timer of 1 ms fires 1.5 ms late
		c.check(t, "0 0s", "1 2.5ms", "2 2.5ms", "3 3ms", "4 4ms", "5 5ms")
	})
}

func TestLagCreditIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limiter{Quotas: quota.Quotas{{N: 1000, Burst: 1}}}
		c := newCrowd()
		for i := range 6 {
			c.wait(t.Context(), &l, fmt.Sprint(i), 1)
		}
		stopTimer(&l)
		time.Sleep(10 * time.Millisecond)
		l.tick() // of 9 ms lateness, 2 ms count
		c.check(t, "0 0s", "1 10ms", "2 10ms", "3 10ms", "4 11ms", "5 12ms")
	})
}

func TestBadQuotaIsNamed(t *testing.T) {
	l := Limiter{Quotas: quota.Quotas{{N: 5, Burst: 1}, {Name: "daily", N: 100, Per: -time.Hour, Burst: 1}}}
	err := l.Wait(t.Context(), 1)
	const want = `quota: "daily": Per is -1h0m0s, want a positive duration, or 0 for a second`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestWarmUpAsALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limiter{Quotas: quota.Quotas{{N: 10, WarmUp: 2 * time.Second}}}
		var gaps []time.Duration
		last := time.Now()
		for range 16 {
			if err := l.Wait(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			gaps = append(gaps, time.Since(last))
			last = time.Now()
		}
		if gaps[0] != 0 || gaps[1] < 250*time.Millisecond || gaps[15] != 100*time.Millisecond {
			t.Errorf("gaps %v, want 0, then from 3 times 100ms down to 100ms", gaps)
		}
		if !slices.IsSortedFunc(gaps[1:], func(a, b time.Duration) int { return int(b - a) }) {
			t.Errorf("gaps %v do not fall", gaps)
		}
		if f := l.Forecast(Claim{}); f.Cause != CauseWarmUp {
			t.Errorf("cause %q, want %q", f.Cause, CauseWarmUp)
		}
	})
}

func TestNegativeCostPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	new(Limiter).Wait(t.Context(), -1)
}

func TestConcurrentUse(t *testing.T) {
	host := &Limiter{Quotas: quota.Quotas{{N: 100000, Burst: 100}}}
	child := &Limiter{Parent: host, SlowStart: true}
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for j := range 200 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i+1)*time.Millisecond)
				g, err := child.Acquire(ctx, Claim{})
				switch {
				case err != nil:
				case j%7 == 0:
					g.Cancel()
				default:
					g.Answered(Answer{Statements: []quota.Statement{{Limit: 100, Remaining: 50, Reset: time.Millisecond, ResetKnown: true}}})
				}
				cancel()
				if j%50 == 0 {
					child.Pause(time.Millisecond)
					child.State()
				}
			}
		})
	}
	wg.Wait()
	if s := child.State(); s.Waiting != 0 || s.InFlight != 0 {
		t.Errorf("state %+v, want nobody left", s)
	}
}
