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
