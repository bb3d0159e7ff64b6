package adaptive

import (
	"testing"
	"time"
)

// TestUnsaid: a hold for which nobody asked doubles, but for eight refusals at half a minute.
func TestUnsaid(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	for n, want := range map[int]time.Duration{
		-1: 100 * ms, 1: 100 * ms, 2: 200 * ms, 9: 25600 * ms, 10: 30 * s, 17: 30 * s, 18: 30 * s, 19: time.Minute, 21: 4 * time.Minute,
	} {
		if got := unsaid(n); got != want {
			t.Errorf("after %d refusals: %v, want %v", n, got, want)
		}
	}
	if got := unsaid(1 << 30); got < time.Hour {
		t.Errorf("after very many: %v", got)
	}
}
