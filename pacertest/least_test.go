package pacertest_test

import (
	"testing"
	"time"

	"github.com/gopacer/pacer/pacertest"
)

func TestLeast(t *testing.T) {
	tests := []struct {
		algorithm pacertest.Algorithm
		n         int
		want      time.Duration
	}{
		{&pacertest.FixedWindow{Limit: 50, Window: 2 * time.Second}, 50, 0},
		{&pacertest.FixedWindow{Limit: 50, Window: 2 * time.Second}, 51, 2 * time.Second},
		{&pacertest.ClockWindow{Limit: 50, Window: 2 * time.Second}, 151, 6 * time.Second},
		{&pacertest.SlidingLog{Limit: 50, Window: 2 * time.Second}, 151, 6 * time.Second},
		// 50·left/2s + k is rounded to 50 or less as soon as left < 2s·(50 − k + 1/2)/50. So
		// the k-th request of the second window goes at (k − 1/2)·40ms.
		{&pacertest.EstimatedWindow{Limit: 50, Window: 2 * time.Second}, 60, 2*time.Second + 380*time.Millisecond + 1},
		{&pacertest.TokenBucket{Rate: 20, Burst: 10}, 110, 5 * time.Second},
		{&pacertest.GCRA{Rate: 20, Burst: 1}, 101, 5 * time.Second},
		{&pacertest.LeakyBucket{Rate: 20, Depth: 10}, 110, 5 * time.Second},
		{&pacertest.LeakyBucket{Rate: 20, Depth: 10, Queue: true}, 101, 5 * time.Second},
		{&pacertest.SlidingLog{Limit: 50, Window: 2 * time.Second, CountRefused: true}, 151, 6 * time.Second},
		{&pacertest.FixedWindow{}, 1, pacertest.Never},
		{&pacertest.TokenBucket{Burst: 5}, 5, 0},
		{&pacertest.TokenBucket{Burst: 5}, 6, pacertest.Never},
		{&pacertest.FixedWindow{Limit: 1, Window: pacertest.Never / 2}, 9, pacertest.Never},
		{&pacertest.FixedWindow{}, 0, 0},
		{&pacertest.FixedWindow{}, -1, 0},
	}
	for _, tt := range tests {
		if got := pacertest.Least(tt.algorithm, time.Time{}, tt.n); got != tt.want {
			t.Errorf("Least(%T, %d) = %v, want %v", tt.algorithm, tt.n, got, tt.want)
		}
	}
}

func TestLeastOnClock(t *testing.T) {
	a := &pacertest.ClockWindow{Limit: 50, Window: time.Minute}
	start := time.Date(2026, 11, 21, 8, 17, 59, 0, time.UTC)
	if got, want := pacertest.Least(a, start, 100), time.Second; got != want {
		t.Errorf("Least a second before the minute = %v, want %v", got, want)
	}
}

// No schedule at whole nanoseconds is shorter than the greedy schedule of Least.
func TestLeastAgainstBruteForce(t *testing.T) {
	for _, m := range models() {
		for n := 1; n <= 6; n++ {
			start := time.Unix(1795249032, int64(n))
			got := pacertest.Least(m.algorithm, start, n)
			if want := bruteForce(m, start, n, got); got != want {
				t.Errorf("Least(%T, %d) = %d, want %d", m.algorithm, n, got, want)
			}
		}
	}
}

// bruteForce returns the least time of n requests, of all schedules that end within
// bound.
func bruteForce(m model, start time.Time, n int, bound time.Duration) time.Duration {
	best := pacertest.Never
	var search func(history []taken, from time.Duration)
	search = func(history []taken, from time.Duration) {
		if len(history) == n {
			best = min(best, from)
			return
		}
		for at := from; at <= bound && at < best; at++ {
			if m.admits(history, start.Add(at), 1) {
				search(append(history[:len(history):len(history)], taken{start.Add(at), 1}), at)
			}
		}
	}
	search(nil, 0)
	return best
}
