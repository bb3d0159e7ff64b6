package pace

import (
	"testing"
	"time"
)

// TestMeter: what is served from one refusal to the next one is a rate if these are enough.
func TestMeter(t *testing.T) {
	for _, test := range []struct {
		name   string
		from   time.Duration // of a refusal, before now; negative if there was none
		served int
		want   float64
	}{
		{"a row in four seconds", 4 * time.Second, provenServed, provenServed / 4.0},
		{"fewer", 4 * time.Second, provenServed - 1, 0},
		{"nothing was refused", -1, provenServed, 0},
		{"in no time", 0, provenServed, 0},
		{"too many to count", time.Second, 2 * mostCounted, mostCounted},
	} {
		var m meter
		m.serve(3) // before the refusal
		now := start.Add(time.Hour)
		if test.from >= 0 {
			m.refuse(now.Add(-test.from))
		}
		for range 2 {
			m.serve(test.served / 2)
		}
		m.serve(test.served % 2)
		got, over := m.rate(now)
		if got != test.want || got > 0 && over != test.from || got == 0 && over != 0 {
			t.Errorf("%s: %v/s over %v, want %v/s over %v", test.name, got, over, test.want, test.from)
		}
	}
}
