package filequota

import (
	"testing"
	"time"
)

// TestOffsets reads what a time namespace says of itself: see time_namespaces(7).
func TestOffsets(t *testing.T) {
	for text, want := range map[string]offset{
		"": {},
		"monotonic           0         0\nboottime            0         0\n": {},
		"monotonic        1000         5\nboottime      -86400 500000000\n":  {1000*time.Second + 5, -86400*time.Second + 500*time.Millisecond},
		"monotonic x y\nboottime 1\nother 1 2\n":                             {},
	} {
		if got := parseOffsets(text); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

// TestSystemClock reads the clocks of this machine: time passes, and it knows which run this is.
func TestSystemClock(t *testing.T) {
	a, b := clock(), clock()
	if b.now < a.now || a.now <= 0 || b.asleep < a.asleep-clockStep || a.boot != b.boot || a.wall > b.wall {
		t.Errorf("%+v, then %+v", a, b)
	}
}
