package adaptive

import (
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/counter"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// TestCountApart: the Server of a counter that was told apart from others begins with what was said of the
// counter, and with what was found out of resets before: that they are rounded down, as instants of a clock
// that may agree with ours, and when the window of that reset began.
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
	for _, heard := range []bool{true, false} { // something of the counter
		b := newBucket(t, Config{})
		b.exchange(says(said(b, 49, 50)))
		b.at(10 * ms).exchange(says(said(b, 0, 50)))
		b.at(1750 * ms).exchange(refuses(said(b, 0, 50))) // the reset that was stated has passed: it is rounded down
		st := counter.Stated{Statement: said(b, 0, 50), Sent: b.now, Heard: b.now}
		if !heard {
			st = counter.Stated{}
		}
		p := part(b, st)
		if b.Leave(); !heard {
			p = part(b, st) // of those that are told apart later, the whole knows as much
			p.exchange(refuses(said(p, 0, 50)))
		} else {
			p.at(1800 * ms).wantDue(200 * ms)
		}
		if w := p.window1(); !w.reset.roundsDown || w.reset.opened != start || w.others.siblings {
			t.Errorf("heard %v: %+v, %+v", heard, w.reset, w.others)
		}
	}
}

// TestCountApartBegins: when the window of a counter began is known if the whole knows of a window with the same reset: it
// is that one's. What the whole knows of another reset says nothing of it.
func TestCountApartBegins(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	st := func(remaining int, reset time.Duration) quota.Statement {
		st := left(remaining, 50, reset)
		st.Resolution = s
		return st
	}
	for reset, opened := range map[time.Duration]monotime.Time{2 * s: start, 5 * s: 0} {
		b := newBucket(t, Config{})
		b.exchange(says(st(49, 2*s)))
		b.at(1600 * ms)
		p := newBucketOf(t, b.site, b.config)
		p.now = b.now
		p.CountApart(b.now, b.Server, "", counter.Stated{Statement: st(30, reset-1600*ms), Sent: b.now.Add(-100 * ms), Heard: b.now})
		w := p.window1()
		if w.reset.opened != opened || w.reset.halfRoundTrip != 50*ms || w.remaining != 30 {
			t.Errorf("%v: began at %v, half a round trip takes %v, %d remain, want %v, 50ms and 30", reset, w.reset.opened, w.reset.halfRoundTrip, w.remaining, opened)
		}
		if early, late := w.reset.early.Sub(start), w.reset.late.Sub(start); late != reset || early > reset-s || early < reset-1100*ms {
			t.Errorf("the reset is from %v to %v, want up to a step and the way of an answer before %v", early, late, reset)
		}
	}
}

// TestCountApartKnowsNothing: of a counter without a reset, and of one whose reset has passed, no limit is known.
func TestCountApartKnowsNothing(t *testing.T) {
	passed, none := left(3, 50, time.Second), left(3, 50, 0)
	none.ResetKnown = false
	for _, st := range []quota.Statement{passed, none} {
		b := newBucket(t, Config{})
		b.exchange(says(left(49, 50, time.Minute)))
		p := newBucketOf(t, b.site, b.config)
		p.CountApart(start.Add(5*time.Second), b.Server, "", counter.Stated{Statement: st, Sent: start, Heard: start})
		if len(p.windows) != 0 {
			t.Errorf("%+v is known", *p.windows[0])
		}
	}
}
