package throttle

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
)

// TestDoneChargesWhatWasSpentOfAQuietBucket: what an answer has cost is charged where only requests were claimed, too.
func TestDoneChargesWhatWasSpentOfAQuietBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "100/s burst 100, 10 tokens/s burst 10")}
		grant(t, l, Claim{}).Answered(Answer{Spent: quota.Costs{"tokens": 10}})
		if got := l.Forecast(tokens(10)).Wait; got != time.Second {
			t.Errorf("10 tokens were spent, 10 more may go in %v, want 1s", got)
		}
	})
}

// TestSettleOfABucketInDebt: what is given back counts in a bucket that stays in debt.
func TestSettleOfABucketInDebt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "10 tokens/s burst 10")}
		g := grant(t, l, tokens(10))
		g.Settle(quota.Costs{"tokens": 50})
		g.Settle(quota.Costs{"tokens": 30})
		if got := l.Forecast(tokens(10)).Wait; got != 3*time.Second {
			t.Errorf("30 tokens were spent, 10 more may go in %v, want 3s", got)
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

// TestMaxQueueUrgentThatGoesDisplacesNobody: an urgent claim that goes at once takes nobody's place.
func TestMaxQueueUrgentThatGoesDisplacesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "10/s burst 10"), Reserve: 0.5, MaxQueue: 1}
		grant(t, l, Claim{N: 5}).Answered(Answer{})
		_, w := join(t, l, Claim{})
		if _, u := join(t, l, Claim{Priority: Urgent}); u != nil && !gone(u) {
			t.Error("urgent waits")
		}
		if gone(w) {
			_, err := w.Wait(t.Context())
			t.Errorf("the urgent one needs no place in line: %v", err)
		}
		w.Leave()
	})
}

// TestForecastUrgentPassesAgedNormals: aged claims that wait for what is left to them are not ahead of an urgent one.
func TestForecastUrgentPassesAgedNormals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "4/m burst 4"), Reserve: 0.5, Aging: time.Second}
		grant(t, l, Claim{N: 2}).Answered(Answer{})
		var ws []*Waiter
		for range 5 {
			_, w := join(t, l, Claim{})
			ws = append(ws, w)
		}
		time.Sleep(5 * time.Second)
		if f := l.Forecast(Claim{Priority: Urgent}); f.Wait != 0 {
			t.Errorf("Forecast %+v, and 2 are reserved", f)
		}
		for _, w := range ws {
			w.Leave()
		}
	})
}

// TestForecastUrgentAheadLeavesTheRest: urgent claims ahead do not use what is left to others.
func TestForecastUrgentAheadLeavesTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "10/s burst 10"), Reserve: 0.5}
		c := newCrowd()
		c.claim(t.Context(), l, "all", Claim{N: 10, Priority: Urgent}, 0)
		for range 10 {
			c.claim(t.Context(), l, "urgent", Claim{Priority: Urgent}, 0)
		}
		f := l.Forecast(Claim{})
		start := time.Now()
		if err := l.Wait(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); f.Wait > took {
			t.Errorf("Forecast %v, went after %v", f.Wait, took)
		}
		c.wg.Wait()
	})
}

// TestForecastOfTheRestBeginsNow: what is left is reckoned from now, as the quota itself is.
func TestForecastOfTheRestBeginsNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "10/s burst 10"), Reserve: 0.5}
		grant(t, l, Claim{N: 5}).Answered(Answer{})
		grant(t, l, Claim{N: 5, Priority: Urgent}).Answered(Answer{})
		c := newCrowd()
		for range 20 {
			c.claim(t.Context(), l, "normal", Claim{}, 0)
		}
		f := l.Forecast(Claim{})
		start := time.Now()
		if err := l.Wait(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); f.Wait > took {
			t.Errorf("Forecast %v, went after %v", f.Wait, took)
		}
		c.wg.Wait()
	})
}

// TestMaxWaitBehindAChildsWaiter: maxWait holds for one behind somebody from below.
func TestMaxWaitBehindAChildsWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &Limiter{Quotas: quotas(t, "1 in flight"), MaxWait: time.Second}
		child := &Limiter{Parent: host}
		g := grant(t, host, Claim{})
		c := newCrowd()
		c.claim(t.Context(), child, "child", Claim{}, 0)
		c.claim(t.Context(), host, "host", Claim{}, 0)
		time.Sleep(3 * time.Second)
		g.Answered(Answer{})
		c.check(t, "host refused 1s", "child 3s")
	})
}

