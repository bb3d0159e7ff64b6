package adaptive

import (
	"reflect"
	"testing"
	"time"
)

// TestSlowStartAfterAPause: after a request that ended without an answer, and a while in which nobody asked to
// go, one goes first again. Others wait for as long as they do at the beginning, and where requests end without
// an answer one after the other, one more goes after that time.
func TestSlowStartAfterAPause(t *testing.T) {
	for refused, step := range map[bool]time.Duration{false: slowStartStep, true: Patience} {
		s := slowStart{allowed: 1, refused: refused}
		s.take(start)
		s.end(0)
		if at := start.Add(step); !s.open(at) {
			t.Error("nothing goes, though nothing is in flight")
		}
		pause := start.Add(30 * time.Second)
		s.take(pause)
		if s.open(pause) || s.open(pause.Add(step-1)) || !s.open(pause.Add(step)) {
			t.Errorf("refused %v: want one more after %v, and not before", refused, step)
		}
		s.end(0)
		s.take(pause.Add(step / 2)) // in place of the one that has ended
		if s.open(pause.Add(step-1)) || !s.open(pause.Add(step)) {
			t.Errorf("refused %v, one after the other: want one more after %v, and not before", refused, step)
		}
	}
}

// TestSlowStartHurries: steps are a twelfth of the time that somebody has left, unless that is no time or the server has
// refused. They become shorter, and never longer, until another slow start begins.
func TestSlowStartHurries(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		s    slowStart
		left []time.Duration
		want time.Duration
	}{
		{slowStart{allowed: 1}, nil, slowStartStep},
		{slowStart{allowed: 1}, []time.Duration{0, -1, time.Hour, 3000 * ms}, slowStartStep}, // for ever, not at all, and enough
		{slowStart{allowed: 1}, []time.Duration{2400 * ms}, 200 * ms},
		{slowStart{allowed: 4}, []time.Duration{2400 * ms, 600 * ms, 1200 * ms, 0}, 50 * ms},
		{slowStart{allowed: 1}, []time.Duration{1}, slowStartStep / 12},
		{slowStart{allowed: 1, refused: true, hasRefused: true}, []time.Duration{600 * ms}, Patience},
		{slowStart{}, []time.Duration{600 * ms}, slowStartStep},
	} {
		for _, left := range test.left {
			before := test.s.nextAnyway()
			if shorter := test.s.hurry(left); shorter != (test.s.nextAnyway() < before) {
				t.Errorf("%v of %v: shorter is %v", left, test.left, shorter)
			}
		}
		if got := test.s.nextAnyway().Sub(0).Round(time.Microsecond); got != test.want.Round(time.Microsecond) {
			t.Errorf("%v: steps of %v, want %v", test.left, got, test.want)
		}
	}
}

// TestSlowStartDoesNotHurryAfterARefusal: where the server has refused, steps are as long as ever, also after something
// was served, and in a slow start that begins then; until the bucket has idled.
func TestSlowStartDoesNotHurryAfterARefusal(t *testing.T) {
	b := newBucket(t, Config{SlowStart: true})
	b.Begin(false)
	hurries := func() bool { return b.Hurry(b.now, 0, 600*time.Millisecond) }
	b.exchange(refuses())
	if hurries() {
		t.Error("after a refusal, steps are shorter")
	}
	if b.exchange(says()); b.slowStart.refused || hurries() {
		t.Error("when something was served, steps are shorter")
	}
	if b.Restart(false); b.slowStart.refused || hurries() {
		t.Error("in the next slow start, steps are shorter")
	}
	if b.Begin(false); !hurries() {
		t.Error("after idling, steps are not shorter")
	}
	b.exchange(refuses())
	if b.Begin(false); hurries() {
		t.Error("after a long hold, steps are shorter")
	}
}

// TestIdlingKeepsWhatLasts: after idling the pace is forgotten, and all that is lasting is as it was.
func TestIdlingKeepsWhatLasts(t *testing.T) {
	b := newBucket(t, Config{SlowStart: true})
	kind := Kind{Verb: "GET", Path: "/"}
	for range 9 {
		b.exchange(Answer{})
		b.at(b.now.Add(time.Second).Sub(start))
	}
	b.strays.slow = 2
	b.overload.believe()
	tk := b.send()
	b.Refuse(b.now, tk, &Past{}, kind, time.Hour, false)
	b.done(tk, Answer{Refused: true, Hold: time.Hour, HoldKnown: true})
	before := b.lasting
	if b.pace.Fresh() || !before.unserved.any() || before.persistence == nil || before.overload.begun == 0 {
		t.Fatal("nothing is known that could be forgotten")
	}
	b.at(b.now.Sub(start) + time.Hour)
	if b.Begin(false); !b.pace.Fresh() {
		t.Error("the pace is not forgotten")
	}
	before.overload.begun = 0
	if !reflect.DeepEqual(b.lasting, before) {
		t.Errorf("%+v, want %+v", b.lasting, before)
	}
}
