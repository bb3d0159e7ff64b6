package adaptive

import (
	"math"
	"testing"
	"time"
)

// drops is an answer after so long: a request came to a limit of which so much remains then, and the reset
// comes in so long.
func drops(after time.Duration, limit, remaining int, refused bool, in, step time.Duration) *outcome {
	return &outcome{sent: start.Add(after), now: start.Add(after), n: 1, limit: limit, remaining: remaining, refused: refused, resetIn: in, resetStep: step}
}

// TestDrip: between which bounds a rate is, as resets say.
func TestDrip(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	inf := math.Inf(1)
	for _, test := range []struct {
		name        string
		answers     []*outcome
		roundsDown  bool
		at          time.Duration
		least, most float64
	}{
		{"nothing", nil, false, 0, 0, inf},
		{"the reset has not come", []*outcome{drops(0, 5, 4, false, 100*ms, 0)}, false, 100*ms - 1, 0, inf},
		{"the whole limit was there", []*outcome{drops(0, 5, 4, false, 100*ms, 0)}, false, 100 * ms, 10, 10},
		{"Remaining is cut", []*outcome{drops(0, 5, 1, false, 400*ms, 0)}, false, s, 7.5, 10},
		{"refused", []*outcome{drops(0, 1, 0, true, 50*ms, 0)}, false, s, 0, 20},
		{"rounded up", []*outcome{drops(0, 5, 4, false, 100*ms, 20*ms)}, false, s, 10, 12.5},
		{"rounded down", []*outcome{drops(0, 5, 4, false, 80*ms, 20*ms)}, true, s, 10, 12.5},
		{"within a step", []*outcome{drops(0, 5, 4, false, s, s)}, false, s, 1, inf},
		{"two", []*outcome{drops(0, 5, 1, false, 400*ms, 0), drops(0, 5, 2, false, 250*ms, 0)}, false, s, 8, 10},
		{"an hour later", []*outcome{drops(0, 5, 4, false, 100*ms, 0), drops(time.Hour, 5, 4, false, 101*ms, 0)}, false, time.Hour, 10, 1 / 0.101},
		{"it has doubled", []*outcome{drops(0, 5, 4, false, 100*ms, 0), drops(s, 5, 4, false, 50*ms, 0)}, false, 2 * s, 20, 20},
		{"not known yet", []*outcome{drops(0, 5, 4, false, 100*ms, 0), drops(s, 5, 4, false, 50*ms, 0)}, false, s, 0, inf},
		{"a window", []*outcome{drops(0, 60, 59, false, s, 0), drops(s/2, 60, 20, false, s/2, 0), drops(9*s/10, 60, 5, false, s/10, 0)}, false, s - 1, 0, inf},
		{"and the next one", []*outcome{drops(9*s/10, 60, 5, false, s/10, 0), drops(s, 60, 59, false, s, 0)}, false, 2*s - 1, 0, inf},
		{"no reset", []*outcome{drops(0, 5, 4, false, 0, 0)}, false, s, 0, inf},
		{"all is there", []*outcome{drops(0, 5, 5, false, s, 0)}, false, s, 0, inf},
		{"no limit", []*outcome{drops(0, 0, 0, false, s, 0)}, false, s, 0, inf},
	} {
		var d drip
		for _, o := range test.answers {
			d.note(o, &reset{roundsDown: test.roundsDown})
		}
		if least, most := d.bounds(start.Add(test.at)); math.Abs(least-test.least) > 1e-9 || most != test.most && math.Abs(most-test.most) > 1e-9 {
			t.Errorf("%s: from %v to %v, want from %v to %v", test.name, least, most, test.least, test.most)
		}
	}
}

