package adaptive

import (
	"fmt"
	"testing"
	"time"

	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/overload"
)

// TestHoldJitter: a hundredth, at most a second, and fifty times as much from the second refusal.
func TestHoldJitter(t *testing.T) {
	b := newBucket(t, Config{Random: func() float64 { return 0.5 }})
	hint := func(d time.Duration) Answer { return Answer{Refused: true, Hold: d, HoldKnown: true} }
	for i, test := range []struct{ hint, want time.Duration }{
		{10 * time.Second, 10*time.Second + 50*time.Millisecond},
		{time.Second, 1250 * time.Millisecond},
		{time.Minute, 61 * time.Second},
	} {
		if e := b.exchange(hint(test.hint)); e.Hold != test.want {
			t.Errorf("refusal %d: held for %v, want %v", i, e.Hold, test.want)
		}
	}
}

// TestHoldJitterIsWithinMaxHold: MaxHold bounds a hold with its jitter, and what it cuts short comes back
// spread, too.
func TestHoldJitterIsWithinMaxHold(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	for _, test := range []struct{ hint, first, second time.Duration }{
		{59 * s, 59*s + 295*ms, 60 * s},
		{60*s - ms, 60 * s, 60 * s},
		{60 * s, 60 * s, 60 * s},
		{60*s + ms, 60*s - 300*ms, 59 * s},
		{24 * time.Hour, 60*s - 300*ms, 59 * s},
	} {
		b := newBucket(t, Config{MaxHold: time.Minute, Random: func() float64 { return 0.5 }})
		for i, want := range []time.Duration{test.first, test.second} {
			if e := b.exchange(Answer{Refused: true, Hold: test.hint, HoldKnown: true}); e.Hold != want {
				t.Errorf("refusal %d with %v: held for %v, want %v", i, test.hint, e.Hold, want)
			}
		}
	}
	b := newBucket(t, Config{MaxHold: time.Minute, Random: func() float64 { return 0.5 }})
	b.exchange(says(left(0, 10, time.Hour)))
	w := b.window1()
	if look, said := w.nextLook.Sub(b.now), w.nextLook.Add(w.cutBy).Sub(b.now); look != 60*s-300*ms || said != time.Hour {
		t.Errorf("a look goes in %v, and the server says %v: want 59.7s and 1h", look, said)
	}
}

// TestSlowStart: one request first, and two more with each answer, as long as these are few per second.
func TestSlowStart(t *testing.T) {
	for _, test := range []struct {
		trip time.Duration
		want []int
	}{
		{time.Second, []int{2, 4, 8, 16, 32, 62}},
		{100 * time.Millisecond, []int{2, 4, 7, 11, 15, 20}},
		{10 * time.Millisecond, []int{2, 4, 4, 5, 5, 5}},
		{0, []int{2, 4, 4, 4, 4, 4}},
	} {
		b := newBucket(t, Config{SlowStart: true})
		b.Restart(true)
		flight := []*Ticket{b.send()}
		b.wantDue(slowStartStep)
		answers, served := 0, func() { b.done(flight[0], Answer{}); flight = flight[1:] }
		for round, want := range test.want {
			sent := 0
			b.now = b.now.Add(test.trip)
			for range len(flight) {
				served()
				for answers++; b.SlowStart() > len(flight); sent++ {
					flight = append(flight, b.send())
				}
			}
			if sent != want {
				t.Errorf("%v, round %d: %d requests, want %d", test.trip, round, sent, want)
			}
		}
		for ; answers < slowStartAnswers; answers++ {
			if b.SlowStart() == 0 {
				t.Errorf("%v: no bound after %d answers", test.trip, answers)
			}
			served()
			flight = append(flight, b.send())
		}
		if got := b.SlowStart(); got != 0 {
			t.Errorf("%v: %d requests may be in flight, want no bound after %d answers", test.trip, got, slowStartAnswers)
		}
	}
}

