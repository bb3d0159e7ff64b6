package pace

import (
	"math"
	"slices"
	"testing"
	"time"
)

// TestFormerRateTrials: when the trials come after a fall, if each is refused at once.
func TestFormerRateTrials(t *testing.T) {
	for _, test := range []struct {
		name string
		pace float64
		want []time.Duration // milliseconds after the fall
	}{
		{"soon, and ever more rarely", 1, []time.Duration{8000, 18800, 33380, 53063, 79635}},
		{"not before eight tokens", 0.1, []time.Duration{80000, 188000}},
	} {
		f := formerRate{}
		f.note(start, 10, servedFor, 10, 0)
		f.note(start, 1, time.Second, test.pace, 0)
		var got []time.Duration
		for range test.want {
			if f.due(f.next-1) || !f.due(f.next) {
				t.Errorf("%s: not due at %v", test.name, f.next)
			}
			got = append(got, f.next.Sub(start)/time.Millisecond)
			f.trial = true
			f.fail(f.next, 1, 1)
		}
		if f.up || !slices.Equal(got, test.want) {
			t.Errorf("%s: trials after %v, want %v", test.name, got, test.want)
		}
	}
}

// TestFormerRateNote: what counts as a rate that was served for long.
func TestFormerRateNote(t *testing.T) {
	type measured struct {
		rate float64
		over time.Duration
	}
	for _, test := range []struct {
		name  string
		held  bool // the first comes after a trial that ended well
		notes []measured
		want  float64
	}{
		{"a burst", false, []measured{{100, servedFor - 1}}, 0},
		{"a rate", false, []measured{{100, servedFor}}, 100},
		{"the highest", false, []measured{{100, servedFor}, {10, servedFor}}, 100},
		{"the trial was too fast", true, []measured{{45, servedFor}}, 45},
		{"the trial was, or the limit fell again", true, []measured{{1, servedFor}}, 40},
		{"after a trial only once", true, []measured{{45, servedFor}, {1, servedFor}}, 45},
	} {
		f := formerRate{succeeded: test.held}
		if test.held {
			f.rate = 50
		}
		for _, m := range test.notes {
			f.note(start, m.rate, m.over, m.rate, 0)
		}
		if f.rate != test.want {
			t.Errorf("%s: %v, want %v", test.name, f.rate, test.want)
		}
	}
}

// TestFormerRateSeen: what is served from one refusal to the one that ends a trial was served for long, if that
// is long enough.
func TestFormerRateSeen(t *testing.T) {
	for _, test := range []struct {
		before time.Duration // from the refusal to the trial of four seconds
		want   float64
	}{
		{servedFor - 4*time.Second, 12},
		{servedFor - 4*time.Second - 1, 10},
	} {
		s := fallenTo1()
		s.meter = meter{from: start.Add(-test.before), served: 200}
		end := start.Add(4 * time.Second)
		s.Serve(end, 40, Went{})
		if s.Refuse(end, true); s.former.rate != test.want {
			t.Errorf("%v before the trial: a former rate of %v/s, want %v/s", test.before, s.former.rate, test.want)
		}
	}
}

// TestFormerRateForgets: where the pace has risen by itself, another fall soon after a trial continues the row
// of trials, and a later one begins a new row. Where a trial has succeeded, each fall does.
func TestFormerRateForgets(t *testing.T) {
	for _, test := range []struct {
		held        bool
		after, want time.Duration
	}{
		{false, gapForgotten, 10800 * time.Millisecond},
		{false, gapForgotten + 1, firstGap},
		{true, servedFor, firstGap},
		{true, gapForgotten, firstGap},
	} {
		f := formerRate{rate: 10}
		f.note(start, 1, time.Second, 1, 0)
		f.fail(f.next, 1, 1)
		if test.held {
			f.succeed(f.next, 1)
		} else {
			f.note(f.next, 9, time.Second, 9, 0)
		}
		again := f.latest.Add(test.after)
		f.note(again, 1, time.Second, 1, 0)
		if got := f.next.Sub(again); got != test.want || f.up {
			t.Errorf("%v after a trial, held %v: the next one in %v, want %v", test.after, test.held, got, test.want)
		}
	}
}

// TestFormerRateGapIsBounded: however often the trials fail, there is one a day.
func TestFormerRateGapIsBounded(t *testing.T) {
	f := formerRate{rate: 10}
	f.note(start, 1, time.Second, 1, 0)
	for range 100 {
		f.fail(f.next, 1, 1)
	}
	if f.gap != longestGap {
		t.Errorf("gap %v, want %v", f.gap, longestGap)
	}
}

