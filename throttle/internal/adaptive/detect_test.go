package adaptive

import (
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
)

// TestSawWindow: a limit was seen to be a window if others use it, and a look found far more than can have
// come back token by token.
func TestSawWindow(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	// A window of 80 in 11 s, used up within 80 ms. 40 ms after the next one began, half of it is there.
	window := func() (*outcome, *reset) {
		end := start.Add(11 * s)
		return &outcome{
			sent: end.Add(30 * ms), now: end.Add(40 * ms), n: 1, limit: 80, remaining: 39, others: 4, look: true,
			usedUpSince: start.Add(80 * ms), earlyBefore: end, lateBefore: end, soonestBefore: end,
		}, &reset{late: end.Add(11 * s)}
	}
	for _, test := range []struct {
		name   string
		change func(o *outcome, after *reset)
		want   bool
	}{
		{"half of a window", func(*outcome, *reset) {}, true},
		{"nobody else uses it", func(o *outcome, _ *reset) { o.others = 0 }, false},
		{"something had remained", func(o *outcome, _ *reset) { o.usedUpSince = 0 }, false},
		{"few are there", func(o *outcome, _ *reset) { o.remaining = 3 }, false},
		{"the next reset is near", func(o *outcome, after *reset) { after.late = o.lateBefore.Add(60 * ms) }, false},
		{"the next reset has come", func(o *outcome, after *reset) { after.late = o.soonestBefore }, false},
		{"a reset in whole seconds", func(o *outcome, _ *reset) { o.soonestBefore = o.soonestBefore.Add(-s) }, true},
		{"likewise, and few are there", func(o *outcome, _ *reset) { o.soonestBefore, o.remaining = o.soonestBefore.Add(-s), 15 }, false},
	} {
		o, after := window()
		test.change(o, after)
		if got := new(refill).sawWindow(o, after); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

// TestTakenWindowDoesNotRefill: who comes to a window after others finds a part of it, and does not take it for
// one that comes back token by token; without others, it does.
func TestTakenWindowDoesNotRefill(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		others  int // take so many for each of ours
		refills bool
	}{{0, true}, {7, false}} {
		b := newBucket(t, Config{})
		until := func() time.Duration { return start.Add(11 * time.Second).Sub(b.now) }
		left80 := 80
		for i := 0; left80 > 0; i++ {
			left80 -= 1 + test.others
			b.at(time.Duration(i) * 8 * ms).exchange(says(left(left80, 80, until())))
		}
		b.at(11*time.Second + 40*ms).exchange(says(left(39, 80, 11*time.Second-40*ms)))
		if r := b.window1().refill; r.refills != test.refills {
			t.Errorf("%d others: refills %v", test.others, r.refills)
		}
	}
}

// TestWindowThatOthersUseUp: who finds nothing of a window that has just begun, since others were faster, does
// not take the limit for one that comes back token by token, if a window came back as a whole before.
func TestWindowThatOthersUseUp(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	coarse := func(remaining int, reset time.Duration) quota.Statement {
		st := left(remaining, 10, reset)
		st.Resolution = s
		return st
	}
	for _, test := range []struct {
		name    string
		others  int           // take so many for each of ours in the first window
		whole   bool          // all of it is there at 2.45 s
		refused time.Duration // then nothing is, and the reset has moved on
		refills bool
	}{
		{"nothing was there before", 1, false, 2450 * ms, true},
		{"no others are known", 0, false, 2450 * ms, true},
		{"the whole was there before", 1, true, 4440 * ms, false},
	} {
		b := newBucket(t, Config{})
		until := func(end time.Duration) time.Duration { return max(start.Add(end).Sub(b.now), 0).Truncate(s) + s }
		for i, remain := 0, 10; remain > 0; i++ {
			remain = max(remain-1-test.others, 0)
			b.at(time.Duration(i) * ms).exchange(says(coarse(remain, until(2400*ms))))
		}
		end := 4400 * ms
		if test.whole {
			b.at(2450 * ms).exchange(says(coarse(9, until(end))))
			b.at(2451 * ms).exchange(says(coarse(0, until(end))))
			end += 2 * s
		}
		b.at(test.refused).exchange(refuses(coarse(0, until(end))))
		if r := b.window1().refill; r.refills != test.refills {
			t.Errorf("%s: refills %v", test.name, r.refills)
		}
	}
}

// TestTakenInWholeSeconds: likewise where resets are in whole seconds, if refusals ask to be left alone until
// then. A window of 50 in 2 s is used up within 10 ms; 40 ms after the next one began, half of it is there.
func TestTakenInWholeSeconds(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	for _, hint := range []time.Duration{0, s, 2 * s} {
		b := newBucket(t, Config{})
		late := b.send()
		for left50 := 45; left50 >= 0; left50 -= 5 {
			b.at(time.Duration(45-left50) / 5 * ms).exchange(says(inSeconds(left50, 50, 2*s)))
		}
		b.at(10*ms).done(late, Answer{Refused: true, Hold: hint, HoldKnown: hint > 0, HoldResolution: s, Statements: []quota.Statement{inSeconds(0, 50, 2*s)}})
		b.at(2*s + 50*ms).exchange(says(inSeconds(24, 50, 2*s)))
		if r := b.window1().refill; r.refills != (hint < 2*s) {
			t.Errorf("a hint of %v: refills %v", hint, r.refills)
		}
	}
}
