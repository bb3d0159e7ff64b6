//go:build unix

package main

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
)

// sent is so many sendings of a cost, each so long after the one before, from an instant on.
func sent(from time.Duration, n, cost int, every time.Duration) (all []sending) {
	for i := range n {
		all = append(all, sending{at: (from + time.Duration(i)*every).Microseconds(), cost: cost})
	}
	return all
}

// TestRate has histories whose rate is known, wherever their windows begin.
func TestRate(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	zero := time.UnixMicro(0)
	windows := func(first, each time.Duration, n int) (all []sending) {
		for i := range n {
			all = append(all, sent(first+time.Duration(i)*each, 60, 1, ms)...)
		}
		return all
	}
	// Of an estimate, the first window after a pause goes at once, wherever it is, and the second evenly.
	estimate := func(pause, late time.Duration) []sending {
		return append(append(sent(pause-4*s, 60, 1, 2*s/60), sent(pause, 60, 1, 0)...), sent(2*s+2*s/60+late, 240, 1, 2*s/60+late/60)...)
	}
	for _, test := range []struct {
		text  string
		sends []sending
		want  float64
	}{
		{"100/s even", sent(0, 2000, 1, 10*ms), 1},
		{"100/s even", sent(0, 2000, 1, 12500*time.Microsecond), 0.8},
		{"100/s burst 20", append(sent(0, 20, 1, 0), sent(0, 2000, 1, 10*ms)...), 1},
		{"100/s burst 20", sent(0, 2000, 1, 10*ms), 1}, // nobody has used the burst
		{"100/s burst 20", sent(0, 2000, 1, 12500*time.Microsecond), 0.8},
		{"60/2s log", windows(0, 2*s, 20), 1},
		{"60/2s log", windows(1970*ms, 2*s, 20), 1}, // a window is cut by each end
		{"60/2s log", windows(300*ms, 2500*ms, 20), 0.78},
		{"60/2s log", windows(0, 2*s, 3), 0.5}, // two windows of four
		{"60/2s log", append(windows(-6*s, 2*s, 3), windows(7*s, 2*s, 2)...), 0.37},
		{"60/2s log", windows(-6*s, 2*s, 3), 0},
		{"60/2s window grid", windows(10*ms, 2*s, 20), 1},
		{"60/2s window grid", append(windows(-4*s, 2*s, 2), windows(4*s, 2*s, 20)...), 0.75},
		{"60/2s estimate", estimate(600*ms, 0), 1},
		{"60/2s estimate", estimate(1600*ms, 0), 1},
		{"60/2s estimate", estimate(600*ms, 100*ms), 0.94},
		{"60/m log", windows(-30*s, 20*s, 4), math.NaN()},
	} {
		sends := slices.Clone(test.sends)
		slices.SortFunc(sends, func(a, b sending) int { return cmp.Compare(a.at, b.at) })
		if got := rate(&quota.MustParse(test.text).Explicit()[0], sends, zero.Add(settled), zero.Add(10*s), 0); math.IsNaN(got) != math.IsNaN(test.want) || max(got-test.want, test.want-got) > 0.006 {
			t.Errorf("%s: %.3f, want %.3f", test.text, got, test.want)
		}
	}
}