// TestPauseAboveLetsTheNextOfAChildMoveUp: where a hold above refuses the first of a child, the next one takes
// its place.
func TestPauseAboveLetsTheNextOfAChildMoveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &Limiter{Quotas: quotas(t, "1/s even")}
		child := &Limiter{Parent: host}
		grant(t, host, Claim{}).Answered(Answer{})
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, a, err := child.Join(ctx, Claim{})
		if err != nil {
			t.Fatal(err)
		}
		_, b := join(t, child, Claim{})
		host.Pause(5 * time.Second)
		if !gone(a) {
			t.Fatal("want the first refused")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if !gone(b) {
			t.Error("the second still waits after a minute")
		}
		b.Leave()
	})
}

// TestReadingWithoutASlotNeedsNoSecondDone: only who holds a slot has to close.
func TestReadingWithoutASlotNeedsNoSecondDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "10 tokens/s burst 10")}
		g := grant(t, l, tokens(1))
		if g.Lasts() {
			t.Error("lasts")
		}
		g.Answered(Answer{Reading: true})
		time.Sleep(time.Hour)
		if !l.Idle() {
			t.Error("not idle: it holds no slot, so no Done is needed")
		}
		h := grant(t, l, Claim{})
		h.Answered(Answer{Reading: true, Spent: quota.Costs{"tokens": 1}})
		h.Done()
		g.Done()
		time.Sleep(time.Hour)
		if !l.Idle() {
			t.Error("not idle after Done")
		}
		u := grant(t, l, tokens(1))
		if !u.Answered(Answer{Reading: true, Unsettled: true}).Open {
			t.Error("does not wait for Done")
		}
		time.Sleep(time.Hour)
		if l.Idle() {
			t.Error("idle, while a cost is still to be told")
		}
		u.Settle(quota.Costs{"tokens": 5})
		u.Done()
		time.Sleep(time.Hour)
		if !l.Idle() {
			t.Error("not idle when the cost was told")
		}
	})
}

// TestSettleKnowsWhatDoneWasTold: the same number again changes nothing.
func TestSettleKnowsWhatDoneWasTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "10 tokens/s burst 10"), SlowStart: true}
		h := grant(t, l, Claim{})
		h.Answered(Answer{Spent: quota.Costs{"tokens": 10}})
		h.Settle(quota.Costs{"tokens": 10})
		if got := l.Forecast(tokens(10)).Wait; got != time.Second {
			t.Errorf("10 tokens were spent, 10 more may go in %v, want 1s", got)
		}
	})
}

// TestIdleNeedsAllThatIsLeft: a bucket is not idle while what is left to those that are not urgent is short.
func TestIdleNeedsAllThatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "10/s burst 10"), Reserve: 0.5}
		grant(t, l, Claim{N: 5}).Answered(Answer{})
		time.Sleep(500 * time.Millisecond)
		if f := l.Forecast(Claim{N: 5}); f.Wait != 500*time.Millisecond || l.Idle() {
			t.Errorf("forecast %+v, idle %v: a new one would let it go at once", f, l.Idle())
		}
	})
}

// TestTimerStopsWhenTheLastLeaves: nobody waits, and no timer runs.
func TestTimerStopsWhenTheLastLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "1 in flight")}
		g := grant(t, l, Claim{})
		_, w := join(t, l, Claim{})
		w.Leave()
		if l.line.timer.Stop() {
			t.Error("nobody waits, and a timer runs")
		}
		g.Answered(Answer{})
	})
}

// TestNoTimerForWhatOnlyAnAnswerEnds: whoever waits for a slot is woken by its end, and nobody looks every 30 s
// meanwhile; nor when somebody joined since, so that the instant from which the wait counts is up to a Lag ago.
func TestNoTimerForWhatOnlyAnAnswerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "1 in flight")}
		g := grant(t, l, Claim{})
		_, w := join(t, l, Claim{})
		time.Sleep(time.Second)
		_, u := join(t, l, Claim{Priority: Urgent})
		time.Sleep(time.Second)
		_, v := join(t, l, Claim{Priority: Background})
		if l.line.timer.Stop() {
			t.Error("only an answer lets them go, and a timer runs")
		}
		for _, o := range []*Waiter{u, w, v} {
			g.Answered(Answer{})
			if !gone(o) {
				t.Fatal("it waits although the slot is free")
			}
			g = o.Granted()
		}
	})
}

