package adaptive

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
)

// TestLesson: what one process tells of a server is taken over by another, as its part.
func TestLesson(t *testing.T) {
	clock, now := wallClock(), time.Unix(1e9, 0)
	m := Memory{
		Rate: 4.7512, Growth: 1, Former: 10.04, Burst: 7, FailuresRefuse: true, At: now, Held: now.Add(time.Hour), Members: 2,
		Windows: []WindowMemory{
			{Name: "a", Limit: 10, Remaining: 3, Late: now.Add(time.Hour), Habits: Habits{Refill: 1.234, Floors: true, Price: &PriceMemory{Mean: 123}}},
			{Name: "b", Limit: 10, Remaining: 3, Late: now.Add(time.Hour)},
			{Name: "c", Limit: 10, Late: now.Add(time.Hour), Habits: Habits{BackAfter: 59_900 * time.Millisecond, BackWithin: 60_100 * time.Millisecond, BehindFailed: 2}},
		},
	}
	text := m.Lesson(1000)
	if want := `{"version":1,"windows":[{"name":"a","limit":10,"remaining":0,"floors":true,"refill":2.5,"price":{"mean":120}},{"name":"c","limit":10,"remaining":0,"backAfter":59000000000,"backWithin":61000000000,"behindFailed":2}],"rate":9.5,"former":20,"failuresRefuse":true}`; text != want {
		t.Fatalf("%s is told, want %s", text, want)
	}
	got, ok := ReadLesson(text, 4, now)
	want := Memory{
		Rate: 9.5 / 4, Former: 5, FailuresRefuse: true, At: now,
		Windows: []WindowMemory{
			{Name: "a", Limit: 10, Habits: Habits{Refill: 2.5 / 4, Floors: true, Price: &PriceMemory{Mean: 120}}},
			{Name: "c", Limit: 10, Habits: Habits{BackAfter: 59 * time.Second, BackWithin: 61 * time.Second, BehindFailed: 2}},
		},
	}
	if !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v is read, want %+v", got, want)
	}
	b := newBucket(t, Config{})
	b.exchange(says(left(9, 10, time.Minute)))
	if b.Inherit(b.now, &Memory{Rate: 1, Windows: []WindowMemory{{Limit: 10, Habits: Habits{Refill: 2}}, {Name: "a", Habits: Habits{Floors: true}}}}, clock) {
		t.Error("a rate is taken over of a server that states limits")
	}
	if r := &b.windows[0].refill; !r.refills || r.rate != 2 || len(b.kept) != 1 {
		t.Errorf("refills %v, at %v; %+v are kept", r.refills, r.rate, b.kept)
	}
	b.Inherit(b.now, &Memory{Windows: []WindowMemory{{Limit: 10, Habits: Habits{Refill: 5}}}}, clock)
	if rate := b.windows[0].refill.rate; rate != 2 {
		t.Errorf("a rate of %v takes the place of what is known", rate)
	}
}

// TestLessonFromProcessToProcess: runs of a tool that end before they have seen anything themselves tell what
// they were told.
func TestLessonFromProcessToProcess(t *testing.T) {
	m := Memory{Rate: 2, Members: 10, Windows: []WindowMemory{{Limit: 20, Habits: Habits{Refill: 2}}}}
	for range 5 {
		m, _ = ReadLesson(m.Lesson(1000), 10, time.Unix(1e9, 0))
		m.Members = 10
		if m.Rate != 2 || len(m.Windows) != 1 || m.Windows[0].Refill != 2 {
			t.Fatalf("%+v is read, want a rate of 2, and a refill of 2", m)
		}
	}
}

