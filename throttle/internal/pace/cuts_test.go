package pace

import (
	"testing"
	"time"
)

// TestCuts: four at once, and then one after 10 s, and each further one after twice as long, if so many were
// served before the refusal; but for one of them.
func TestCuts(t *testing.T) {
	var c cuts
	for i, test := range []struct {
		after  time.Duration // start
		served int
		want   bool
	}{
		{0, 1, true},
		{1, 1, true},
		{2, 1, true},
		{time.Second, 1, true},
		{time.Second, 8, false},
		{11*time.Second - 1, 8, false},
		{11 * time.Second, 1, true},
		{31*time.Second - 1, 8, false},
		{31 * time.Second, 7, false},
		{31 * time.Second, 8, true},
		{71*time.Second - 1, 8, false},
		{71 * time.Second, 8, true},
		{71 * time.Second, 8, false},
		{200 * time.Second, 7, false}, // there was one of few already
	} {
		if got := c.another(start.Add(test.after), test.served); got != test.want {
			t.Errorf("%d: a cut after %v: %v, want %v", i, test.after, got, test.want)
		}
	}
}
