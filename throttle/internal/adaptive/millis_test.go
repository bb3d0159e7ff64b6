package adaptive

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/counter"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// bare is a statement of a limit and of a reset that is a bare number, as package headers reads it: in seconds.
func bare(limit, n int) *quota.Statement {
	return &quota.Statement{Limit: int64(limit), Remaining: 1, Reset: time.Duration(n) * time.Second, ResetKnown: true, Resolution: time.Second}
}

// TestMillis: the clock tells milliseconds from seconds, and that it was mistaken.
func TestMillis(t *testing.T) {
	type answer struct{ sent, now, says int } // milliseconds, and what the server states
	countdown := func(from, says, step, n int, unit int) (all []answer) {
		for i := range n {
			all = append(all, answer{from + i*step - step, from + i*step, says - i*step/unit})
		}
		return all
	}
	inMillis, seconds := countdown(1000, 4980, 20, 6, 1), countdown(1000, 4980, 20, 200, 1000)
	for name, test := range map[string]struct {
		answers []answer
		want    string // the numbers of the answers after which the unit is another one
	}{
		"milliseconds":                       {inMillis, "4"},
		"seconds":                            {seconds, ""},
		"seconds, a minute each":             {countdown(100_000, 4980, 60_000, 50, 1000), ""},
		"always the same":                    {countdown(1000, 3600, 20, 100, 1<<30), ""},
		"all under way at once":              {[]answer{{0, 100, 4980}, {0, 120, 4960}, {0, 140, 4940}, {0, 160, 4920}, {0, 180, 4900}, {0, 200, 4880}, {0, 220, 4860}}, ""},
		"windows of which two answers speak": {[]answer{{0, 10, 5000}, {10, 20, 4990}, {60_000, 60_010, 5000}, {60_010, 60_020, 4990}, {120_000, 120_010, 5000}, {120_010, 120_020, 4990}}, ""},
		"of which three speak": {[]answer{
			{0, 10, 5000},
			{10, 20, 4990},
			{20, 30, 4980},
			{60_000, 60_010, 5000},
			{60_010, 60_020, 4990},
			{60_020, 60_030, 4980},
			{120_000, 120_010, 5000},
			{120_010, 120_020, 4990},
			{120_020, 120_030, 4980},
		}, "8"},
		"two counters in turns":      {[]answer{{0, 10, 3400}, {500, 510, 2900}, {1000, 1010, 3399}, {1500, 1510, 2899}, {2000, 2010, 3398}, {2500, 2510, 2898}}, ""},
		"a window that begins anew":  {slices.Concat(seconds[:50], countdown(2000, 3600, 20, 50, 1000), countdown(3000, 3600, 20, 50, 1000)), ""},
		"one that does not fit":      {slices.Concat(inMillis[:4], []answer{{1060, 1080, 4000}}, countdown(1100, 3980, 20, 3, 1)), ""},
		"milliseconds, then seconds": {slices.Concat(inMillis, countdown(2000, 3600, 20, 20, 1000)), "4 10"},
		"and again, for more":        {slices.Concat(inMillis, countdown(2000, 3600, 20, 20, 1000), countdown(2400, 4980, 20, 6, 1), countdown(2520, 4860, 20, 4, 1)), "4 10 32"},
	} {
		var m millis
		var got []string
		for i, a := range test.answers {
			st, another := m.read(monotime.Time(a.sent+1)*monotime.Time(time.Millisecond), monotime.Time(a.now+1)*monotime.Time(time.Millisecond), bare(20, a.says))
			if another {
				got = append(got, strconv.Itoa(i))
			}
			want := quota.Statement{Limit: 20, Remaining: 1, Reset: time.Duration(a.says) * time.Second, ResetKnown: true, Resolution: time.Second}
			if m.found {
				want.Reset, want.Resolution = time.Duration(a.says)*time.Millisecond, time.Millisecond
			}
			if st.Reset != want.Reset || st.Resolution != want.Resolution {
				t.Errorf("%s: answer %d is read as %v in steps of %v, want %v and %v", name, i, st.Reset, st.Resolution, want.Reset, want.Resolution)
			}
		}
		if s := strings.Join(got, " "); s != test.want {
			t.Errorf("%s: another unit after %q, want %q", name, s, test.want)
		}
	}
}

