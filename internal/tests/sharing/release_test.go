package sharing

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
	"github.com/gopacer/pacer/throttle/store"
)

// release is what a person sends.
func release(t *testing.T, s store.Store, quotas string, look bool) *store.Reply {
	t.Helper()
	qs := quota.MustParse(quotas).Explicit()
	cost := make([]int64, len(qs))
	for i := range cost {
		cost[i] = 1
	}
	reply, err := s.Exchange(t.Context(), &store.Request{
		Version: store.Version, Bucket: "api", Quotas: qs, Horizon: 500 * time.Millisecond, Member: "a person", Serial: 1, Release: true, Leave: !look, Look: look,
		Asks: []store.Ask{{Cost: cost, Count: 1, Within: 0}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

// TestAPersonEndsAHold: who waits in any process hears of it at once.
func TestAPersonEndsAHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, start := new(store.Memory), time.Now()
		var ends [2]func() error
		var limiters [2]*throttle.Limiter
		for i := range limiters {
			limiters[i] = &throttle.Limiter{Name: "api", Quotas: quota.MustParse("10/s burst 5"), Shared: throttle.Shared{Store: s}, MaxStandstill: throttle.Forever}
			ends[i] = limiters[i].Close
			if err := limiters[i].Wait(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
		}
		limiters[0].Pause(time.Hour)
		time.Sleep(time.Second)
		if reply := release(t, s, "10/s burst 5", true); reply.Hold != 0 {
			t.Errorf("looking: still held for %v after a release", reply.Hold)
		}
		time.AfterFunc(9*time.Second, func() { release(t, s, "10/s burst 5", false) })
		for i := range limiters {
			if err := limiters[i].Wait(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took != 10*time.Second {
				t.Errorf("limiter %d went after %v, want 10s", i, took)
			}
		}
		for _, end := range ends {
			if err := end(); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestAPersonEndsADebt: what was charged beyond the quota is forgiven, and there is no burst.
func TestAPersonEndsADebt(t *testing.T) {
	for text, want := range map[string][]time.Duration{
		// A bucket is empty then, for the time in which it must be late: a token comes back each 100 ms.
		"10/s burst 5": {11100 * time.Millisecond, 11200 * time.Millisecond, 11300 * time.Millisecond},
		// Of a window, all is used up: what was told after half a second comes back after a minute, and a
		// SlotLife.
		"5/m log": {61100 * time.Millisecond, 61100 * time.Millisecond, 61100 * time.Millisecond},
	} {
		t.Run(text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, start := new(store.Memory), time.Now()
				l := &throttle.Limiter{Name: "api", Quotas: quota.MustParse(text), Shared: throttle.Shared{Store: s}, MaxStandstill: throttle.Forever}
				o := &throttle.Limiter{Name: "api", Quotas: quota.MustParse(text), Shared: throttle.Shared{Store: s}, MaxStandstill: throttle.Forever}
				g, err := l.Acquire(t.Context(), throttle.Claim{})
				if err != nil {
					t.Fatal(err)
				}
				g.Settle(quota.Costs{quota.Requests: 1000})
				time.Sleep(time.Second) // by then the store has been told
				time.AfterFunc(10*time.Second, func() { release(t, s, text, false) })
				for _, at := range want {
					if err := o.Wait(t.Context(), 1); err != nil {
						t.Fatal(err)
					}
					if took := time.Since(start); took != at {
						t.Errorf("went after %v, want %v", took, at)
					}
				}
				_ = l.Close()
				_ = o.Close()
			})
		})
	}
}

// TestAReleaseEndsWhatIsAhead: the slots behind a debt are not ahead any more once a person has ended the debt,
// neither in the state of those that waited for them, nor for a quota that is new.
func TestAReleaseEndsWhatIsAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(store.Memory)
		l := &throttle.Limiter{Name: "api", Quotas: quota.MustParse("5/s burst 5"), Shared: throttle.Shared{Store: s}, MaxStandstill: throttle.Forever}
		defer l.Close()
		g, err := l.Acquire(t.Context(), throttle.Claim{})
		if err != nil {
			t.Fatal(err)
		}
		g.Settle(quota.Costs{quota.Requests: 601})
		time.Sleep(time.Second) // by then the store has been told
		time.AfterFunc(3*time.Second, func() {
			if ahead := l.State().Store.Ahead; ahead < time.Minute {
				t.Errorf("a slot is %v ahead, want one behind the debt of two minutes", ahead)
			}
			release(t, s, "5/s burst 5", false)
		})
		for range 3 {
			if err := l.Wait(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
		}
		if ahead := l.State().Store.Ahead; ahead > 500*time.Millisecond {
			t.Errorf("a slot is %v ahead after the release", ahead)
		}
		if err := l.SetQuotas(quota.MustParse("5/s log")); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if err := l.Wait(t.Context(), 1); err != nil || time.Since(begin) > time.Second {
			t.Errorf("by a new quota the next one goes after %v, %v", time.Since(begin), err)
		}
	})
}
