package throttle

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/store"
)

// TestSettleBeyondN: of four requests one after the other, each claims 100 of 1000 tokens in a second, and
// turns out to cost 5000. A window forgets what was charged beyond N as it forgets the rest, so that one
// request goes in each; a bucket of tokens owes it, so that one goes every five seconds. With a Store it is
// the same to the second: what it hands out may be used for a while.
func TestSettleBeyondN(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		quota  string
		last   time.Duration // when the fourth request goes
		shared time.Duration // the same with a Store, in whole seconds
	}{
		{"1000 tokens/s", 3 * s, 3 * s},
		{"1000 tokens/s log", 3 * s, 3 * s},
		{"1000 tokens/s sliding", 3 * s, 3 * s},
		{"1000 tokens/s window", 3 * s, 3 * s},
		{"1000 tokens/s window grid", 3 * s, 3 * s},
		{"1000 tokens/s estimate", 3819900001, 3 * s},                  // 5000·(1−0.82) is 900
		{"1000 tokens/s burst 1000", 14100 * time.Millisecond, 14 * s}, // −4000, then 4.1 s for 100, and 5 s for each further 5000
		{"1000 tokens/s burst 1000 debt", 14100 * time.Millisecond, 14 * s},
		{"1000 tokens/s even debt", 15 * s, 15 * s},
	} {
		for _, shared := range []bool{false, true} {
			t.Run(test.quota, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := &Limiter{Name: "a", Quotas: quotas(t, test.quota)}
					if shared {
						l.Shared.Store = &store.Memory{}
						defer l.Close()
					}
					begin, last := time.Now(), time.Duration(0)
					for range 4 {
						g, err := l.Acquire(t.Context(), Claim{Costs: quota.Costs{"tokens": 100}})
						if err != nil {
							t.Fatal(err)
						}
						last = time.Since(begin)
						g.Settle(quota.Costs{"tokens": 5000})
						g.Answered(Answer{})
					}
					want := test.last
					if shared {
						want, last = test.shared, last.Truncate(s)
					}
					if last != want {
						t.Errorf("shared %v: the fourth goes after %v, want %v", shared, last, want)
					}
				})
			})
		}
	}
}
