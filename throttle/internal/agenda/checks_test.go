package agenda

import (
	"testing"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// TestChecks: a line of 1000 is checked once in 10 ms, but for a credit of a millisecond at first; one of 10
// eleven times at once.
func TestChecks(t *testing.T) {
	for _, test := range []struct {
		n, checks int
		after     time.Duration
	}{{1000, 101, time.Second}, {1000, 1, 9*time.Millisecond - 1}, {1000, 2, 9 * time.Millisecond}, {10, 11, 0}, {100, 2, 0}, {100, 1002, time.Second}} {
		var l Checks
		got := 0
		for at := monotime.Time(1); at <= monotime.Time(1).Add(test.after); {
			in := l.Next(at, test.n)
			if in == 0 {
				got++
			}
			at = at.Add(in)
		}
		if got != test.checks {
			t.Errorf("a line of %d is checked %d times in %v, want %d", test.n, got, test.after, test.checks)
		}
	}
}
