package pace

import (
	"math"
	"testing"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// TestFirst: where a hint may stand for less, the first pace is the mean of what was served and of what was
// refused.
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
		{"none before it", time.Second, time.Second, 0, 0, 10 * time.Millisecond, true},
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
		r.Serve(now, test.before, Went{})
		for range 1 + test.looks {
			refuse()
			now = now.Add(time.Second)
		}
		for range 4 {
			r.Serve(now, 1, Went{})
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

// TestFirstSeek: a mean that is refused is the next one that was refused, until both are near each other, or
// several means were refused; then the pace is what was served. What others leave is a part of both.
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

// askFirst has a server refuse, serve so many after its hold of a second, one each 10 ms, and refuse again. It
// returns when it refused the second time.
func (r *Rate) askFirst(served int) (now monotime.Time) {
	r.Take(start, start, 1)
	now = start
	refuse := func() {
		r.Refuse(now, true)
		r.Hint(now, time.Second, time.Second)
	}
	refuse()
	now = now.Add(time.Second)
	for range served {
		r.Serve(now, 1, Went{})
		now = now.Add(10 * time.Millisecond)
	}
	refuse()
	return now
}

// TestFirstAgain: what was refused last is the upper end, as fast as it was then; and what was measured last
// the lower one, where eight or more were served.
func TestFirstAgain(t *testing.T) {
	var r Rate
	now := r.askFirst(4)
	low := paceShare * 4 / now.Sub(start).Seconds()
	if want := math.Sqrt(low * 100); r.rate != want || r.Measured() {
		t.Errorf("the first pace is %v/s, measured %v, want %v/s, and not", r.rate, r.Measured(), want)
	}
	now = now.Add(2 * time.Second)
	for range 4 { // at 20 ms
		r.Serve(now, 1, Went{})
		now = now.Add(20 * time.Millisecond)
	}
	refused := r.rateAt(now)
	r.Refuse(now, true)
	r.Hint(now, time.Second, time.Second)
	if want := math.Sqrt(low * refused); r.rate != want || refused >= 50 {
		t.Errorf("after a refusal at %v/s, the pace is %v/s, want %v/s", refused, r.rate, want)
	}
	var many Rate
	now = many.askFirst(sameEpisode)
	low = paceShare * sameEpisode / now.Sub(start).Seconds()
	if want := math.Sqrt(low * 100); many.rate != want || many.Measured() {
		t.Errorf("where %d were served, the first pace is %v/s, measured %v, want %v/s, and not", sameEpisode, many.rate, many.Measured(), want)
	}
}

// TestFirstIsOver: a look that is refused ends the search, with what was served; and once it is over, a hint
// sets no pace, however far apart the ends are.
func TestFirstIsOver(t *testing.T) {
	var r Rate
	now := r.askFirst(4).Add(time.Second)
	low := r.first.low
	r.Refuse(now, true)
	if r.Hint(now, time.Second, time.Second); r.rate != low || low >= 10 {
		t.Errorf("after a refused look, the pace is %v/s, want %v/s", r.rate, low)
	}
	r.first.low, r.first.top, r.rate = 1, 1000, 5
	if r.Hint(now, time.Second, time.Second); r.rate != 5 {
		t.Errorf("the pace is %v/s where the search is over, want 5/s", r.rate)
	}
	r.first.tries = 0
	r.window = window{size: 10, alike: 1, sudden: true}
	if r.Hint(now, time.Second, time.Second); r.rate != 5 {
		t.Errorf("the pace is %v/s where a window is known, want 5/s", r.rate)
	}
}

// TestFirstEndsWithATrial: a pace that was not refused for so long that more is tried is the first one. It
// stays what it is when that is refused, and is no mean of what was served in the beginning.
func TestFirstEndsWithATrial(t *testing.T) {
	for tries := range mostTries + 1 {
		var r Rate
		now := r.askFirst(sameEpisode)
		pace := r.rate
		for r.first.tries = tries; !r.former.trial; now = now.Add(100 * time.Millisecond) {
			r.serve(now)
		}
		r.Refuse(now, true)
		if r.Hint(now, time.Second, time.Second); r.rate != pace || r.former.trial {
			t.Errorf("%d means before: a pace of %v/s after a trial that was refused, want %v/s", tries, r.rate, pace)
		}
	}
}

// TestFirstRefused: what counts as the rate that was refused.
func TestFirstRefused(t *testing.T) {
	at := start.Add
	for _, test := range []struct {
		name   string
		before float64 // that was refused
		served int     // since a tenth of a second
		pace   float64
		again  bool
		want   float64
		tries  int
	}{
		{"two in a tenth of a second", 0, 2, 0, true, 20, 0},
		{"one says nothing", 0, 1, 0, true, 0, 0},
		{"the pace", 0, 2, 8, true, 8, 0},
		{"a higher one", 5, 2, 8, true, 5, 0},
		{"a lower one", 10, 2, 8, true, 8, 0},
		{"nothing was served", 10, 0, 8, true, 8, mostTries},
		{"the very first request", 0, 0, 0, false, 0, 0},
	} {
		f := first{top: test.before}
		f.serve(at(0))
		f.serve(at(50 * time.Millisecond))
		f.refuse(at(100*time.Millisecond), test.served, test.pace, test.again)
		if f.top != test.want || f.tries != test.tries || f.from != 0 {
			t.Errorf("%s: %+v, want %v/s refused, %d tries", test.name, f, test.want, test.tries)
		}
	}
	var f first
	f.serve(start)
	if f.refuse(start, 2, 0, true); f.top != 0 {
		t.Errorf("two in no time: %v/s were refused, want none", f.top)
	}
	// What was on its way when a refusal came is not the first that was served after it, nor any of these.
	var r Rate
	r.Refuse(at(0), true)
	r.Serve(at(time.Second), 30, Went{BeforeRefusal: true})
	r.Serve(at(2*time.Second), 1, Went{})
	r.Serve(at(2*time.Second), 1, Went{})
	if r.Refuse(at(2100*time.Millisecond), true); r.first.top != 20 {
		t.Errorf("%v/s were refused, want 20/s", r.first.top)
	}
}

// TestFirstTop: what was refused is the least of what is known to be too much. A refusal of which nothing says
// how fast requests went leaves it as it is.
func TestFirstTop(t *testing.T) {
	f := first{low: 1, top: 100}
	f.refuse(start, 1, 0, true)
	if f.top != 100 {
		t.Errorf("%v/s is too much, want 100/s", f.top)
	}
	f.refuse(start, 1, 25, true)
	if f.top != 25 {
		t.Errorf("%v/s is too much, want 25/s", f.top)
	}
}

// TestFirstTries: so many means are tried at most.
func TestFirstTries(t *testing.T) {
	f, means := first{low: 1, top: 1000}, 0
	for range 2 * mostTries {
		if _, mean := f.seek(); mean {
			means++
		}
	}
	if means != mostTries || !f.over() {
		t.Errorf("%d means were tried, over %v, want %d", means, f.over(), mostTries)
	}
}
