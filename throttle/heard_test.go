package throttle_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// TestHeardOfAll: what a bucket makes of the first numbers that the server states does not depend on how a
// request of a sibling has ended, of which nothing is known: without the lock, or with it, as where a cost is
// told.
func TestHeardOfAll(t *testing.T) {
	hundred, err := quota.Parse("100/m")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		quotas   quota.Quotas // of the bucket above both
		sibling  int          // what the sibling's request costs
		remains  []int        // what the server says then
		granted  int          // how many go at once after that
		answered time.Duration
	}{
		"others use the limit":                {remains: []int{93}, granted: 3},
		"the server says the same as a quota": {quotas: hundred, sibling: 60, remains: []int{99, 98, 97}, granted: 97, answered: time.Second},
	} {
		for how, end := range map[string]throttle.Answer{"without the lock": {}, "with the lock": {Spent: quota.Costs{}}} {
			synctest.Test(t, func(t *testing.T) {
				above := &throttle.Limiter{Quotas: test.quotas}
				a, b := &throttle.Limiter{Name: "a", Parent: above}, &throttle.Limiter{Name: "b", Parent: above}
				g, err := a.Acquire(t.Context(), throttle.Claim{N: test.sibling})
				if err != nil {
					t.Fatal(err)
				}
				g.Answered(end)
				time.Sleep(test.answered)
				for _, remains := range test.remains {
					if g, err = b.Acquire(t.Context(), throttle.Claim{}); err != nil {
						t.Fatal(err)
					}
					g.Answered(throttle.Answer{Statements: []quota.Statement{{Limit: 100, Remaining: int64(remains), Reset: time.Minute, ResetKnown: true, Resolution: time.Second}}})
				}
				n := 0
				for ; n < 500; n++ {
					if _, err := b.Acquire(t.Context(), throttle.Claim{MaxWait: -1}); err != nil {
						break
					}
				}
				if n != test.granted {
					t.Errorf("%s, ended %s: %d go at once, want %d", name, how, n, test.granted)
				}
			})
		}
	}
}