// TestFormerRateTriesTheMiddle: of the pace and of what was refused, soon after the pace fell or a trial ended,
// until both are near; and the former rate when it is due.
func TestFormerRateTriesTheMiddle(t *testing.T) {
	f := formerRate{rate: 100}
	f.note(start, 10, time.Second, 8, 32)
	next := func(after time.Duration, pace, goal float64, middle bool) {
		t.Helper()
		if got := f.next.Sub(start); got != after || f.goal(pace) != goal || f.middle != middle {
			t.Errorf("%v/s is tried after %v (the middle: %v), want %v/s after %v (%v)", f.goal(pace), got, f.middle, goal, after, middle)
		}
		f.begin(pace)
		if f.tried = middleServed.Seconds() - 0.001; f.succeeds(pace, provenServed) {
			t.Errorf("%v/s holds sooner than %v", goal, middleServed)
		}
		f.tried = middleServed.Seconds()
		if got := f.succeeds(pace, provenServed); got != middle {
			t.Errorf("%v/s holds after %v: %v, want %v", goal, middleServed, got, middle)
		}
	}
	next(4*time.Second, 8, 16, true)
	f.succeed(start.Add(7500*time.Millisecond), 16) // too late for another one
	next(8*time.Second, 16, 100, false)
	f.fail(start.Add(10*time.Second), 64, 16) // not beyond the ceiling by so much that this was too low
	next(14*time.Second, 16, math.Sqrt(16*32), true)
	f.succeed(start.Add(14500*time.Millisecond), 20) // time enough
	next(18500*time.Millisecond, 20, math.Sqrt(20*32), true)
	f.succeed(start.Add(19*time.Second), 90) // nearer to the former rate than what is tried else
	next(20800*time.Millisecond, 90, 100, false)
	f.fail(start.Add(21*time.Second), 90, 16) // far beyond the ceiling
	next(25*time.Second, 16, math.Sqrt(16*90), true)
	if got := f.goal(91); got != 91 {
		t.Errorf("%v/s is tried of a pace that has grown to 91/s", got)
	}
	f.fail(start.Add(26*time.Second), 20, 16) // near: it is the ceiling now
	next(35580*time.Millisecond, 16, 100, false)
	f.fail(start.Add(36*time.Second), 41, 16) // far beyond
	next(40*time.Second, 16, math.Sqrt(16*41), true)
	f.note(start.Add(42*time.Second), 10, time.Second, 10, 12) // not so far above the new pace
	next(55683*time.Millisecond, 10, 100, false)
	f.fail(start.Add(56*time.Second), 25, 1) // not before eight tokens
	next(64*time.Second, 1, 5, true)
	f.note(start.Add(70*time.Second), 90, time.Second, 90, 200) // it has not fallen any more
	if f.middle || !f.up {
		t.Errorf("a middle %v, twice the pace %v, want false and true", f.middle, f.up)
	}
}

// TestFormerRateCeiling: a pace that has grown beyond the former rate, since few asked, says nothing of what is
// below that: so the middle is below it, too.
func TestFormerRateCeiling(t *testing.T) {
	f := formerRate{rate: 100}
	if f.note(start, 10, time.Second, 4, 1e6); !f.middle || f.goal(4) != 20 {
		t.Errorf("%v/s is tried after a fall from 100/s to 4/s, the middle %v, want 20/s", f.goal(4), f.middle)
	}
}

