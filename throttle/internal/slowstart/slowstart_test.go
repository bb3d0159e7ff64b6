package slowstart

import (
	"testing"
	"time"

	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// start is the first instant of the tests.
const start = monotime.Time(1000 * time.Hour)

// patient are those that have no bound.
var patient limit.Haste

// TestAfterAPause: after a request that ended without an answer, and a while in which nobody asked to
// go, one goes first again. Others wait for as long as they do at the beginning, and where requests end without
// an answer one after the other, one more goes after that time.
func TestAfterAPause(t *testing.T) {
	for refused, step := range map[bool]time.Duration{false: step, true: patience} {
		s := Start{allowed: 1, refused: refused}
		s.Take(start, patient)
		s.End(0)
		if at := start.Add(step); !s.Open(at, patient) {
			t.Error("nothing goes, though nothing is in flight")
		}
		pause := start.Add(30 * time.Second)
		s.Take(pause, patient)
		if s.Open(pause, patient) || s.Open(pause.Add(step-1), patient) || !s.Open(pause.Add(step), patient) {
			t.Errorf("refused %v: want one more after %v, and not before", refused, step)
		}
		s.End(0)
		s.Take(pause.Add(step/2), patient) // in place of the one that has ended
		if s.Open(pause.Add(step-1), patient) || !s.Open(pause.Add(step), patient) {
			t.Errorf("refused %v, one after the other: want one more after %v, and not before", refused, step)
		}
	}
}

// TestDelaysTheHastyNoLonger: who has no time, or little, goes at once, or after an eighth of it while
// nothing was answered, and a quarter from then on, beside those that have more: these go when they would have
// gone.
func TestDelaysTheHastyNoLonger(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		had      time.Duration // zero: no bound
		answered int
		want     time.Duration
	}{
		{0, 0, step},
		{2 * time.Second, 0, step},
		{2*time.Second - 8*ms, 0, step - ms},
		{-1, 0, 0},
		{400 * ms, 0, 50 * ms},
		{8, 0, 1},
		{0, 1, step},
		{time.Second, 1, step},
		{time.Second - 4*ms, 1, step - ms},
		{-1, 1, 0},
		{400 * ms, 1, 100 * ms},
		{8, 1, 2},
	} {
		s := Start{allowed: 1, answered: test.answered}
		s.Take(start, patient)
		at, hasty := start.Add(test.want), Haste(start, test.had)
		if !s.Open(at, hasty) || test.want > 0 && s.Open(at-1, hasty) {
			t.Errorf("who has %v, %d answered: want it to go after %v, and not before", test.had, test.answered, test.want)
		}
		d := limit.Due{At: start}
		if s.Due(&d, 0, hasty, false); d.At != at {
			t.Errorf("who has %v: due after %v, want %v", test.had, d.At.Sub(start), test.want)
		}
		if test.want == step {
			continue
		}
		for range 100 {
			s.Take(at, hasty)
		}
		if s.allowed != 101 || s.inFlight != 101 || s.Open(start.Add(step-1), patient) || !s.Open(start.Add(step), patient) {
			t.Errorf("beside 100 that are hasty, others go otherwise: %+v", s)
		}
	}
}

// TestServedEndsARefusal: when something is served after a refusal, one more goes after a step again, and the
// slow start stays strict.
func TestServedEndsARefusal(t *testing.T) {
	var s Start
	s.Begin(7, true, false)
	s.Take(start, patient)
	if s.Lenient() || !s.refused || s.nextAnyway() != start.Add(patience) {
		t.Errorf("after a refusal: %+v", s)
	}
	s.Take(start.Add(patience), patient)
	s.End(7)
	if s.Serve(start.Add(patience), 7, time.Second, false); s.Lenient() || s.refused || s.nextAnyway() != start.Add(patience+step) {
		t.Errorf("when something was served: %+v", s)
	}
	if s.Begin(8, false, true); s.Lenient() || s.refused {
		t.Errorf("in the next slow start: %+v", s)
	}
}
