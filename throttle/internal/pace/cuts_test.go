package pace

import (
	"testing"
	"time"
)

// TestCuts: four at once, and then one after 10 s, and each further one after twice as long.
func TestCuts(t *testing.T) {
	var c cuts
	for i, test := range []struct {
		after time.Duration // start
		want  bool
	}{
		{0, true},
		{1, true},
		{2, true},
		{time.Second, true},
		{time.Second, false},
		{11*time.Second - 1, false},
		{11 * time.Second, true},
		{31*time.Second - 1, false},
		{31 * time.Second, true},
		{71*time.Second - 1, false},
		{71 * time.Second, true},
		{71 * time.Second, false},
	} {
		if got := c.another(start.Add(test.after)); got != test.want {
			t.Errorf("%d: a cut after %v: %v, want %v", i, test.after, got, test.want)
		}
	}
}