// TestSlowStartEnds: what ends a slow start, and what only lets one more go.
func TestSlowStartEnds(t *testing.T) {
	for _, test := range []struct {
		name string
		a    Answer
		want int
	}{
		{"answer", Answer{}, 2}, {"lost", Answer{Lost: true}, 1}, {"refused", Answer{Refused: true}, 1}, {"limit", says(left(5, 10, time.Minute)), 0},
	} {
		b := newBucket(t, Config{SlowStart: true})
		b.Restart(true)
		b.exchange(test.a)
		if got := b.SlowStart(); got != test.want {
			t.Errorf("%s: %d may be in flight, want %d", test.name, got, test.want)
		}
	}
	b := newBucket(t, Config{})
	if b.Restart(true); b.SlowStart() != 0 {
		t.Error("a slow start that nobody wants")
	}
}

// TestSlowStartAfterARow: where a server states nothing, a slow start begins again when as many are granted as
// were served before the first refusal.
func TestSlowStartAfterARow(t *testing.T) {
	for _, stated := range []bool{false, true} {
		b := newBucket(t, Config{SlowStart: true})
		answer := Answer{}
		if stated {
			answer = says(left(1000, 1000, time.Hour))
		}
		for range slowStartAnswers + 8 {
			b.exchange(answer)
		}
		b.exchange(refuses())
		b.now = b.now.Add(time.Second)
		for range slowStartAnswers {
			b.exchange(answer)
		}
		var flight []*Ticket
		for range 8 {
			flight = append(flight, b.send())
		}
		if got := b.SlowStart(); got != 0 {
			t.Errorf("stated %v: a slow start of %d before as many are granted", stated, got)
		}
		last := b.send()
		want := 1
		if stated {
			want = 0
		}
		if got := b.SlowStart(); got != want {
			t.Errorf("stated %v: a slow start of %d, want %d", stated, got, want)
		}
		for _, f := range flight {
			b.done(f, answer)
		}
		if got := b.SlowStart(); got != want {
			t.Errorf("stated %v: a slow start of %d after answers to earlier requests, want %d", stated, got, want)
		}
		if b.done(last, answer); stated {
			continue
		}
		if got := b.SlowStart(); got != 2 {
			t.Errorf("a slow start of %d after an answer, want 2", got)
		}
	}
}

// TestSlowStartStep: an answer is awaited for so long; an optimist does not wait.
func TestSlowStartStep(t *testing.T) {
	b := newBucket(t, Config{SlowStart: true})
	b.Restart(true)
	old := b.send()
	b.at(slowStartStep - 1).wantDue(1)
	if d := b.DueFrom(limit.Due{At: b.now}, of(0), of(1), nil, 0, true); d.At != b.now || d.Cause != limit.SlowStart {
		t.Errorf("an optimist has %+v", d)
	}
	b.at(slowStartStep).wantDue(0)
	for _, want := range []int{1, 2, 4, 8} { // without an answer
		n := 0
		for b.Open(b.now, of(1), nil, 0) {
			b.send()
			n++
		}
		if n != want {
			t.Errorf("%d more go, want %d", n, want)
		}
		b.wantDue(slowStartStep)
		b.at(b.now.Sub(start) + slowStartStep)
	}
	b.Restart(false)
	b.done(old, Answer{})
	if got := b.SlowStart(); got != 1 {
		t.Errorf("%d may be in flight, want 1: the answer is to a request from before the restart", got)
	}
}

// TestSlowStartAfterARefusal: while nothing was served since, an answer is awaited for long, and then one goes.
func TestSlowStartAfterARefusal(t *testing.T) {
	b := newBucket(t, Config{SlowStart: true})
	b.Restart(true)
	b.exchange(Answer{Refused: true})
	b.send()
	b.wantDue(Patience)
	last := b.at(b.now.Sub(start) + Patience).send()
	b.wantDue(Patience)
	b.done(last, Answer{})
	b.send()
	b.wantDue(slowStartStep)
}

