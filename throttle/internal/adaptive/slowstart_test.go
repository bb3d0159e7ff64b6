package adaptive

import (
	"testing"
	"time"
)

// TestSlowStartAfterAPause: after a request that ended without an answer, and a while in which nobody asked to go, one goes first again. Others wait for as long as they do at the
// beginning, and where requests end without an answer one after the other, one more goes after that time.
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
