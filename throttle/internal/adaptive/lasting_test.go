package adaptive

import (
	"reflect"
	"testing"
	"time"
)

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