// TestArmAllocatesNothing: who waits may go at another instant after each change of the line, for which the
// timer is set again.
func TestArmAllocatesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "1/h burst 1")}
		grant(t, l, Claim{})
		_, w := join(t, l, Claim{})
		l.lock()
		root := l.root()
		now := root.now()
		at := now.Add(time.Hour)
		if n := testing.AllocsPerRun(1000, func() { at++; l.hold.Extend(at, 0, now); l.arm(now) }); n > 0 {
			t.Errorf("to set the timer again allocates %v times", n)
		}
		l.unlock()
		w.Leave()
	})
}

// TestWaiterLeaveTwice: the second time does nothing.
func TestWaiterLeaveTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "1/s even")}
		grant(t, l, Claim{}).Answered(Answer{})
		_, w := join(t, l, Claim{})
		_, x := join(t, l, Claim{})
		if !w.Leave() || w.Leave() {
			t.Error("left twice")
		}
		if n := l.line.waiting; n != 1 {
			t.Errorf("%d wait, want 1", n)
		}
		x.Leave()
	})
}

// TestErrorNamesTheCostInItsUnit: the cost of ErrTooLarge is in the unit of the quota.
func TestErrorNamesTheCostInItsUnit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "100/s burst 100, 1 tokens/s burst 3")}
		_, _, err := l.Join(t.Context(), Claim{N: 10, Costs: quota.Costs{"tokens": 5}})
		var e *Error
		if !errors.As(err, &e) || e.Cost != 5 || e.Unit != "tokens" {
			t.Errorf("got %v, want a cost of 5 tokens", err)
		}
		_, _, err = l.Join(t.Context(), Claim{N: 101, Costs: quota.Costs{"tokens": 1}})
		if !errors.As(err, &e) || e.Cost != 101 || e.Unit != "" {
			t.Errorf("got %v, want a cost of 101 requests", err)
		}
	})
}

// TestTooLargeBesideAnOutage: the error says what to claim or to write, whatever Store cannot be reached, that of
// the quota's bucket or of the other one, and whether the claim was made before or after that was known.
func TestTooLargeBesideAnOutage(t *testing.T) {
	for i := range 12 {
		small, stores, known := i%2, 1+i/2%3, i >= 6 // which bucket has the quota, of 0 the child; which have a Store, as bits
		synctest.Test(t, func(t *testing.T) {
			shared := nearStore()
			shared.fail = func(int) error { return errDown }
			above := &Limiter{Name: "1", Quotas: quotas(t, "500/s")}
			below := &Limiter{Name: "0", Quotas: quotas(t, "500/s"), Parent: above}
			path := []*Limiter{below, above}
			for j, l := range path {
				if stores>>j&1 != 0 {
					l.Shared.Store, l.Shared.Name = shared, l.Name
				}
			}
			path[small].Quotas = quotas(t, "200/s burst 5")
			if known {
				if _, err := below.Acquire(t.Context(), Claim{MaxWait: time.Second}); !errors.Is(err, ErrMaxWait) {
					t.Fatal(err)
				}
			}
			_, err := below.Acquire(t.Context(), Claim{N: 6})
			want := fmt.Sprintf(`throttle: %d: not sent: cost above what the quota ever grants at once: pace "200/s burst 5", cost 6; it grants at most 5 at once: claim less, or write "200/s burst 6" or "200/s burst 5 debt"`, small)
			if !errors.Is(err, ErrTooLarge) || err.Error() != want {
				t.Errorf("quota of %d, stores %b, known %v: got\n%v, want\n%v", small, stores, known, err, want)
			}
			below.Close()
			above.Close()
			synctest.Wait()
		})
	}
}

