package throttle

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
)

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

// TestFIFOAtOneInstant: where a bucket and its parents open at the same instant, the first who asked goes
// first, in whatever order timers fire.
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
			stopTimer(l)
			time.Sleep(time.Second + late)
			_, second := join(t, l, Claim{})
			if f, want := second.expected.forecast(second.joined), from+50*time.Millisecond-late; !gone(first) || f.Wait != want {
				t.Errorf("%v after the hold: the first went: %v, the next waits for %v, want %v", late, gone(first), f.Wait, want)
			}
			second.Leave()
		})
	}
}

// TestWhoComesWhenAnotherIsDue: a claim that is made, a cost that is settled and a change of quotas at the
// instant at which another is due in a bucket below come after that, whether its timer has fired or not.
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
				stopTimer(child)
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
