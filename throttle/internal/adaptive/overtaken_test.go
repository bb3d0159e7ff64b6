package adaptive

import (
	"slices"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
)

// TestOvertaken: when looks come at a window of four seconds of which others take all within the first 50 ms,
// until one of them comes in these. Resets are in whole seconds, and refusals ask to be left alone until then.
// After three looks at the end of that second, one comes half-way between the soonest and the latest end.
func TestOvertaken(t *testing.T) {
	const s, ms, us = time.Second, time.Millisecond, time.Microsecond
	for _, test := range []struct {
		name   string
		joins  time.Duration // so long before the first request, a window began
		span   time.Duration // as it is stated; zero if it is not
		floors bool          // resets are rounded down
		want   []time.Duration
	}{
		{"early in the second", 3900 * ms, 4 * s, false, []time.Duration{0, 1 * s, 5 * s, 9 * s, 12500 * ms, 16250 * ms, 20125 * ms}},
		{
			"late in the second", 3070 * ms, 4 * s, false,
			[]time.Duration{0, 1 * s, 5 * s, 9 * s, 12500 * ms, 13 * s, 16750 * ms, 17 * s, 20875 * ms, 21 * s, 24937500 * us},
		},
		{
			"no span is stated", 1800 * ms, 0, false,
			[]time.Duration{0, 3 * s, 7 * s, 11 * s, 14500 * ms, 18250 * ms, 22125 * ms, 22250 * ms, 26187500 * us, 26250 * ms, 30218750 * us},
		},
		{
			"rounded down", 600 * ms, 4 * s, true, // which the second look shows, after the hint
			[]time.Duration{0, 3 * s, 3200 * ms, 3600 * ms, 11600 * ms, 19600 * ms, 22600 * ms, 29 * s, 31 * s, 56600 * ms, 59600 * ms, 63100 * ms},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBucket(t, Config{})
			var got []time.Duration
			for b.now < start.Add(2*time.Minute) {
				now := b.now.Sub(start)
				left := 4*s - (now+test.joins)%(4*s)
				got = append(got, now)
				st := quota.Statement{Limit: 20, Window: test.span, Reset: left.Truncate(s), ResetKnown: true, Resolution: s}
				if !test.floors && st.Reset < left {
					st.Reset += s
				}
				if 4*s-left < 50*ms && now > 0 {
					break
				}
				e := b.exchange(Answer{Refused: true, Hold: st.Reset, HoldKnown: true, HoldResolution: s, Statements: []quota.Statement{st}})
				b.at(now + max(e.Hold, b.dueAfter(0, 1)))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("looks at %v, want %v", got, test.want)
			}
		})
	}
}

// overtakenBucket returns a bucket whose looks come sooner, since three have come too late: at windows of four
// seconds of which the one in use ends after 15 to 16 seconds. It is 12 seconds after the start.
func overtakenBucket(t *testing.T, span time.Duration) *bucket {
	t.Helper()
	b := newBucket(t, Config{})
	for i := range 4 {
		b.at(time.Duration(4*i) * time.Second).exchange(refuses(usedUpWindow(span, 4)))
	}
	b.wantDue(3500 * time.Millisecond)
	return b
}

// usedUpWindow is a statement: nothing remains of a window of such a span, zero if none is stated, for so many
// seconds.
func usedUpWindow(span time.Duration, seconds int) quota.Statement {
	return quota.Statement{Limit: 20, Window: span, Reset: time.Duration(seconds) * time.Second, ResetKnown: true, Resolution: time.Second}
}

// TestOvertakenHeardFromOthers: another process tells of the next window, or the refusal of another limit does,
// from which nothing is learned of this one. What is known of the window before does not become what is known
// of this one: no look comes at the end of the one that is over, and the next answer is no contradiction.
func TestOvertakenHeardFromOthers(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	for _, span := range []time.Duration{4 * s, 0} {
		b := overtakenBucket(t, span)
		st := usedUpWindow(span, 4)
		b.at(16500*ms).Overhear(b.now, &st)
		b.wantDue(4 * s)
		b.at(17 * s).exchange(refuses(usedUpWindow(span, 3)))
		b.wantDue(3 * s) // it ends after 19.5 to 20 seconds

		b = overtakenBucket(t, span)
		other := left(0, 5, s)
		other.Name = "other"
		st.Remaining = 19
		b.at(16 * s).exchange(refuses(st, other))
		b.at(17 * s).exchange(refuses(usedUpWindow(span, 3)))
		if w := b.find(limitName{}); w.overtaken.doubt.failures > 0 || w.overtaken.span > 4*s || !w.overtaken.on() {
			t.Errorf("a window of %v, after a refusal by another limit: %+v", span, w.overtaken)
		}
	}
}

// TestOvertakenRoundedDown: another process has found that resets are rounded down. So the window in use ends
// up to a second later than was thought, and a refusal that states zero then does not say when.
func TestOvertakenRoundedDown(t *testing.T) {
	const span = 4 * time.Second
	b := overtakenBucket(t, span)
	b.Inherit(b.now, &Memory{Windows: []WindowMemory{{Limit: 20, Habits: Habits{Floors: true}}}}, wallClock())
	b.at(15500 * time.Millisecond).exchange(refuses(usedUpWindow(span, 0)))
	if late := b.window1().overtaken.late; late != start.Add(16500*time.Millisecond) {
		t.Errorf("the window ends after %v at the latest, want 16.5s", late.Sub(start))
	}
}

// TestOvertakenLateAnswers: at the end of each window, an answer of that window comes after one of the next.
// That contradicts what is known of the window, and says nothing against looks that come sooner, since none has
// come. So these come after three looks that were too late, as if nothing had happened.
func TestOvertakenLateAnswers(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	left := func(n, seconds int) Answer {
		st := usedUpWindow(4*s, seconds)
		st.Remaining = int64(n)
		return says(st)
	}
	b := newBucket(t, Config{})
	b.exchange(left(19, 4))
	for i := range 6 {
		end := time.Duration(4*(i+1)) * s
		late := b.at(end - 2*ms).send()
		next := b.at(end + ms).send()
		b.at(end+5*ms).done(next, left(19, 4))
		b.at(end+6*ms).done(late, left(10, 1))
		b.at(end + s).exchange(left(15, 3))
	}
	b.at(27 * s).exchange(refuses(usedUpWindow(4*s, 1)))
	for i := range 3 {
		b.at(time.Duration(28+4*i) * s).exchange(refuses(usedUpWindow(4*s, 4)))
	}
	if v := b.window1().overtaken; !v.on() || v.doubt.failures > 0 {
		t.Errorf("after three looks that came too late: %+v", v)
	}
	b.wantDue(4*s - ms)
}

// TestOvertakenLeftOver: something is left of a window at which looks come sooner. Then no look is to come at
// all, and after a second refusal by another limit the random part of the hold is up to half of it, as
// elsewhere.
func TestOvertakenLeftOver(t *testing.T) {
	const s = time.Second
	b := overtakenBucket(t, 4*s)
	b.config.Random = func() float64 { return 1 }
	some := usedUpWindow(4*s, 4)
	some.Remaining = 5
	b.at(16 * s).exchange(says(some))
	if !b.window1().overtaken.on() {
		t.Fatal("looks do not come sooner")
	}
	var hold time.Duration
	for range 2 {
		other := left(0, 5, s)
		other.Name = "other"
		hold = b.exchange(Answer{Refused: true, Hold: s, HoldKnown: true, Statements: []quota.Statement{some, other}}).Hold
	}
	if want := 1500 * time.Millisecond; hold != want {
		t.Errorf("held for %v, want %v", hold, want)
	}
}
