package adaptive

import (
	"math"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/pace"
)

// TestRaiseHeld: the rate that was held is that of two tokens over the time in which they came back: of two
// intervals at a limit of one, and of three at one of more, of which part of a token may have been there. Where
// a round trip is as long as a token takes, or something remained, nothing is known of it.
func TestRaiseHeld(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		name      string
		limit     int
		trip      time.Duration
		remaining int // before each request
		gaps      []time.Duration
		want      float64
	}{
		{"one interval", 1, ms, 0, []time.Duration{100 * ms}, 0},
		{"two", 1, ms, 0, []time.Duration{100 * ms, 60 * ms}, 2 / 0.16},
		{"the fastest two", 1, ms, 0, []time.Duration{100 * ms, 60 * ms, 50 * ms, 90 * ms}, 2 / 0.11},
		{"two of a limit of two", 2, ms, 0, []time.Duration{100 * ms, 60 * ms}, 0},
		{"three of a limit of two", 2, ms, 0, []time.Duration{100 * ms, 60 * ms, 40 * ms}, 10},
		{"something remained", 2, ms, 1, []time.Duration{100 * ms, 60 * ms, 40 * ms}, 0},
		{"a long round trip", 1, 101 * ms, 0, []time.Duration{100 * ms, 60 * ms}, 0},
	} {
		ra, at := raise{by: firstRaise}, start
		for i := range len(test.gaps) + 1 {
			if i > 0 {
				at = at.Add(test.gaps[i-1])
			}
			ra.serve(at, test.trip, test.limit, test.remaining == 0, 10)
		}
		if math.Abs(ra.best-test.want) > 1e-9 {
			t.Errorf("%s: %v/s was held, want %v", test.name, ra.best, test.want)
		}
		if want := max(10*test.trip.Seconds(), 1); math.Abs(ra.trips-want) > 1e-9 {
			t.Errorf("%s: %v go in a round trip, want %v", test.name, ra.trips, want)
		}
	}
}

// TestRaiseRefused: by what a rate is multiplied after a refusal.
func TestRaiseRefused(t *testing.T) {
	for _, test := range []struct {
		name     string
		ra       raise
		served   int
		want     float64 // of a rate of 10
		by, held float64 // afterwards
	}{
		{"two raises are taken back", raise{by: 2}, 9, 0.25, 1.25, 0},
		{"but not what was held", raise{by: 2, best: 4}, 9, 0.4, 1.25, 4},
		{"the latest raise is, whatever was held", raise{by: 2, best: 20}, 9, 0.5, 1.25, 20},
		{"small raises end", raise{by: laterRaise, best: 9.5}, 9, 1 / laterRaise, 1, 9.5},
		{"at once", raise{by: 1, best: 10}, 1, refusalFactor, 1, 10},
		{"soon", raise{by: 1, best: 10}, chanceAfter - 1, soonShare, 1, 9.5},
		{"late", raise{by: 1, best: 10}, chanceAfter, chanceShare, 1, 9.8},
		{"late, well below what was held", raise{by: 1, best: 20}, chanceAfter, chanceShare, 1, 19.6},
		{"late, of several under way", raise{by: 1, best: 10, blind: true}, chanceAfter, refusalFactor, 1, 10},
	} {
		ra := test.ra
		if got := ra.refused(10, test.served); math.Abs(got-test.want) > 1e-9 || ra.by != test.by || math.Abs(ra.best-test.held) > 1e-9 {
			t.Errorf("%s: rate × %v, raised by %v, held %v; want × %v, %v, %v", test.name, got, ra.by, ra.best, test.want, test.by, test.held)
		}
	}
}

// TestRaiseToWhatWasSeen: a rate far below the highest that was held at a limit of one is raised again once
// enough were served at it, until that is refused: then the refused rate is the highest, unless a higher one is
// held still.
func TestRaiseToWhatWasSeen(t *testing.T) {
	for _, test := range []struct {
		name   string
		ra     raise
		served int
		want   float64 // the factor, of a rate of 10
	}{
		{"far below", raise{by: 1, seen: 20}, chanceAfter, gentleRaise},
		{"too few were served", raise{by: 1, seen: 20}, chanceAfter - 1, 1},
		{"near", raise{by: 1, seen: 12}, chanceAfter, 1},
		{"never seen", raise{by: 1}, chanceAfter, 1},
		{"several are under way", raise{by: 1, seen: 20, blind: true}, chanceAfter, 1},
	} {
		if got := test.ra.grow(start, 10, test.served); got != test.want {
			t.Errorf("%s: the rate is multiplied by %v, want %v", test.name, got, test.want)
		}
	}
	for _, test := range []struct {
		name string
		ra   raise
		want float64
	}{
		{"a raise is refused", raise{by: gentleRaise, best: 5, seen: 20}, 10},
		{"below what is held", raise{by: gentleRaise, best: 15, seen: 20}, 15},
		{"above what was seen", raise{by: gentleRaise, best: 5, seen: 8}, 8},
		{"nothing was seen", raise{by: gentleRaise, best: 5}, 0},
		{"no raise is", raise{by: 1, best: 10, seen: 20}, 20},
	} {
		if test.ra.refused(10, 9); test.ra.seen != test.want {
			t.Errorf("%s: seen %v, want %v", test.name, test.ra.seen, test.want)
		}
	}
}