// TestErrorNamesTheDepthOfAFullQueue: the text of ErrQueueFull has the depth of the queue that is full.
func TestErrorNamesTheDepthOfAFullQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "1/s even queue 1")}
		grant(t, l, Claim{}).Answered(Answer{})
		_, w := join(t, l, Claim{})
		_, _, err := l.Join(t.Context(), Claim{})
		if !errors.Is(err, ErrQueueFull) || strings.Contains(err.Error(), "(0)") {
			t.Error(err)
		}
		w.Leave()
	})
}

// TestMaxQueueFindsItsOwnLast: one of lower priority makes room, also where a child's waiter stands behind it.
func TestMaxQueueFindsItsOwnLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &Limiter{Quotas: quotas(t, "1/s even"), MaxQueue: 2}
		child := &Limiter{Parent: host}
		grant(t, host, Claim{}).Answered(Answer{})
		_, a := join(t, host, Claim{Priority: Background})
		_, b := join(t, child, Claim{Priority: Background})
		_, u, err := host.Join(t.Context(), Claim{Priority: Urgent})
		if err != nil {
			t.Fatal(err)
		}
		a.Leave()
		b.Leave()
		u.Leave()
	})
}

// TestMaxQueueIsOfThoseWhoAskedTheBucket: a child's waiter takes no place of MaxQueue.
func TestMaxQueueIsOfThoseWhoAskedTheBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &Limiter{Quotas: quotas(t, "1/s even"), MaxQueue: 1}
		child := &Limiter{Parent: host}
		grant(t, host, Claim{}).Answered(Answer{})
		_, b := join(t, child, Claim{})
		_, u, err := host.Join(t.Context(), Claim{})
		if err != nil {
			t.Error(err)
		} else {
			u.Leave()
		}
		b.Leave()
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

// TestPriorityBetterOneBelowIsNotPassedAbove: who stands above makes way for a better one that joins below.
func TestPriorityBetterOneBelowIsNotPassedAbove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &Limiter{Quotas: quotas(t, "2/s even")}
		child := &Limiter{Parent: host, Quotas: quotas(t, "1/s burst 4")}
		grant(t, child, Claim{}).Answered(Answer{})
		host.SetQuotas(quotas(t, "2/s burst 4"))
		c := newCrowd()
		// Of the child, 3 are left; the host has nothing for half a second.
		c.claim(t.Context(), child, "light", Claim{}, 0)
		c.claim(t.Context(), child, "heavy", Claim{N: 4, Priority: Urgent}, 0) // 1 s
		c.check(t, "heavy 2s", "light 3s")
	})
}

// TestForecastOfAParentLeavesOutWhoIsHeldBackBelow: who is held back by a slow child is not ahead at the parent.
func TestForecastOfAParentLeavesOutWhoIsHeldBackBelow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &Limiter{Quotas: quotas(t, "2/s burst 2")}
		slow := &Limiter{Parent: host, Quotas: quotas(t, "1/10s even")}
		grant(t, slow, Claim{}).Answered(Answer{})
		var ws []*Waiter
		for range 5 {
			_, w := join(t, slow, Claim{})
			ws = append(ws, w)
		}
		if f := host.Forecast(Claim{}); f.Wait != 0 {
			t.Errorf("Forecast %+v, and it would go at once", f)
		}
		grant(t, host, Claim{}).Answered(Answer{})
		ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
		defer cancel()
		_, w, err := host.Join(ctx, Claim{})
		if err != nil {
			t.Errorf("would go in 500ms: %v", err)
		} else {
			w.Leave()
		}
		for _, w := range ws {
			w.Leave()
		}
	})
}

// TestAgingMayDifferInATree: equal priorities go in order, whatever their buckets' Aging.
func TestAgingMayDifferInATree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &Limiter{Quotas: quotas(t, "1/s even")}
		a, b := &Limiter{Parent: host, Aging: time.Second}, &Limiter{Parent: host, Aging: time.Minute}
		grant(t, host, Claim{}).Answered(Answer{})
		c := newCrowd()
		c.claim(t.Context(), a, "first", Claim{}, 0)
		c.claim(t.Context(), b, "second", Claim{}, 0)
		c.check(t, "first 1s", "second 2s")
	})
}

