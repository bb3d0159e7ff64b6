package adaptive

import (
	"reflect"
	"testing"
	"time"

	"github.com/gopacer/pacer/throttle/internal/limit"
)

// patient are those that have no bound.
var patient limit.Haste

// TestSlowStartAfterAPause: after a request that ended without an answer, and a while in which nobody asked to
// go, one goes first again. Others wait for as long as they do at the beginning, and where requests end without
// an answer one after the other, one more goes after that time.
func TestSlowStartAfterAPause(t *testing.T) {
	for refused, step := range map[bool]time.Duration{false: slowStartStep, true: Patience} {
		s := slowStart{allowed: 1, refused: refused}
		s.take(start, patient)
		s.end(0)
		if at := start.Add(step); !s.open(at, patient) {
			t.Error("nothing goes, though nothing is in flight")
		}
		pause := start.Add(30 * time.Second)
		s.take(pause, patient)
		if s.open(pause, patient) || s.open(pause.Add(step-1), patient) || !s.open(pause.Add(step), patient) {
			t.Errorf("refused %v: want one more after %v, and not before", refused, step)
		}
		s.end(0)
		s.take(pause.Add(step/2), patient) // in place of the one that has ended
		if s.open(pause.Add(step-1), patient) || !s.open(pause.Add(step), patient) {
			t.Errorf("refused %v, one after the other: want one more after %v, and not before", refused, step)
		}
	}
}

// TestSlowStartDelaysTheHastyNoLonger: who has no time, or little, goes at once, or after an eighth of it while
// nothing was answered, and a quarter from then on, beside those that have more: these go when they would have
// gone.
func TestSlowStartDelaysTheHastyNoLonger(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		had      time.Duration // zero: no bound
		answered int
		want     time.Duration
	}{
		{0, 0, slowStartStep},
		{2 * time.Second, 0, slowStartStep},
		{2*time.Second - 8*ms, 0, slowStartStep - ms},
		{-1, 0, 0},
		{400 * ms, 0, 50 * ms},
		{8, 0, 1},
		{0, 1, slowStartStep},
		{time.Second, 1, slowStartStep},
		{time.Second - 4*ms, 1, slowStartStep - ms},
		{-1, 1, 0},
		{400 * ms, 1, 100 * ms},
		{8, 1, 2},
	} {
		s := slowStart{allowed: 1, answered: test.answered}
		s.take(start, patient)
		at, hasty := start.Add(test.want), Haste(start, test.had)
		if !s.open(at, hasty) || test.want > 0 && s.open(at-1, hasty) {
			t.Errorf("who has %v, %d answered: want it to go after %v, and not before", test.had, test.answered, test.want)
		}
		d := limit.Due{At: start}
		if s.due(&d, 0, hasty, false); d.At != at {
			t.Errorf("who has %v: due after %v, want %v", test.had, d.At.Sub(start), test.want)
		}
		if test.want == slowStartStep {
			continue
		}
		for range 100 {
			s.take(at, hasty)
		}
		if s.allowed != 101 || s.inFlight != 101 || s.open(start.Add(slowStartStep-1), patient) || !s.open(start.Add(slowStartStep), patient) {
			t.Errorf("beside 100 that are hasty, others go otherwise: %+v", s)
		}
	}
}

// TestSlowStartIsStrictAfterARefusal: where the server has refused, or was held, all wait for the slow start,
// also after something was served, and in a slow start that begins then; until the bucket has idled.
func TestSlowStartIsStrictAfterARefusal(t *testing.T) {
	b := newBucket(t, Config{SlowStart: true})
	lenient := func() bool { return b.Lenient() && b.slowStart.passes(b.now, Haste(1, -1)) }
	b.Restart(true)
	if !lenient() {
		t.Error("at first, it is strict")
	}
	b.exchange(refuses())
	if lenient() {
		t.Error("after a refusal, it is not strict")
	}
	if b.exchange(says()); b.slowStart.refused || lenient() {
		t.Error("when something was served, it is not strict")
	}
	if b.Restart(false); b.slowStart.refused || lenient() {
		t.Error("in the next slow start, it is not strict")
	}
	if b.Restart(true); !lenient() {
		t.Error("after idling, it is strict")
	}
	b.exchange(refuses())
	if b.Restart(true); lenient() {
		t.Error("after a long hold, it is not strict")
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
	b.strays.Refuse(true, true)
	b.overload.Believe()
	tk := b.send()
	b.Refuse(b.now, tk, &Past{}, kind, time.Hour, false)
	b.done(tk, Answer{Refused: true, Hold: time.Hour, HoldKnown: true})
	before := b.lasting
	if b.pace.Fresh() || before.judge.Settled() {
		t.Fatal("nothing is known that could be forgotten")
	}
	b.at(b.now.Sub(start) + time.Hour)
	if b.Restart(true); !b.pace.Fresh() {
		t.Error("the pace is not forgotten")
	}
	before.overload.Again()
	if !reflect.DeepEqual(b.lasting, before) {
		t.Errorf("%+v, want %+v", b.lasting, before)
	}
}
