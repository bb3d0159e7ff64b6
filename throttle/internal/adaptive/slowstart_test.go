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
