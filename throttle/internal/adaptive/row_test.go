package adaptive

import (
	"slices"
	"testing"
	"time"
)

// TestRowLooks: after a row that a silent server served, the first two looks are those of a bucket. Each later one comes after half
// as long again as nothing was served, at a whole second of the row.
func TestRowLooks(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		name   string
		lasted time.Duration // from the first of the row to the first refusal
		want   []time.Duration
	}{
		{"at once", 0, []time.Duration{100, 200, 700, 1000, 1000, 2000, 3000, 4000, 6000, 9000, 14000, 21000, 30000, 30000}},
		{"in half a second", 500 * ms, []time.Duration{100, 200, 200, 1000, 1000, 2000, 3000, 4000, 6000, 9000, 14000, 21000, 30000, 30000}},
		{"in a minute", time.Minute + 100*ms, []time.Duration{100, 200, 600, 1000, 1000, 2000, 3000, 4000, 6000, 9000, 14000, 21000, 30000, 30000}},
	} {
		r := row{}
		now := start
		r.serve(now)
		now = now.Add(test.lasted)
		r.serve(now) // the row goes on
		var got []time.Duration
		for n := range test.want {
			r.refuse(now)
			hold := r.next(now, n+1)
			got = append(got, hold/ms)
			now = now.Add(hold)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: holds of %d ms, want %d", test.name, got, test.want)
		}
		r.serve(now)
		if r.refuse(now); r.from != now || r.refused != now {
			t.Errorf("%s: %+v, want a new row", test.name, r)
		}
	}
	r := row{}
	for n := 1; n < 30; n++ {
		r.refuse(start)
		if got, want := r.next(start.Add(time.Hour), n), unsaid(n); got != want {
			t.Errorf("where nothing was served: %v after %d refusals, want %v", got, n, want)
		}
	}
	if r.serve(start); r.next(start, atLongest+2) != 2*longestStretch {
		t.Errorf("after 19 refusals in a row: %v, want %v", r.next(start, atLongest+2), 2*longestStretch)
	}
}
