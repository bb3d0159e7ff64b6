package adaptive

import (
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// TestSkew: each answer leaves a second and its round trip open, and a tick of Date between two leaves their
// distance.
func TestSkew(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	type said struct{ ahead, roundTrip time.Duration } // within a second after Date
	for _, test := range []struct {
		name        string
		said        []said
		least, most time.Duration
		differ      bool // the last answer shows that clocks which were taken to agree do not
	}{
		{"agree", []said{{300 * ms, 0}}, 0, 0, false},
		{"agree, within the round trip", []said{{-50 * ms, 100 * ms}}, 0, 0, false},
		{"ahead", []said{{3 * s, 100 * ms}}, 2 * s, 3*s + 100*ms, false},
		{"behind", []said{{-3 * s, 0}}, -4 * s, -3 * s, false},
		{"a tick", []said{{3 * s, 0}, {2*s + 10*ms, 0}}, 2 * s, 2*s + 10*ms, false},
		{"agreed", []said{{900 * ms, 0}, {100 * ms, 0}}, 0, 0, false},
		{"a tick shows that they do not", []said{{500 * ms, 0}, {-400 * ms, 0}}, -500 * ms, -400 * ms, true},
		{"a clock was set", []said{{0, 0}, {time.Hour, 0}}, time.Hour - s, time.Hour, true},
		{"and set back", []said{{time.Hour, 0}, {0, 0}}, 0, 0, false},
	} {
		var k skew
		var differ bool
		for _, said := range test.said {
			differ = k.note(said.ahead, time.Second, said.roundTrip)
		}
		if least, most := k.bounds(); least != test.least || most != test.most || differ != test.differ {
			t.Errorf("%s: [%v, %v], differ %v; want [%v, %v], %v", test.name, least, most, differ, test.least, test.most, test.differ)
		}
	}
}

// TestSkewOfNearResets: an answer was written before its reset, if something is missing until then.
func TestSkewOfNearResets(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	for _, test := range []struct {
		name             string
		reset, step      time.Duration
		remaining, limit int
		want             time.Duration
	}{
		{"near", 12 * ms, ms, 3, 5, 13 * ms},
		{"in whole seconds", 12 * ms, s, 3, 5, s},
		{"half a second after Date", 500 * ms, ms, 0, 5, 501 * ms},
		{"as far as Date is cut", 999500 * time.Microsecond, ms, 0, 5, s},
		{"far", 12 * s, ms, 0, 5, s},
		{"longest", monotime.Longest, monotime.Longest, 0, 5, s},
		{"nothing is missing", 12 * ms, ms, 5, 5, s},
		{"the limit is not known", 12 * ms, ms, 5, 0, s},
		{"past, or not said", 0, ms, 0, 5, s},
		{"a step of nonsense", 12 * ms, -ms, 0, 5, 12 * ms},
		{"a step of nonsense, too large", 12 * ms, monotime.Longest, 0, 5, s},
	} {
		st := quota.Statement{Limit: int64(test.limit), Remaining: int64(test.remaining), Reset: test.reset, ResetKnown: true, Absolute: true, Resolution: test.step}
		if got := writtenWithin(&st, test.limit); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
	var k skew
	k.note(700*ms, s, 0)
	if least, most := k.bounds(); least != 0 || most != 0 {
		t.Errorf("[%v, %v], want clocks that may agree", least, most)
	}
	if differ := k.note(800*ms, 100*ms, 0); !differ {
		t.Error("written 100ms after Date at most, and 800ms after it by our clock: they cannot agree")
	}
	if least, most := k.bounds(); least != 700*ms || most != 700*ms {
		t.Errorf("[%v, %v], want 700ms", least, most)
	}
}

// TestClockWasSet: an answer by another clock than those before says nothing of how a limit comes back, and
// ends what those have said of that. The clocks of several instances differ by less.
func TestClockWasSet(t *testing.T) {
	// by is a statement by a clock that is behind.
	by := func(behind time.Duration, remaining int, reset time.Duration) quota.Statement {
		return quota.Statement{Limit: 100, Remaining: int64(remaining), Reset: max(reset+behind, 0), ResetKnown: true, Absolute: true, Skew: behind, Resolution: time.Second}
	}
	for _, test := range []struct {
		name                string
		first, then         quota.Statement
		refills, roundsDown bool
	}{
		{"no other clock", by(0, 50, 30*time.Second), by(0, 49, 30*time.Second), false, false},
		{"no other clock, the reset moves on", by(0, 50, 30*time.Second), by(0, 49, 40*time.Second), true, false},
		{"a Date half a minute behind", by(0, 50, 30*time.Second), by(30*time.Second, 49, 50*time.Second), true, false},
		{"a Date hours behind", by(0, 50, 30*time.Second), by(3*time.Hour, 49, 3*time.Hour), false, false},
		{"a reset that has passed", by(0, 0, 0), by(0, 0, 0), true, true},
		{"a reset that had passed by another clock", by(-3*time.Hour, 0, 10*time.Second), by(0, 0, 10*time.Second), true, false},
	} {
		b := newBucket(t, Config{})
		b.exchange(says(test.first))
		b.at(time.Second)
		b.exchange(says(test.then))
		if w := b.window1(); w.refill.refills != test.refills || w.reset.roundsDown != test.roundsDown {
			t.Errorf("%s: refills %v, rounds down %v, want %v, %v", test.name, w.refill.refills, w.reset.roundsDown, test.refills, test.roundsDown)
		}
	}

	b := newBucket(t, Config{})
	b.exchange(says(by(3*time.Hour, 50, 30*time.Second)))
	b.at(time.Second)
	b.exchange(says(by(3*time.Hour, 49, 40*time.Second)))
	b.at(2 * time.Second)
	b.exchange(says(by(0, 48, 30*time.Second)))
	if w := b.window1(); w.refill.refills || w.refill.drip.farIn > time.Minute {
		t.Errorf("refills %v, a reset was %v away, and the clock was wrong that said it", w.refill.refills, w.refill.drip.farIn)
	}
}

// TestClockWasSetOnce: an answer that states no reset says of no clock, and ends nothing that was learned since
// one was set.
func TestClockWasSetOnce(t *testing.T) {
	instant := func(behind time.Duration) quota.Statement {
		return quota.Statement{Limit: 100, Remaining: 50, Reset: 30*time.Second + behind, ResetKnown: true, Absolute: true, Skew: behind, Resolution: time.Second}
	}
	b := newBucket(t, Config{})
	b.exchange(says(instant(3 * time.Hour)))
	b.at(time.Second)
	b.exchange(says(instant(0)))
	w := b.window1()
	w.refill.resume(b.now, 100, 50, 2, false, b.config.MaxHold)
	b.at(2 * time.Second)
	if b.exchange(says(quota.Statement{Limit: 100, Remaining: 49})); !w.refill.refills {
		t.Error("an answer without a reset has ended the belief that the limit refills")
	}
}

// TestClockWasSetAtARefusal: the one answer that shows it may be a refusal by another limit.
func TestClockWasSetAtARefusal(t *testing.T) {
	minute := func(behind time.Duration) quota.Statement {
		return quota.Statement{Name: "minute", Limit: 100, Remaining: 50, Reset: 30*time.Second + behind, ResetKnown: true, Absolute: true, Skew: behind, Resolution: time.Second}
	}
	b := newBucket(t, Config{})
	second := left(5, 5, time.Second)
	second.Name = "second"
	b.exchange(says(minute(3*time.Hour), second))
	w := b.find(limitName{name: "minute"})
	w.refill.resume(b.now, 100, 50, 2, false, b.config.MaxHold)
	b.at(time.Second)
	second.Remaining = 0
	if b.exchange(refuses(minute(0), second)); w.refill.refills {
		t.Error("the limit is believed to come back as it did by another clock")
	}
}

// TestHintsAsInstants: nobody comes before the instant that a hint states by the server's clock. The first hint
// counts from when it came; by their Dates, each further one may be known to a round trip. That is forgotten
// when a clock is set.
func TestHintsAsInstants(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	const trip = 100 * ms // half of it each way
	b, ahead := newBucket(t, Config{}), 1700*ms
	for _, test := range []struct {
		name          string
		sent, said    time.Duration // when the request was sent; and how far away the instant was when the answer was written, before it was rounded up
		until, wanted time.Duration // when the hold ends, and when the instant comes
		setBack       time.Duration // the server's clock is set back by so much before
	}{
		{"the first: a second of Date is open", 0, 10 * ms, 1100 * ms, 300 * ms, 0},
		{"just after a tick of Date", 1260 * ms, 10 * ms, 2360 * ms, 2300 * ms, 0},
		{"the same clock", 2900 * ms, 10 * ms, 3360 * ms, 3300 * ms, 0},
		{"farther away", 4000 * ms, 7 * s, 11360 * ms, 11300 * ms, 0},
		{"a clock was set", 12 * s, 10 * ms, 13100 * ms, 12300 * ms, 5 * s},
	} {
		ahead -= test.setBack
		sent := b.at(test.sent).send()
		written := test.sent + trip/2 + ahead
		date, instant := written.Truncate(s), (written + test.said + s - 1).Truncate(s)
		a := Answer{Refused: true, Hold: instant - date, HoldKnown: true, HoldResolution: s, HoldAbsolute: true, HoldSkew: test.sent - date}
		e := b.at(test.sent+trip).done(sent, a)
		if until := test.sent + trip + e.Hold; until != test.until || e.Said != e.Hold || instant-ahead != test.wanted || until < test.wanted {
			t.Errorf("%s: held until %v, said %v; want %v, and the instant %v is at %v", test.name, until, e.Said, test.until, instant, instant-ahead)
		}
		b.at(test.sent + trip + e.Hold).exchange(says())
	}
}

// TestLateHintsAsInstants: an answer may come when the instant that it states has passed. It is a hint all the
// same.
func TestLateHintsAsInstants(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	var k skew
	for i, test := range []struct{ sent, now, ahead, in, want time.Duration }{
		{10 * s, 10 * s, 0, s, s}, // at a tick: the clocks agree, or the local one is behind
		{20 * s, 20*s + 2*s, 0, s, 1},
		{30*s + 900*ms, 31 * s, 900 * ms, s, 1},
		{40*s + 900*ms, 41*s - 1, 900 * ms, s, 1},
		{50*s + 900*ms, 51*s - 2, 900 * ms, s, 2},
	} {
		if got := k.until(monotime.Time(test.sent), monotime.Time(test.now), test.ahead, test.in); got != test.want {
			t.Errorf("%d: %v, want %v", i, got, test.want)
		}
	}
}

// TestHintsOfClocksApart: the clocks of several instances differ by less than a second, so that their Dates
// narrow down what neither of them says: the first hint of the slower one may end too soon, and is refused.
// What its Dates contradict is waited for from then on, also when those of the other instance have narrowed
// down again what the clocks say.
func TestHintsOfClocksApart(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	const fast, slow = 0, 500 * ms // by how much the local clock is ahead of theirs
	var k skew
	for i, test := range []struct {
		ahead, sent time.Duration
		until       time.Duration // after the instant that is stated
	}{
		{fast, 990 * ms, 990 * ms},   // nothing is known
		{fast, 2 * s, 0},             // just after a tick
		{slow, 4600 * ms, -500 * ms}, // too soon
		{slow, 5490 * ms, 990 * ms},  // it was: this Date contradicts those before
		{fast, 7 * s, 0},             // as long as a second after the Date, at most
		{slow, 8600 * ms, -10 * ms},
		{slow, 9499 * ms, 999 * ms},
		{fast, 11 * s, 0},
		{slow, 12600 * ms, -1 * ms},
		{fast - 2*time.Minute, 15 * s, 0}, // that was set: nothing is known of what the others are apart
		{fast - 2*time.Minute, 16400 * ms, 0},
	} {
		date := (test.sent - test.ahead).Truncate(s)
		now, instant := monotime.Time(test.sent), date+s+test.ahead
		if got := test.sent + k.until(now, now, test.sent-date, s) - instant; got != test.until {
			t.Errorf("%d: until %v after the instant, want %v", i, got, test.until)
		}
	}
}
