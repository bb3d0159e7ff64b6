package adaptive

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
)

// again returns a new bucket that knows what b has learned, so long after b's latest answer.
func again(t *testing.T, b *bucket, after time.Duration) *bucket {
	t.Helper()
	clock := wallClock()
	m := b.Memory(b.now, clock)
	m.Prune(clock.Date(b.now.Add(after)))
	text, err := json.Marshal(m)
	if err == nil {
		m = Memory{}
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	later := newBucket(t, b.config)
	later.now = b.now.Add(after)
	later.Remember(later.now, &m, clock)
	return later
}

// TestHabitsOutlastTheReset: what is true of a limit after its reset is known when the server states the limit
// again.
func TestHabitsOutlastTheReset(t *testing.T) {
	whole := quota.Statement{Limit: 9, Remaining: 9, ResetKnown: true, Reset: 5 * time.Second, Resolution: time.Second}
	for name, test := range map[string]struct {
		learned []Answer
		first   Answer // of the later run
		want    Habits // after that
	}{
		"floors":        {[]Answer{refuses(quota.Statement{Limit: 9, ResetKnown: true, Resolution: time.Second})}, says(whole), Habits{Floors: true}},
		"refills":       {[]Answer{says(left(5, 10, 5*time.Second)), says(left(4, 10, 6*time.Second))}, says(left(9, 10, time.Second)), Habits{Refill: 1}},
		"another limit": {[]Answer{says(left(5, 10, 5*time.Second)), says(left(4, 10, 6*time.Second))}, says(left(9, 20, time.Second)), Habits{}},
		"nothing":       {[]Answer{says(left(5, 10, 5*time.Second))}, says(left(9, 10, time.Second)), Habits{}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBucket(t, Config{MaxHold: 15 * time.Minute})
			for _, a := range test.learned {
				b.exchange(a)
			}
			later := again(t, b, time.Hour)
			if len(later.windows) != 0 || !later.Fresh() {
				t.Fatal("a window is known before the server states it")
			}
			unused := again(t, later, time.Hour) // a run in which the server states nothing keeps them
			for _, b := range []*bucket{later, unused} {
				b.exchange(test.first)
				if got := b.windows[0].habits(b.windows[0].heardAt); !reflect.DeepEqual(got, test.want) {
					t.Errorf("got %+v, want %+v", got, test.want)
				}
				if len(b.kept) != 0 {
					t.Errorf("%+v are kept twice", b.kept)
				}
			}
		})
	}
}

// TestHabitsOfAPrice: what requests cost in the mean is known in the next run.
func TestHabitsOfAPrice(t *testing.T) {
	p := &price{}
	if got := p.habit(); got != nil {
		t.Errorf("a price that is not known: %+v", got)
	}
	for range 40 {
		p.count(&Kind{Verb: "POST", Path: "/dear"})
		p.learn(400, 0)
		p.count(&Kind{Verb: "POST", Path: "/cheap"})
		p.learn(40, 0)
	}
	m := p.habit()
	again := m.price()
	if kind := (Kind{Verb: "POST", Path: "/dear"}); !again.known() || again.of(&kind) != p.mean || again.variance != p.variance || *again.habit() != *m {
		t.Errorf("%+v, want the mean and the variance of %+v", again, p)
	}
	for _, bad := range []PriceMemory{{Mean: math.NaN()}, {Mean: -1}, {Mean: math.Inf(1)}, {Variance: math.NaN()}, {Variance: -1}} {
		if bad.price() != nil {
			t.Errorf("%+v is a price", bad)
		}
	}
}