// TestOutlastedOthers: others who hold strict spacing take all that comes back, and each look is in vain. When
// one is served at last, they may be gone: so the next look comes after a quarter of the step, though such
// looks were in vain before; or after the time of one token, if that was seen before the others came.
func TestOutlastedOthers(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		name string
		seen float64
		next time.Duration // the look after the one that is served
		rate float64       // after it
	}{
		{"nothing was seen before", 0, 250 * ms, 8},
		{"twenty in a second were", 20 / measuredShare, 50 * ms, 40},
	} {
		b := newBucket(t, Config{})
		b.exchange(says(spent(time.Second)))
		b.window1().refill.raise.seen = test.seen
		at := time.Duration(0)
		for range 4 {
			at += b.dueAfter(0, 1)
			a := refuses(spent(time.Second))
			a.Hold, a.HoldKnown, a.HoldResolution = time.Second, true, time.Second
			at += b.at(at).exchange(a).Hold
		}
		b.at(at).exchange(says(spent(time.Second)))
		b.wantDue(test.next)
		b.at(at + test.next).exchange(says(spent(time.Second)))
		if r := &b.window1().refill; !r.refills || math.Abs(r.rate-test.rate) > 1e-9 {
			t.Errorf("%s: refills %v, at %v/s; want %v/s", test.name, r.refills, r.rate, test.rate)
		}
	}
}

// strict is a bucket at a server that grants one token each 50 ms, and says of each that nothing remains for a
// second. So many requests were served.
func strict(t *testing.T, served int) *bucket {
	t.Helper()
	b := newBucket(t, Config{})
	b.exchange(says(spent(time.Second)))
	for at := 500 * time.Millisecond; served > 1; at += b.dueAfter(0, 1) {
		b.at(at).exchange(says(spent(time.Second)))
		served--
	}
	return b
}

// spent states that nothing remains of a limit of one, for so many whole seconds.
func spent(in time.Duration) quota.Statement {
	s := left(0, 1, in)
	s.Resolution = time.Second
	return s
}

// TestRefillBeginsRaise: the first token that is found early doubles the rate already; or it is just under what
// the user says, if the token was there as soon.
func TestRefillBeginsRaise(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		name        string
		limit       int
		spacing, in time.Duration
		want, by    float64
	}{
		{"nobody says", 1, 0, 500 * ms, 4, firstRaise},
		{"of two", 2, 0, 500 * ms, 4, gentleRaise},
		{"as the user says", 1, 50 * ms, 51 * ms, measuredShare * 20, 1},
		{"much later than the user says", 1, 50 * ms, 100 * ms, 20, firstRaise},
	} {
		r := refill{spacing: test.spacing}
		sent := start.Add(test.in)
		r.observe(&outcome{
			sent: sent, now: sent.Add(ms), n: 1, limit: test.limit, remaining: test.limit - 1, look: true, guess: guessRefill, usedUpSince: start,
			earlyBefore: start, lateBefore: start.Add(time.Second),
		}, &reset{}, time.Minute)
		if !r.refills || math.Abs(r.rate-test.want) > 1e-9 || r.raise.by != test.by {
			t.Errorf("%s: refills %v at %v/s, raised by %v; want %v/s, %v", test.name, r.refills, r.rate, r.raise.by, test.want, test.by)
		}
	}
}

// TestRaiseIsBounded: a rate that is raised with each answer stays one that can be reckoned with.
func TestRaiseIsBounded(t *testing.T) {
	b := newBucket(t, Config{})
	b.exchange(says(quota.Statement{Name: "one", Limit: 1}))
	w := b.window1()
	w.refill.refills, w.refill.rate, w.refill.raise = true, 1, raise{by: firstRaise}
	for i := range 100 {
		b.at(time.Duration(i+1) * time.Second).exchange(says(quota.Statement{Name: "one", Limit: 1}))
	}
	if r := w.refill.rate; !pace.Sane(r) || r < 1000 {
		t.Errorf("a rate of %v/s", r)
	}
}

// TestRaiseOfALimitThatGrew: a limit that is not stated turns out to be four right after its rate began to be
// raised. So none of its requests was counted to find out how many are on their way: the answer raises the rate
// by a quarter, and not without bounds.
func TestRaiseOfALimitThatGrew(t *testing.T) {
	r := refill{refills: true, rate: 1, span: time.Hour, maxHold: time.Hour, raise: raise{by: gentleRaise}}
	r.observe(trips(time.Second, time.Millisecond, fewTokens, 0), &reset{}, time.Hour)
	if r.rate != gentleRaise {
		t.Errorf("%v/s after one answer, want %v/s", r.rate, gentleRaise)
	}
}
