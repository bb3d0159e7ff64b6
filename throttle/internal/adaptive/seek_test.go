package adaptive

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
)

// TestSeek: when requests look whether a limit is restored, in seconds since the latest look that was served.
// The server states no reset.
func TestSeek(t *testing.T) {
	for _, test := range []struct {
		name  string
		back  []float64 // after how long something is back, one time after the other
		found int       // so much, of ten
		want  [][]float64
	}{
		{
			"a window of a minute",
			[]float64{60, 60, 60, 60, 60, 60},
			10,
			[][]float64{{1, 2, 3, 5, 8, 12, 18, 27, 41, 62}, {52, 57, 60}, {59, 60}, {60}, {60}, {60}},
		},
		{
			"of a second",
			[]float64{1, 1, 1},
			10,
			[][]float64{{1}, {0.5, 0.75, 0.875, 0.9375, 1}, {1}},
		},
		{
			"strict spacing",
			[]float64{0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1},
			10,
			[][]float64{{1}, {0.5}, {0.25}, {0.125}, {0.0625, 0.09375, 0.109375}, {0.1015625}, {0.09765625, 0.1015625}},
		},
		{
			"which is longer of a sudden",
			[]float64{10, 10, 10, 10, 30, 30, 30, 30},
			10,
			[][]float64{{1, 2, 3, 5, 8, 12}, {10}, {9, 10}, {10}, {10, 12, 14, 18, 21, 24, 28, 32}, {10, 15, 23, 30}, {29, 30}, {30}},
		},
		{
			"others took all, once",
			[]float64{10, 10, 10, 10, 30, 10, 10},
			10,
			[][]float64{{1, 2, 3, 5, 8, 12}, {10}, {9, 10}, {10}, {10, 12, 14, 18, 21, 24, 28, 32}, {10}, {5, 8, 9, 10}},
		},
		{
			"a part: others were there, or it comes back token by token",
			[]float64{12, 1, 3},
			4,
			[][]float64{{1, 2, 3, 5, 8, 12}, {3}, {1, 2, 3}},
		},
		{
			"several at once, after the same time: in the third window, a look comes first when they were back before the span seemed to be longer",
			[]float64{5, 5, 5, 5, 5, 5},
			4,
			[][]float64{{1, 2, 3, 5}, {1.25, 3, 4, 5}, {1.25, 2, 3, 5}, {5}, {5}, {5}},
		},
		{
			"several, after another time each time: others were there",
			[]float64{5, 3, 5, 3},
			4,
			[][]float64{{1, 2, 3, 5}, {1.25, 3}, {1, 2, 3, 4, 5}, {1.25, 3}},
		},
	} {
		b := newBucket(t, Config{})
		none := quota.Statement{Limit: 10}
		some := quota.Statement{Limit: 10, Remaining: int64(test.found - 1)}
		b.exchange(says(none))
		for i, back := range test.back {
			var got []float64
			for began := b.now; ; {
				b.at(b.now.Sub(start) + b.dueAfter(0, 1))
				took := b.now.Sub(began)
				if got = append(got, took.Seconds()); took.Seconds() >= back {
					break
				}
				b.exchange(refuses(none))
			}
			b.exchange(says(some))
			for n := test.found - 2; n >= 0; n-- {
				some := some
				some.Remaining = int64(n)
				b.exchange(says(some))
			}
			if !slices.Equal(got, test.want[i]) {
				t.Errorf("%s, time %d: looks after %v, want %v", test.name, i+1, got, test.want[i])
			}
		}
	}
}

// TestSeekWithinAStatedSpan: no window lasts longer than the server says: the first one is looked at when it
// must be over, and the next ones are not taken to be longer since a look came late. If nothing is back then,
// they may be.
func TestSeekWithinAStatedSpan(t *testing.T) {
	for _, test := range []struct {
		name string
		back []float64 // after how long something is back, one time after the other
		want [][]float64
	}{
		{"a minute", []float64{60, 60, 60}, [][]float64{{1, 2, 3, 5, 8, 12, 18, 27, 41, 60}, {51, 56, 58, 59, 60}, {60}}},
		{"longer than is said", []float64{90, 90}, [][]float64{{1, 2, 3, 5, 8, 12, 18, 27, 41, 60, 90}, {75, 83, 87, 89, 90}}},
	} {
		b := newBucket(t, Config{})
		none := quota.Statement{Limit: 10, Window: time.Minute}
		some := quota.Statement{Limit: 10, Window: time.Minute, Remaining: 9}
		b.exchange(says(none))
		for i, back := range test.back {
			var got []float64
			for began := b.now; ; b.exchange(refuses(none)) {
				b.at(b.now.Sub(start) + b.dueAfter(0, 1))
				took := b.now.Sub(began).Seconds()
				if got = append(got, took); took >= back {
					break
				}
			}
			b.exchange(says(some))
			b.exchange(says(none))
			if !slices.Equal(got, test.want[i]) {
				t.Errorf("%s, time %d: looks after %v, want %v", test.name, i+1, got, test.want[i])
			}
		}
	}
}