// TestFormerRateNext: when a trial comes after a rate was measured.
func TestFormerRateNext(t *testing.T) {
	const s = time.Second
	before := start.Add(-time.Hour)
	for _, test := range []struct {
		name string
		f    formerRate
		pace float64
		want time.Duration // until the next trial
		gap  time.Duration // of the former rate, or of twice the pace
		up   bool
	}{
		{"the first", formerRate{}, 10, 30 * s, 30 * s, true},
		{"not before eight tokens", formerRate{}, 0.1, 80 * s, 80 * s, true},
		{"after some that were refused", formerRate{upGap: 67 * s}, 10, 67 * s, 67 * s, true},
		{"a fall", formerRate{rate: 100}, 10, 8 * s, 8 * s, false},
		{"another fall, soon", formerRate{rate: 100, gap: 20 * s, latest: start.Add(-gapForgotten)}, 10, 20 * s, 20 * s, false},
		{"another fall, late", formerRate{rate: 100, gap: 20 * s, latest: start.Add(-gapForgotten - 1)}, 10, 8 * s, 8 * s, false},
		{"another fall, not four times the gap later", formerRate{rate: 100, gap: 15 * time.Minute, latest: before}, 10, 15 * time.Minute, 15 * time.Minute, false},
		{"another fall, four times the gap later", formerRate{rate: 100, gap: 15*time.Minute - 1, latest: before}, 10, 8 * s, 8 * s, false},
	} {
		f := test.f
		f.note(start, test.pace, s, test.pace, 0)
		gap := f.gap
		if f.up {
			gap = f.upGap
		}
		if got := f.next.Sub(start); got != test.want || gap != test.gap || f.up != test.up {
			t.Errorf("%s: a trial after %v, a gap of %v, twice the pace %v, want %v, %v, %v", test.name, got, gap, f.up, test.want, test.gap, test.up)
		}
		if !f.up && f.latest != start {
			t.Errorf("%s: the pace fell %v ago, want now", test.name, start.Sub(f.latest))
		}
	}
	f := formerRate{up: true, upGap: 30 * s}
	if f.fail(start, 20, 10); f.next.Sub(start) != 45*s || f.upGap != 45*s {
		t.Errorf("after one that was refused: %+v, want the next one in 45 s", f)
	}
	f = formerRate{rate: 100, gap: 20 * s}
	if f.fail(start, 11, 10); f.latest != start || f.gap != 27*s || f.next.Sub(start) != 27*s {
		t.Errorf("after one of the former rate that was refused: %+v, want the next one in 27 s", f)
	}
	if f.succeed(start.Add(s), 100); !f.succeeded || f.latest != start.Add(s) || !f.up || f.gap != 0 {
		t.Errorf("after one of the former rate that has succeeded: %+v, want so", f)
	}
	f.resume(start, 10, &Memory{Former: 100})
	if f.succeeded || f.rate != 100 || f.next.Sub(start) != 8*s {
		t.Errorf("in the next run: %+v, want a trial of 100/s in 8 s, and nothing held", f)
	}
}

// TestFormerRateMiddleIsReached: a middle that is far away does not hold before the pace has come to it, and is
// no trial of twice the pace, whatever the pace is.
func TestFormerRateMiddleIsReached(t *testing.T) {
	f := formerRate{rate: 1 << 20, middle: true, ceiling: 1 << 20, next: start}
	f.begin(1)
	for d, want := range map[float64]bool{9.9: false, 10: true} {
		if f.tried = d; f.succeeds(1, provenServed) != want || f.up {
			t.Errorf("after %v s at up to %v/s: holds %v, want %v", d, f.goal(1), !want, want)
		}
	}
	near := formerRate{rate: 10, middle: true, ceiling: 40}
	if near.begin(10); near.up {
		t.Error("the middle is taken for twice the pace")
	}
}

// TestFormerRateIsReached: once the pace is as high as the former rate, by the middle or since it has grown, a
// trial of twice the pace is one, however soon it comes, and the next ones are no rarer than such.
func TestFormerRateIsReached(t *testing.T) {
	f := formerRate{rate: 10}
	f.note(start, 7, time.Second, 7, 40)
	f.begin(7)
	middle, pace := f.goal(7), 10.0 // it grows on
	if f.succeed(start.Add(7*time.Second), middle); middle != math.Sqrt(7*10) || f.up {
		t.Errorf("%v/s holds, twice the pace %v, want the middle of 7/s and 10/s, and the former rate next", middle, f.up)
	}
	var gaps []time.Duration
	for range 8 {
		now := f.next
		f.begin(pace)
		if !f.up || f.goal(pace) != 2*pace {
			t.Errorf("%v/s is tried, want twice %v/s", f.goal(pace), pace)
		}
		f.fail(now, 2*pace, pace)
		gaps = append(gaps, f.next.Sub(now)/time.Second)
	}
	if want := []time.Duration{45, 67, 101, 151, 227, 300, 300, 300}; !slices.Equal(gaps, want) {
		t.Errorf("trials of twice the pace after %d s, want %d", gaps, want)
	}
}

