package adaptive

import (
	"testing"
	"time"
)

// TestUnshared: what was used of a limit is ours alone if it explains what is missing, and what has come back
// meanwhile.
func TestUnshared(t *testing.T) {
	const s = time.Second
	now := start.Add(10 * s)
	even := drip{known: start, least: 0.1, most: 0.2}
	for _, test := range []struct {
		name      string
		ours, all int
		refill    refill
		want      bool
	}{
		{"all that is missing", 20, 20, refill{}, true},
		{"nine tenths of it", 18, 20, refill{}, true},
		{"less", 17, 20, refill{}, false},
		{"of few", 7, 7, refill{}, false},
		{"with what came back", 22, 20, refill{rate: 0.2, drip: even}, true},
		{"though a rate is believed that is too high", 22, 20, refill{rate: 2, drip: even}, true},
		{"or too low", 20, 20, refill{rate: 0.01, drip: drip{known: start, least: 0.1, most: 0.5}}, false},
		{"others used what came back", 20, 20, refill{rate: 2}, false},
	} {
		o := outcome{now: now, requests: true, used: used{since: start, ours: test.ours, all: test.all}}
		if got := test.refill.unshared(&o); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
		if o.requests = false; test.refill.unshared(&o) {
			t.Errorf("%s: though what requests cost in the unit is only learned", test.name)
		}
	}
}