// TestSeekPartOfAnotherUnit: of tokens that requests cost by the hundred, looks find a part where others were
// there first. Had it come back token by token, a look before would have found some, too.
func TestSeekPartOfAnotherUnit(t *testing.T) {
	for unpriced, want := range map[bool]time.Duration{true: time.Minute, false: 12 * time.Second} {
		l := seek{from: start, least: 50 * time.Second, most: time.Minute}
		for _, o := range []outcome{{sent: start.Add(59 * time.Second), refused: true}, {sent: start.Add(time.Minute), remaining: 4}} {
			o.now, o.look, o.limit, o.n, o.unpriced = o.sent, true, 10, 1, unpriced
			l.note(&o, false, true)
		}
		if l.most != want {
			t.Errorf("of a price that is learned: %v: back within %v, want %v", unpriced, l.most, want)
		}
	}
}

// TestSeekAtTheEndOfAWindow: a look finds nothing as late as one found the whole limit before. That the next
// one finds the whole limit does not say that it comes back token by token.
func TestSeekAtTheEndOfAWindow(t *testing.T) {
	l := seek{from: start, least: 52 * time.Second, most: 58 * time.Second}
	o := outcome{sent: start.Add(58 * time.Second), now: start.Add(58 * time.Second), look: true, refused: true, limit: 10, n: 1}
	l.note(&o, false, true)
	o = outcome{sent: start.Add(60 * time.Second), now: start.Add(60 * time.Second), look: true, remaining: 9, limit: 10, n: 1}
	l.note(&o, false, true)
	if l.least != 58*time.Second || l.most != time.Minute {
		t.Errorf("nothing after %v, all after %v, want 58s and 1m", l.least, l.most)
	}
}

// TestSeekNoSoonerWhereNoLimitIsStated: a server that says of each request that none remains, and no limit, is
// asked once a second; and one that states a limit of one no more often than each millisecond.
func TestSeekNoSoonerWhereNoLimitIsStated(t *testing.T) {
	for limit, want := range []time.Duration{firstLook, shortestLook} {
		b := newBucket(t, Config{})
		for range 50 {
			b.exchange(says(quota.Statement{Limit: int64(limit)}))
			b.at(b.now.Sub(start) + b.dueAfter(0, 1))
		}
		b.exchange(says(quota.Statement{Limit: int64(limit)}))
		b.wantDue(want)
	}
}

// TestSeekBetween: the span is a whole number of seconds, and jitter and round trips have looks come a little
// later.
func TestSeekBetween(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct{ least, most, want time.Duration }{
		{9090 * ms, 12300 * ms, 11 * time.Second},
		{9090 * ms, 11070 * ms, 10 * time.Second},
		{59020 * ms, 60300 * ms, 60 * time.Second},
		{60020 * ms, 60300 * ms, 60300 * ms},
		{885 * ms, 1180 * ms, time.Second}, // and not 1180 ms, as the middle rounded up is beyond
	} {
		l := seek{from: start, least: test.least, most: test.most}
		if got := l.next(start, 0, 0).Sub(start); got != test.want {
			t.Errorf("nothing after %v, something after %v: the next look after %v, want %v", test.least, test.most, got, test.want)
		}
	}
}

// TestSeekNotAfterHalfOfASecond: a second and a round trip are a second, and no span is shorter.
func TestSeekNotAfterHalfOfASecond(t *testing.T) {
	l := seek{from: start, least: 970 * time.Millisecond, most: 1020 * time.Millisecond, confirmed: halveAfter}
	if got := l.next(start, 0, 0).Sub(start); got != l.most {
		t.Errorf("the limit was back after %v each time: the next look comes after %v", l.most, got)
	}
}

