package adaptive

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/whose"
)

// TestSilentHold: a server that says nothing is looked at again as a row of it says, if it has served one,
// however often it was refused.
func TestSilentHold(t *testing.T) {
	for _, served := range []bool{false, true} {
		b := newBucket(t, Config{})
		if served {
			b.exchange(Answer{})
		}
		b.exchange(Answer{Refused: true})
		for n := 1; n < 30; n++ {
			b.refusals = n
			want := unsaid(n)
			if served {
				want = time.Second // the first look is as soon as a whole second of the row
				if n <= 2 {
					want = firstHold << (n - 1)
				}
			}
			if got := b.silentHold(b.now, 0); got != want {
				t.Errorf("a row %v: %v after %d refusals, want %v", served, got, n, want)
			}
		}
	}
}

// TestAHintOfNothing: a server that refuses and says "ask now" says nothing. So the looks after a row are those
// after refusals without a hint.
func TestAHintOfNothing(t *testing.T) {
	holds := func(a Answer) (all []time.Duration) {
		b := newBucket(t, Config{Random: func() float64 { return 1 }})
		for range 10 {
			b.exchange(Answer{})
		}
		for range 12 {
			all = append(all, b.exchange(a).Hold)
			b.at(b.now.Add(all[len(all)-1]).Sub(start))
		}
		return all
	}
	want := holds(Answer{Refused: true})
	for _, said := range []time.Duration{0, -time.Hour} {
		if got := holds(Answer{Refused: true, Hold: said, HoldKnown: true}); !slices.Equal(got, want) {
			t.Errorf("a hint of %v: holds of %v, want %v as without one", said, got, want)
		}
	}
}

// TestHintOfCenturies: a hint that is longer than any hold is obeyed as long as MaxHold has it, also after it
// was obeyed three times.
func TestHintOfCenturies(t *testing.T) {
	const longest = time.Duration(math.MaxInt64)
	b := newBucket(t, Config{})
	for n := range 6 {
		b.at(time.Duration(n) * 15 * time.Minute)
		if e := b.exchange(Answer{Refused: true, Hold: longest, HoldKnown: true}); e.Hold != 15*time.Minute {
			t.Errorf("after %d refusals, nothing goes for %v, want 15m", n+1, e.Hold)
		}
	}
}

// TestHold: for how long a bucket is held after answers in a row.
func TestHold(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	hint := func(d time.Duration) Answer { return Answer{Refused: true, Hold: d, HoldKnown: true} }
	silent := Answer{Refused: true}
	for _, test := range []struct {
		name    string
		answers []Answer
		want    []time.Duration
	}{
		{"silent refusals double", []Answer{silent, silent, silent, silent}, []time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms}},
		{"up to MaxHold", []Answer{silent, silent, silent, silent, silent, silent}, []time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 2 * s}},
		{"an answer begins anew", []Answer{silent, silent, {}, silent}, []time.Duration{100 * ms, 200 * ms, 0, 100 * ms}},
		{"a lost one does not", []Answer{silent, {Lost: true}, silent}, []time.Duration{100 * ms, 0, 200 * ms}},
		{"hint", []Answer{hint(s), hint(s)}, []time.Duration{s, s}},
		{"hint that is refused again and again", []Answer{hint(s), hint(s), hint(s), hint(s), hint(s)}, []time.Duration{s, s, s, 3 * s / 2, 2 * s}},
		{"hint that is too short", []Answer{hint(ms), hint(ms)}, []time.Duration{ms, 100 * ms}},
		{"hint above MaxHold", []Answer{hint(time.Hour)}, []time.Duration{2 * s}},
		{"hint of zero", []Answer{hint(0), hint(0)}, []time.Duration{100 * ms, 200 * ms}},
		{"hint below zero", []Answer{hint(-s)}, []time.Duration{100 * ms}},
		{"hint with an answer", []Answer{{Hold: s, HoldKnown: true}}, []time.Duration{s}},
		{"the window says when", []Answer{refuses(left(0, 10, s))}, []time.Duration{0}},
		{"the window does not explain it", []Answer{refuses(left(5, 10, s))}, []time.Duration{100 * ms}},
	} {
		b := newBucket(t, Config{MaxHold: 2 * s})
		for i, a := range test.answers {
			if e := b.exchange(a); e.Hold != test.want[i] || e.Refused != a.Refused || e.PushedBack != a.Refused {
				t.Errorf("%s: answer %d: %+v, want a hold of %v", test.name, i, e, test.want[i])
			}
		}
	}
}

