package pace

import (
	"math"
	"testing"
	"time"
)

// TestFirst: where a hint may stand for less, the first pace is the mean of what was served and of what was refused.
func TestFirst(t *testing.T) {
	for _, test := range []struct {
		name        string
		asked, step time.Duration
		before      int           // served before the first refusal
		looks       int           // refused after the hold
		gap         time.Duration // between those that are served then
		mean        bool
	}{
		{"a second", time.Second, time.Second, 2, 0, 10 * time.Millisecond, true},
		{"a second, in steps that are not known", time.Second, 0, 2, 0, 10 * time.Millisecond, true},
		{"half a second, in steps that are not known", time.Second / 2, 0, 2, 0, 10 * time.Millisecond, false},
		{"two seconds", 2 * time.Second, time.Second, 2, 0, 10 * time.Millisecond, false},
		{"a second, to the millisecond", time.Second, time.Millisecond, 2, 0, 10 * time.Millisecond, false},
		{"now", 0, time.Second, 2, 0, 10 * time.Millisecond, false},
		{"just few at once", time.Second, time.Second, provenServed - 1, 0, 10 * time.Millisecond, true},
		{"many at once", time.Second, time.Second, provenServed, 0, 10 * time.Millisecond, false},
		{"a refused look", time.Second, time.Second, 2, 1, 10 * time.Millisecond, false},
		{"what was refused is no more than what was served", time.Second, time.Second, 2, 0, time.Second, false},
	} {
		var r Rate
		now := start
		refuse := func() {
			r.Refuse(now, true)
			r.Hint(now, test.asked, test.step)
		}
		r.Take(now, now, test.before)
		r.Serve(now, test.before, false, false)
		for range 1 + test.looks {
			refuse()
			now = now.Add(time.Second)
		}
		for range 4 {
			r.Serve(now, 1, false, false)
			now = now.Add(test.gap)
		}
		refuse()
		want := paceShare * 4 / now.Sub(start).Seconds()
		if test.mean {
			want = math.Sqrt(want * 4 / (4 * test.gap).Seconds())
		}
		if r.rate != want {
			t.Errorf("%s: the first pace is %v/s, want %v/s", test.name, r.rate, want)
		}
	}
}

// TestFirstSeek: a mean that is refused is the next one that was refused, until both are near each other, or several
// means were refused; then the pace is what was served. What others leave is a part of both.
func TestFirstSeek(t *testing.T) {
	for _, test := range []struct {
		name     string
		low, top float64
		part     float64
		want     []float64 // means, and then low
	}{
		{"from 1 to 256", 1, 256, 1, []float64{16, 4, 1}},
		{"a quarter of it", 1, 256, 0.25, []float64{4, 1, 0.25}},
		{"four times as much", 1, 4, 1, []float64{1}},
		{"from 1 to 2^32", 1, 1 << 32, 1, []float64{1 << 16, 1 << 8, 1 << 4, 4, 1}},
		{"nothing was served", 0, 256, 1, []float64{0}},
	} {
		f := first{low: test.low, top: test.top}
		f.scale(test.part)
		for i, want := range test.want {
			pace, mean := f.seek()
			if last := i == len(test.want)-1; pace != want || mean == last || f.over() != last {
				t.Errorf("%s: the pace is %v, a mean %v, over %v, want %v", test.name, pace, mean, f.over(), want)
			}
			f.refuse(start, 1, pace, true)
		}
	}
}