// TestServedRate: a silent server is paced at just under the rate at which it served while it
// refused.
func TestServedRate(t *testing.T) {
	b := newBucket(t, Config{})
	b.wantDue(0)
	refuseAtRate(b) // ten between 0.2 and 2 s: an episode that lasted for 1.9 s
	if got, want := b.rate(), 0.95*(10/1.9); got != want {
		t.Errorf("rate %v, want %v", got, want)
	}
	b.wantPaced()
	if d := b.DueFrom(limit.Due{At: b.now}, of(0), of(1), nil, 0, false); d.Cause != limit.Pace {
		t.Errorf("cause %q", d.Cause)
	}
	if b.Restart(true); b.rate() == 0 {
		t.Error("forgotten, although there are no slow starts")
	}
}

// TestServedRateRefusalsOnly: the served rate is measured although the server states a used-up limit, if
// it states limits only when it refuses.
func TestServedRateRefusalsOnly(t *testing.T) {
	for _, test := range []struct {
		served Answer
		paced  bool
	}{{Answer{}, true}, {says(left(5, 10, time.Second)), false}} {
		b := newBucket(t, Config{})
		for i := range 3 {
			b.at(time.Duration(i) * time.Second)
			for range 10 {
				b.exchange(test.served)
			}
			b.exchange(refuses(left(0, 10, time.Second)))
		}
		if paced := b.pace.Known(); paced != test.paced {
			t.Errorf("paced %v, want %v, if it says %v when it serves", paced, test.paced, test.served.Statements)
		}
	}
}

// TestServedRateLate: what was on its way when a refusal came does not count to the episode that the refusal
// begins.
func TestServedRateLate(t *testing.T) {
	for _, late := range []bool{true, false} {
		b := newBucket(t, Config{})
		var sent []*Ticket
		refused := b.send()
		for range 15 {
			sent = append(sent, b.send())
		}
		b.done(refused, Answer{Refused: true})
		b.at(50 * time.Millisecond)
		for _, r := range sent {
			if !late {
				b.End(r, nil)
				r = b.send()
			}
			b.done(r, Answer{})
		}
		b.at(150 * time.Millisecond).exchange(Answer{Refused: true})
		if b.pace.Known() == late {
			t.Errorf("late %v: a rate of %v/s", late, b.rate())
		}
	}
}

// TestOverload: when failures are taken for refusals. F is a failure, a dot was served.
func TestOverload(t *testing.T) {
	for _, test := range []struct {
		answers string
		want    overload.Belief
	}{
		{"FFFF", overload.MeanFailure},         // nothing is served
		{".FFF", overload.MeanFailure},         // too few
		{".FFFF", overload.OnTrial},            // a good part
		{".F...........FFF", overload.OnTrial}, // one in four
		{".F............FFF", overload.MeanFailure},
		{"....................FFFF", overload.OnTrial}, // from the first failure on
	} {
		b := newBucket(t, Config{})
		for _, a := range test.answers {
			b.exchange(Answer{MayRefuse: a == 'F'})
		}
		if got := b.overload.Belief(); got != test.want || b.MayRefuse(nil) != (test.want != overload.MeanFailure) {
			t.Errorf("%s: %v, want %v", test.answers, got, test.want)
		}
	}
}

// TestOverloadSleeps: while a window is known, no failure is taken for a refusal that says nothing, or that
// more remains, whatever failures were found to mean. One that says that nothing remains may be.
func TestOverloadSleeps(t *testing.T) {
	some, none := says(left(5, 10, time.Minute)), says(left(0, 10, time.Minute))
	fails := func(a Answer) Answer { a.MayRefuse = true; return a }
	b := newBucket(t, Config{})
	for i, step := range []struct {
		answer Answer
		want   bool
	}{
		{some, false},
		{fails(Answer{}), false},
		{fails(some), false},
		{fails(some), false},
		{fails(some), false},
		{fails(some), false},
		{fails(none), false},
		{some, false},
		{fails(none), false},
		{fails(none), false},
		{fails(none), true},
		{fails(none), true},
		{some, false},
		{fails(some), false},
		{fails(none), true},
	} {
		if e := b.exchange(step.answer); e.Refused != step.want {
			t.Errorf("answer %d: taken for a refusal %v, want %v", i+1, e.Refused, step.want)
		}
	}
	if b.MayRefuse(nil) || b.MayRefuse(some.Statements) || !b.MayRefuse(none.Statements) {
		t.Error("in a trial, a failure may refuse if it says that nothing remains, and only then")
	}
}