// TestSeekPartEndsARow: a look that finds a part is none of the row after which a look comes early.
func TestSeekPartEndsARow(t *testing.T) {
	l := seek{from: start, least: 9 * time.Second, most: 10 * time.Second, confirmed: halveAfter}
	at := start.Add(6 * time.Second)
	l.note(&outcome{sent: at, now: at, n: 1, limit: 10, look: true}, false, true)
	if got := l.next(at, 0, 0).Sub(at); got != 6*time.Second {
		t.Errorf("one was back after 6 s: the next look after %v, want 6s", got)
	}
}

// TestSeekBunch: nothing was back after 9 s, and several after 10 s, in two windows in a row. A look that finds
// several then waits for 10 s again; one that finds one, or several sooner, as where the log has become faster,
// waits for as long as a token takes.
func TestSeekBunch(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		after time.Duration
		found int
		want  time.Duration
	}{
		{10 * s, 4, 10 * s},
		{10*s + 625*time.Millisecond, 2, 10 * s},
		{10*s + 626*time.Millisecond, 2, 5313 * time.Millisecond},
		{10 * s, 1, 10 * s},
		{6 * s, 4, 1500 * time.Millisecond},
	} {
		l := seek{from: start, least: 9 * s, most: 10 * s, bunch: 10 * s, confirmed: 1}
		at := start.Add(test.after)
		l.note(&outcome{sent: at, now: at, n: 1, limit: 10, remaining: test.found - 1, look: true}, false, true)
		if got := l.next(at, 0, 0).Sub(at); got != test.want || (l.confirmed > 0) != (test.want == 10*s && test.found > 1) {
			t.Errorf("%d were back after %v: the next look comes after %v, and %d in a row were so late; want %v", test.found, test.after, got, l.confirmed, test.want)
		}
	}
}

// TestSeekEndsWhereResetsAreStated: what was seen is forgotten, and the stated reset counts.
func TestSeekEndsWhereResetsAreStated(t *testing.T) {
	b := newBucket(t, Config{})
	b.exchange(says(quota.Statement{Limit: 10}))
	b.wantDue(firstLook)
	b.exchange(says(left(0, 10, 7*time.Second)))
	b.wantDue(7 * time.Second)
	if w := b.window1(); w.seek != (seek{}) {
		t.Errorf("%+v, want nothing", w.seek)
	}
}

// TestSeekAfterOverhear: where another process heard of a reset, the look waits for it, whatever was seen while
// none was stated.
func TestSeekAfterOverhear(t *testing.T) {
	b := newBucket(t, Config{})
	none := quota.Statement{Limit: 10}
	b.exchange(says(none))
	b.at(time.Second).exchange(says(quota.Statement{Limit: 10, Remaining: 9}))
	b.at(90 * time.Second).exchange(says(none))
	b.at(91 * time.Second).exchange(refuses(none))
	b.Overhear(b.now, &quota.Statement{Limit: 10, ResetKnown: true, Reset: time.Minute})
	if got := b.dueAfter(0, 1); got < time.Minute {
		t.Errorf("the look is due after %v, want the reset, after 1m0s", got)
	}
	b.at(92 * time.Second).exchange(refuses(none)) // one that was under way
	b.wantDue(59 * time.Second)
}

// TestSeekPartWithinASecond: where a look within less than a second finds a part, the limit was not full, so
// the next one comes no sooner, and no later.
func TestSeekPartWithinASecond(t *testing.T) {
	b := newBucket(t, Config{})
	b.exchange(says(quota.Statement{Limit: 2}))
	for i, ms := range []int{1000, 500, 250, 125, 125, 125} { // a bucket of 10 a second and a burst of 2
		want := time.Duration(ms) * time.Millisecond
		b.wantDue(want)
		b.at(b.now.Sub(start) + want)
		if i < 3 {
			b.exchange(says(quota.Statement{Limit: 2, Remaining: 1}))
		}
		b.exchange(says(quota.Statement{Limit: 2}))
	}
}

