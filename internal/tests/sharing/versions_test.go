package sharing

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
	"github.com/gopacer/pacer/throttle/store"
)

// TestTheTighterNumbersHoldWhileTwoVersionsAreAbout: where a new version of a program has other quotas, of
// whatever kind and at whatever place, nothing goes beyond those of either, the tighter ones are used, and the
// events of both say what the other has.
func TestTheTighterNumbersHoldWhileTwoVersionsAreAbout(t *testing.T) {
	for _, c := range []struct{ old, new, tighter string }{
		{"100/s burst 20", "50/s burst 10", "50/s burst 10"},
		{"50/s burst 10", "100/s burst 20", "50/s burst 10"},
		{"100/s burst 10", "50/s burst 40", "50/s burst 10"},
		{"60/2s log", "40/2s log", "40/2s log"},
		{"40/2s sliding", "60/2s sliding", "40/2s sliding"},
		{"60/2s window grid", "40/2s window grid", "40/2s window grid"},
		{"100/s burst 20", "60/2s log", "60/2s log"}, // of another kind
		{"60/2s log", "60/2s window grid", "60/2s log"},
		{"60/2s estimate", "40/2s window grid", "40/2s window grid"},
		{"100/s burst 20", "2400/m burst 10", "40/s burst 10"},                      // by another span
		{"30/s burst 10, 100/2s log", "100/2s log, 30/s burst 10", "30/s burst 10"}, // at another place
		{"100/s burst 20", "100/s burst 20, 60/2s log", "60/2s log"},                // one more
	} {
		t.Run(c.old+" to "+c.new, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &away{Memory: new(store.Memory)}
				f := &fleet{end: 20 * time.Second}
				f.run(t, c.old, throttle.OutageClosed, []int{1, 1, 1}, s, s)
				f.run(t, c.new, throttle.OutageClosed, []int{1, 1, 1}, s, s)
				f.wait.Wait()
				var both []sent
				for _, o := range f.sends {
					if o.at >= 4*time.Second { // what went before both were about is over
						both = append(both, o)
					}
				}
				for _, text := range []string{c.old, c.new, c.tighter} {
					if n := over(text, both); n > 0 {
						t.Errorf("%d over %s", n, text)
					}
				}
				if r := rate(c.tighter, both, 6*time.Second, 20*time.Second); r < 0.95 {
					t.Errorf("%.3f of the rate, want 0.95", r)
				}
				for has, want := range map[string]string{c.old: c.new, c.new: c.old} {
					told := f.others[has]
					if len(told) != 2 {
						t.Errorf("two processes that have %s are told of %v", has, told)
					}
					for _, qs := range told {
						if got := fmt.Sprint(qs.Explicit()); got != fmt.Sprint(quota.MustParse(want).Explicit()) && qs[0].Kind != quota.SlidingWindow {
							t.Errorf("who has %s is told of %s, want %s", has, got, want)
						}
					}
				}
			})
		})
	}
}

// TestTheTighterNumbersHoldWhileItsProcessWaits: the quotas of a process go on to hold while it waits for slots
// that are farther ahead than the ten seconds for which they count after a call.
func TestTheTighterNumbersHoldWhileItsProcessWaits(t *testing.T) {
	for _, c := range []struct{ tighter, looser string }{
		{"60/m log", "100/m log"},
		{"60/m window grid", "100/m window grid"},
	} {
		t.Run(c.tighter, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &away{Memory: new(store.Memory)}
				f := &fleet{end: 90 * time.Second}
				f.run(t, c.tighter, throttle.OutageShare, []int{1, 1, 1}, s)
				time.Sleep(50 * time.Millisecond)
				f.run(t, c.looser, throttle.OutageShare, []int{1, 1, 1}, s)
				f.wait.Wait()
				if n := over(c.tighter, f.sends); n > 0 {
					t.Errorf("%d over", n)
				}
			})
		})
	}
}

// TestALooserVersionIsAloneAgain: ten seconds after the last process of the tighter version has asked, its
// numbers do not hold any more.
func TestALooserVersionIsAloneAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &away{Memory: new(store.Memory)}
		old := &fleet{end: 5 * time.Second}
		old.run(t, "50/s burst 10", throttle.OutageClosed, []int{1, 1, 1}, s)
		f := &fleet{end: 30 * time.Second}
		f.run(t, "100/s burst 20", throttle.OutageClosed, []int{1, 1, 1}, s)
		old.wait.Wait()
		f.wait.Wait()
		if r := rate("100/s burst 20", f.sends, 6*time.Second, 15*time.Second); r > 0.51 {
			t.Errorf("%.3f of the rate while the tighter version may be about, want 0.5", r)
		}
		if r := rate("100/s burst 20", f.sends, 17*time.Second, 30*time.Second); r < 0.98 {
			t.Errorf("%.3f of the rate later, want 0.98", r)
		}
	})
}
