package adaptive

import (
	"math"
	"testing"
	"time"
)

// trips is an answer that comes so late, to a request that was on its way for so long.
func trips(at, trip time.Duration, limit, remaining int) *outcome {
	return &outcome{sent: start.Add(at - trip), now: start.Add(at), n: 1, limit: limit, remaining: remaining, flight: limit, newest: true}
}

// TestBlindNote: after how many answers it is known that a limit is full again within a round trip of a second.
func TestBlindNote(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		name      string
		limit     int
		every     time.Duration // from answer to answer
		remaining int
		want      int
		rate      float64 // 0.97 of what came back, over the time that it took
	}{
		{"two in each round trip", 2, s / 2, 1, 7, measuredShare * 5 / 3.5}, // those of the first round trip are of before
		{"seven, some of which are still missing", 7, s / 8, 4, 23, measuredShare * 15 / 2.875},
		{"five windows of five seconds", 2, 5 * s / 2, 1, -1, 0},
		{"of a limit that is not known", 0, s / 2, 1, -1, 0},
		{"all at one instant", 2, 0, 1, -1, 0},
	} {
		var b blind
		got, rate := -1, 0.0
		for n := 0; n < 100 && got < 0; n++ {
			if r, ok := b.note(trips(time.Duration(n)*test.every, s, test.limit, test.remaining)); ok {
				got, rate = n, r
			}
		}
		if got != test.want || math.Abs(rate-test.rate) > 1e-9 {
			t.Errorf("%s: after %d answers, at %v/s, want %d, %v/s", test.name, got, rate, test.want, test.rate)
		}
	}
}

// TestBlindFailures: requests that failed in a way in which some servers refuse were not surely served.
func TestBlindFailures(t *testing.T) {
	const s = time.Second
	var b blind
	for n := range 100 {
		o := trips(time.Duration(n)*s/2, s, 2, 1)
		o.failed = n%2 == 0
		if rate, ok := b.note(o); ok {
			t.Fatalf("%v/s after %d answers, of which every other one failed", rate, n)
		}
		b := blind{on: true}
		if got := b.grow(o, 1); o.failed && got != 1 {
			t.Errorf("the rate is %v after one that failed, want 1", got)
		}
	}
}

// TestBlindGrow: each answer that finds the whole limit raises the rate by one request per round trip, and by
// one for all of a round trip after a refusal; but not above twice of what was under way.
func TestBlindGrow(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		name      string
		b         blind
		remaining int
		trip      time.Duration
		flight    int
		want      float64
	}{
		{"whole", blind{on: true}, 4, 100 * ms, 20, 110},
		{"after a refusal", blind{on: true, refused: true}, 4, 100 * ms, 20, 101},
		{"of what was under way", blind{on: true}, 4, 100 * ms, 5, 100},
		{"a part", blind{on: true}, 3, 100 * ms, 20, 100},
		{"a round trip is shorter than a token takes", blind{on: true, refused: true}, 4, 5 * ms, 20, 101},
		{"not known to be full within a round trip", blind{}, 4, 100 * ms, 20, 100},
	} {
		o := trips(time.Second, test.trip, 5, test.remaining)
		o.flight = test.flight
		if got := test.b.grow(o, 100); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%s: %v/s, want %v", test.name, got, test.want)
		}
	}
}

// TestBlindGrowsToWhatCanBeComputedWith: answers that come within a nanosecond do not raise the rate beyond all
// bounds: what is no sane rate would not be saved.
func TestBlindGrowsToWhatCanBeComputedWith(t *testing.T) {
	r := refill{refills: true, rate: math.MaxInt32 - 1, span: time.Hour, maxHold: time.Hour, blind: blind{on: true}}
	o := trips(time.Second, 1, 20, 19)
	r.observe(o, &reset{}, time.Hour)
	if r.rate != math.MaxInt32 {
		t.Errorf("%v/s, want %v/s", r.rate, math.MaxInt32)
	}
}

// TestRaiseBeginsWhereAllIsFound: a paced request finds two tokens of a limit of two, whose resets are in whole
// seconds. More may have come back, so the rate is raised by a quarter with each answer from then on. It is not
// where one token of two is found, nor where one may have been there before, nor where resets in finer steps
// say how fast the limit comes back.
func TestRaiseBeginsWhereAllIsFound(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	for _, test := range []struct {
		name              string
		remaining, before int
		step              time.Duration
		want              float64
	}{{"all", 1, 0, s, gentleRaise * gentleRaise}, {"a part", 0, 0, s, 1}, {"paced by what remains", 1, 1, s, 1}, {"in milliseconds", 1, 0, ms, 1}} {
		r := refill{refills: true, rate: 1, span: time.Hour, maxHold: time.Hour}
		for n := range 3 {
			o := trips(time.Duration(n+1)*s, ms, 2, test.remaining)
			o.paced, o.remainingBefore, o.resetStep = test.before == 0, test.before, test.step
			r.observe(o, &reset{}, time.Hour)
		}
		if math.Abs(r.rate-test.want) > 1e-9 {
			t.Errorf("%s: %v/s after three answers, want %v", test.name, r.rate, test.want)
		}
	}
}
