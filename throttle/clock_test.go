package throttle

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// laptop is a monotime.Source of a machine that sleeps, and whose wall clock is set.
type laptop struct{ set, slept atomic.Int64 }

func (m *laptop) Read(start time.Time) (int64, time.Duration) {
	return time.Now().UnixNano() + m.set.Load() + m.slept.Load(), time.Since(start)
}

func (m *laptop) Asleep() (time.Duration, bool) { return time.Duration(m.slept.Load()), true }

func (m *laptop) Stops() bool { return true }

// TestSuspended: what passes while the machine sleeps counts for holds and windows, and who waits goes at most
// half a minute after it has woken up; not for MaxWait and deadlines of contexts, which go by the time in which
// programs run.
func TestSuspended(t *testing.T) {
	for name, test := range map[string]struct {
		quota string
		hold  time.Duration
		slept time.Duration
		want  time.Duration // in which the next token comes, when the machine has woken up
	}{
		"a hold":           {"100/s", 10 * time.Minute, time.Hour, 0},
		"part of a hold":   {"100/s", 10 * time.Minute, 9 * time.Minute, 50 * time.Second},
		"a log":            {"1/h log", 0, 30 * time.Minute, 30*time.Minute - 10*time.Second},
		"a window":         {"1/h window", 0, 2 * time.Hour, 0},
		"a clock's window": {"1/h window grid", 0, 30 * time.Minute, 30*time.Minute - 10*time.Second},
		"a bucket":         {"60/h burst 1", 0, 45 * time.Second, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &laptop{}
				qs, err := quota.Parse(test.quota)
				if err != nil {
					t.Fatal(err)
				}
				l := &Limiter{Quotas: qs, MaxStandstill: Forever}
				l.clock.StartBy(m)
				if err := l.Wait(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
				l.Pause(test.hold)
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
				defer cancel()
				waited := make(chan time.Duration, 1)
				start := time.Now()
				go func() {
					err := l.Wait(ctx, 1)
					waited <- time.Since(start)
					if err != nil {
						t.Error(err)
					}
				}()
				time.Sleep(10 * time.Second)
				m.slept.Store(int64(test.slept))
				want := 10*time.Second + test.want
				if want < monotime.Nap {
					want = monotime.Nap // its timer was set before
				}
				if took := <-waited; took != want {
					t.Errorf("took %v, want %v", took, want)
				}
			})
		})
	}
}

// TestSuspendedAnswer: an answer takes as long as the machine was awake, since the deadlines for which that is
// kept go by that.
func TestSuspendedAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &laptop{}
		l := &Limiter{Quotas: quota.MustParse("60/h burst 1")}
		l.clock.StartBy(m)
		acquire := func() *Grant {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			search := within.Search(new(Group), func() *Limiter { return l }, nil, nil)
			g, err := search.Acquire(ctx, true, Claim{}, new(Grant))
			if err != nil {
				t.Fatal(err)
			}
			return g
		}
		acquire().Answered(Answer{})
		g := acquire()
		time.Sleep(time.Second)
		m.slept.Store(int64(8 * time.Hour))
		time.Sleep(time.Second)
		g.Answered(Answer{})
		now := l.clock.Awake(l.clock.Now())
		if _, takes := l.answers.Before(now.Add(time.Hour), now, true); takes != 2*time.Second {
			t.Errorf("an answer is expected to take %v, want 2s", takes)
		}
	})
}

// TestSuspendedDeadlines: MaxWait and deadlines are as far away after the machine has slept as before.
func TestSuspendedDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &laptop{}
		l := &Limiter{Quotas: quota.Quotas{{N: 1, Per: 10 * time.Minute, Kind: quota.SlidingLog}}, MaxStandstill: Forever, MaxWait: 30 * time.Minute}
		l.clock.StartBy(m)
		start := time.Now()
		var took [3]time.Duration
		var wg sync.WaitGroup
		for i := range took {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 25*time.Minute)
				defer cancel()
				if err := l.Wait(ctx, 1); err != nil {
					t.Error(err)
				}
				took[i] = time.Since(start)
			})
			synctest.Wait()
		}
		time.Sleep(70 * time.Second)
		m.slept.Store(int64(time.Hour))
		wg.Wait()
		if want := [3]time.Duration{0, 90 * time.Second, 10*time.Minute + 90*time.Second}; took != want {
			t.Errorf("took %v, want %v", took, want)
		}
	})
}

