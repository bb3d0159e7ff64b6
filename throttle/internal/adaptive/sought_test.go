package adaptive

import (
	"testing"
	"time"
)

// TestSought: what is known of a limit after others, each stated under the same name; of ten, something is back after three to four seconds.
func TestSought(t *testing.T) {
	const s = time.Second
	ten := seek{from: start, least: 3 * s, most: 4 * s}
	for name, test := range map[string]struct {
		then []int // the limits after ten
		want seek
	}{
		"it has risen":               {[]int{12}, ten},
		"it has risen and fallen":    {[]int{19, 10, 6}, ten},
		"another one":                {[]int{20}, seek{}},
		"another one, and it again":  {[]int{20, 10}, ten},
		"three others, and it again": {[]int{20, 40, 80, 10}, ten},
		"too many others":            {[]int{20, 40, 80, 160, 320, 10}, seek{}},
	} {
		var known sought
		l, before := ten, 10
		for _, limit := range test.then {
			known.turn(&l, before, &outcome{sent: start.Add(s), now: start.Add(s), n: 1, limit: limit})
			if before = limit; l == (seek{}) && limit != test.then[len(test.then)-1] {
				l.from = start
			}
		}
		if l != test.want || len(known) > maxSought {
			t.Errorf("%s: %+v, want %+v; %d are kept", name, l, test.want, len(known))
		}
	}
}