// TestMillisForgetSeconds: once resets are milliseconds, nothing is left of how long they were in seconds. A
// limit of which a reset moves on comes back in five seconds then, as one whose resets were milliseconds all
// along; and one that was taken to come back token by token within hours is a window again.
func TestMillisForgetSeconds(t *testing.T) {
	for _, step := range []time.Duration{time.Millisecond, time.Second} {
		b := newBucket(t, Config{})
		for i, in := range []int{4980, 4960, 4940, 4920, 4900, 4880, 5000} {
			b.now = b.now.Add(20 * time.Millisecond)
			st := bare(20, in)
			if st.Remaining = int64(19 - i); step == time.Millisecond {
				st.Reset, st.Resolution = st.Reset/1000, step
			}
			b.exchange(says(*st))
		}
		w := b.window1()
		if full := monotime.Seconds(20 / w.refill.rate); !w.refill.refills || full < 5*time.Second || full > 15*time.Second {
			t.Errorf("steps of %v: refills %v, in %v; want true, in 5s to 15s", step, w.refill.refills, full)
		}
		if w.renewal.span > 5*time.Second {
			t.Errorf("steps of %v: a window is %v, want 5s at most", step, w.renewal.span)
		}
	}
	b := newBucket(t, Config{})
	for i, in := range []int{4500, 4700, 4680, 4660, 4640, 4620, 4600, 4580} {
		b.now = b.now.Add(20 * time.Millisecond)
		st := bare(20, in)
		st.Remaining = int64(7 - i)
		b.exchange(says(*st))
		if w := b.window1(); i == 1 && !w.refill.refills {
			t.Error("a reset has moved on, want a limit that refills")
		}
	}
	b.wantDue(4580 * time.Millisecond)
}

// TestMillisAreNotOverheard: what another process heard, which has not found out that resets are milliseconds,
// says nothing to one that has: the store keeps 3000 for 50 minutes.
func TestMillisAreNotOverheard(t *testing.T) {
	b := newBucket(t, Config{})
	for i := range 8 {
		b.now = b.now.Add(20 * time.Millisecond)
		b.exchange(says(*bare(20, 4980-20*i)))
	}
	if w := b.window1(); !w.millis.found || w.reset.late.Sub(b.now) != 4840*time.Millisecond {
		t.Fatalf("milliseconds %v, a reset in %v; want true, in 4.84s", w.millis.found, w.reset.late.Sub(b.now))
	}
	b.now = b.now.Add(6 * time.Second)
	other := bare(20, 3000)
	other.Remaining = 0
	b.Overhear(b.now, other)
	b.wantDue(0)
	other.Reset, other.Resolution = 3*time.Second, time.Millisecond // nor is it a bare number if it has milliseconds
	b.Overhear(b.now, other)
	b.wantDue(3 * time.Second)
}

// TestMillisOfACounter: a counter that is told apart from others begins with the unit that the clock has shown
// of all.
func TestMillisOfACounter(t *testing.T) {
	site := &Site{}
	whole, b := newBucketOf(t, site, Config{}), newBucketOf(t, site, Config{})
	for i := range 8 {
		whole.now = whole.now.Add(20 * time.Millisecond)
		whole.exchange(says(*bare(20, 4980-20*i)))
	}
	b.now = whole.now
	said := bare(20, 3000)
	said.Remaining = 0
	b.CountApart(b.now, whole.Server, "", counter.Stated{Statement: *said, Sent: b.now, Heard: b.now})
	b.wantDue(3 * time.Second)
	b.now = b.now.Add(3 * time.Second)
	b.exchange(says(*bare(20, 5000)))
	if w := b.window1(); w.reset.late.Sub(b.now) != 5*time.Second {
		t.Errorf("the next reset in %v, want 5s", w.reset.late.Sub(b.now))
	}
}

// TestMillisOfACounterOfDecimals: another process was told decimals, of milliseconds, and so was this one:
// there a bare number is one of seconds. So it is for a counter of the name that is told apart.
func TestMillisOfACounterOfDecimals(t *testing.T) {
	site := &Site{}
	whole, b := newBucketOf(t, site, Config{}), newBucketOf(t, site, Config{})
	decimal := *bare(20, 0)
	decimal.Reset, decimal.Resolution = 3500*time.Millisecond, time.Millisecond
	whole.exchange(says(decimal))
	whole.Overhear(whole.now, &decimal)
	said := bare(20, 3)
	said.Remaining = 0
	b.CountApart(b.now, whole.Server, "", counter.Stated{Statement: *said, Sent: b.now, Heard: b.now})
	b.now = b.now.Add(3 * time.Second)
	b.exchange(says(*bare(20, 5)))
	if w := b.window1(); w.reset.late.Sub(b.now) != 5*time.Second {
		t.Errorf("the next reset in %v, want 5s", w.reset.late.Sub(b.now))
	}
}

// TestMillisOfThePast: a reset that has passed is now, in whatever unit it is, and says nothing of that.
func TestMillisOfThePast(t *testing.T) {
	var m millis
	for i := range 8 {
		now := start.Add(time.Duration(20*i) * time.Millisecond)
		if st, another := m.read(now, now, bare(20, -4000-20*i)); another || st.Reset > 0 {
			t.Errorf("answer %d: in %v, another unit %v; want none", i, st.Reset, another)
		}
	}
	if m.bits != 0 {
		t.Errorf("%v bits, want 0", m.bits)
	}
}

