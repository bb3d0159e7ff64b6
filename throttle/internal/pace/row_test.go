package pace

import (
	"slices"
	"testing"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// unpaced is the time of a token where no pace is known.
const unpaced = monotime.Longest

// next returns for how long nothing goes after the n-th refusal in a row, where holds double as long as the row
// says nothing.
func (r *row) next(now monotime.Time, n int, later bool) time.Duration {
	if hold, ok := r.look(now, n, later, unpaced, 0); ok {
		return hold
	}
	return 100 * time.Millisecond << (n - 1)
}

// holds are the next n in milliseconds, if each look is refused.
func (r *row) holds(now monotime.Time, n int, token time.Duration, others int) (all []time.Duration) {
	for i := range n {
		r.refuse(now)
		hold, ok := r.look(now, i+1, true, token, others)
		if !ok {
			hold = -time.Millisecond
		}
		all = append(all, hold/time.Millisecond)
		now = now.Add(hold)
	}
	return all
}

// TestRowLooks: after a row that a silent server served, the first two looks are those of a bucket. Each later
// one comes after half as long again as nothing was served, at a whole second of the row, no later than a usual
// window, and than half a minute after the one before; once nothing was served for five minutes, however much
// later that is.
func TestRowLooks(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		name   string
		lasted time.Duration // from the first of the row to the first refusal
		want   []time.Duration
	}{
		{"at once", 0, []time.Duration{
			100, 200, 700, 1000, 1000, 2000, 3000, 2000, 5000, 8000, 7000, 15000, 15000, 30000,
			30000, 30000, 30000, 30000, 30000, 30000, 30000, 150000, 150000, 300000, 450000, 450000, 900000, 900000, 1800000,
		}},
		{"in half a second", 500 * ms, []time.Duration{100, 200, 200, 1000, 1000, 2000, 3000, 2000, 5000, 8000, 7000, 15000, 15000, 30000}},
		{"in a minute", time.Minute + 100*ms, []time.Duration{100, 200, 600, 1000, 1000, 2000, 3000, 4000, 6000, 9000, 14000, 21000, 30000, 30000}},
	} {
		r := row{}
		now := start
		r.serve(now, leastRow-1)
		now = now.Add(test.lasted)
		r.serve(now, 1) // the row goes on
		if got := r.holds(now, len(test.want), unpaced, 0); !slices.Equal(got, test.want) {
			t.Errorf("%s: holds of %d ms, want %d", test.name, got, test.want)
		}
		now = now.Add(time.Hour)
		r.serve(now, 1)
		if r.refuse(now); r.from != now || r.refused != now {
			t.Errorf("%s: %+v, want a new row", test.name, r)
		}
	}
	r := row{}
	for n := 1; n < 30; n++ {
		r.refuse(start)
		if hold, ok := r.look(start.Add(time.Hour), n, true, unpaced, 0); ok {
			t.Errorf("where nothing was served: a look in %v after %d refusals", hold, n)
		}
	}
	if hold, ok := new(row).look(start, 3, true, unpaced, 0); ok {
		t.Errorf("of no row and no refusal: a look in %v", hold)
	}
}

// TestRowLooksAtAPace: a pace that was refused when it had risen says when a bucket has a token. So the first
// look comes then, if that is sooner.
func TestRowLooksAtAPace(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		name  string
		token time.Duration
		want  []time.Duration // in milliseconds
	}{
		{"none", unpaced, []time.Duration{100, 200, 700, 1000, 1000, 2000}},
		{"a pace", 30 * ms, []time.Duration{30, 200, 770, 1000, 1000, 2000}},
		{"a slow one", 101 * ms, []time.Duration{100, 200, 700, 1000, 1000, 2000}},
		{"one of a token in less than a nanosecond", 0, []time.Duration{0, 200, 799, 1000}},
	} {
		r := row{}
		r.serve(start, 1)
		if got := r.holds(start, len(test.want), test.token, 0); !slices.Equal(got, test.want) {
			t.Errorf("%s: holds of %d ms, want %d", test.name, got, test.want)
		}
		r = row{from: start, refused: start, served: 1, late: true}
		if hold, ok := r.look(start, 0, true, test.token, 0); hold != time.Second || !ok {
			t.Errorf("%s, and nothing was served for long before: %v, %v, want a second", test.name, hold, ok)
		}
		if hold, ok := r.look(start, 0, false, test.token, 0); hold/ms != test.want[0] || !ok {
			t.Errorf("%s, where no look is to be left out: %v, %v, want %d ms", test.name, hold, ok, test.want[0])
		}
	}
	for _, test := range []struct {
		name   string
		rate   float64
		growth float64
		want   time.Duration
	}{
		{"no pace", 0, 0.1, leastLook},
		{"a pace that has not risen", 20, 0.028, leastLook},
		{"one that has", 20, 0.031, 50 * ms},
	} {
		r := Rate{rate: test.rate, growth: test.growth, setAt: start, episodes: episodes{measuredFrom: start, count: 1, list: [maxEpisodes]episode{{start: start, lastRefusal: start}}}}
		now := start.Add(time.Second)
		r.Serve(now, 1, Went{})
		r.Refuse(now, false)
		if hold, ok := r.Look(now, 1, true, 0); hold != test.want || !ok {
			t.Errorf("%s: %v, %v, want %v", test.name, hold, ok, test.want)
		}
	}
}

