package pace

import (
	"testing"
	"time"
)

// TestResumeMeasures: a refusal ends a measurement that began with the run. Else runs that end before the second refusal would learn nothing, and each would
// find the limit anew.
func TestResumeMeasures(t *testing.T) {
	for _, test := range []struct {
		served int // in 4 s
		want   float64
	}{
		{0, 4},
		{sameEpisode - 1, 4},
		{20, paceShare * 5},
	} {
		var r Rate
		if known, _ := r.Resume(start, &Memory{Rate: 4, At: start}, 0); !known {
			t.Fatal("no rate is known")
		}
		now := start
		for range test.served {
			now = now.Add(4 * time.Second / time.Duration(test.served))
			r.Take(now, now, 1)
			r.Serve(now, 1, false, false)
		}
		now = start.Add(4 * time.Second)
		r.Refuse(now, true)
		if got := r.State(now).Rate; got != test.want {
			t.Errorf("a rate of %v after %d were served in 4 s and one was refused, want %v", got, test.served, test.want)
		}
	}
}
