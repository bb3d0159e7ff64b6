package adaptive

import (
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
)

// TestRenewal: what shows that a refused request begins the window anew, and what does not. A window of 4 s was
// used up within 40 ms, by us and by others, and looks at the reset are refused.
func TestRenewal(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	type look struct {
		late  time.Duration // after the reset that was stated last
		told  time.Duration
		other bool // it is no look, but goes while something is left
	}
	for _, test := range []struct {
		name   string
		step   time.Duration
		whole  time.Duration
		apart  bool // nobody else uses the limit
		unsaid bool // refusals do not ask to be left alone until the reset
		looks  []look
		want   bool
	}{
		{"a look at the reset", s, 4 * s, false, false, []look{{ms, 4 * s, false}}, true},
		{"exact", ms, 4 * s, false, false, []look{{ms, 4 * s, false}}, true},
		{"others may have used it up since", s, 4 * s, false, false, []look{{130 * ms, 4 * s, false}}, false},
		{"twice", s, 4 * s, false, false, []look{{130 * ms, 4 * s, false}, {130 * ms, 4 * s, false}}, true},
		{"less than a window", ms, 4 * s, false, false, []look{{ms, 4*s - ms, false}}, false},
		{"then less than a window", s, 4 * s, false, false, []look{{ms, 4 * s, false}, {ms, 3 * s, false}}, false},
		{"wrong once", s, 4 * s, false, false, []look{{ms, 4 * s, false}, {ms, 3 * s, false}, {ms, 4 * s, false}, {ms, 4 * s, false}}, false},
		{"more than was known", s, 4 * s, false, false, []look{{ms, 6 * s, false}}, false},
		{"no longer than a step", s, s, false, false, []look{{ms, s, false}, {ms, s, false}}, false},
		{"alone", s, 4 * s, true, false, []look{{ms, 4 * s, false}, {ms, 4 * s, false}}, false},
		{"no hint", s, 4 * s, false, true, []look{{ms, 4 * s, false}, {ms, 4 * s, false}}, false},
		{"no look", s, 4 * s, false, false, []look{{ms, 4 * s, true}, {ms, 4 * s, true}}, false},
	} {
		r := renewal{}
		now, reset := start, start.Add(test.whole)
		r.note(&outcome{now: now, resetIn: test.whole, resetStep: test.step, remaining: 10, remainingBefore: 11}, false, !test.apart, start)
		now = now.Add(40 * ms)
		r.note(&outcome{now: now, resetIn: test.whole, resetStep: test.step, remainingBefore: 1, lateBefore: reset}, false, !test.apart, start)
		for _, l := range test.looks {
			now = reset.Add(l.late)
			o := outcome{sent: now, now: now, refused: true, resetIn: l.told, resetStep: test.step, lateBefore: reset, usedUpSince: start.Add(40 * ms)}
			if l.other {
				o.remainingBefore = 1
			}
			r.note(&o, !test.unsaid, !test.apart, start)
			reset = now.Add(l.told)
		}
		if r.renews != test.want {
			t.Errorf("%s: renews %v", test.name, r.renews)
		}
	}
}

// TestRenewalReserved: where one token is reserved, who is not urgent looks at the reset though that one is
// left.
func TestRenewalReserved(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	for _, idle := range []int{0, 1} {
		r, reset := renewal{}, start.Add(4*s)
		r.note(&outcome{now: start, resetIn: 4 * s, resetStep: s, remaining: 10, remainingBefore: 11}, false, true, start)
		now := reset.Add(ms)
		r.note(&outcome{
			sent: now, now: now, refused: true, idle: idle, remainingBefore: 1, resetIn: 4 * s, resetStep: s, lateBefore: reset, usedUpSince: start.Add(40 * ms),
		}, true, true, start)
		if row := r.row; row != idle {
			t.Errorf("%d reserved: %d looks, want %d", idle, row, idle)
		}
	}
}

// TestRenewalNext: looks come a sixteenth of a window late at first, and the later the more of them are
// refused, until one is served.
func TestRenewalNext(t *testing.T) {
	const s = 16 * time.Second
	for _, test := range []struct {
		late   int
		random float64
		want   time.Duration
	}{
		{0, 0.5, s / 16}, {1, 0.5, s / 16}, {2, 0, s/16 + s/2}, {2, 0.5, s/16 + 3*s/4}, {3, 0, s/16 + s}, {4, 0, s/16 + 2*s}, {4, 1, s/16 + 4*s},
	} {
		r := renewal{renews: true, span: s, late: test.late, from: start}
		if got := r.next(func() float64 { return test.random }).Sub(start) - s; got != test.want {
			t.Errorf("%d refused, random %v: %v late, want %v", test.late, test.random, got, test.want)
		}
	}
	r := renewal{renews: true, span: s, late: mostLate, row: 7}
	refused := outcome{sent: start, now: start, refused: true, resetIn: s, resetStep: time.Second, lateBefore: start, usedUpSince: start}
	r.note(&refused, true, true, start)
	if r.late != mostLate {
		t.Errorf("%d, want %d at most", r.late, mostLate)
	}
	r.note(&outcome{sent: start, now: start, resetIn: s, resetStep: time.Second, remaining: 9, lateBefore: start}, true, true, start)
	if r.late != 0 || r.row != 0 || !r.renews {
		t.Errorf("after one that was served: %+v", r)
	}
}

// TestRenewalDue: at a server of 10 in 4 s, nothing goes before a window and a sixteenth after a refusal; nor
// after others were refused who found out when we did that nothing is left. What is known of a limit goes with
// it.
func TestRenewalDue(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	b := newBucket(t, Config{})
	refuse := func(told time.Duration) { // a refusal that asks to be left alone until the reset
		a := refuses(inSeconds(0, 10, told))
		a.Hold, a.HoldKnown, a.HoldResolution = told, true, s
		b.exchange(a)
	}
	for i := 9; i > 0; i -= 3 {
		b.exchange(says(inSeconds(i, 10, 4*s)))
	}
	b.at(20 * ms).exchange(says(inSeconds(0, 10, 4*s)))
	b.wantDue(3980 * ms)
	b.at(4 * s)
	refuse(4 * s)
	b.wantDue(20*ms + 4*s + 250*ms) // others look until 4.02 s
	b.at(8270 * ms)
	refuse(4 * s)
	b.wantDue(6250 * ms) // after half a window more
	b.at(14520 * ms).exchange(says(inSeconds(9, 10, 4*s)))
	b.wantOpen(9)
	b.exchange(says(inSeconds(0, 10, 4*s)))
	b.wantDue(4250 * ms)
	b.at(18770 * ms)
	refuse(3 * s) // others began a window, and used it up
	b.wantDue(3 * s)
	b.at(21770 * ms).exchange(says(inSeconds(7, 8, 4*s)))
	if r := b.window1().renewal; r.refuted != 0 || r.span != 4*s {
		t.Errorf("of another limit: %+v", r)
	}
}

// inSeconds is left, with a reset in whole seconds.
func inSeconds(remaining, limit int, reset time.Duration) quota.Statement {
	st := left(remaining, limit, reset)
	st.Resolution = time.Second
	return st
}
