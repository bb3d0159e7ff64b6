package adaptive

import (
	"slices"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
)

// TestOvertaken: when looks come at a window of four seconds of which others take all within the first 50 ms,
// until one of them comes in these. Resets are in whole seconds, and refusals ask to be left alone until then.
// After three looks at the end of that second, one comes half-way between the soonest and the latest end.
func TestOvertaken(t *testing.T) {
	const s, ms, us = time.Second, time.Millisecond, time.Microsecond
	for _, test := range []struct {
		name   string
		joins  time.Duration // so long before the first request, a window began
		span   time.Duration // as it is stated; zero if it is not
		floors bool          // resets are rounded down
		want   []time.Duration
	}{
		{"early in the second", 3900 * ms, 4 * s, false, []time.Duration{0, 1 * s, 5 * s, 9 * s, 12500 * ms, 16250 * ms, 20125 * ms}},
		{
			"late in the second", 3070 * ms, 4 * s, false,
			[]time.Duration{0, 1 * s, 5 * s, 9 * s, 12500 * ms, 13 * s, 16750 * ms, 17 * s, 20875 * ms, 21 * s, 24937500 * us},
		},
		{
			"no span is stated", 1800 * ms, 0, false,
			[]time.Duration{0, 3 * s, 7 * s, 11 * s, 14500 * ms, 18250 * ms, 22125 * ms, 22250 * ms, 26187500 * us, 26250 * ms, 30218750 * us},
		},
		{
			"rounded down", 600 * ms, 4 * s, true, // which the second look shows, after the hint
			[]time.Duration{0, 3 * s, 3200 * ms, 3600 * ms, 11600 * ms, 14600 * ms, 17800 * ms, 18800 * ms, 31600 * ms, 35600 * ms, 39100 * ms},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBucket(t, Config{})
			var got []time.Duration
			for b.now < start.Add(2*time.Minute) {
				now := b.now.Sub(start)
				left := 4*s - (now+test.joins)%(4*s)
				got = append(got, now)
				st := quota.Statement{Limit: 20, Window: test.span, Reset: left.Truncate(s), ResetKnown: true, Resolution: s}
				if !test.floors && st.Reset < left {
					st.Reset += s
				}
				if 4*s-left < 50*ms && now > 0 {
					break
				}
				e := b.exchange(Answer{Refused: true, Hold: st.Reset, HoldKnown: true, HoldResolution: s, Statements: []quota.Statement{st}})
				b.at(now + max(e.Hold, b.dueAfter(0, 1)))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("looks at %v, want %v", got, test.want)
			}
		})
	}
}
