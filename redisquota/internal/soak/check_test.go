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

// TestOver has histories whose excess is known. Each is seen up to slack, 40 ms, late.
func TestOver(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	clockSet := &fault{clock: true}
	for _, test := range []struct {
		text  string
		fault *fault
		sends []sending
		want  int
	}{
		{"100/s burst 20", &fault{}, sent(0, 24, 1, 0), 0}, // the burst, and what slack lets through
		{"100/s burst 20", &fault{}, sent(0, 30, 1, 0), 6},
		{"100/s burst 20", &fault{}, sent(0, 1000, 1, 10*ms), 0},
		{"100/s burst 20", &fault{}, append(sent(0, 100, 1, 10*ms), sent(s, 34, 1, 0)...), 10},
		{"100/s burst 300", &fault{}, sent(0, 3, 200, 0), 296},
		{"100/s even", &fault{}, sent(0, 6, 1, 0), 0}, // one, one ahead, and what slack lets through
		{"100/s even", &fault{}, sent(0, 9, 1, 0), 3},
		{"60/2s log", &fault{}, append(sent(0, 60, 1, 0), sent(1970*ms, 5, 1, 0)...), 0},
		{"60/2s log", &fault{}, append(sent(0, 60, 1, 0), sent(1950*ms, 5, 1, 0)...), 5},
		{"60/2s window grid", &fault{}, append(sent(1990*ms, 60, 1, 0), sent(2100*ms, 60, 1, 0)...), 0},
		{"60/2s window grid", &fault{}, append(sent(2050*ms, 60, 1, 0), sent(3900*ms, 3, 1, 0)...), 3},
		{"60/2s window grid", clockSet, append(sent(2050*ms, 60, 1, 0), sent(3900*ms, 63, 1, 0)...), 3}, // nobody knows the windows
	} {
		q := &quota.MustParse(test.text).Explicit()[0]
		c := &cell{fault: *test.fault}
		if got := c.over(q, test.sends); got != test.want {
			t.Errorf("%s, %d sendings: %d over, want %d", test.text, len(test.sends), got, test.want)
		}
	}
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
		c := &cell{ended: zero, end: zero.Add(10 * s)}
		sends := slices.Clone(test.sends)
		slices.SortFunc(sends, func(a, b sending) int { return cmp.Compare(a.at, b.at) })
		if got := c.rate(&quota.MustParse(test.text).Explicit()[0], sends, zero.Add(settled), c.end); math.IsNaN(got) != math.IsNaN(test.want) || max(got-test.want, test.want-got) > 0.006 {
			t.Errorf("%s: %.3f, want %.3f", test.text, got, test.want)
		}
	}
}