// TestSettleGivesBackNoMoreThanWouldBeThere: what would have spilled over meanwhile does not come back.
func TestSettleGivesBackNoMoreThanWouldBeThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "10 tokens/s burst 10")}
		g := grant(t, l, tokens(10))
		time.Sleep(time.Second)
		grant(t, l, tokens(10))
		g.Settle(quota.Costs{"tokens": 0})
		if got := l.Forecast(tokens(10)).Wait; got != time.Second {
			t.Errorf("10 may go in %v; had the first not been claimed, in 1s", got)
		}
	})
}

// TestSettleGivesBackWhatWasAddedLater: what was charged later comes back from then.
func TestSettleGivesBackWhatWasAddedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "10 tokens/s log")}
		g := grant(t, l, tokens(2))
		time.Sleep(100 * time.Millisecond)
		g.Settle(quota.Costs{"tokens": 10})
		g.Cancel()
		if got := l.Forecast(tokens(10)).Wait; got != 0 {
			t.Errorf("all was given back, and 10 may go in %v", got)
		}
	})
}

// TestPriorityModelOfHeavyClaims: the model of priorities, with claims of up to 3.
func TestPriorityModelOfHeavyClaims(t *testing.T) {
	for name, h := range map[string]rankedHistory{
		"bucket, reserve": {heaviest: 3, half: true},
		"tree":            {heaviest: 3, tree: true},
		"tree, reserve":   {heaviest: 3, tree: true, half: true},
		"rates":           {heaviest: 3, tree: true, rates: true},
		"rates, reserve":  {heaviest: 3, tree: true, rates: true, half: true},
	} {
		for seed := range seeds(4) {
			t.Run(fmt.Sprint(name, " ", seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { h.run(t, rand.New(rand.NewPCG(seed, 5))) })
			})
		}
	}
}

// TestSettleModelInDebt: the model of settlements, with costs above what was claimed, and so with debts.
func TestSettleModelInDebt(t *testing.T) {
	for seed := range seeds(15) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { settleAgainstModel(t, rand.New(rand.NewPCG(seed, 6)), 4) })
		})
	}
}

// TestForecastIsNeverLater: forecasts of random histories, with a reserve, and with quotas below.
func TestForecastIsNeverLater(t *testing.T) {
	for name, h := range map[string]forecastHistory{
		"reserve":       {reserve: 0.2},
		"tree":          {tree: true, anywhere: true},
		"tree, reserve": {tree: true, anywhere: true, reserve: 0.2},
	} {
		drawn := []uint64{942, 1031, 1057, 1597, 1814} // of these, one was told too late, or another thing than its refusal
		for seed := range seeds(25) {
			drawn = append(drawn, seed)
		}
		for _, seed := range drawn {
			t.Run(fmt.Sprint(name, " ", seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { forecastIsNotLater(t, rand.New(rand.NewPCG(seed, 8)), h) })
			})
		}
	}
}

// TestForecastBehindTheHeadOfASlowChild: of a child that is slow, only the first is ahead.
func TestForecastBehindTheHeadOfASlowChild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &Limiter{Quotas: quotas(t, "2/s even")}
		slow := &Limiter{Parent: host, Quotas: quotas(t, "1/10s even")}
		grant(t, host, Claim{})
		var ws []*Waiter
		for range 5 {
			_, w := join(t, slow, Claim{})
			ws = append(ws, w)
		}
		f := host.Forecast(Claim{})
		start := time.Now()
		_, w := join(t, host, Claim{})
		<-w.Ready()
		if took := time.Since(start); f.Wait > took {
			t.Errorf("Forecast %v, went after %v", f.Wait, took)
		}
		for _, w := range ws {
			w.Leave()
		}
	})
}

// TestForecastBehindASlowStartBelow: of a child that starts slowly, only the first is ahead when the window of
// its parent opens: so a claim whose MaxWait suffices is not refused.
func TestForecastBehindASlowStartBelow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &Limiter{Quotas: quotas(t, "2/2s window")}
		route := &Limiter{Parent: host, SlowStart: true}
		grant(t, host, Claim{N: 2})
		var ws []*Waiter
		for range 3 {
			_, w := join(t, route, Claim{})
			ws = append(ws, w)
		}
		if f := host.Forecast(Claim{}); f.Wait != 2*time.Second {
			t.Errorf("Forecast %v, want 2s", f.Wait)
		}
		start := time.Now()
		if _, err := host.Acquire(t.Context(), Claim{MaxWait: 3 * time.Second}); err != nil || time.Since(start) != 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		for _, w := range ws {
			w.Leave()
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

// TestSlotsNeedNoTimer: where only an answer can let somebody go, no timer runs.
func TestSlotsNeedNoTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "1 in flight")}
		grant(t, l, Claim{})
		_, w := join(t, l, Claim{})
		if l.line.timer.Stop() {
			t.Error("a timer runs, although only an answer can let somebody go")
		}
		w.Leave()
	})
}