// TestOtherUsers: what Remaining lost beside what we used of it.
func TestOtherUsers(t *testing.T) {
	for _, test := range []struct {
		remaining, inFlight int
		want                float64
	}{
		{96, 0, 0}, {92, 0, 1}, {80, 0, 4}, {92, 4, 0}, {0, 0, maxPerOurToken}, {100, 0, 0},
	} {
		u := others{atStart: 100, usedByUs: 4}
		if got := u.estimate(test.remaining, test.inFlight); got != test.want {
			t.Errorf("%d remain, %d in flight: %v for each of ours, want %v", test.remaining, test.inFlight, got, test.want)
		}
	}
	if got := (&others{atStart: 100, usedByUs: 3, perOurToken: 2}).estimate(50, 0); got != 2 {
		t.Errorf("after three requests: %v, want what was known", got)
	}
	for stated, want := range map[int]float64{10: 2, 11: 2, 15: 3, 20: 17.0 / 4, 50: maxPerOurToken} {
		for _, left := range []int{0, 7} {
			u := others{atStart: 100, foundAtStart: stated + left, usedByUs: 3, perOurToken: 2}
			if got := u.whole(left, 0); got != want {
				t.Errorf("three of %d were ours, and %d are left: %v for each of ours, want %v", stated, left, got, want)
			}
		}
	}
	if got := (&others{atStart: 20, usedByUs: 10}).whole(5, 0); got != 0.5 {
		t.Errorf("10 of 15 were ours, and 5 are left: %v for each of ours, want 0.5", got)
	}
	if got := (&others{perOurToken: 1.5}).withOthers(4); got != 16 {
		t.Errorf("4 of ours are used by the time that %d are, want 4 + 2·1.5·4 = 16", got)
	}
}

// TestOtherUsersRestored: after a reset the estimate falls by half at most, and is kept until the
// next.
func TestOtherUsersRestored(t *testing.T) {
	u := others{atStart: 10, usedByUs: 4, perOurToken: 4} // 10/4 − 1 = 1.5
	o := outcome{sent: start, now: start, look: true, remaining: 7, n: 1, flight: 1, granted: 5, limit: 10, newest: true}
	if u.count(&o, false); u != (others{began: start, heard: start, atStart: 10, limitAtStart: 10, foundAtStart: 8, usedByUs: 1, notSince: 4, perOurToken: 2, measured: true}) {
		t.Errorf("%+v", u)
	}
	o.look, o.remaining, o.flight = false, 0, 11
	if u.count(&o, true); u.perOurToken != 2 {
		t.Errorf("%v for each of ours, want 2: that is from a whole window", u.perOurToken)
	}
}

// TestOtherUsersRestoredOnce: an answer to a request that went before it was heard that the limit is back is of
// the same window, be it to a look or not. What was used until then is not counted again, as if others had used
// it.
func TestOtherUsersRestoredOnce(t *testing.T) {
	const ms = time.Millisecond
	for _, look := range []bool{false, true} {
		u := others{atStart: 50, usedByUs: 40, perOurToken: 0.25, measured: true}
		for _, test := range []struct {
			sent, now time.Duration
			want      float64
			began     time.Duration
		}{
			{0, 100 * ms, 0.125, 0},           // 40 of 35 were ours
			{30 * ms, 200 * ms, 0.125, 0},     // of the same window
			{200 * ms, 300 * ms, 4, 200 * ms}, // of the next one: 35 are missing, of which 7 were ours
		} {
			o := outcome{sent: start.Add(test.sent), now: start.Add(test.now), lateBefore: start, look: look, remainingBefore: 15, remaining: 45, n: 5, flight: 5, limit: 50, newest: true}
			u.count(&o, false)
			if u.perOurToken != test.want || u.began != start.Add(test.began) {
				t.Errorf("look %v: %v for each of ours since %v, want %v since %v", look, u.perOurToken, u.began.Sub(start), test.want, test.began)
			}
			if test.began == 0 {
				u.usedByUs = 7
			}
		}
	}
}