// TestLessonIsHarmless: whatever stands in a store.
func TestLessonIsHarmless(t *testing.T) {
	now := time.Unix(1e9, 0)
	for _, text := range []string{
		"", "x", "null", "[]", `{"version":2,"rate":1}`, `{"rate":1}`, `{"version":1}`, `{"version":1,"rate":-1}`, `{"version":1,"held":"9999-01-01T00:00:00Z"}`,
		`{"version":1,"windows":[{"limit":1,"late":"9999-01-01T00:00:00Z"}]}`, `{"version":1,"used":[{"kind":"log","span":1,"went":[0,1]}]}`,
	} {
		if m, ok := ReadLesson(text, 1, now); ok {
			t.Errorf("%s says %+v", text, m)
		}
	}
	m, _ := ReadLesson(`{"version":1,"rate":1e308,"windows":[`+strings.Repeat(`{"name":"x","refill":1e308,"floors":true},`, 99)+`{}]}`, -5, now)
	if len(m.Windows) > maxWindows || m.Rate != 0 {
		t.Errorf("%d windows, rate %v", len(m.Windows), m.Rate)
	}
	big := Memory{Together: []byte(`"` + strings.Repeat("x", 9000) + `"`), Rate: 1}
	if text := big.Lesson(8000); text != `{"version":1,"rate":1}` {
		t.Errorf("%d bytes are told", len(text))
	}
	for i := range maxWindows {
		big.Windows = append(big.Windows, WindowMemory{Name: fmt.Sprint(strings.Repeat("x", 1000), i), Habits: Habits{Floors: true}})
	}
	if text := big.Lesson(8000); text != "" {
		t.Errorf("%d bytes are told", len(text))
	}
}

// TestDivide: the pace at a silent server is shared out among processes.
func TestDivide(t *testing.T) {
	b := newBucket(t, Config{})
	refuseAtRate(b)
	rate := b.rate()
	for _, step := range []struct {
		members int
		want    float64
	}{{1, rate}, {2, rate / 2}, {0, rate / 2}, {4, rate / 4}, {1, rate}} {
		b.Divide(step.members)
		if b.rate() != step.want {
			t.Errorf("%d processes: %v, want %v", step.members, b.rate(), step.want)
		}
	}
}

// TestInheritAfterFailedLooks: who has looked in vain, and found nothing, takes over what others have found of
// a limit; who has found something does not.
func TestInheritAfterFailedLooks(t *testing.T) {
	const s = time.Second
	for name, test := range map[string]struct {
		own  func(w *window)
		told Habits
		want Habits // but for counts of failures
	}{
		"a look before the reset":        {func(w *window) { w.refill.doubtEarly.fail(0) }, Habits{Refill: 2}, Habits{Refill: 2}},
		"a look at the reset":            {func(w *window) { w.refill.emptyReset = true }, Habits{Refill: 2, Floors: true}, Habits{Refill: 2, Floors: true, EmptyReset: true}},
		"a look where none is stated":    {func(w *window) { w.seek.least = 3 * s }, Habits{BackAfter: 9 * s, BackWithin: 10 * s}, Habits{BackAfter: 9 * s, BackWithin: 10 * s}},
		"a look that found all":          {func(w *window) { w.seek.most = 3 * s }, Habits{BackAfter: 9 * s, BackWithin: 10 * s}, Habits{BackWithin: 3 * s}},
		"windows end with whole seconds": {func(w *window) { w.wholeSteps = right }, Habits{WholeSteps: 2, EmptyReset: true}, Habits{WholeSteps: 1, EmptyReset: true}},
		"it does not refill": {func(w *window) {
			w.refill.wrong()
			w.refill.wrong()
		}, Habits{Refill: 2, Floors: true}, Habits{Floors: true}},
	} {
		b := newBucket(t, Config{})
		b.exchange(says(quota.Statement{Limit: 10, Resolution: s}))
		w := b.window1()
		test.own(w)
		b.Inherit(b.now, &Memory{Windows: []WindowMemory{{Limit: 10, Habits: test.told}}}, wallClock())
		got := w.habits(w.heardAt)
		if got.EarlyFailed, got.RefillFailed = 0, 0; got != test.want {
			t.Errorf("%s: %+v is known, want %+v", name, got, test.want)
		}
	}
}