// TestRowLooksCloser: a look in vain weighs less where many are served. So a window of which many were served
// in a row is looked for at shorter distances, as far as others wait to look in turns.
func TestRowLooksCloser(t *testing.T) {
	for _, test := range []struct {
		served, others int
		want           []time.Duration // in seconds, from the row on
	}{
		{looseRow, 1000, []time.Duration{1, 2, 3, 5, 8, 10, 15, 23, 30, 45, 60, 90}},
		{4 * looseRow, 1000, []time.Duration{1, 2, 3, 4, 5, 7, 9, 10, 13, 15, 19, 24, 30, 38, 48, 60, 75}},
		{4 * looseRow, 1, []time.Duration{1, 2, 3, 4, 5, 7, 9, 10, 13, 15, 19, 24, 30, 38, 48, 60, 75}},
		{100 * looseRow, 1, []time.Duration{1, 2, 3, 4, 5, 7, 9, 10, 13, 15, 19, 24, 30, 38, 48, 60, 75}},
		{100 * looseRow, 1000, []time.Duration{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 23, 25, 27, 29, 30, 32}},
		{100 * looseRow, 0, []time.Duration{1, 2, 3, 5, 8, 10, 15, 23, 30, 45, 60, 90}},
		{100 * looseRow, -1, []time.Duration{1, 2, 3, 5, 8, 10, 15, 23, 30, 45, 60, 90}},
	} {
		r := row{}
		r.serve(start, test.served)
		var got []time.Duration
		var at time.Duration
		for _, hold := range r.holds(start, shortLooks+len(test.want), unpaced, test.others) {
			at += hold
			got = append(got, at/1000)
		}
		if got = got[shortLooks:]; !slices.Equal(got, test.want) {
			t.Errorf("after %d, beside %d others: looks after %d s, want %d", test.served, test.others, got, test.want)
		}
	}
}

// TestRowLooksLate: where nothing was served for a second before a row, the looks for buckets are left out
// after it.
func TestRowLooksLate(t *testing.T) {
	const ms = time.Millisecond
	r, now := row{}, start
	looks := func(want ...time.Duration) {
		t.Helper()
		var got []time.Duration
		for n := range want {
			r.refuse(now)
			hold := r.next(now, n+1, true)
			got = append(got, hold/ms)
			now = now.Add(hold)
		}
		if !slices.Equal(got, want) {
			t.Errorf("holds of %d ms, want %d", got, want)
		}
		r.serve(now, leastRow)
	}
	r.serve(now, leastRow)
	now = now.Add(300 * ms)
	looks(100, 200, 400)
	looks(100, 200, 700) // it was 0.7 s before
	looks(1000, 1000, 1000, 2000, 3000, 2000, 5000, 8000, 7000, 15000, 15000)
	now = now.Add(950 * ms)
	looks(1050) // at least as long as the first look for buckets
	again := r
	again.refuse(now)
	if hold, ok := again.look(now, 1, false, unpaced, 0); hold != leastLook || !ok {
		t.Errorf("a look in %v where none is to be left out, want 100 ms", hold)
	}
	now = now.Add(1 * ms)
	looks(999)
	looks(100, 200)
}

// TestRowOver: a row is expected to end where the one before did, if that had as many as a row must have to be
// compared. That is said once in a row, and counts what is in flight.
func TestRowOver(t *testing.T) {
	var r row
	now := start
	serve := func(n int) {
		now = now.Add(time.Millisecond)
		r.serve(now, n)
	}
	refuse := func() { r.refuse(now) }
	r.count(3) // before anything was known
	serve(7)
	if r.over(100) {
		t.Error("over, although there was no row before")
	}
	if refuse(); r.over(100) {
		t.Error("over, although it is refused")
	}
	r.count(100) // late
	serve(4)
	if r.over(5) {
		t.Error("over with 4 served and 5 in flight of 10")
	}
	serve(1)
	if !r.over(5) || r.over(5) {
		t.Error("not over, once, with 5 served and 5 in flight of 10")
	}
	refuse()
	serve(1)
	if r.over(100) {
		t.Error("over, although the row before had 5 only")
	}
	refuse()
	serve(leastRow)
	refuse()
	serve(1) // a look
	refuse()
	serve(1)
	if r.over(leastRow-2) || !r.over(leastRow-1) {
		t.Error("not over after as many as the row before that of a look")
	}
	r = row{}
	if r.count(20); r.refused != 0 {
		t.Error("refused")
	}
	refuse()
	if serve(1); r.over(18) || !r.over(19) {
		t.Error("not over after as many as were served while nothing was known")
	}
}

// TestRowLooksNoSoonerThanAtLeast: where a usual window is over in less than the shortest hold, the look comes
// that much later.
func TestRowLooksNoSoonerThanAtLeast(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct{ lasted, want time.Duration }{
		{9800 * ms, 200 * ms}, {9900 * ms, leastLook}, {9990 * ms, leastLook}, {10*time.Second - 1, leastLook}, {59950 * ms, leastLook},
	} {
		r := row{from: start, refused: start, served: leastRow}
		if hold, ok := r.look(start.Add(test.lasted), 5, true, unpaced, 0); hold != test.want || !ok {
			t.Errorf("%v after the row began: a look after %v, %v, want %v", test.lasted, hold, ok, test.want)
		}
	}
}
