package pace

import (
	"slices"
	"testing"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// atOnce has requests of a pace of 10/s come at an instant, none of which waits, and returns how many go.
func (r *Rate) atOnce(now monotime.Time) (n int) {
	for ; r.Due(now, 0, 1, 0, false) == now; n++ {
		r.Take(now, now, 1)
	}
	return n
}

// steady is a pace of 10/s, which does not grow, of a server that serves so many at once beyond the rate.
func steady(n int) Rate {
	return Rate{rate: 10, setAt: start, pacedTo: start, lastGrant: start, episodes: episodes{measuredFrom: start}, burst: burst{lent: n}}
}

// TestSpare: of requests that come each second and do not wait, as many go at once as has come back, twice as
// many more each time, but no more than the server is known to serve at once.
func TestSpare(t *testing.T) {
	for _, test := range []struct {
		name  string
		burst int
		every time.Duration
		want  []int // go at once, at each such time
	}{
		{"as many as come back", 20, time.Second, []int{2, 3, 5, 9, 10, 10, 10}},
		{"a burst", 6, time.Second, []int{2, 3, 5, 7, 7, 7, 7}},
		{"a burst, and all that comes back", 6, 400 * time.Millisecond, []int{2, 3, 4, 4, 4, 4, 4}},
		{"the least burst", leastSpare, time.Second, []int{2, 3, 3, 3, 3, 3, 3}},
		{"a smaller burst", leastSpare - 1, time.Second, []int{1, 1, 1, 1, 1, 1, 1}},
		{"as seldom as one comes back", 20, 100 * time.Millisecond, []int{1, 1, 1, 1, 1, 1, 1}},
	} {
		r, now := steady(test.burst), start
		var got []int
		for range test.want {
			now = now.Add(test.every)
			got = append(got, r.atOnce(now))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %d go at once, want %d", test.name, got, test.want)
		}
	}
}

// TestSpareOfDearAndOfManyRequests: so it is where requests cost more than one, of which no other goes while
// less has come back than it costs; and where what limit.Lag lets go, of which there is more at a high rate,
// goes first.
func TestSpareOfDearAndOfManyRequests(t *testing.T) {
	for _, test := range []struct {
		name  string
		rate  float64
		cost  int
		gap   time.Duration // between the requests of a burst
		burst int
		want  []int // go in each of the bursts, one of which comes each second
	}{
		{"of three", 30, 3, 0, 60, []int{1, 1, 2, 3, 6, 10, 10}},
		{"of ten", 100, 10, 0, 200, []int{1, 1, 1, 1, 2, 4, 7, 10, 10}},
		{"of ten, a small burst", 100, 10, 0, 15, []int{1, 1, 1, 1, 2, 2, 2}},
		{"many", 5000, 1, 20 * time.Microsecond, 1000, []int{41, 44, 48, 56, 72, 104, 168, 296}},
	} {
		r, now := steady(test.burst), start
		r.rate = test.rate
		var got []int
		for range test.want {
			now = now.Add(time.Second)
			n, at := 0, now
			for range 300 {
				if at = at.Add(test.gap); r.Due(at, 0, test.cost, 0, false) == at {
					r.Take(at, at, test.cost)
					n++
				}
			}
			got = append(got, n)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %d go, want %d", test.name, got, test.want)
		}
	}
}

// TestSpareIsRefused: half as much goes at once after a refusal, unless the pace had risen, or all was back;
// and one more after many bursts that went well.
func TestSpareIsRefused(t *testing.T) {
	for _, test := range []struct {
		name  string
		after time.Duration // the refusal comes so long after the burst
		rose  bool
		size  int
	}{
		{"at once", 0, false, 4},
		{"just before all is back", 800*time.Millisecond - 1, false, 4},
		{"when all is back", 800 * time.Millisecond, false, 8},
		{"the pace had risen", 0, true, 8},
	} {
		r, now := steady(100), start
		for range 4 {
			now = now.Add(time.Second)
			r.atOnce(now)
		}
		if r.spare.size != 8 {
			t.Fatalf("%s: %d go at once, want 8", test.name, r.spare.size)
		}
		if r.spare.refuse(now.Add(test.after), test.rose); r.spare.size != test.size {
			t.Errorf("%s: %d go at once after the refusal, want %d", test.name, r.spare.size, test.size)
		}
		if test.size == 8 {
			continue
		}
		for i := range 3 * healedBy {
			now = now.Add(time.Second)
			if got, want := r.atOnce(now), 1+test.size+i/healedBy; got != want {
				t.Fatalf("%s: %d go at once after %d bursts that went well, want %d", test.name, got, i, want)
			}
		}
	}
}

// TestSpareOfPart: where less than all goes at once, be all of it back or not, nothing is known of the rest;
// but a refusal is heeded.
func TestSpareOfPart(t *testing.T) {
	for _, test := range []struct{ bursts, size int }{
		{3, 8},  // all is back after a second
		{4, 16}, // not all
	} {
		r, now := steady(100), start
		for range test.bursts {
			now = now.Add(time.Second)
			r.atOnce(now)
		}
		for range 4 {
			now = now.Add(time.Second)
			r.Take(now, now, 4)
		}
		if r.spare.size != test.size {
			t.Errorf("%d go at once after %d and then 4 went, want %d", r.spare.size, test.size/2, test.size)
		}
		if r.spare.refuse(now, false); r.spare.size != test.size/2 {
			t.Errorf("%d go at once after 4 went and one was refused, want %d", r.spare.size, test.size/2)
		}
	}
}

// TestSpareThatIsNeverAllBack: where bursts come before all is back, a refusal is heeded too; else as many
// would go each time, and be refused, for ever.
func TestSpareThatIsNeverAllBack(t *testing.T) {
	r, now := steady(20), start
	var got []int
	for range 6 {
		now = now.Add(time.Second)
		r.atOnce(now)
	}
	for range 8 {
		now = now.Add(time.Second)
		got = append(got, r.atOnce(now))
		r.spare.refuse(now, false)
	}
	if want := []int{10, 10, 6, 3, 2, 1, 1, 1}; !slices.Equal(got, want) {
		t.Errorf("%d go at once, want %d", got, want)
	}
}

// TestSpareIsTakenBack: what was not sent shows nothing.
func TestSpareIsTakenBack(t *testing.T) {
	r, now := steady(20), start
	for range 4 {
		now = now.Add(time.Second)
		for range r.atOnce(now) {
			r.Cancel(now, 1)
		}
	}
	if r.spare.size != 1 {
		t.Errorf("%d go at once after nothing was sent, want 1", r.spare.size)
	}
}

// TestSpareOfNobody: what comes back counts while nobody asks: not while requests wait for something else, nor
// in a hold.
func TestSpareOfNobody(t *testing.T) {
	for _, test := range []struct {
		name  string
		asked time.Duration // after the start; the first goes after a second
		held  bool
		want  int // go at once
	}{
		{"nobody has asked", time.Second, false, 4},
		{"one has asked for half of the time", 850 * time.Millisecond, false, 4},
		{"one has asked for most of the time", 200 * time.Millisecond, false, 2},
		{"one has asked all the time", 0, false, 1},
		{"nothing went for a refusal", time.Second, true, 1},
	} {
		r, now := steady(100), start.Add(time.Second)
		r.spare.size = 3
		if test.held {
			r.meter.from = start
		}
		r.Take(now, start.Add(test.asked), 1)
		if got := 1 + r.atOnce(now); got != test.want {
			t.Errorf("%s: %d go at once, want %d", test.name, got, test.want)
		}
	}
}

// TestSpareOfManyProcesses: of what the server serves at once, each of several processes has its part.
func TestSpareOfManyProcesses(t *testing.T) {
	lent := steady(20)
	counted := steady(0)
	counted.burst = burst{since: start.Add(-time.Second), served: 20, late: 10, refused: start}
	for name, r := range map[string]Rate{"of an earlier run": lent, "of this run": counted} {
		now, most := start, 0
		r.Scale(0.1)
		for range 10 {
			now = now.Add(time.Minute)
			most = max(most, r.atOnce(now))
		}
		if most != 3 {
			t.Errorf("%s: %d go at once, want one, and two of 20", name, most)
		}
		r.Scale(1. / 9)
		if got := r.State(now).Burst; got != 0 {
			t.Errorf("%s: a burst of %d in one of 90 processes, want 0", name, got)
		}
		r.Scale(90)
		if got := r.State(now).Burst; got != 20 {
			t.Errorf("%s: a burst of %d in one process again, want 20", name, got)
		}
	}
	var b burst
	b.take(start, 20)
	b.serve(20, false, 0)
	b.scale(0.1)
	if b.refuse(start); b.memory(0) != 20 {
		t.Errorf("a burst of %d that was found by one of ten processes, want 20", b.memory(0))
	}
	b = burst{lent: 20, left: 20}
	b.take(start, 5)
	b.scale(0.5)
	if b.cancel(5); b.left != 10 || b.lent != 20 {
		t.Errorf("%d of %d are left for one of two processes, want 10 of 20", b.left, b.lent)
	}
}