// TestSeekTokenNearlyBack: a token comes back every six seconds, and looks come a little later than that. So
// two are there in the end, which is no sign that they come back sooner; but three are.
func TestSeekTokenNearlyBack(t *testing.T) {
	for _, test := range []struct {
		found int
		want  time.Duration
	}{{1, 6270 * time.Millisecond}, {2, 6270 * time.Millisecond}, {3, 2090 * time.Millisecond}} {
		l := seek{from: start, single: true, least: 6270 * time.Millisecond, most: 6270 * time.Millisecond}
		at := start.Add(l.most)
		l.note(&outcome{sent: at, now: at, n: 1, limit: 100, remaining: test.found - 1, look: true}, false, true)
		if got := l.next(at, 0, 0).Sub(at); got != test.want {
			t.Errorf("%d were back after 6.27 s: the next look comes after %v, want %v", test.found, got, test.want)
		}
	}
}

// TestSeekOthersHaveGone: a look after 1.7 s found one token of four, since others took the rest. The next one
// finds all four, so that a token takes less than half a second: the looks come a second after the limit is
// used up from then on. A look after a pause does not tell when all was back.
func TestSeekOthersHaveGone(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct{ took, want time.Duration }{{1700 * ms, time.Second}, {time.Hour, 3 * time.Second}} {
		l := seek{from: start, single: true, least: 1700 * ms, most: 1700 * ms}
		at := start.Add(test.took)
		l.note(&outcome{sent: at, now: at, n: 1, limit: 4, remaining: 3, look: true}, false, true)
		if got := l.next(at, 0, 0).Sub(at); got != test.want {
			t.Errorf("all was back after %v: the next look comes after %v, want %v", test.took, got, test.want)
		}
	}
}

// TestSeekIsKept: the first run has used up a limit and looked after 1, 2, 3, 5, 8 and 12 s, when the limit was
// back. When the first look of a second run comes, which hears that nothing remains; and when any request goes
// that the second run begins with.
func TestSeekIsKept(t *testing.T) {
	const s = time.Second
	none := quota.Statement{Limit: 10}
	for name, test := range map[string]struct {
		looks []time.Duration // of the first run
		back  bool            // the last one found everything
		after time.Duration   // that the second run begins
		says  quota.Statement
		due   time.Duration // of the first request
		look  time.Duration // of the one after it, since that was answered
	}{
		"the window lasts still":   {[]time.Duration{8 * s, 12 * s}, true, 4 * s, none, 6 * s, 1 * s},
		"the window is over":       {[]time.Duration{8 * s, 12 * s}, true, time.Hour, none, 0, 10 * s},
		"nothing was found":        {[]time.Duration{8 * s, 12 * s}, false, time.Hour, none, 0, 18 * s},
		"another limit":            {[]time.Duration{8 * s, 12 * s}, true, time.Hour, quota.Statement{Limit: 9}, 0, 1 * s},
		"a reset that is stated":   {[]time.Duration{8 * s, 12 * s}, true, time.Hour, left(0, 10, 7*s), 0, 7 * s},
		"no look, nothing is kept": {nil, false, time.Hour, none, 0, 1 * s},
	} {
		b := newBucket(t, Config{})
		b.exchange(says(none))
		for i, look := range test.looks {
			a := refuses(none)
			if test.back && i == len(test.looks)-1 {
				a = says(quota.Statement{Limit: 10, Remaining: 9})
			}
			b.at(look).exchange(a)
		}
		if test.back {
			b.exchange(says(none))
		}
		later := again(t, b, test.after)
		if got := later.dueAfter(0, 1); got != test.due {
			t.Errorf("%s: the first request goes after %v, want %v", name, got, test.due)
		}
		later.now = later.now.Add(test.due)
		later.exchange(refuses(test.says))
		if got := later.dueAfter(0, 1); got != test.look {
			t.Errorf("%s: the next one goes after %v, want %v", name, got, test.look)
		}
	}
}

