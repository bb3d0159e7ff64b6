package adaptive

import (
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/counter"
)

// TestCountApart: the Server of a counter that was told apart from others begins with what was said of the
// counter, and with what was found out of resets before: that they are rounded down, as instants of a clock
// that may agree with ours, and when a window began.
func TestCountApart(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	// The windows of two counters began at 0, and last for 2 s. Date is 300 ms behind then, so that their reset
	// is stated for 1.7 s.
	said := func(b *bucket, remaining, limit int) quota.Statement {
		date := b.now.Sub(start.Add(-300 * ms)).Truncate(s)
		st := left(remaining, limit, 2*s-date)
		st.Resolution, st.Absolute, st.Skew = s, true, b.now.Sub(start.Add(-300*ms))-date
		return st
	}
	part := func(b *bucket, st counter.Stated) *bucket {
		p := newBucketOf(t, b.site, b.config)
		p.now = b.now
		p.CountApart(b.now, b.Server, "", st)
		return p
	}
	for _, test := range []struct {
		name   string
		first  time.Duration // the first answer about the counter
		opened time.Duration // when its window is taken to have begun
	}{
		{"it was the first of all", 0, 0},
		{"another counter was heard before", 20 * ms, 20 * ms},
		{"nothing was heard of it yet", -1, 0},
	} {
		b := newBucket(t, Config{})
		b.exchange(says(said(b, 49, 50)))
		b.at(10 * ms).exchange(says(said(b, 0, 50)))
		b.at(1750 * ms).exchange(refuses(said(b, 0, 50))) // the reset that was stated has passed: it is rounded down
		st := counter.Stated{
			Statement: said(b, 0, 50), Sent: b.now, Heard: b.now,
			Since: start.Add(test.first), AtStart: 50, Ours: 50, Spent: start.Add(max(test.first, 10*ms)), AllUsed: 50, AllOurs: 50,
		}
		if test.first < 0 {
			st = counter.Stated{}
		}
		p := part(b, st)
		if b.Leave(); test.first < 0 {
			p = part(b, st) // of those that are told apart later, the whole knows as much
			p.exchange(refuses(said(p, 0, 50)))
		} else {
			p.at(1800 * ms).wantDue(200*ms + test.opened)
		}
		if w := p.window1(); !w.reset.roundsDown || w.reset.opened != start.Add(test.opened) || w.others.siblings {
			t.Errorf("%s: %+v, %+v", test.name, w.reset, w.others)
		}
	}
}

// TestCountApartOthers: what others were seen to use of all counters together counts for each, at first.
func TestCountApartOthers(t *testing.T) {
	b := newBucket(t, Config{})
	p := newBucketOf(t, b.site, b.config)
	p.CountApart(b.now, b.Server, "", counter.Stated{AllUsed: 45, AllOurs: 15})
	p.exchange(says(left(0, 10, 2*time.Second)))
	if got := p.window1().others.perOurToken; got != 2 {
		t.Errorf("%v for each token of ours, want 2", got)
	}
}

// TestCountApartBegins: when the window of a counter began is known by the first answer about it, if it had
// only just begun then, or if the whole knows of a window with the same reset that began no more than a step
// before; and if not, by that window. What the whole knows of another reset says nothing of it.
func TestCountApartBegins(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	for _, test := range []struct {
		name    string
		reset   time.Duration // of the counter, from the start
		since   time.Duration // when the request of the first answer about it went; negative if nobody knows
		atStart int           // remained then, of 50
		opened  time.Duration // when the window is taken to have begun; negative if nobody knows
	}{
		{"another reset, at its beginning", 5 * s, 500 * ms, 50, 550 * ms},
		{"another reset, and few are missing", 5 * s, 500 * ms, 45, 550 * ms},
		{"another reset, and many are missing", 5 * s, 500 * ms, 30, -1},
		{"the same reset, at its beginning", 2 * s, 1500 * ms, 50, 1550 * ms},
		{"the same reset, many are missing soon", 2 * s, 900 * ms, 30, 950 * ms},
		{"the same reset, many are missing later", 2 * s, 950 * ms, 30, 0},
		{"the same reset, nothing is known of how it began", 2 * s, -1, 30, 0},
	} {
		st := func(reset time.Duration) quota.Statement {
			st := left(30, 50, reset)
			st.Resolution = s
			return st
		}
		b := newBucket(t, Config{})
		first := st(2 * s)
		first.Remaining = 49
		b.exchange(says(first))
		b.at(1600 * ms)
		p := newBucketOf(t, b.site, b.config)
		p.now = b.now
		stated := counter.Stated{Statement: st(test.reset - 1600*ms), Sent: b.now.Add(-100 * ms), Heard: b.now, AllUsed: 20, AllOurs: 20}
		var used others
		if test.since >= 0 {
			stated.Since, stated.AtStart, stated.Ours = start.Add(test.since), int64(test.atStart), 15
			used = others{began: stated.Since, atStart: test.atStart, foundAtStart: test.atStart, limitAtStart: 50, usedByUs: 15}
		}
		p.CountApart(b.now, b.Server, "", stated)
		w, want := p.window1(), start.Add(test.opened)
		if test.opened < 0 {
			want = 0
		}
		if w.reset.opened != want || w.reset.halfRoundTrip != 50*ms {
			t.Errorf("%s: began at %v, half a round trip takes %v, want %v and 50ms", test.name, w.reset.opened, w.reset.halfRoundTrip, want)
		}
		if early, late := w.reset.early.Sub(start), w.reset.late.Sub(start); late != test.reset || early > test.reset-s || early < test.reset-1100*ms {
			t.Errorf("%s: the reset is from %v to %v, want up to a step and the way of an answer before %v", test.name, early, late, test.reset)
		}
		if w.others != used {
			t.Errorf("%s: others: %+v, want %+v", test.name, w.others, used)
		}
		if w.leastThen != 30 || w.heardThen != b.now {
			t.Errorf("%s: %d remained at %v, want 30 at %v", test.name, w.leastThen, w.heardThen, b.now)
		}
	}
}

// TestCountApartKnowsNothing: of a counter without a reset, and of one whose reset has passed, no limit is
// known.
func TestCountApartKnowsNothing(t *testing.T) {
	passed, none := left(3, 50, time.Second), left(3, 50, 0)
	none.ResetKnown = false
	for _, st := range []quota.Statement{passed, none} {
		b := newBucket(t, Config{})
		b.exchange(says(left(49, 50, time.Minute)))
		p := newBucketOf(t, b.site, b.config)
		p.CountApart(start.Add(5*time.Second), b.Server, "", counter.Stated{Statement: st, Sent: start, Heard: start, Since: start, AtStart: 50, Ours: 47})
		if len(p.windows) != 0 {
			t.Errorf("%+v is known", *p.windows[0])
		}
	}
}
