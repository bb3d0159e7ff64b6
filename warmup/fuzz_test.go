package warmup

import (
	"math"
	"testing"
	"time"
)

// FuzzRamp runs any sequence of calls on a Ramp with any configuration. After each
// call it checks that no wait is negative or NaN, that what Next foretells
// happens, and that no more than rate·t + burst is granted.
func FuzzRamp(f *testing.F) {
	f.Add(2.0, 3.0, int64(4e9), int64(0), []byte("\x00\x01\x10\x00\x02\x20\x01\x01\x05\x02\x01\x07"))
	f.Add(1e6, 0.0, int64(0), int64(1e9), []byte("\x00\xff\x00\x00\xff\x7f\x02\xff\x1f\x03\x01\x01"))
	f.Add(1e-9, 1e6, int64(math.MaxInt64), int64(-1), []byte("\x00\xff\xff\x03\x80\x01\x00\x01\x02\x04\x01\x09"))
	f.Add(math.Inf(1), math.NaN(), int64(1), int64(1), []byte("\x00\x01\x01\x03\x10\x01\x00\x01\x02\x05\x01\x09"))
	f.Add(5e-324, -1.0, int64(1), int64(math.MaxInt64), []byte("\x00\x01\x01\x03\x10\x01\x00\x01\x02"))
	f.Add(math.MaxFloat64, 1.0, int64(math.MaxInt64), int64(0), []byte("\x00\x01\x01\x03\x10\x01\x03\x01\x02"))
	// A debt that was cut at forever, of which more than half has passed.
	f.Add(1e6, 0.0, int64(0), int64(0), []byte("\x00\x01\xff\x02\x90\x37\x00\x30\x14"))
	f.Add(1e6, 0.0, int64(8e6), int64(0), []byte("\x00\x01\xff\x02\x90\x37\x00\x30\x14\x04\x30\x14"))
	// A clock that goes back before a debt which was cut at forever.
	f.Add(-693.0, 85.0, int64(4e9), int64(-177), []byte("B0010010\xff000"))
	f.Fuzz(func(t *testing.T, rate, cold float64, warmUp, burst int64, ops []byte) {
		h := history{
			t: t, now: epoch, start: epoch,
			ramp: Ramp{Rate: rate, WarmUp: time.Duration(warmUp), ColdFactor: cold, MaxBurst: time.Duration(burst)},
		}
		h.limits()
		h.allowed = h.burst
		for ; len(ops) >= 3 && !t.Failed(); ops = ops[3:] {
			h.call(ops[0], ops[1], ops[2])
		}
	})
}

// history is a Ramp and what it has granted.
type history struct {
	t          *testing.T
	ramp       Ramp
	start, now time.Time

	fastest float64 // the highest rate so far
	burst   float64 // most tokens that could be stored so far, if stored tokens cost nothing
	allowed float64 // tokens that may have been granted at start
	net     float64 // tokens reserved and not given back
	cut     bool    // a debt was longer than a Duration, and was cut
}

func (h *history) limits() {
	if c := h.ramp.curve(); c.free {
		h.burst = max(h.burst, c.max)
	}
	if h.ramp.Rate > 0 {
		h.fastest = max(h.fastest, h.ramp.Rate)
	}
}

// call makes one call: op says which, a and b how much.
func (h *history) call(op, a, b byte) {
	r, n := &h.ramp, int(a)<<min(b, 20)
	if b == 255 {
		n = math.MaxInt
	}
	switch op % 7 {
	case 0, 1:
		h.reserve(n)
	case 2: // time passes: up to 2^63 ns
		h.now = h.now.Add(time.Duration(a) << (b % 56))
	case 3:
		rate := float64(a) * math.Pow(2, float64(int(b)-128)/4)
		switch b {
		case 0:
			rate = math.Inf(1)
		case 1:
			rate = math.NaN()
		}
		r.SetRate(h.now, rate)
		h.limits()
		// Stored tokens are scaled at each change of the rate, or the store is full.
		h.allowed += h.burst
	case 4:
		if float64(n) > h.net { // no caller returns more than was reserved
			n = int(h.net)
		}
		before := r.Next(h.now, 0)
		r.Return(n)
		h.net -= float64(n)
		if r.Next(h.now, 0).After(before) {
			h.t.Errorf("Return(%d) made others wait longer: %v, not %v", n, r.Next(h.now, 0), before)
		}
	case 5:
		before := r.Next(h.now, 0)
		r.Chill(h.now)
		if after := r.Next(h.now, 0); !h.equal(after, before) {
			h.t.Errorf("Chill changed the debt from %v to %v", before.Sub(h.now), after.Sub(h.now))
		}
	case 6: // the clock goes back
		h.now = h.now.Add(-time.Duration(a) << (b % 32))
		if !r.used {
			h.start = h.now
		}
	}
	h.check(n)
}