// TestSeekLate: a look that comes late, as nobody asked for more before, does not tell that the window is so
// long; whether its length is known, it has become longer, or nothing is known.
func TestSeekLate(t *testing.T) {
	const s = time.Second
	none, some := quota.Statement{Limit: 10}, quota.Statement{Limit: 10, Remaining: 9}
	for name, test := range map[string]struct {
		before  []time.Duration // looks that found nothing, and the last one all, since the limit was used up; then it is used up again
		nothing time.Duration   // so late, one look found nothing; zero if none did
		want    time.Duration   // the first look after a late one
	}{
		"nothing is known": {nil, 0, s},
		"ten seconds":      {[]time.Duration{s, 2 * s, 3 * s, 5 * s, 8 * s, 10 * s}, 0, 9 * s},
		"no longer ten":    {[]time.Duration{s, 2 * s, 3 * s, 5 * s, 8 * s, 10 * s}, 10 * s, 15 * s},
	} {
		b := newBucket(t, Config{})
		b.exchange(says(none))
		for i, look := range test.before {
			b.at(look)
			if i < len(test.before)-1 {
				b.exchange(refuses(none))
			} else {
				b.exchange(says(some))
				b.exchange(says(none))
			}
		}
		if test.nothing > 0 {
			b.now = b.now.Add(test.nothing)
			b.exchange(refuses(none))
		}
		b.at(2 * time.Hour).exchange(says(some))
		b.exchange(says(none))
		if got := b.dueAfter(0, 1); got != test.want {
			t.Errorf("%s: after an hour in which nobody asked, the first look comes after %v, want %v", name, got, test.want)
		}
	}
}

// TestSeekShorter: a window of a minute becomes one of ten seconds. Its windows are counted over several runs.
func TestSeekShorter(t *testing.T) {
	b := newBucket(t, Config{})
	none, some := quota.Statement{Limit: 10}, quota.Statement{Limit: 10, Remaining: 9}
	b.exchange(says(none))
	window := func(lasts time.Duration) (looks []float64) {
		for began := b.now; ; {
			b.now = b.now.Add(b.dueAfter(0, 1))
			took := b.now.Sub(began)
			if looks = append(looks, took.Seconds()); took >= lasts {
				break
			}
			b.exchange(refuses(none))
		}
		b.exchange(says(some))
		b.exchange(says(none))
		return looks
	}
	for range 3 {
		window(time.Minute)
	}
	for i := range halveAfter - 1 {
		if got := window(time.Minute); !slices.Equal(got, []float64{60}) {
			t.Fatalf("window %d: looks after %v, want 60", i, got)
		}
	}
	if got := window(time.Minute); !slices.Equal(got, []float64{30, 60}) {
		t.Fatalf("looks after %v, want 30 and 60", got)
	}
	for i := range halveAfter - 1 {
		if i%20 == 10 {
			b = again(t, b, 0)
		}
		if got := window(time.Minute); !slices.Equal(got, []float64{60}) {
			t.Fatalf("window %d after that: looks after %v, want 60", i, got)
		}
	}
	for _, want := range [][]float64{{30}, {15}, {8, 12}, {10}, {9, 10}, {10}} {
		if got := window(10 * time.Second); !slices.Equal(got, want) {
			t.Errorf("a shorter window: looks after %v, want %v", got, want)
		}
	}
}

// TestSeekOfAFile: whatever a file says, only spans of two minutes at most count; and a window that was not
// back when it was back before lasts longer.
func TestSeekOfAFile(t *testing.T) {
	const s = time.Second
	for _, test := range []struct{ after, within, least, most time.Duration }{
		{8 * s, 12 * s, 8 * s, 12 * s},
		{24 * s, 12 * s, 24 * s, 0},
		{-s, 12 * s, 0, 12 * s},
		{8 * s, -s, 8 * s, 0},
		{8 * s, 120 * s, 8 * s, 120 * s},
		{8 * s, 121 * s, 0, 0},
		{121 * s, 0, 0, 0},
		{math.MinInt64, math.MaxInt64, 0, 0},
		{math.MaxInt64, math.MaxInt64, 0, 0},
		{math.MinInt64, math.MinInt64, 0, 0},
	} {
		l := seek{from: start}
		want := seek{from: start, least: test.least, most: test.most}
		if took := l.resume(&Habits{BackAfter: test.after, BackWithin: test.within}, false); l != want || took != (test.least > 0 || test.most > 0) {
			t.Errorf("%v and %v are %+v, want %+v", test.after, test.within, l, want)
		}
		if at := l.next(start, 0, 0); at <= start || at > start.Add(2*time.Minute) {
			t.Errorf("%+v: the first look comes after %v", l, at.Sub(start))
		}
	}
}

