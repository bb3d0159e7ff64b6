package throttle

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
)

// TestSpend asks without end for a limit of 10 in a minute, which is known from the
// answer to the first, and looks at when each goes.
func TestSpend(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		spend   Spend
		maxWait time.Duration
		want    [9]time.Duration
	}{
		{SpendAuto, 0, [9]time.Duration{}},
		{SpendAuto, time.Minute, [9]time.Duration{}},
		{SpendAuto, 59 * s, [9]time.Duration{7: 0, 8: 30 * s}}, // of the last two, one goes now, and one in the middle of the minute
		{SpendEager, 59 * s, [9]time.Duration{}},
		{SpendBalanced, 0, [9]time.Duration{8: 30 * s}},
		{SpendBalanced, 20 * s, [9]time.Duration{8: 20 * s}}, // nobody waits for longer for what is there
		{SpendEven, 0, [9]time.Duration{6 * s, 12 * s, 18 * s, 24 * s, 30 * s, 36 * s, 42 * s, 48 * s, 54 * s}},
		{SpendEven, 5 * s, [9]time.Duration{5 * s, 10 * s, 15 * s, 20 * s, 25 * s, 30 * s, 35 * s, 40 * s, 45 * s}},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := asker{t, &Limiter{Spend: test.spend, MaxWait: test.maxWait, Rand: noJitter}}
			start := time.Now()
			left := 9
			answer := func() Answer {
				return Answer{Statements: []quota.Statement{{Limit: 10, Remaining: int64(left), Reset: time.Minute - time.Since(start), ResetKnown: true}}}
			}
			a.get().Answered(answer())
			var got [9]time.Duration
			for i := range got {
				g := a.get()
				got[i] = time.Since(start)
				left--
				g.Answered(answer())
			}
			if got != test.want {
				t.Errorf("%v, MaxWait %v: went at %v, want %v", test.spend, test.maxWait, got, test.want)
			}
		})
	}
}

// TestSpendIsNoHold: MaxHold bounds how long the server keeps claims from what it says is used up, and not how
// long Spend keeps them from what remains.
func TestSpendIsNoHold(t *testing.T) {
	for remaining, want := range map[int]time.Duration{0: 15 * time.Minute, 1: 12 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			a := asker{t, &Limiter{Spend: SpendBalanced, MaxHold: 15 * time.Minute, Rand: noJitter}}
			a.get().Answered(Answer{Statements: []quota.Statement{{Limit: 10, Remaining: int64(remaining), Reset: 24 * time.Hour, ResetKnown: true}}})
			start := time.Now()
			a.get().Cancel()
			if got := time.Since(start); got != want {
				t.Errorf("%d remain: went after %v, want %v", remaining, got, want)
			}
		})
	}
}
