package adaptive

import (
	"fmt"
	"reflect"
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
			{Name: "a", Limit: 10, Remaining: 3, Late: now.Add(time.Hour), Habits: Habits{Refill: 1.234, Floors: true, Price: &PriceMemory{Mean: 123, Kinds: map[string]float64{"x": 1}}}},
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
		`{"version":1,"windows":[{"limit":1,"late":"9999-01-01T00:00:00Z"}]}`, `{"version":1,"used":[{"kind":"plain","span":1,"went":[0,1]}]}`,
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