// TestOtherUsersUnseen: who finds all of a limit may be the first of several that begin together. A third of it
// goes at first; and the rest, once most of that is answered and shows nobody else, or some round trips later.
func TestOtherUsersUnseen(t *testing.T) {
	const ms = time.Millisecond
	flight := func(b *bucket) (all []*Ticket) {
		for b.Open(b.now, of(1), nil, 0) {
			all = append(all, b.send())
		}
		return all
	}
	for _, test := range []struct {
		limit int
		trip  time.Duration
		want  int
		until time.Duration // from then on the rest goes, also if nothing is answered
	}{
		{38, 20 * ms, 12, 100 * ms}, // 12 + 2·12 = 36 of 37
		{20, 20 * ms, 6, 100 * ms},
		{19, 20 * ms, 18, 0},
		{5000, 20 * ms, 1666, 100 * ms},
		{38, 400 * ms, 12, 1400 * ms},
		{38, 0, 37, 0},
	} {
		b := newBucket(t, Config{})
		first := b.send()
		b.at(test.trip).done(first, says(left(test.limit-1, test.limit, time.Minute)))
		if got := len(flight(b)); got != test.want {
			t.Errorf("a limit of %d, after %v: %d requests go at once, want %d", test.limit, test.trip, got, test.want)
		}
		if test.until == 0 {
			continue
		}
		b.wantDue(test.until - test.trip)
		b.at(test.until)
		if got, want := len(flight(b)), test.limit-1-test.want; got != want {
			t.Errorf("a limit of %d, after %v: %d requests go, want %d", test.limit, test.until, got, want)
		}
	}
	for taken, want := range map[int][2]int{0: {8, 17}, 12: {4, 1}} { // of 25 that remain, 8 + 2·8, and then all; of 13, 4 + 2·4, and then one in place of the one that is answered
		b := newBucket(t, Config{})
		first := b.send()
		b.at(20*ms).done(first, says(left(37, 38, time.Minute)))
		remaining := 37 - taken
		b.at(40 * ms)
		for _, ticket := range flight(b) {
			remaining--
			b.done(ticket, says(left(remaining, 38, time.Minute)))
		}
		second := flight(b)
		b.at(60*ms).done(second[0], says(left(remaining-1, 38, time.Minute)))
		if got := [2]int{len(second), len(flight(b))}; got != want {
			t.Errorf("others took %d: %d requests go when the first flight and when one more is answered, want %d", taken, got, want)
		}
	}
}

// TestOtherUsersUnseenOfARefill: that is so, too, where an earlier run has found how slowly the limit comes
// back: nobody waits for what comes back while enough is there.
func TestOtherUsersUnseenOfARefill(t *testing.T) {
	const ms = time.Millisecond
	clock := wallClock()
	b := newBucket(t, Config{MaxHold: time.Hour})
	b.Remember(b.now, &Memory{At: clock.Date(b.now), Windows: []WindowMemory{{Limit: 38, Habits: Habits{Refill: 0.1}}}}, clock)
	first := b.send()
	b.at(20*ms).done(first, says(left(37, 38, time.Hour)))
	for range 12 {
		b.send()
	}
	b.wantDue(80 * ms)
	b.at(100 * ms).wantOpen(25)
}