// secondsCounter is one of the counters of a server that states resets in seconds.
type secondsCounter struct{ window, phase float64 }

// reset is what it states at an instant, in seconds.
func (c *secondsCounter) reset(now float64) float64 {
	x := now + c.phase
	return c.window - (x - c.window*float64(int(x/c.window)))
}

// TestSecondsAreNotMillis: resets in seconds are not taken for milliseconds, though several counters state them
// under one name, in turns or at random, and windows are renewed early, clocks run off or jump, or a reset is
// always as far away.
func TestSecondsAreNotMillis(t *testing.T) {
	const answers = 3000
	seeds, wrong := whole.Or[uint64](1000, 20_000), 0
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 1))
		counters := make([]secondsCounter, 1+r.IntN(4))
		for i := range counters {
			w := []float64{60, 300, 900, 3600, 86400}[r.IntN(5)]
			if r.IntN(4) == 0 {
				w = 10 + r.ExpFloat64()*2000
			}
			counters[i] = secondsCounter{w, r.Float64() * w}
		}
		gap, trip := 0.001+r.ExpFloat64()*[]float64{0.01, 0.3, 5}[r.IntN(3)], 0.002+0.2*r.Float64()
		even, inTurns, same := r.IntN(3) == 0, r.IntN(2) == 0, r.IntN(8) == 0
		jumps, drift := []float64{0, 0, 0.001, 0.1, 0.5}[r.IntN(5)], []float64{0, 0, 0, 0.01, -0.3, 2}[r.IntN(6)]
		m := millis{}
		for i, now := 0, 1e6; i < answers; i++ {
			if even {
				now += gap
			} else {
				now += gap * r.ExpFloat64()
			}
			c := &counters[r.IntN(len(counters))]
			if inTurns {
				c = &counters[i%len(counters)]
			}
			if r.Float64() < jumps {
				c.phase = r.Float64() * c.window
			}
			c.phase += gap * drift
			in := c.reset(now)
			if same {
				in = c.window
			}
			at := func(s float64) monotime.Time { return monotime.Time(s * 1e9) }
			st := quota.Statement{ResetKnown: true, Reset: time.Duration(in+1) * time.Second, Resolution: time.Second}
			if _, another := m.read(at(now-trip*r.Float64()), at(now+trip*r.Float64()), &st); another {
				wrong++
				t.Logf("seed %d, answer %d: %v, gap %v, trip %v, even %v, in turns %v, jumps %v, drift %v", seed, i, counters, gap, trip, even, inTurns, jumps, drift)
				break
			}
		}
	}
	if most := int(seeds / 4000); wrong > most { // of 20 000, 3 are
		t.Errorf("%d of %d servers are taken for such of milliseconds, want %d at most", wrong, seeds, most)
	}
}

// inMillis has a server be heard to state milliseconds: 20 that end five seconds after the first answer.
func inMillis(t *testing.T) *bucket {
	t.Helper()
	b := newBucket(t, Config{})
	for i := range 8 {
		st := bare(20, 4980-20*i)
		st.Remaining = int64(19 - i)
		b.now = b.now.Add(20 * time.Millisecond)
		b.exchange(says(*st))
	}
	return b
}