// TestSeekBitByBit: what several looks find is counted together. One at each of several late looks does not say
// that a token takes longer; two of two at each, that it takes half as long, at the second look; and one at
// each later look, that it takes longer.
func TestSeekBitByBit(t *testing.T) {
	const late = 100 * time.Millisecond
	l := seek{from: start, single: true, least: 10 * time.Second, most: 10 * time.Second}
	at := start
	for i, look := range []struct {
		after time.Duration
		found int
		want  time.Duration
	}{
		{10*time.Second + late, 1, 10 * time.Second},
		{10*time.Second + late, 1, 10 * time.Second},
		{10*time.Second + late, 1, 10 * time.Second},
		{10*time.Second + late, 2, 10 * time.Second},
		{10*time.Second + late, 2, 50500 * time.Millisecond / 7},
		{8 * time.Second, 2, 50500 * time.Millisecond / 7},
		{8 * time.Second, 2, 4 * time.Second},
		{4*time.Second + late, 1, 4 * time.Second},
		{12 * time.Second, 1, (16*time.Second + late) / 2},
		{12 * time.Second, 1, (16*time.Second + late) / 2},
		{13 * time.Second, 1, 25 * time.Second / 2},
	} {
		at = at.Add(look.after)
		l.note(&outcome{sent: at, now: at, n: 1, limit: 2, remaining: look.found - 1, look: true}, false, true)
		if l.most != look.want {
			t.Errorf("look %d found %d after %v: a token takes %v, want %v", i+1, look.found, look.after, l.most, look.want)
		}
	}
}

// TestSeekCountsAnew: after sixteen tokens, what was found long ago does not count: others may have gone since.
func TestSeekCountsAnew(t *testing.T) {
	l := seek{from: start, single: true, least: 10 * time.Second, most: 10 * time.Second}
	at := start
	for range 1000 {
		at = at.Add(10 * time.Second)
		l.note(&outcome{sent: at, now: at, n: 1, limit: 3, look: true}, false, true)
	}
	for range mostBits {
		if at = at.Add(10 * time.Second); l.most < 10*time.Second {
			return
		}
		l.note(&outcome{sent: at, now: at, n: 1, limit: 3, remaining: 1, look: true}, false, true)
	}
	t.Errorf("two at each of %d looks, and a token takes %v", mostBits, l.most)
}

// TestSeekWithinASecond: where two looks a second apart find all of a limit of two, the next one comes after
// half a second, and a part that is back at a look brings none sooner.
func TestSeekWithinASecond(t *testing.T) {
	for left, want := range []time.Duration{time.Second, time.Second / 2} {
		l := seek{from: start, single: true, least: time.Second, most: time.Second}
		for i := range 2 {
			at := start.Add(time.Duration(i+1) * time.Second)
			l.note(&outcome{sent: at, now: at, n: 1, limit: 2, remaining: left, look: true}, false, true)
		}
		if l.most != want {
			t.Errorf("%d of 2 at each look: the next one comes after %v, want %v", left+1, l.most, want)
		}
	}
}

// TestSeekBesideAReserve: what is reserved counts as nothing, whether looks find that it alone is left, or that
// something has come back beside it. So looks come as they do where nothing is reserved.
func TestSeekBesideAReserve(t *testing.T) {
	for _, test := range []struct {
		name string
		left func(d time.Duration, used int) int // of 20, so long after the start
		want []float64                           // when requests go after the first of them
	}{
		{"a window of 20 s", func(d time.Duration, used int) int { return 20 + min(int(d/(20*time.Second)), 1)*20 - used }, []float64{1, 2, 3, 5, 8, 12, 18, 27, 27, 27}},
		{"a token in two seconds", func(d time.Duration, used int) int { return 20 + int(d/(2*time.Second)) - used }, []float64{1, 2, 4, 6, 8, 10, 12}},
	} {
		b, used := newBucket(t, Config{}), 0
		exchange := func() {
			used++
			ticket := &Ticket{Sent: b.now, N: 1}
			b.Take(b.now, b.now, of(1), nil, 0.5, ticket)
			b.done(ticket, says(quota.Statement{Limit: 20, Remaining: int64(test.left(b.now.Sub(start), used))}))
		}
		for range 10 {
			exchange()
		}
		var got []float64
		for range test.want {
			b.now = b.DueFrom(limit.Due{At: b.now}, of(0), of(1), nil, 0.5, false).At
			exchange()
			got = append(got, b.now.Sub(start).Seconds())
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: requests went after %v s, want %v", test.name, got, test.want)
		}
	}
}