// TestFIFOAtOneInstant: where a bucket and its parents open at the same instant, the first who asked goes first, in
// whatever order timers fire.
func TestFIFOAtOneInstant(t *testing.T) {
	for i := range 50 {
		synctest.Test(t, func(t *testing.T) {
			root := &Limiter{Quotas: quotas(t, "1/s window")}
			middle := &Limiter{Quotas: quotas(t, "1/s window"), Parent: root}
			child := &Limiter{Quotas: quotas(t, "1/s window"), Parent: middle}
			other := &Limiter{Quotas: quotas(t, "1/s window"), Parent: middle}
			grant(t, child, Claim{})
			other.Observe(Claim{})
			c := newCrowd()
			for j, l := range []*Limiter{child, root, middle, other}[i%3:] {
				c.wait(t.Context(), l, fmt.Sprint(j+i%3), 1)
			}
			switch i % 3 {
			case 0:
				c.check(t, "0 1s", "1 2s", "2 3s", "3 4s")
			case 1:
				c.check(t, "1 1s", "2 2s", "3 3s")
			default:
				c.check(t, "2 1s", "3 2s")
			}
		})
	}
}

// TestWhoComesWhenAHoldIsOver: a claim that comes after a hold, and before the timer of another that waited for
// its end, has that one go first, from the end of the hold on, or from 2 ms ago if that is later; and not from
// before the end.
func TestWhoComesWhenAHoldIsOver(t *testing.T) {
	for late, from := range map[time.Duration]time.Duration{0: 0, time.Millisecond: 0, limit.Lag: 0, limit.Lag + 1: 1} {
		synctest.Test(t, func(t *testing.T) {
			l := &Limiter{Quotas: quotas(t, "20/s even")}
			l.Pause(time.Second)
			_, first := join(t, l, Claim{})
			l.lock()
			l.line.timer.Stop() // it is late
			l.unlock()
			time.Sleep(time.Second + late)
			_, second := join(t, l, Claim{})
			if f, want := second.expected.forecast(second.joined), from+50*time.Millisecond-late; !gone(first) || f.Wait != want {
				t.Errorf("%v after the hold: the first went: %v, the next waits for %v, want %v", late, gone(first), f.Wait, want)
			}
			second.Leave()
		})
	}
}

// TestWhoComesWhenAnotherIsDue: a claim that is made, a cost that is settled and a change of quotas at the instant at
// which another is due in a bucket below come after that, whether its timer has fired or not.
func TestWhoComesWhenAnotherIsDue(t *testing.T) {
	for name, come := range map[string]func(host *Limiter, first *Grant){
		"a claim":            func(host *Limiter, _ *Grant) { host.Allow(1) },
		"an observed claim":  func(host *Limiter, _ *Grant) { host.Observe(Claim{}) },
		"a cost":             func(_ *Limiter, first *Grant) { first.Settle(quota.Costs{quota.Requests: 3}) },
		"a change of quotas": func(host *Limiter, _ *Grant) { host.SetQuotas(quota.Quotas{{N: 1, Per: time.Hour}}) },
		"a hold":             func(host *Limiter, _ *Grant) { host.Pause(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				host := &Limiter{Quotas: quotas(t, "1/s window")}
				child := &Limiter{Quotas: quotas(t, "1/s window"), Parent: host}
				beside := &Limiter{Parent: host}
				grant(t, child, Claim{})
				first, _ := beside.Observe(Claim{})
				_, w := join(t, child, Claim{})
				child.lock()
				child.line.timer.Stop() // it is late
				child.unlock()
				time.Sleep(time.Second)
				come(host, first)
				if !gone(w) {
					t.Error("the one that was due waits")
				}
				w.Leave()
			})
		})
	}
}