// TestMillisAreTold: what another process has found out is believed, whatever was heard before, by this process
// or by others; but not where this one knows better.
func TestMillisAreTold(t *testing.T) {
	raw, read, half := *bare(20, 3000), *bare(20, 3), *bare(20, 4)
	read.Resolution, half.Reset, half.Resolution = time.Millisecond, 3500*time.Millisecond, 500*time.Millisecond
	raw.Remaining, read.Remaining, half.Remaining = 0, 0, 0
	hear := func(st quota.Statement) func(*bucket) { return func(b *bucket) { b.exchange(says(st)) } }
	told := func(st quota.Statement) func(*bucket) { return func(b *bucket) { b.Overhear(b.now, &st) } }
	sleep := func(b *bucket) { b.now = b.now.Add(10 * time.Second) }
	learn := func(b *bucket) {
		b.Inherit(b.now, &Memory{Windows: []WindowMemory{{Limit: 20, Habits: Habits{Millis: true}}}}, wallClock())
	}
	for name, test := range map[string]struct {
		steps []func(*bucket)
		reset time.Duration // in which it is known to come; zero if it is not
		are   bool
	}{
		"seconds":                                 {[]func(*bucket){hear(raw)}, 50 * time.Minute, false},
		"seconds of another process":              {[]func(*bucket){told(raw)}, 50 * time.Minute, false},
		"heard before":                            {[]func(*bucket){hear(raw), told(read)}, 3 * time.Second, true},
		"heard after":                             {[]func(*bucket){told(read), hear(raw)}, 3 * time.Second, true},
		"told before":                             {[]func(*bucket){told(raw), told(read)}, 3 * time.Second, true},
		"told after":                              {[]func(*bucket){told(read), told(raw)}, 3 * time.Second, true},
		"told after the reset":                    {[]func(*bucket){told(read), sleep, told(raw)}, 0, true},
		"told of milliseconds alone":              {[]func(*bucket){told(read)}, 3 * time.Second, false},
		"heard in other steps":                    {[]func(*bucket){hear(half), told(read), sleep, hear(raw)}, 50 * time.Minute, false},
		"told in other steps":                     {[]func(*bucket){told(half), sleep, hear(raw)}, 50 * time.Minute, false},
		"learned before":                          {[]func(*bucket){learn, hear(raw)}, 3 * time.Second, true},
		"learned before others say":               {[]func(*bucket){learn, told(raw)}, 0, false}, // no window yet
		"learned before others say what they say": {[]func(*bucket){learn, told(raw), told(read)}, 3 * time.Second, true},
		"learned after":                           {[]func(*bucket){hear(raw), learn, hear(raw)}, 3 * time.Second, true},
		"learned after others said":               {[]func(*bucket){told(raw), learn}, 0, true}, // no reset is known
		"learned where steps are others":          {[]func(*bucket){hear(half), learn, sleep, hear(raw)}, 50 * time.Minute, false},
	} {
		b := newBucket(t, Config{})
		for _, step := range test.steps {
			step(b)
		}
		var reset time.Duration
		are := false
		if len(b.windows) > 0 {
			w := b.window1()
			reset, are = max(w.reset.late.Sub(b.now), 0), w.millis.found
			if due := b.dueAfter(0, 1); due > max(reset, time.Second) {
				t.Errorf("%s: a request may go in %v, and the reset comes in %v", name, due, reset)
			}
		}
		if reset != test.reset || are != test.are {
			t.Errorf("%s: a reset in %v, milliseconds %v; want %v, %v", name, reset, are, test.reset, test.are)
		}
	}
}

// TestMillisAreBelievedOnce: a process that was told of milliseconds, and hears three answers that are none,
// does not believe it again.
func TestMillisAreBelievedOnce(t *testing.T) {
	b := newBucket(t, Config{})
	told := *bare(20, 3)
	told.Resolution = time.Millisecond
	for i := range 3 {
		b.Overhear(b.now, &told)
		for j := range 5 {
			b.now = b.now.Add(10 * time.Second)
			st := *bare(20, 3600-50*i-10*j)
			st.Remaining = int64(19 - j)
			b.exchange(says(st))
		}
		if m := b.window1().millis; m.found || m.mistaken != 1 {
			t.Errorf("round %d: milliseconds %v, mistaken %d times, want false and 1", i, m.found, m.mistaken)
		}
	}
}

// TestMillisOfAnEarlierRun: a run that begins in the middle of a window, when nothing is left, knows the unit
// from the run before; and so does the next one, if it hears of no reset.
func TestMillisOfAnEarlierRun(t *testing.T) {
	b := inMillis(t) // until 5 s
	for _, after := range []time.Duration{time.Second, time.Minute} {
		later := again(t, again(t, b, after/2), after/2)
		in := int(5*time.Second-later.now.Sub(start)) / int(time.Millisecond)
		if in < 0 {
			in = 5000
		}
		last := *bare(20, in)
		last.Remaining = 0
		later.exchange(says(last))
		later.wantDue(time.Duration(in) * time.Millisecond)
		if text := later.Memory(later.now, wallClock()).Windows; len(text) != 1 || !text[0].Millis {
			t.Errorf("after %v: %+v is kept", after, text)
		}
	}
}

// TestMillisAreInherited: a process that was refused at resets which it read as seconds, and hears from another
// one that they are milliseconds, looks soon.
func TestMillisAreInherited(t *testing.T) {
	b := newBucket(t, Config{})
	last := bare(20, 3)
	last.Remaining = 0
	b.exchange(says(*last))
	for range 3 { // others take what comes back
		b.now = b.now.Add(4 * time.Second)
		b.exchange(refuses(*last))
	}
	if missed := b.window1().missedLooks; missed != 1 {
		t.Fatalf("%d looks at a reset were refused, want 1", missed)
	}
	b.Inherit(b.now, &Memory{Windows: []WindowMemory{{Limit: 20, Habits: Habits{Millis: true}}}}, wallClock())
	b.wantDue(firstLook)
}