func (h *history) reserve(n int) {
	t, r := h.t, &h.ramp
	was := *r
	next, after := r.Next(h.now, 0), r.Next(h.now, n)
	at := r.Reserve(h.now, n)
	if !at.Equal(next) {
		t.Errorf("Reserve(%d) = %v, but Next = %v", n, at.Sub(h.now), next.Sub(h.now))
	}
	if got := r.Next(h.now, 0); !h.equal(got, after) {
		t.Errorf("after Reserve(%d) Next = %v, but it was %v behind so many", n, got.Sub(h.now), after.Sub(h.now))
	}
	if r.Rate > 0 {
		h.net += float64(n)
	}
	is := *r
	is.Return(n)
	if got, want := is.Next(h.now, 0), was.Next(h.now, 0); !h.equal(got, want) {
		t.Errorf("after Reserve(%d) and Return Next = %v, want %v", n, got.Sub(h.now), want.Sub(h.now))
	}
	if got, want := is.stored(h.now), was.stored(h.now); math.Abs(got-want) > 1e-9*is.curve().max {
		t.Errorf("after Reserve(%d) and Return Stored = %v, want %v", n, got, want)
	}
}

// equal reports whether two instants are the same, up to the precision of float64
// and the nanosecond that may be rounded when an account is closed in between. Two
// instants so far ahead that the debt may have been cut count as the same.
func (h *history) equal(a, b time.Time) bool {
	near := min(a.Sub(h.now), b.Sub(h.now))
	return a.Sub(b).Abs() <= 1+near>>50 || near > forever/2
}

func (h *history) check(n int) {
	t, r := h.t, &h.ramp
	next := r.Next(h.now, 0)
	switch after := r.Next(h.now, n); {
	case next.Before(h.now):
		t.Errorf("Next is %v ago", h.now.Sub(next))
	case after.Before(next):
		t.Errorf("Next behind %d = %v is before Next = %v", n, after.Sub(h.now), next.Sub(h.now))
	}
	c := r.curve()
	if stored := r.stored(h.now); !(stored >= 0 && stored <= c.max) {
		t.Errorf("Stored = %v, want 0 to %v", stored, c.max)
	}
	if !(r.fill >= 0 && r.fill <= 1 && r.taken >= 0 && r.owed.tokens >= 0 && !r.owed.began.After(r.since) && r.owed.fill >= 0) {
		t.Errorf("impossible state %+v", r)
	}
	if r.used && r.Rate > 0 && r.Idle(h.now) && (next.After(h.now) || r.stored(h.now) < c.max*(1-1e-9)) {
		t.Errorf("Idle, with %v of %v stored and %v to wait", r.stored(h.now), c.max, next.Sub(h.now))
	}
	// All tokens that were granted are paid at next, as far as a Duration goes.
	h.cut = h.cut || r.Rate > 0 && next.Sub(h.now) > forever/2
	if passed := next.Sub(h.start); r.Rate > 0 && passed < forever && !h.cut {
		if most := h.allowed + h.fastest*(float64(passed)+1)/1e9; h.net > most*(1+1e-9) {
			t.Errorf("%v granted by %v, more than %v/s and a burst of %v", h.net, passed, h.fastest, h.allowed)
		}
	}
}