// TestUneven: a reset is not the time until what is missing is back if two of its answers say that this comes
// back at different rates. The next reset may be.
func TestUneven(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	as := func(o *outcome, change func(*outcome)) *outcome { change(o); return o }
	window := []*outcome{drops(0, 50, 49, false, 2*s, s), drops(10*ms, 50, 0, false, 2*s, s)} // 1/s at the most; 24.5/s at the least
	for _, test := range []struct {
		name    string
		answers []*outcome
		want    bool
	}{
		{"one answer", window[:1], false},
		{"a window", window, true},
		{"another answer that says nothing new", append(window[:2:2], drops(20*ms, 50, 0, true, 2*s, s)), true},
		{"the whole limit is there", append(window[:2:2], drops(20*ms, 50, 50, true, 2*s, s)), true},
		{"the next reset", append(window[:2:2], as(drops(2*s, 50, 49, false, 2*s, s), func(o *outcome) { o.change = anotherReset })), false},
		{"the next window", append(window[:2:2], as(drops(2*s, 50, 49, false, 2*s, s), func(o *outcome) { o.change = anotherReset }), drops(2*s, 50, 0, false, 2*s, s)), true},
		{"a bucket", []*outcome{drops(0, 50, 49, false, s, s), drops(10*ms, 50, 0, false, s, s)}, false},
		{"the reset moves on", []*outcome{window[0], as(drops(10*ms, 50, 0, false, 2*s, s), func(o *outcome) { o.change = laterReset })}, false},
		{"the limit is another", []*outcome{window[0], as(drops(10*ms, 100, 0, false, 2*s, s), func(o *outcome) { o.otherLimit = true })}, false},
	} {
		var d drip
		for _, o := range test.answers {
			d.note(o, &reset{})
		}
		if d.uneven != test.want {
			t.Errorf("%s: uneven %t, want %t", test.name, d.uneven, test.want)
		}
	}
}

// TestEvenRate: a rate is even once several answers in a row that say it to a factor of two agree, as
// differences or as instants; a log, whose reset comes no later while more is missing, is not.
func TestEvenRate(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	for _, test := range []struct {
		name    string
		answers int
		answer  func(i int) *outcome
		want    bool
	}{
		{"a bucket", 1 + enoughMet, func(i int) *outcome { return drops(time.Duration(i)*s, 20, 10, false, 10*s, ms) }, true},
		{"too few", enoughMet, func(i int) *outcome { return drops(time.Duration(i)*s, 20, 10, false, 10*s, ms) }, false},
		{"they say little", 20, func(i int) *outcome { return drops(time.Duration(i)*s, 20, 19, false, s, 600*ms) }, false},
		{"a log", 20, func(i int) *outcome {
			return drops(time.Duration(i)*s/2, 20, 20-i, false, 10*s-time.Duration(i)*s/2, ms)
		}, false},
		{"instants", 1 + enoughMet, func(i int) *outcome {
			o := drops(time.Duration(i)*s, 20, 10, false, 0, 0)
			o.resetLate, o.inLeast, o.inMost = o.now.Add(10*s), 10*s-ms, 10*s
			return o
		}, true},
		{"instants in whole seconds", 1 + enoughMet, func(i int) *outcome {
			o := drops(time.Duration(i)*s, 20, 10, false, 0, 0)
			o.inLeast, o.inMost = 9*s, 10*s
			return o
		}, true},
		{"instants of clocks that may differ by seconds", 20, func(i int) *outcome {
			o := drops(time.Duration(i)*s, 20, 10, false, 0, 0)
			o.resetLate, o.inLeast, o.inMost = start.Add(20*s), 6*s, 14*s
			return o
		}, false},
	} {
		r := refill{refills: true}
		for i := range test.answers {
			o := test.answer(i)
			r.drip.note(o, &reset{})
			r.instants.noteInstant(o)
		}
		least, most := r.evenRate(start.Add(time.Hour), 20)
		if got := least > 0; got != test.want || got && (least > 1.001 || most < 0.999) {
			t.Errorf("%s: from %v to %v, want %v", test.name, least, most, test.want)
		}
		if r.span = 356 * s; test.want {
			if least, _ := r.evenRate(start.Add(time.Hour), 20); least != 0 {
				t.Errorf("%s: at least %v, where all comes back more than 16 times sooner than was found; want none", test.name, least)
			}
			r.span = 355 * s
			if least, _ := r.evenRate(start.Add(time.Hour), 20); least == 0 {
				t.Errorf("%s: no rate, where all comes back less than 16 times sooner than was found", test.name)
			}
		}
	}
}

