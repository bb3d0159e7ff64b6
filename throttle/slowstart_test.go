package throttle

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/throttle/internal/adaptive"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/store"
)

// TestSlowStartDoublesUntilEnough: in each round trip of 100 ms, twice as many go, as long as these are no more
// than 50 per second; and 5 more from then on.
func TestSlowStartDoublesUntilEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := server10(t)
		var mu sync.Mutex
		start, went := time.Now(), map[time.Duration]int{}
		var wait sync.WaitGroup
		for range 300 {
			wait.Go(func() {
				g := a.get()
				mu.Lock()
				went[time.Since(start)]++
				mu.Unlock()
				time.Sleep(100 * time.Millisecond)
				g.Answered(Answer{})
			})
		}
		wait.Wait()
		for round, want := range []int{1, 2, 4, 7, 11} {
			if got := went[time.Duration(round)*100*time.Millisecond]; got != want {
				t.Errorf("round trip %d: %d went, want %d", round, got, want)
			}
		}
		a.wantOpen(1000) // 256 answers are enough
	})
}

func TestSlowStartEndsWithTheFirstStatement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := server10(t)
		a.get().Answered(says(9, time.Minute))
		a.wantOpen(9)
	})
}

func TestSlowStartLostAnswerLetsTheNextGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := server10(t)
		a.get().Answered(Answer{Lost: true})
		a.wantOpen(1)
	})
}

func TestSlowStartHungProbeIsNotWaitedForForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := server10(t)
		start := time.Now()
		hung := a.get()
		a.get().Answered(Answer{})
		if got := time.Since(start); got != slowStep {
			t.Errorf("went after %v, want %v", got, slowStep)
		}
		hung.Answered(Answer{})
	})
}

func TestSlowStartAfterIdling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := server10(t)
		a.get().Answered(says(9, 10*time.Minute))
		time.Sleep(time.Minute - 1)
		a.wantOpen(9)
		time.Sleep(time.Nanosecond)
		a.wantOpen(9) // open has just asked: the minute begins again
		time.Sleep(time.Minute)
		a.wantOpen(1)
	})
}

// TestSlowStartAfterIdlingOfAFastBucket: claims that are granted without the lock see that the bucket has
// idled.
func TestSlowStartAfterIdlingOfAFastBucket(t *testing.T) {
	for _, test := range []struct {
		idle time.Duration
		want Cause // of the second claim
	}{{time.Minute - 1, ""}, {time.Minute, CauseSlowStart}} {
		synctest.Test(t, func(t *testing.T) {
			a := server10(t)
			a.untilFree()
			time.Sleep(test.idle)
			a.get()
			if f := a.l.Forecast(Claim{}); f.Cause != test.want {
				t.Errorf("after %v of idling, a second claim: %+v, want cause %q", test.idle, f, test.want)
			}
		})
	}
}

func TestSlowStartAfterIdlingLetsNobodySlipThrough(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			a := server10(t)
			a.untilFree()
			time.Sleep(time.Minute)
			var went atomic.Int32
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					if g, err := a.l.Acquire(t.Context(), Claim{}); err == nil {
						went.Add(1)
						time.Sleep(time.Millisecond)
						g.Answered(Answer{})
					}
				})
			}
			synctest.Wait()
			if n := went.Load(); n != 1 {
				t.Errorf("%d went at once, want 1", n)
			}
			wg.Wait()
		})
	}
}

// TestSlowStartAfterIdlingLooksAtWhoWaits: a claim that is refused finds that the bucket has idled, so that the
// pace which it had is forgotten: who waits by that pace goes sooner.
func TestSlowStartAfterIdlingLooksAtWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{SlowStart: true, IdleAfter: 2 * time.Second, Rand: noJitter}
		if !l.Allow(1) {
			t.Fatal("a new bucket lets nobody go")
		}
		l.alter(func(now monotime.Time) {
			l.server.Remember(now, &adaptive.Memory{Rate: 0.2, At: time.Now()}, &l.clock)
		})
		start := time.Now()
		_, w := join(t, l, Claim{})
		if w == nil || w.expected.forecast(w.joined).Wait < 4*time.Second {
			t.Fatal("does not wait for 5s or so")
		}
		time.Sleep(2 * time.Second)
		l.Pause(time.Second)
		if l.Allow(1) {
			t.Error("one goes before the one that waits")
		}
		if _, err := w.Wait(t.Context()); err != nil || time.Since(start) != 3*time.Second {
			t.Errorf("went after %v, want 3s, when the pause is over: %v", time.Since(start), err)
		}
	})
}

// TestSlowStartWithoutAPaceLooksAtNobody: a bucket that is held and has granted nothing yet begins a slow start
// for each claim that comes. That changes nothing for those who wait, so they are not looked at again, whether
// the claim is refused or joins them.
func TestSlowStartWithoutAPaceLooksAtNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := &Limiter{MaxStandstill: time.Minute}                                         // so that each run looks whether somebody stands still
		l := &Limiter{SlowStart: true, MaxStandstill: Forever, Parent: root, Rand: noJitter} // but nobody is refused
		l.Pause(time.Hour)
		for i := range 5 {
			before := l.line.checks
			if _, w := join(t, l, Claim{}); w == nil {
				t.Fatal("does not wait")
			}
			if i > 0 && l.line.checks != before {
				t.Errorf("%d wait, and are looked at for one that joins", i)
			}
		}
		before := l.line.checks
		if l.Allow(1) {
			t.Error("one goes in a pause")
		}
		if l.line.checks != before {
			t.Error("5 wait, and are looked at for one that is refused")
		}
		if l.alter(func(monotime.Time) {}); l.line.checks == before {
			t.Error("a run looks at nobody: then this test shows nothing")
		}
	})
}

// TestSlowStartWithAStore: who must not wait does not wait for a slow start either where the quotas are shared,
// also while the Store cannot be reached and is not to be asked again.
func TestSlowStartWithAStore(t *testing.T) {
	for name, s := range map[string]store.Store{"memory": new(store.Memory), "none": brokenStore{}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &Limiter{Name: "a", SlowStart: true, Quotas: quotas(t, "10/s"), Shared: Shared{Store: s, Fresh: true, Outage: OutageOpen}}
				defer l.Close()
				l.Acquire(t.Context(), Claim{})
				for i := range 9 {
					if _, err := l.Acquire(t.Context(), Claim{MaxWait: -1}); err != nil {
						t.Errorf("claim %d: %v", i, err)
					}
				}
			})
		})
	}
}

// brokenStore answers each call with an error.
type brokenStore struct{}

func (brokenStore) Exchange(context.Context, *store.Request) (*store.Reply, error) {
	return nil, errors.New("connection broken")
}

func (brokenStore) Listen(string, func(store.News)) (func(), error) { return func() {}, nil }