// TestInheritBeforeOverhear: what another process has learned is believed whether it comes before what the
// server said to that process, or after. Both are the same: a limit of 100, used up, that comes back at 10/s
// and whose resets are rounded down.
func TestInheritBeforeOverhear(t *testing.T) {
	heard := step(0, 100, 10*time.Second)
	inherit := func(b *bucket) {
		b.Inherit(b.now, &Memory{Windows: []WindowMemory{{Limit: 100, Habits: Habits{Refill: 10, Floors: true}}}}, wallClock())
	}
	overhear := func(b *bucket) { b.Overhear(b.now, &heard) }
	for name, steps := range map[string][]func(*bucket){"inherited first": {inherit, overhear}, "overheard first": {overhear, inherit}} {
		b := newBucket(t, Config{})
		for _, step := range steps {
			step(b)
		}
		w := b.window1()
		if r := &w.refill; !r.refills || r.rate != 10 || !w.reset.roundsDown {
			t.Errorf("%s: refills %v, at %v, rounds down %v; want true, 10/s, true", name, r.refills, r.rate, w.reset.roundsDown)
		}
		if early, late := w.reset.early.Sub(b.now), w.reset.late.Sub(b.now); early != 10*time.Second || late != 11*time.Second {
			t.Errorf("%s: reset in [%v, %v], want [10s, 11s]", name, early, late)
		}
		b.wantDue(100 * time.Millisecond)
	}
}

// TestOverhear: what another process heard counts where it is about the same reset and less.
func TestOverhear(t *testing.T) {
	for _, test := range []struct {
		name string
		said quota.Statement
		want int
	}{
		{"less", left(3, 10, time.Minute), 3},
		{"more", left(7, 10, time.Minute), 5},
		{"half a second off", left(3, 10, time.Minute+500*time.Millisecond), 3},
		{"another reset", left(3, 10, time.Minute+500*time.Millisecond+1), 5},
		{"a second and a half off, in whole seconds", step(3, 10, time.Minute+1500*time.Millisecond), 3},
		{"another reset in whole seconds", step(3, 10, time.Minute+1500*time.Millisecond+1), 5},
		{"two seconds off, an instant", quota.Statement{Limit: 10, Remaining: 3, Reset: time.Minute + 2*time.Second, ResetKnown: true, Absolute: true}, 3},
		{"no reset", quota.Statement{Limit: 10, Remaining: 3}, 5},
		{"reset now", left(3, 10, 0), 5},
	} {
		b := newBucket(t, Config{})
		b.exchange(says(left(5, 10, time.Minute)))
		b.Overhear(b.now, &test.said)
		if got := b.window1().remaining; got != test.want {
			t.Errorf("%s: %d remain, want %d", test.name, got, test.want)
		}
	}
	b := newBucket(t, Config{})
	b.Overhear(b.now, &quota.Statement{Limit: 10, Reset: time.Minute, ResetKnown: true})
	b.wantDue(time.Minute)

	b = newBucket(t, Config{})
	b.exchange(says(left(5, 10, 500*time.Millisecond)))
	b.Overhear(b.now, &quota.Statement{Limit: 10, Remaining: 3})
	b.wantOpen(5) // without a reset, it is not known whether that is about this window
}

// TestOverhearNextReset: what another process heard of the next reset does not undo what the window
// has learned: whether resets are rounded down, and since when nothing remains.
func TestOverhearNextReset(t *testing.T) {
	b := newBucket(t, Config{})
	b.exchange(refuses(step(0, 10, time.Second)))
	w := b.window1()
	w.reset.roundsDown, w.missedLooks, w.overlap.lastHeardBy = true, 3, b.Server
	b.at(2 * time.Second)
	count, heard := w.reset.count, step(4, 10, 5*time.Second)
	b.Overhear(b.now, &heard)
	if !w.reset.roundsDown || w.reset.early != b.now.Add(5*time.Second) || w.reset.late != b.now.Add(6*time.Second) {
		t.Errorf("rounds down %v, reset in [%v, %v]; want true, [5s, 6s]", w.reset.roundsDown, w.reset.early.Sub(b.now), w.reset.late.Sub(b.now))
	}
	if w.usedUpSince != 0 || w.missedLooks != 0 {
		t.Errorf("used up since %v, %d missed looks, and 4 remain", w.usedUpSince, w.missedLooks)
	}
	if w.reset.count != count+1 || w.overlap.lastHeardBy != nil {
		t.Error("it does not count as another reset")
	}

	b.at(10 * time.Second)
	w.missedLooks = 3
	heard.Remaining = 0
	b.Overhear(b.now, &heard)
	if w.usedUpSince != b.now || w.missedLooks != 3 {
		t.Errorf("used up since %v, %d missed looks; want now, and 3: nothing has come back", w.usedUpSince.Sub(start), w.missedLooks)
	}
}