// fallenTo1 is a rate of 1/s after one of 10/s, at the start of a trial. One was refused long ago, and nothing
// goes at once after idling.
func fallenTo1() Rate {
	s := Rate{episodes: episodes{measuredFrom: start}, rate: 1, setAt: start, pacedTo: start.Add(-time.Second), lastGrant: start, former: formerRate{rate: 10, next: start, gap: firstGap}, burst: burst{refused: start}}
	s.Take(start, start, 1)
	s.former.tried = 0
	return s
}

// ask has requests go in an open trial until so long after its start, as fast as the pace allows, or at most
// every so often.
func (r *Rate) ask(until, every time.Duration) {
	for last := start; ; {
		now := max(r.Due(last, 0, 1, 0, false), last.Add(every))
		if now > start.Add(until) {
			return
		}
		r.Take(now, now, 1)
		last = now
	}
}

// TestRateTrial: the pace doubles with each second up to the former rate, and what becomes of it.
func TestRateTrial(t *testing.T) {
	for _, test := range []struct {
		name    string
		served  int
		after   time.Duration
		refused bool
		want    float64
		trial   bool
	}{
		{"it doubles", 0, 0, false, 1, true},
		{"it doubles", 0, time.Second, false, 2, true},
		{"it doubles", 0, 1500 * time.Millisecond, false, math.Exp2(1.5), true},
		{"up to the former rate", 0, 4 * time.Second, false, 10, true},
		{"refused at once", 0, 0, true, 1, false},
		{"refused after a few", provenServed - 1, 3 * time.Second, true, 1, false},
		{"refused after a row", provenServed, 4 * time.Second, true, paceShare * 4, false},
		{"refused after a row that was no faster", provenServed, 15 * time.Second, true, 1, false},
		{"long enough", provenServed, servedFor + 100*time.Millisecond, false, 10, false},
		{"too few", provenServed - 1, servedFor + 100*time.Millisecond, false, 10, true},
	} {
		s := fallenTo1()
		s.ask(test.after, 0)
		now := start.Add(test.after)
		s.Serve(now, test.served, Went{})
		if test.refused {
			s.Refuse(now, false)
		}
		if got := s.rateAt(now); math.Abs(got-test.want) > 1e-9 || s.former.trial != test.trial {
			t.Errorf("%s, after %v: %v/s, trial %v, want %v/s, %v", test.name, test.after, got, s.former.trial, test.want, test.trial)
		}
		if most := s.mostAt(now.Add(time.Minute)); !test.refused && most < 10 {
			t.Errorf("%s: at most %v/s a minute later, want 10/s", test.name, most)
		}
	}
}

// TestRateFall: five short rows in a row show that the limit has fallen, whatever was served before.
func TestRateFall(t *testing.T) {
	s := Rate{}
	now := start
	s.Refuse(now, true)
	for range maxEpisodes {
		now = now.Add(10 * time.Second)
		s.Serve(now, 100, Went{})
		s.Refuse(now, true)
	}
	for range maxExtraRefusals + 1 {
		now = now.Add(time.Second)
		s.Serve(now, 1, Went{})
		s.Refuse(now, true)
	}
	if want := paceShare * 1.0; s.rate != want {
		t.Errorf("rate %v, want %v", s.rate, want)
	}
}

// TestFormerRateLittleDemand: of a pace for which nobody asks, a trial shows nothing.
func TestFormerRateLittleDemand(t *testing.T) {
	for _, test := range []struct {
		every time.Duration // a request each
		most  float64       // the pace after a minute
		trial bool
	}{
		{2 * time.Second, 1, true},
		{300 * time.Millisecond, 2 / 0.3, true},
		{50 * time.Millisecond, 10, false},
	} {
		s := fallenTo1()
		s.ask(time.Minute, test.every)
		s.Serve(start.Add(time.Minute), provenServed, Went{})
		if got := s.rateAt(start.Add(time.Minute)); got > test.most || s.former.trial != test.trial {
			t.Errorf("a request each %v: the pace is %v, trial %v; want %v at most, %v", test.every, got, s.former.trial, test.most, test.trial)
		}
	}
}

