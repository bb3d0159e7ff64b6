package adaptive

import (
	"slices"
	"testing"
	"time"
)

// TestLooksBecomeRare: when looks come at a limit that states four seconds at first, and that it is back in a
// second at each look, which is refused. From the tenth one on, the next one comes after the time of two tokens
// at most, then of four, and of 64 at last, or after 30 s.
func TestLooksBecomeRare(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	for _, test := range []struct {
		name   string
		limit  int
		random float64
		hint   time.Duration
		want   []time.Duration // after the tenth look and those behind it
	}{
		{"few tokens", 8, 0, 0, []time.Duration{s, 2 * s, 4 * s, 8 * s, 16 * s, 30 * s, 30 * s}},
		{"parted by chance", 8, 1, s, []time.Duration{1010 * ms, 1010 * ms, 2020 * ms, 4040 * ms, 8080 * ms, 15150 * ms, 15150 * ms}},
		{"more tokens", 64, 0, 0, []time.Duration{s, s, s, s, 2 * s, 4 * s, 4 * s}},
		{"many tokens", 256, 0, 0, []time.Duration{s, s, s, s, s, s, s}},
		{"fewer tokens", 7, 0, 0, []time.Duration{s, s, s, s, s, s, s}},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBucket(t, Config{Random: func() float64 { return test.random }})
			b.exchange(says(left(0, test.limit, 4*s)))
			refused := refuses(left(0, test.limit, 4*s))
			if test.hint > 0 {
				refused.Hold, refused.HoldKnown = test.hint, true
			}
			next := func() time.Duration { return b.dueAfter(0, 1) }
			var got []time.Duration
			for n := range manyVain + len(test.want) {
				b.at(b.now.Sub(start) + next()).exchange(refused)
				refused.Statements = refuses(left(0, test.limit, s)).Statements
				if n >= manyVain {
					got = append(got, next())
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("after looks in vain, the next one comes after %v, want %v", got, test.want)
			}
			b.at(b.now.Sub(start) + next()).exchange(says(left(0, test.limit, s)))
			if w := b.window1(); w.rare != (rare{}) {
				t.Errorf("after a look that was served: %+v", w.rare)
			}
		})
	}
}

// TestRareLooksAfterHints: each refusal asks for a millisecond, long before the reset. The tenth look in vain,
// which comes 511 ms after the first one, is the last one that is so soon.
func TestRareLooksAfterHints(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	b := newBucket(t, Config{})
	reset := func() Answer { return says(left(0, 8, start.Add(8*s).Sub(b.now))) }
	b.exchange(reset())
	for n := range manyVain + 1 {
		b.at((1<<n - 1) * ms)
		refused := reset()
		refused.Refused, refused.Hold, refused.HoldKnown = true, ms, true
		b.exchange(refused)
	}
	b.wantDue(2 * s)
}