// TestHoldBurst: requests that were in flight when a refusal came back say nothing new.
func TestHoldBurst(t *testing.T) {
	b := newBucket(t, Config{})
	var burst []*Ticket
	for range 5 {
		burst = append(burst, b.send())
	}
	for i, r := range burst {
		if e := b.done(r, Answer{Refused: true}); e.PushedBack != (i == 0) || e.Hold != firstHold {
			t.Errorf("refusal %d: %+v", i, e)
		}
	}
}

// TestSooner: a hint is not obeyed to its end where tokens were there long before the reset that was stated
// with it: the hold is as long as one takes, doubled with each refusal in a row. After three of these the hint
// is obeyed.
func TestSooner(t *testing.T) {
	const s = time.Second
	refused := func(in, step time.Duration, stated ...quota.Statement) Answer {
		a := refuses(stated...)
		a.Hold, a.HoldKnown, a.HoldResolution = in, true, step
		return a
	}
	second := quota.Statement{Name: "other", Limit: 5, Reset: s, ResetKnown: true, Resolution: s}
	for _, test := range []struct {
		name   string
		served int
		answer Answer
		hint   bool
	}{
		{"as before", 6, refused(s, s, spent(s)), false},
		{"nothing is known", 1, refused(s, s, spent(s)), true},
		{"found once", 2, refused(s, s, spent(s)), true},
		{"longer than the last step", 6, refused(2*s, s, spent(s)), true},
		{"not in steps", 6, refused(s, 0, spent(s)), true},
		{"another limit is used up as well", 6, refused(s, s, spent(s), second), true},
		{"no limit is stated", 6, refused(s, s), true},
	} {
		b := strict(t, test.served)
		e := b.exchange(test.answer)
		want := b.windows[0].refill.token()
		if test.hint {
			want = test.answer.Hold
		}
		if e.Hold != want || e.Said != want {
			t.Errorf("%s: held for %v, said %v; want %v", test.name, e.Hold, e.Said, want)
		}
	}
	b := strict(t, 12)
	for n := range 4 {
		e, want := b.exchange(refused(s, s, spent(s))), s
		if n < mostSooner {
			want = b.windows[0].refill.token() << n
		}
		if e.Hold.Round(time.Microsecond) != want.Round(time.Microsecond) {
			t.Errorf("refusal %d in a row: held for %v, want %v", n+1, e.Hold, want)
		}
		b.at(b.now.Sub(start) + e.Hold)
	}
}

// suspicious is a Judge that has seen one claim be refused twice, while ten others were served.
func suspicious() (j whose.Judge) {
	var p Past
	j.Refuse(1, &p, &whose.Refusal{Granted: 1, Answer: 2})
	for i := range 10 {
		j.Served(1, Kind{}, uint64(3+i), nil)
	}
	j.Refuse(1, &p, &whose.Refusal{Granted: 20, Served: 10, Answer: 21})
	return j
}

// Where some requests may never be taken, a hint is not stretched, however often it is obeyed in vain, and
// looks at a server that says nothing come after five seconds at most, until nothing was served for five
// minutes.
func TestHoldsWhereSomeAreNeverTaken(t *testing.T) {
	for _, test := range []struct {
		suspects   bool
		hint, last time.Duration // after the twelfth refusal in a row, the last one after so long
		want       time.Duration
	}{
		{false, 5 * time.Second, time.Minute, 30 * time.Second},
		{true, 5 * time.Second, time.Minute, 5 * time.Second},
		{false, 0, time.Minute, 30 * time.Second},
		{true, 0, time.Minute, 5 * time.Second},
		{true, 0, 5 * time.Minute, 150 * time.Second},
	} {
		b := newBucket(t, Config{})
		b.exchange(Answer{})
		var e Effect
		for i := range 12 {
			if i == 11 {
				b.at(test.last)
			}
			if b.judge = (whose.Judge{}); test.suspects {
				b.judge = suspicious()
			}
			e = b.exchange(Answer{Refused: true, Hold: test.hint, HoldKnown: test.hint > 0})
		}
		if e.Hold != test.want {
			t.Errorf("%+v: held for %v", test, e.Hold)
		}
	}
}