// TestFormerRateRise: twice the pace is tried where it has not fallen, ever more rarely as long as that is
// refused, and soon again if it is not.
func TestFormerRateRise(t *testing.T) {
	f := formerRate{}
	f.note(start, 10, servedFor, 10, 0)
	if f.goal(10) != 20 || f.goal(8) != 16 || f.goal(7) != 10 {
		t.Errorf("tried: %v, %v, %v; want 20, 16, and the former rate of 10", f.goal(10), f.goal(8), f.goal(7))
	}
	at := start
	for _, want := range []time.Duration{30000, 45000, 67500, 101250, 151875} {
		if got := f.next.Sub(at) / time.Millisecond; got != want || !f.up {
			t.Errorf("the next trial in %d ms, want %d", got, want)
		}
		at = f.next
		f.begin(10)
		f.fail(at, 1, 1)
	}
	for range 10 {
		f.fail(at, 1, 1)
	}
	if got := f.next.Sub(at); got != longestUp {
		t.Errorf("in the end every %v, want %v", got, longestUp)
	}
	for range 20 {
		f.fail(at, 0.1, 0.1)
	}
	if got := f.next.Sub(at); got != 10*perUp*time.Second {
		t.Errorf("in the end every %v where a token takes 10 s, want %v", got, 10*perUp*time.Second)
	}
	f.succeed(at, 1)
	if got := f.next.Sub(at); got != firstUp {
		t.Errorf("after one that succeeded: in %v, want %v", got, firstUp)
	}
	f.note(at, 1, time.Second, 1, 0) // it falls
	if got := f.next.Sub(at); got != firstGap || f.up {
		t.Errorf("after a fall: in %v, want %v", got, firstGap)
	}
	f.note(at, 10, time.Second, 10, 0)
	if got := f.next.Sub(at); got != firstUp || !f.up {
		t.Errorf("measured again: in %v, want %v", got, firstUp)
	}
}

// TestRateTrialOfABucket: what had gathered before a trial is no rate, and what is served from one refusal to
// the next one is.
func TestRateTrialOfABucket(t *testing.T) {
	for _, test := range []struct {
		name   string
		burst  int // goes at once after idling
		before int // served from the refusal before to the trial, in 20 s
		served int // in the trial, in 4 s, of 1/s
		up     bool
		want   float64
	}{
		{"more than the burst", 12, 20, 28, false, paceShare * (28 - 12) / 4},
		{"hardly more than the burst", 14, 20, 19, false, paceShare * 39 / 24},
		{"a burst that is large", provenServed, 20, 40, false, paceShare * 60 / 24},
		{"twice the pace", 12, 20, 28, true, paceShare * 48 / 24},
		{"fewer than are a row", 0, 33, provenServed - 1, false, paceShare * 2},
		{"no more since the refusal before than the pace", 14, 0, 19, false, 1},
		{"few since the refusal before", 14, 0, provenServed - 1, false, 1},
	} {
		s := fallenTo1()
		s.burst.lent, s.former.up = test.burst, test.up
		s.meter = meter{from: start.Add(-20 * time.Second), served: test.before}
		end := start.Add(4 * time.Second)
		s.Serve(end, test.served, Went{})
		if s.Refuse(end, true); s.rate != test.want {
			t.Errorf("%s: %v/s, want %v/s", test.name, s.rate, test.want)
		}
		if s.meter != (meter{from: end}) {
			t.Errorf("%s: %+v, want nothing served since the refusal", test.name, s.meter)
		}
	}
}

// TestRateDebt: what a trial took beyond the rate is missing afterwards, if the next request is refused as
// well, whether the server says for how long it refuses or not.
func TestRateDebt(t *testing.T) {
	end := start.Add(2 * time.Second)
	for _, test := range []struct {
		served int
		hinted bool
		want   time.Duration
	}{
		{10, false, 7500 * time.Millisecond}, // 0.95 · 10 − 2, at 1/s
		{10, true, 7500 * time.Millisecond},
		{15, false, longestDebt},
		{15, true, longestDebt},
	} {
		s := fallenTo1()
		s.Serve(end, test.served, Went{})
		s.Refuse(end, test.hinted)
		if s.pacedTo != end {
			t.Errorf("%d served, a hint %v: nothing goes for %v, want 0", test.served, test.hinted, s.pacedTo.Sub(end))
		}
		again := s
		s.Refuse(end.Add(time.Second), test.hinted)
		if got := s.pacedTo.Sub(end); got != test.want {
			t.Errorf("%d served, a hint %v, the next one refused: nothing goes for %v, want %v", test.served, test.hinted, got, test.want)
		}
		again.Serve(end.Add(time.Second), 1, Went{})
		again.Refuse(end.Add(2*time.Second), test.hinted)
		if got := again.pacedTo.Sub(end); got != 2*time.Second {
			t.Errorf("%d served, a hint %v, the next one served: nothing goes until %v, want 2 s", test.served, test.hinted, got)
		}
	}
}