// TestOtherUsersBegin: where few are missing at the first answer, others have just begun, too, and what remains
// is not taken at once; of a limit of which more is missing, others may have gone long ago.
func TestOtherUsersBegin(t *testing.T) {
	for _, test := range []struct{ limit, remaining, want int }{
		{38, 37, 37},  // nobody else
		{38, 36, 7},   // one other, for which four times as much as it used is left: 7 + 4·7 = 35
		{38, 35, 3},   // two: 3 + 4·2·3 = 27
		{38, 29, 1},   // eight
		{38, 28, 28},  // nine: more than a quarter is missing
		{10, 7, 1},    // two of ten
		{10, 6, 6},    // three
		{3, 2, 2},     // nobody else
		{3, 1, 1},     // one of three
		{200, 191, 5}, // eight of two hundred: 5 + 4·8·5 = 165
		{200, 190, 190},
		{1, 0, 0},
	} {
		b := newBucket(t, Config{})
		b.exchange(says(left(test.remaining, test.limit, time.Minute)))
		got := 0
		for b.Open(b.now, of(1), nil, 0) && got < test.limit {
			b.send()
			got++
		}
		if got != test.want {
			t.Errorf("%d of %d remain: %d requests go at once, want %d", test.remaining, test.limit, got, test.want)
		}
	}
	b := newBucket(t, Config{})
	b.exchange(says(left(36, 38, time.Minute)))
	b.exchange(says(left(35, 38, time.Minute)))
	b.exchange(says(left(34, 38, time.Minute)))
	b.exchange(says(left(33, 38, time.Minute)))
	if got := b.window1().others.perOurToken; got != 0.25 {
		t.Errorf("others use %v for each of ours, want 0.25: one of theirs, and four of ours", got)
	}
	var site Site
	x, y := newBucketOf(t, &site, Config{}), newBucketOf(t, &site, Config{})
	first, second := x.send(), y.send()
	x.done(first, says(left(36, 38, time.Minute)))
	y.done(second, says(left(37, 38, 30*time.Second)))
	for _, b := range []*bucket{x, y} {
		if got := b.window1().others.perOurToken; got != 0 {
			t.Errorf("others use %v for each of ours, want 0: what is missing may be another bucket's of ours", got)
		}
	}
}

// TestOtherUsersHoldBack: with another client that uses as much, only a fifth goes at once.
func TestOtherUsersHoldBack(t *testing.T) {
	b := newBucket(t, Config{})
	for i := range 5 {
		b.exchange(says(left(98-2*i, 100, time.Minute))) // one of ours, one of theirs
	}
	if got := b.window1().others.perOurToken; got != 1 {
		t.Errorf("%v for each of ours, want 1", got)
	}
	b.wantDue(0)
	got := 0
	for b.Open(b.now, of(1), nil, 0) {
		b.send()
		got++
	}
	if want := 18; got != want { // n + 4·1·n ≤ 90
		t.Errorf("%d requests go at once, want %d", got, want)
	}
}

// TestUnknown: nothing is known until there is something to confirm.
func TestUnknown(t *testing.T) {
	for _, test := range []struct {
		a    Answer
		want bool
	}{{Answer{}, true}, {Answer{Lost: true}, true}, {Answer{Refused: true}, false}, {Answer{MayRefuse: true}, false}, {says(left(1, 2, 0)), false}} {
		b := newBucket(t, Config{})
		b.exchange(test.a)
		if b.Unknown() != test.want {
			t.Errorf("%s: unknown %v", fmt.Sprint(test.a), b.Unknown())
		}
	}
}

// TestRefusalIsForgotten: a refusal of which no belief is left is forgotten when requests were served for a
// day.
func TestRefusalIsForgotten(t *testing.T) {
	const step, day = 10 * time.Second, 24 * time.Hour
	for name, refuse := range map[string]func(b *bucket){
		"one refusal":           func(b *bucket) { b.exchange(Answer{Refused: true, Hold: time.Second, HoldKnown: true}) },
		"one that says no time": func(b *bucket) { b.exchange(Answer{Refused: true}) },
	} {
		b := newBucket(t, Config{})
		refuse(b)
		served := b.now.Add(step)
		for b.now < served.Add(day) {
			if b.at(b.now.Sub(start) + step); b.Unknown() {
				t.Fatalf("%s: forgotten after %v", name, b.now.Sub(served))
			}
			b.exchange(Answer{})
		}
		if !b.Unknown() {
			t.Errorf("%s: not forgotten after a day: %+v", name, b.pace)
		}
	}
}

// TestPaceIsNotForgotten: what a server is believed to serve is not forgotten while requests go, however long
// it is ago.
func TestPaceIsNotForgotten(t *testing.T) {
	b := newBucket(t, Config{})
	refuseAtRate(b)
	for range 3 * 24 * 60 {
		b.at(b.now.Sub(start) + time.Minute).exchange(Answer{})
	}
	if b.Unknown() || b.rate() == 0 {
		t.Errorf("after three days: %+v", b.pace)
	}
}

