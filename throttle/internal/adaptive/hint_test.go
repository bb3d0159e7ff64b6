package adaptive

import (
	"math"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
)

// TestUnsaid: a hold for which nobody asked doubles, but for eight refusals at half a minute.
func TestUnsaid(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	for n, want := range map[int]time.Duration{
		-1: 100 * ms, 1: 100 * ms, 2: 200 * ms, 9: 25600 * ms, 10: 30 * s, 17: 30 * s, 18: 30 * s, 19: time.Minute, 21: 4 * time.Minute,
	} {
		if got := unsaid(n); got != want {
			t.Errorf("after %d refusals: %v, want %v", n, got, want)
		}
	}
	if got := unsaid(1 << 30); got < time.Hour {
		t.Errorf("after very many: %v", got)
	}
}

// TestNearer: a hint that was rounded up is as near as the finer reset beside it, and twice as far with each
// refusal in a row.
func TestNearer(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	spent := func(in, step time.Duration) quota.Statement {
		return quota.Statement{Limit: 5, Reset: in, ResetKnown: true, Resolution: step}
	}
	instant, left, noReset := spent(2500*ms, ms), spent(2500*ms, ms), quota.Statement{Limit: 5}
	instant.Absolute, left.Remaining = true, 1
	for _, test := range []struct {
		name       string
		hold, step time.Duration
		stated     []quota.Statement
		n          int
		want       time.Duration
	}{
		{"no limit", 3 * s, s, nil, 1, 3 * s},
		{"within the last step", 3 * s, s, []quota.Statement{spent(2012*ms, ms)}, 1, 2012 * ms},
		{"at its end", 3 * s, s, []quota.Statement{spent(3*s, ms)}, 1, 3 * s},
		{"sooner", 3 * s, s, []quota.Statement{spent(2*s, ms)}, 1, 3 * s},
		{"later", 3 * s, s, []quota.Statement{spent(9*s, ms)}, 1, 3 * s},
		{"in as wide steps", 3 * s, s, []quota.Statement{spent(2500*ms, s)}, 1, 3 * s},
		{"an instant", 3 * s, s, []quota.Statement{instant}, 1, 3 * s},
		{"of a limit that is left", 3 * s, s, []quota.Statement{left}, 1, 3 * s},
		{"no reset", 3 * s, s, []quota.Statement{noReset}, 1, 3 * s},
		{"two that are spent", 3 * s, s, []quota.Statement{spent(2*ms, ms), spent(2700*ms, ms)}, 1, 2700 * ms},
		{"one of them without a reset", 3 * s, s, []quota.Statement{spent(2700*ms, ms), noReset}, 1, 3 * s},
		{"at once", s, s, []quota.Statement{spent(0, ms)}, 1, s},
		{"negative", s, s, []quota.Statement{spent(-s, ms)}, 1, s},
		{"a hint in milliseconds", s, ms, []quota.Statement{spent(999*ms, ms)}, 1, s},
		{"a step that is not known", s, 0, []quota.Statement{spent(999*ms, ms)}, 1, s},
		{"the second in a row", s, s, []quota.Statement{spent(12*ms, ms)}, 2, 24 * ms},
		{"the seventh", s, s, []quota.Statement{spent(12*ms, ms)}, 7, 768 * ms},
		{"the eighth", s, s, []quota.Statement{spent(12*ms, ms)}, 8, s},
		{"a step as long as all time", math.MaxInt64, math.MaxInt64, []quota.Statement{spent(math.MaxInt64-1, ms)}, 99, math.MaxInt64},
	} {
		if got := nearer(test.hold, test.step, test.stated, test.n); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// TestHintStretched: nothing remains, refusals ask for 8 s each time, and each look is refused: others take
// all, or looks count as well. So a hint is obeyed three times, and then stretched by half each time, but not
// beyond the reset; until a look is served. That is so whether others are seen or not.
func TestHintStretched(t *testing.T) {
	const s = time.Second
	for _, others := range []float64{0, othersSeen} {
		b := newBucket(t, Config{})
		says0 := func(a Answer) Answer { // nothing remains until 200 s after the start
			a.Statements = []quota.Statement{left(0, 1000, start.Add(200*s).Sub(b.now))}
			return a
		}
		refused := Answer{Refused: true, Hold: 8 * s, HoldKnown: true}
		b.exchange(says0(Answer{}))
		now := time.Duration(0)
		for _, want := range []time.Duration{8 * s, 8 * s, 8 * s, 12 * s, 18 * s, 27 * s, 30 * s, 30 * s, 30 * s, 29 * s} {
			b.window1().others.perOurToken = others
			b.at(now).exchange(says0(refused))
			b.wantDue(want)
			now += want
		}
		b.at(now).exchange(says(left(0, 1000, 100*s)))
		if n := b.window1().vainLooks; n != 0 {
			t.Errorf("%d in vain after one that was served", n)
		}
	}
}

// TestAskNowBesideAReset: a server that says "Retry-After: 0" since it rounds down, and when all is back, is
// not left alone for ever longer by who always comes too late.
func TestAskNowBesideAReset(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		reset time.Duration
		n     int
		want  time.Duration
	}{
		{2 * s, 1, s / 10},
		{2 * s, 4, 8 * s / 10},
		{2 * s, 5, s},
		{2 * s, 29, s},
		{2 * s, 30, 2 * s},
		{0, 5, 16 * s / 10},
		{0, 13, 4096 * s / 10},
	} {
		if got := inAMoment([]quota.Statement{left(0, 24, test.reset)}, test.n); got != test.want {
			t.Errorf("reset in %v, refused %d times in a row: %v, want %v", test.reset, test.n, got, test.want)
		}
	}
	if got, want := inAMoment([]quota.Statement{left(1, 24, 2*s)}, 5), 16*s/10; got != want {
		t.Errorf("something remains: %v, want %v", got, want)
	}
	b := newBucket(t, Config{})
	for n := range 20 {
		b.at(time.Duration(3*n) * s)
		now := refuses(left(0, 24, 2*s))
		now.HoldKnown = true
		if e := b.exchange(now); e.Hold < beyond(n+1) || e.Hold > 3*s/2 {
			t.Fatalf("after %d refusals: held for %v, want %v and 1.5 s at most", n+1, e.Hold, beyond(n+1))
		}
	}
}
