package adaptive

import (
	"testing"
	"time"
)

// TestOthersOfARefill: where others use a limit that comes back token by token, what may not be in flight
// beside theirs goes at the pace of the limit, one after the other, however much remains; if the rate is hardly
// known, as of a limit that is back within a step, all of it goes a token's time after the answer.
func TestOthersOfARefill(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		back time.Duration
		want int
	}{{100 * s, 11}, {4 * s, 11}, {4*s - 1, 99}} {
		b := newBucket(t, Config{})
		b.exchange(says(left(99, 100, 100*s)))
		w := b.window1()
		w.others.perOurToken, w.others.unseenUntil, w.reset.resolution = 2, 0, s
		r := &w.refill
		r.refills, r.rate, r.atMost, r.fullSpan, r.maxHold, r.pacedFrom = true, 1, 1, test.back, time.Minute, start
		b.at(10 * s)
		for b.InFlight() < 100 && b.Open(b.now, of(1), nil, 0) {
			b.send()
		}
		if got := b.InFlight(); got != test.want { // 11 + 4·2·11 = 99
			t.Errorf("back in %v: %d go at once, want %d", test.back, got, test.want)
		}
		for i := 11; test.want == 11 && i < 14; i++ {
			b.wantDue(s)
			b.at(time.Duration(i) * s).send()
		}
	}
}