// TestIdle: a bucket with a used-up window may not be forgotten.
func TestIdle(t *testing.T) {
	b := newBucket(t, Config{})
	b.exchange(refuses(left(0, 10, time.Second)))
	if b.Idle(b.now) || !b.Idle(start.Add(time.Second)) {
		t.Error("idle while the window is used up, or not after")
	}
	b.Add(1)
	if b.Idle(start.Add(time.Second)) {
		t.Error("idle with a request in flight")
	}
}

// TestHoldIsStretchedTo30Seconds: from the fourth refusal in a row on, by half each time; and not at all beyond
// that.
func TestHoldIsStretchedTo30Seconds(t *testing.T) {
	for _, asked := range []time.Duration{time.Second, 20 * time.Second, 40 * time.Second} {
		before := asked
		for n := range 50 {
			got := Hold(asked, n)
			if n <= 3 && got != asked || n > 3 && got != min(before+before/2, max(asked, 30*time.Second)) {
				t.Errorf("asked for %v, refusal %d: %v", asked, n, got)
			}
			before = got
		}
	}
}

// TestWindowIsTriedBesideAFlight: a silent server serves 100 in a minute. That a request finds out whether
// there are more, while others are on their way, does not make these the first ones of the next window.
func TestWindowIsTriedBesideAFlight(t *testing.T) {
	b := newBucket(t, Config{SlowStart: true})
	var window, used int
	served := func() bool {
		if w := int(b.now.Sub(start) / time.Minute); w != window {
			window, used = w, 0
		}
		used++
		return used <= 100
	}
	for b.now < start.Add(4*time.Minute) {
		b.now = b.now.Add(b.dueAfter(0, 1))
		if a := says(); served() {
			b.exchange(a)
		} else {
			b.now = b.now.Add(b.exchange(refuses()).Hold)
		}
	}
	want := func(when string) {
		t.Helper()
		if size, lasts, known := b.pace.Window(); size != 100 || lasts != time.Minute || !known {
			t.Fatalf("%s: %d in %v, known %v, want 100 in a minute", when, size, lasts, known)
		}
	}
	want("after four minutes")
	b.at(b.now.Sub(start).Truncate(time.Minute) + time.Minute)
	var flight []*Ticket
	for i := range 100 {
		b.now = b.now.Add(500 * time.Millisecond)
		if flight = append(flight, b.send()); i < 90 {
			b.done(flight[0], says())
			flight = flight[1:]
		}
	}
	tries := b.send()
	for _, o := range flight {
		b.done(o, says())
	}
	b.now = b.now.Add(100 * time.Millisecond)
	ends := (b.now.Sub(start).Truncate(time.Minute) + time.Minute) - b.now.Sub(start)
	if hold := b.done(tries, refuses()).Hold; hold < ends || hold > ends+time.Second {
		t.Errorf("after one was tried in vain: nothing goes for %v, want the %v until the window ends, and a second more at most", hold, ends)
	}
	want("after one was tried in vain")
}

// TestSlowStartIsStrictAfterARefusal: where the server has refused, or was held, all wait for the slow start,
// also after something was served, and in a slow start that begins then; until the bucket has idled.
func TestSlowStartIsStrictAfterARefusal(t *testing.T) {
	b := newBucket(t, Config{SlowStart: true})
	lenient := func() bool {
		d := limit.Due{At: b.now}
		b.slowStart.Due(&d, 99, Haste(1, -1), false)
		return b.Lenient() && d == limit.Due{At: b.now}
	}
	b.Restart(true)
	if !lenient() {
		t.Error("at first, it is strict")
	}
	b.exchange(refuses())
	if lenient() {
		t.Error("after a refusal, it is not strict")
	}
	if b.exchange(says()); lenient() {
		t.Error("when something was served, it is not strict")
	}
	if b.Restart(false); lenient() {
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