// TestOverhearOfTheWindowBefore: windows of two seconds whose resets are whole seconds look the same to
// processes whose clocks differ. What was said of the one before is not taken for what is left of the one that
// has begun.
func TestOverhearOfTheWindowBefore(t *testing.T) {
	instant := func(remaining int, reset time.Duration) *quota.Statement {
		st := step(remaining, 10, reset)
		st.Absolute = true
		return &st
	}
	b := newBucket(t, Config{})
	b.exchange(says(*instant(0, 2*time.Second)))
	b.at(1900 * time.Millisecond)
	b.exchange(says(*instant(9, 2100*time.Millisecond)))
	for _, test := range []struct {
		in   time.Duration // until the reset of which the other one heard
		left int
	}{{100 * time.Millisecond, 9}, {time.Second, 9}, {1200 * time.Millisecond, 4}, {2100 * time.Millisecond, 3}, {3 * time.Second, 2}} {
		b.Overhear(b.now, instant(min(test.left, 4), test.in))
		if got := b.window1().remaining; got != test.left {
			t.Errorf("a reset in %v: %d remain, want %d", test.in, got, test.left)
		}
	}
}

// TestOverhearOfTheWindowBeforeOneOverheard: the same where this process knows the window that has begun from
// another one, whether it has seen an earlier one itself or has heard of that, too.
func TestOverhearOfTheWindowBeforeOneOverheard(t *testing.T) {
	instant := func(remaining int, at, now time.Duration) *quota.Statement {
		st := step(remaining, 10, at-now)
		st.Absolute = true
		return &st
	}
	b := newBucket(t, Config{})
	b.exchange(says(*instant(0, 2*time.Second, 0)))
	for end := 4 * time.Second; end <= 8*time.Second; end += 2 * time.Second { // of a window
		now := end - 1900*time.Millisecond
		b.at(now)
		b.Overhear(b.now, instant(9, end, now))
		for _, test := range []struct {
			before time.Duration // the end of this window
			left   int
		}{{1800 * time.Millisecond, 9}, {1200 * time.Millisecond, 9}, {800 * time.Millisecond, 4}} {
			b.Overhear(b.now, instant(4, end-test.before, now))
			if got := b.window1().remaining; got != test.left {
				t.Errorf("window to %v, a reset %v before its end: %d remain, want %d", end, test.before, got, test.left)
			}
		}
	}
}

// TestInUnits: other processes are told milliseconds as what they are.
func TestInUnits(t *testing.T) {
	b := inMillis(t)
	other := *bare(30, 60)
	other.Name = "other"
	said := []quota.Statement{other, *bare(20, 4000)}
	b.exchange(says(said...))
	got, want := b.InUnits(said), slices.Clone(said)
	want[1].Reset, want[1].Resolution = 4*time.Second, time.Millisecond
	if !slices.Equal(got, want) || said[1] != *bare(20, 4000) {
		t.Errorf("%+v is told of %+v, want %+v", got, said, want)
	}
	if alike := b.InUnits(said[:1]); &alike[0] != &said[0] {
		t.Error("a copy is made of what is told as it was heard")
	}
}

// TestOverheardWindowBegan: a window of which another process was told began about now, and that is known to
// half a round trip of ours.
func TestOverheardWindowBegan(t *testing.T) {
	const ms = time.Millisecond
	b := newBucket(t, Config{})
	asked := b.send()
	b.at(40*ms).done(asked, says(quota.Statement{Limit: 10, Remaining: 9, ResetKnown: true, Reset: 5 * time.Second, Resolution: time.Second}))
	b.at(6*time.Second).Overhear(b.now, &quota.Statement{Limit: 10, Remaining: 1, ResetKnown: true, Reset: 4780 * ms, Resolution: time.Second})
	b.at(6100 * ms).exchange(says(quota.Statement{Limit: 10}))
	b.wantDue(10_020*ms - 6100*ms)
}