// TestRefillWithin: a limit that is full each time, and again within a round trip, comes back token by token,
// so that more may be under way than remain; a log of which the oldest leaves soon is no such limit, nor is a
// window.
func TestRefillWithin(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		name      string
		remaining int
		in, trip  time.Duration
		want      float64
	}{
		{"a bucket", 4, 10 * ms, 50 * ms, 97},
		{"as near as a round trip", 4, 50 * ms, 50 * ms, 19.4},
		{"further", 4, 51 * ms, 50 * ms, 0},
		{"a log", 3, 10 * ms, 50 * ms, 0},
	} {
		var r refill
		for i := range 3 {
			o := drops(time.Duration(i)*100*ms, 5, test.remaining, false, test.in, 0)
			o.now = o.sent.Add(test.trip)
			r.observe(o, &reset{}, time.Minute)
		}
		if r.refills != (test.want > 0) || math.Abs(r.rate-test.want) > 1e-3 {
			t.Errorf("%s: refills %v at %v, want %v", test.name, r.refills, r.rate, test.want)
		}
	}
}

// TestRefillFollows: the rate of a limit of few tokens follows what the resets say: down at once, and up with
// each answer when eight in a row were served.
func TestRefillFollows(t *testing.T) {
	const ms = time.Millisecond
	r := refill{refills: true, rate: 1, span: time.Hour, maxHold: time.Minute}
	at := time.Second
	serve := func() {
		at += 10 * ms
		r.observe(drops(at, 1, 0, false, 100*ms, 0), &reset{}, time.Minute)
	}
	for range servedInRow {
		serve()
	}
	if r.rate != 1 {
		t.Errorf("%v/s after %d served, want 1", r.rate, servedInRow)
	}
	if serve(); r.rate != 1 {
		t.Errorf("%v/s before the first reset has come, want 1", r.rate)
	}
	for i, want := range []float64{1.25, 1.5625, 1.953125} {
		at += 100 * ms
		if serve(); r.rate != want {
			t.Errorf("answer %d: %v/s, want %v", i, r.rate, want)
		}
	}
	for range 20 {
		serve()
	}
	if want := 9.7; math.Abs(r.rate-want) > 1e-9 || r.atMost < r.rate {
		t.Errorf("%v/s, %v at most, want %v", r.rate, r.atMost, want)
	}
	r.observe(drops(at, 1, 0, true, 40*ms, 0), &reset{}, time.Minute)
	for range servedInRow {
		serve()
	}
	if want := refusalFactor * 9.7; math.Abs(r.rate-want) > 1e-9 {
		t.Errorf("%v/s after a refusal, want %v", r.rate, want)
	}
	r.rate = 30
	serve()
	if want := 9.7; math.Abs(r.rate-want) > 1e-9 {
		t.Errorf("%v/s after a rate that was too high, want %v", r.rate, want)
	}
}

// TestRefillNoFasterThanResetsSay: the rate of a limit of many tokens is not above what resets say that were
// stated for as long as the first of them was to come.
func TestRefillNoFasterThanResetsSay(t *testing.T) {
	const ms = time.Millisecond
	r := refill{refills: true, rate: 68, span: time.Hour, maxHold: time.Minute}
	for i, want := range []float64{68, measuredShare * 64} {
		r.observe(drops(time.Duration(i)*1000*ms, 128, 64, false, 1000*ms, 0), &reset{}, time.Minute)
		if math.Abs(r.rate-want) > 1e-9 {
			t.Errorf("answer %d: %v/s, want %v", i, r.rate, want)
		}
	}
}