// TestSuspendedWhileUnderWay: likewise for a request that is under way while the machine sleeps, is refused,
// and takes its old place.
func TestSuspendedWhileUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &laptop{}
		l := &Limiter{MaxStandstill: Forever, MaxWait: 30 * time.Minute, Rand: noJitter}
		l.clock.StartBy(m)
		g, err := l.Acquire(t.Context(), Claim{})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		m.slept.Store(int64(time.Hour))
		time.Sleep(time.Second)
		g.Answered(Answer{Refused: true, Hold: &quota.Hold{For: time.Minute}})
		start := time.Now()
		if _, err = l.Acquire(t.Context(), Claim{After: g}); err != nil || time.Since(start) != time.Minute {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

// TestWallClockIsSet: windows of the clock follow the wall clock when it is set. Nobody waits for longer than a
// window then, and what went in the window that ran counts in the new one.
func TestWallClockIsSet(t *testing.T) {
	for _, kind := range []quota.Kind{quota.ClockWindow, quota.EstimatedWindow} {
		for _, set := range []time.Duration{24 * time.Hour, -24 * time.Hour, 40 * time.Minute, -40 * time.Minute, 59 * time.Minute, -time.Second, 24*time.Hour + 7*time.Minute} {
			t.Run(fmt.Sprint(kind, set), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m := &laptop{}
					l := &Limiter{Quotas: quota.Quotas{{N: 10, Per: time.Hour, Kind: kind}}, MaxStandstill: Forever}
					l.clock.StartBy(m)
					time.Sleep(30 * time.Minute) // a bubble begins at midnight
					for range 10 {
						if !l.Allow(1) {
							t.Fatal("refused")
						}
					}
					m.set.Store(int64(set))
					time.Sleep(time.Second)
					if l.Allow(1) {
						t.Error("more than N when the clock was set")
					}
					start := time.Now()
					next := start.Add(set).Truncate(time.Hour).Add(time.Hour).Sub(start.Add(set))
					if err := l.Wait(t.Context(), 1); err != nil {
						t.Fatal(err)
					}
					if took := time.Since(start); kind == quota.ClockWindow && took != next || took > time.Hour {
						t.Errorf("waited for %v, the window ends in %v", took, next)
					}
				})
			})
		}
	}
}

// TestWallClockIsSetAtATick: N go at the end of a window and N at the beginning of the next, and then the clock
// is set by a day or so, to just before a tick: until an hour after the first, no more than 2N go.
func TestWallClockIsSetAtATick(t *testing.T) {
	for _, kind := range []quota.Kind{quota.ClockWindow, quota.EstimatedWindow} {
		for _, set := range []time.Duration{24*time.Hour - 10*time.Second, -24*time.Hour - 10*time.Second} {
			t.Run(fmt.Sprint(kind, set), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m := &laptop{}
					l := &Limiter{Quotas: quota.Quotas{{N: 10, Per: time.Hour, Kind: kind}}, MaxStandstill: Forever}
					l.clock.StartBy(m)
					var went []time.Duration // a bubble begins at midnight
					start := time.Now()
					send := func() {
						for l.Allow(1) {
							went = append(went, time.Since(start))
						}
					}
					time.Sleep(time.Hour - time.Second)
					send()
					time.Sleep(time.Second)
					send()
					m.set.Store(int64(set))
					for range 6000 {
						time.Sleep(time.Second)
						send()
					}
					for i := range went {
						n := 0
						for ; i+n < len(went) && went[i+n] < went[i]+time.Hour; n++ {
						}
						if n > 20 {
							t.Fatalf("%d in an hour: %v", n, went)
						}
					}
					if n := len(went); n < 20 || went[n-1] < 100*time.Minute {
						t.Errorf("went at %v", went)
					}
				})
			})
		}
	}
}