// TestBurstIsLent: a silent server that has idled is sent the burst at once that an earlier run has found, and
// then nothing until that has come back.
func TestBurstIsLent(t *testing.T) {
	b := newBucket(t, Config{SlowStart: true, MaxHold: 15 * time.Minute})
	b.Restart(true)
	for range 12 { // of 20 at once and 10 a second, it serves 12 a second for two seconds and more
		b.exchange(Answer{})
	}
	b.at(time.Second)
	for range 18 {
		b.exchange(Answer{})
	}
	b.exchange(Answer{Refused: true})
	for i := range 10 {
		b.at(time.Duration(i+11) * 100 * time.Millisecond)
		b.exchange(Answer{})
	}
	b.exchange(Answer{Refused: true})
	m := b.Memory(b.now, wallClock())
	if m.Burst < 15 || m.Burst > 22 || m.Rate < 9 || m.Rate > 10 {
		t.Fatalf("a burst of %d and a rate of %v are known, want about 20 and 9.5", m.Burst, m.Rate)
	}
	one := limit.Demand{Claims: 1, N: 1}
	for _, test := range []struct {
		after time.Duration
		want  int
	}{{time.Second, 0}, {time.Hour, m.Burst}} {
		later := again(t, b, test.after)
		n := 0
		for later.Open(later.now, &one, nil, 0) && n < 100 {
			later.exchange(Answer{})
			n++
		}
		if n != test.want {
			t.Errorf("%v later %d go at once, want %d", test.after, n, test.want)
		}
		if n == 0 {
			continue
		}
		if at := later.DueFrom(limit.Due{At: later.now}, &limit.Demand{}, &one, nil, 0, false).At; math.Abs(at.Sub(later.now).Seconds()-float64(n+1)/m.Rate) > 0.1 {
			t.Errorf("the next one goes %v later, want %v s", at.Sub(later.now), float64(n+1)/m.Rate)
		}
		if got := later.Memory(later.now, wallClock()).Burst; got != m.Burst {
			t.Errorf("a burst of %d is kept, want %d", got, m.Burst)
		}
	}
	later := again(t, b, time.Hour)
	later.exchange(Answer{})
	later.exchange(Answer{Refused: true}) // it has not come back
	if got := later.Memory(later.now, wallClock()).Burst; got != 0 {
		t.Errorf("a burst of %d is known although it was refused", got)
	}
}

// TestFailuresAreKnownToRefuse: a run begins with what an earlier one has found out about a 503 without a word.
func TestFailuresAreKnownToRefuse(t *testing.T) {
	b := newBucket(t, Config{})
	b.overload.Believe()
	later := again(t, b, time.Hour)
	if !later.MayRefuse(nil) {
		t.Fatal("it is not known that failures refuse")
	}
	a := Answer{MayRefuse: true}
	later.exchange(a)
	if later.refusals != 1 {
		t.Error("a failure is not taken for a refusal")
	}
}

// TestResumedRefillAwaitsTheReset: of an estimated window that was idle, nothing comes back before its first
// reset, and an earlier run saw how it comes back then.
func TestResumedRefillAwaitsTheReset(t *testing.T) {
	for _, test := range []struct {
		empty bool // a reset brought nothing, in the earlier run
		paced bool // after a second refusal
	}{{true, true}, {false, false}} {
		b := newBucket(t, Config{})
		clock := wallClock()
		b.Remember(b.now, &Memory{At: clock.Date(b.now), Windows: []WindowMemory{{Limit: 10, Habits: Habits{Refill: 1, EmptyReset: test.empty}}}}, clock)
		b.exchange(says(left(0, 10, 10*time.Second)))
		b.wantDue(time.Second)
		b.at(time.Second).exchange(refuses(left(0, 10, 9*time.Second)))
		if got := b.dueAfter(0, 1); test.empty && got != 9*time.Second {
			t.Errorf("after a refusal, the next one goes in %v, want at the reset", got)
		}
		b.at(10 * time.Second).exchange(refuses(left(0, 10, 10*time.Second)))
		if got := b.window1().refill.refills; got != test.paced {
			t.Errorf("a reset was empty %v: refills %v after two refusals, want %v", test.empty, got, test.paced)
		}
	}
}
