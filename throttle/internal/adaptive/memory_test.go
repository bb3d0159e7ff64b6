package adaptive

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/pace"
)

// wallClock returns a clock that has started.
func wallClock() *monotime.Clock {
	var c monotime.Clock
	c.Start()
	return &c
}

// In texts that are saved, a counter is called a bucket, as from the first build on.
func TestCounterIsBucketInMemory(t *testing.T) {
	const text = `{"name":"core","bucket":"search","remaining":3}`
	var m WindowMemory
	if err := json.Unmarshal([]byte(text), &m); err != nil || m.Counter != "search" {
		t.Errorf("read %+v, %v", m, err)
	}
	if got, err := json.Marshal(m); err != nil || string(got) != text {
		t.Errorf("wrote %s, %v, want %s", got, err, text)
	}
}

// TestMemoryRoundTrip: what was learned comes back through JSON, and holds requests back in the
// same way.
func TestMemoryRoundTrip(t *testing.T) {
	clock := wallClock()
	for _, test := range []struct {
		name    string
		learned []Answer
		want    WindowMemory // but for its instants
		due     time.Duration
	}{
		{"some left", []Answer{says(left(3, 10, time.Minute))}, WindowMemory{Limit: 10, Remaining: 3}, 0},
		{"used up", []Answer{refuses(left(0, 10, time.Minute))}, WindowMemory{Limit: 10}, time.Minute},
		{
			"rounded down",
			[]Answer{refuses(quota.Statement{Limit: 9, ResetKnown: true, Resolution: time.Second})},
			WindowMemory{Limit: 9, Resolution: time.Second, Began: time.Second, Habits: Habits{Floors: true}},
			2 * time.Second / 9,
		},
		{
			"span, unit, bucket",
			[]Answer{says(quota.Statement{Name: "a", Counter: "b", Unit: "tokens", Remaining: 7, ResetKnown: true, Reset: time.Hour, Window: 2 * time.Hour})},
			WindowMemory{Name: "a", Counter: "b", Unit: "tokens", Remaining: 7, Span: 2 * time.Hour},
			0,
		},
		{"refills", []Answer{says(left(5, 10, 5*time.Second)), says(left(4, 10, 6*time.Second))}, WindowMemory{Limit: 10, Remaining: 4, Habits: Habits{Refill: 1}}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBucket(t, Config{})
			for _, a := range test.learned {
				b.exchange(a)
			}
			text, err := json.Marshal(b.Memory(b.now, clock))
			if err != nil {
				t.Fatal(err)
			}
			var m Memory
			if err := json.Unmarshal(text, &m); err != nil {
				t.Fatal(err)
			}
			later := newBucket(t, Config{})
			if later.Remember(later.now, &m, clock) {
				t.Error("known because of a rate")
			}
			again := later.Memory(later.now, clock)
			if len(again.Windows) != 1 {
				t.Fatalf("%d windows, want 1", len(again.Windows))
			}
			got := again.Windows[0]
			if !got.Early.Equal(m.Windows[0].Early) || !got.Late.Equal(m.Windows[0].Late) {
				t.Errorf("reset in %v and %v, want %v and %v", got.Early, got.Late, m.Windows[0].Early, m.Windows[0].Late)
			}
			got.Early, got.Late = time.Time{}, time.Time{}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
			later.wantDue(test.due)
		})
	}
}

// TestMemoryOfWhenTheWindowBegan: a later run knows when the window began that it loads, so that it looks at a
// whole number of steps after that, and not after it was loaded. Of what does not say it, as older files, it
// waits for the end of the stated step.
func TestMemoryOfWhenTheWindowBegan(t *testing.T) {
	const ms = time.Millisecond
	clock := wallClock()
	for _, test := range []struct {
		name      string
		remembers func(*WindowMemory)
		due       time.Duration // from the start. The window began at 200 ms; it ends from 3.96 to 5 s, by what is stated
		guess     guess
	}{
		{"as it was saved", func(*WindowMemory) {}, 4220 * ms, guessWholeSteps},
		{"as if it had begun 400 ms later", func(m *WindowMemory) { m.Began -= 400 * ms }, 4620 * ms, guessWholeSteps},
		{"of an older file", func(m *WindowMemory) { m.Began, m.BeganWithin = 0, 0 }, 5 * time.Second, noGuess},
		{"negative", func(m *WindowMemory) { m.Began, m.BeganWithin = -1, -1 }, 5 * time.Second, noGuess},
		{"of ages ago", func(m *WindowMemory) { m.Began, m.BeganWithin = math.MaxInt64, math.MaxInt64 }, 5 * time.Second, guessWholeSteps},
	} {
		b := newBucket(t, Config{})
		asked := b.at(180 * ms).send()
		b.at(220*ms).done(asked, says(quota.Statement{Limit: 20, Remaining: 19, ResetKnown: true, Reset: 4780 * ms, Resolution: time.Second}))
		m := b.at(700*ms).Memory(b.now, clock)
		test.remembers(&m.Windows[0])
		later := newBucket(t, Config{})
		later.at(700*ms).Remember(later.now, &m, clock)
		later.exchange(says(quota.Statement{Limit: 20}))
		if later.wantDue(test.due - 700*ms); later.window1().guess != test.guess {
			t.Errorf("%s: guess %v, want %v", test.name, later.window1().guess, test.guess)
		}
	}
}

// TestMemoryLeavesOutAnOpenQuestion: a part of a limit is back at the reset. While the next answer may show
// that the rest is, too, no rate is saved.
func TestMemoryLeavesOutAnOpenQuestion(t *testing.T) {
	const reset, span = 4 * time.Second, 4 * time.Second
	for _, test := range []struct {
		name    string
		after   time.Duration // the reset, the next answer comes
		left    int           // as it says
		refills bool          // is believed
		saved   bool
	}{
		{"a part at the reset", 0, 3, true, false},
		{"a little more", span/2 - 1, 12, true, false},
		{"most of it", span/2 - 1, 19, false, false},
		{"no more when a window would be back", span / 2, 3, true, true},
		{"most of it, as late as a bucket says", span / 2, 19, true, true},
	} {
		b := newBucket(t, Config{})
		b.exchange(says(left(0, 20, reset)))
		b.at(reset).exchange(says(left(3, 20, span)))
		if test.after > 0 {
			b.at(reset + test.after).exchange(says(left(test.left, 20, span-test.after)))
		}
		m := b.Memory(b.now.Add(time.Hour), wallClock()).Windows[0]
		if refills := b.window1().refill.refills; refills != test.refills || m.Refill > 0 != test.saved {
			t.Errorf("%s: refills %v, saved %v/s; want %v, saved %v", test.name, refills, m.Refill, test.refills, test.saved)
		}
	}
}

// TestMemoryCountsWhatIsInFlight: what was in flight when it was saved counts as used.
func TestMemoryCountsWhatIsInFlight(t *testing.T) {
	b := newBucket(t, Config{})
	b.exchange(says(left(3, 10, time.Minute)))
	b.send()
	if got := b.Memory(b.now, wallClock()).Windows[0].Remaining; got != 2 {
		t.Errorf("remaining %d, want 2", got)
	}
}

// TestRememberLeavesOutStale: what is out of date by the clock is not taken over.
func TestRememberLeavesOutStale(t *testing.T) {
	clock := wallClock()
	date := func(d time.Duration) time.Time { return clock.Date(start.Add(d)) }
	for _, test := range []struct {
		name    string
		m       Memory
		windows int
		rate    float64
	}{
		{"reset to come", Memory{Windows: []WindowMemory{{Late: date(1)}}}, 1, 0},
		{"reset now", Memory{Windows: []WindowMemory{{Late: date(0)}}}, 0, 0},
		{"no reset", Memory{Windows: []WindowMemory{{Limit: 10}}}, 0, 0},
		{"rate", Memory{Rate: 10, At: date(1 - rateKept)}, 0, 10},
		{"old rate", Memory{Rate: 10, At: date(-rateKept)}, 0, 0},
		{"rate of a server that states limits", Memory{Rate: 10, At: date(0), Windows: []WindowMemory{{Late: date(1)}}}, 1, 0},
		{"not a number", Memory{Rate: math.NaN(), At: date(0)}, 0, 0},
		{"infinite", Memory{Rate: math.Inf(1), At: date(0)}, 0, 0},
		{"negative", Memory{Rate: -1, At: date(0)}, 0, 0},
		{"growth is not a number", Memory{Rate: 1, Growth: math.NaN(), At: date(0)}, 0, 0},
	} {
		b := newBucket(t, Config{})
		known := b.Remember(b.now, &test.m, clock)
		if len(b.windows) != test.windows || b.rate() != test.rate || known != (test.rate > 0) {
			t.Errorf("%s: %d windows, rate %v, known %v; want %d windows, rate %v", test.name, len(b.windows), b.rate(), known, test.windows, test.rate)
		}
	}
}

// TestRememberIsBoundedByMaxHold: no rate in a damaged file holds requests back for longer than
// MaxHold.
func TestRememberIsBoundedByMaxHold(t *testing.T) {
	clock := wallClock()
	b := newBucket(t, Config{MaxHold: time.Minute})
	b.Remember(b.now, &Memory{Rate: 1e-300, At: clock.Date(b.now)}, clock)
	if got := b.dueAfter(0, 1); got > time.Minute {
		t.Errorf("a request may go in %v, want no more than a minute", got)
	}
	b.wantPaced()
}

// TestMemoryOfAPaceThatHasGrown: the pace grows while nobody asks, and while requests go more slowly than it
// for another reason. What is saved is what was served, as of the latest request.
func TestMemoryOfAPaceThatHasGrown(t *testing.T) {
	clock := wallClock()
	b := newBucket(t, Config{})
	refuseAtRate(b)
	refused, measured := b.now, b.Memory(b.now, clock)
	if measured.Rate != b.rate() || !measured.At.Equal(clock.Date(refused)) {
		t.Fatalf("%+v when a rate of %v was measured", measured, b.rate())
	}
	if m := b.at(time.Hour).Memory(b.now, clock); m.Rate != measured.Rate || !m.At.Equal(measured.At) {
		t.Errorf("an hour later %+v, want %+v", m, measured)
	}
	for _, test := range []struct {
		every time.Duration
		want  float64
	}{{time.Second, measured.Rate}, {125 * time.Millisecond, 8 + 1./10}} { // 5 a second were measured
		b = newBucket(t, Config{})
		refuseAtRate(b)
		for sent := time.Duration(0); sent <= 10*time.Second; sent += test.every {
			b.at(refused.Add(sent).Sub(start)).exchange(Answer{})
		}
		if m := b.Memory(b.now.Add(time.Minute), clock); m.Rate != test.want || !m.At.Equal(clock.Date(b.now)) {
			t.Errorf("after 10 s with a request each %v, and a minute without one: %+v; want a rate of %v", test.every, m, test.want)
		}
	}
}

// refuseAtRate has a silent server refuse, serve 10 in 2 s, and refuse again.
func refuseAtRate(b *bucket) {
	b.exchange(Answer{Refused: true})
	for i := range 10 {
		b.at(time.Duration(i+1) * 200 * time.Millisecond)
		b.exchange(Answer{})
	}
	b.exchange(Answer{Refused: true})
}

// TestSilentLimitIsKept: all that is known of a limit which nobody states is known in a later run, and by a
// bucket that begins with it: else the next run would ask for more at once, and be refused.
func TestSilentLimitIsKept(t *testing.T) {
	clock := wallClock()
	at := func(d time.Duration) monotime.Time { return monotime.Time(time.Hour + d) }
	for _, want := range []pace.Limit{
		{},
		{Size: 5, Least: 50 * time.Second, Most: time.Minute, Slack: time.Second, Next: at(10 * time.Minute), Gap: 20 * time.Minute, Went: []pace.Past{{At: at(0), N: 3}}},
		{Size: 20, Slides: true, Least: 1, Most: 2, Slack: 3, Next: at(4), Gap: 5, Went: []pace.Past{{At: at(-6), N: 1}, {At: at(7), N: 2}}},
	} {
		if got := silentMemory(&want, clock).limit(clock); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v comes back as %+v", want, got)
		}
	}
}

// TestPrune: each thing that was learned has its time, after which it is left out.
func TestPrune(t *testing.T) {
	now := time.Unix(1e9, 0)
	at := now.Add
	const day = 24 * time.Hour
	window := WindowMemory{Limit: 10, Late: at(100 * day)}
	habits := Habits{Floors: true, Refill: 5, Raises: true, Price: &PriceMemory{Mean: 7}}
	silent := func(ahead time.Duration) *SilentMemory {
		return &SilentMemory{Size: 5, Slides: true, Least: 1, Most: 2, Next: at(ahead + 9), Gap: 3, Went: allPast{{At: at(ahead - 5), N: 1}, {At: at(ahead - 4), N: 2}}}
	}
	for name, test := range map[string]struct{ m, want Memory }{
		"nothing":           {Memory{}, Memory{}},
		"reset to come":     {Memory{At: at(-1), Windows: []WindowMemory{{Late: at(1)}, {Late: at(0)}, {Name: "a"}}}, Memory{At: at(-1), Windows: []WindowMemory{{Late: at(1)}}}},
		"no reset":          {Memory{At: at(-1), Windows: []WindowMemory{{Limit: 10}}}, Memory{}},
		"hold":              {Memory{At: at(-1), Held: at(1)}, Memory{At: at(-1), Held: at(1)}},
		"hold that is over": {Memory{At: at(-1), Held: at(0)}, Memory{}},
		"rate":              {Memory{At: at(1 - day), Rate: 1, Growth: 2, Former: 3, Burst: 4}, Memory{At: at(1 - day), Rate: 1, Growth: 2, Former: 3, Burst: 4}},
		"old rate":          {Memory{At: at(-day), Rate: 1, Growth: 2, Former: 3, Burst: 4, Held: at(1)}, Memory{At: at(-day), Held: at(1)}},
		"silent":            {Memory{At: at(1 - day), Rate: 1, UpNext: at(2), UpGap: 3, Silent: silent(0)}, Memory{At: at(1 - day), Rate: 1, UpNext: at(2), UpGap: 3, Silent: silent(0)}},
		"old silent":        {Memory{At: at(-day), Rate: 1, UpNext: at(2), UpGap: 3, Silent: silent(0), Held: at(1)}, Memory{At: at(-day), Held: at(1)}},
		"silent, set back":  {Memory{At: at(day), Rate: 1, UpNext: at(day + 2), UpGap: 3, Silent: silent(day)}, Memory{At: now, Rate: 1, UpNext: at(2), UpGap: 3, Silent: silent(0)}},
		"habits":            {Memory{At: at(1 - day), Windows: []WindowMemory{{Remaining: 3, Late: at(0), Habits: habits}}}, Memory{At: at(1 - day), Windows: []WindowMemory{{Habits: habits}}}},
		"old habits":        {Memory{At: at(-day), Windows: []WindowMemory{{Habits: habits}}}, Memory{At: at(-day), Windows: []WindowMemory{{Habits: Habits{Floors: true}}}}},
		"habits of a month": {Memory{At: at(-31 * day), Windows: []WindowMemory{{Habits: habits}}}, Memory{}},
		"failures":          {Memory{At: at(-1), FailuresRefuse: true}, Memory{At: at(-1), FailuresRefuse: true}},
		"not a rate":        {Memory{At: at(-1), Rate: -1}, Memory{}},
		"for years":         {Memory{At: at(1 - 31*day), Held: at(1000 * day), Windows: []WindowMemory{window}}, Memory{At: at(1 - 31*day), Held: at(1000 * day), Windows: []WindowMemory{window}}},
		"a month old":       {Memory{At: at(-31 * day), Held: at(1000 * day), Windows: []WindowMemory{window}}, Memory{}},
		"of no instant":     {Memory{Windows: []WindowMemory{window}}, Memory{At: now, Windows: []WindowMemory{window}}},
		"by a clock that was set back": {
			Memory{At: at(day), Held: at(day + 1), Windows: []WindowMemory{{Early: at(day + 2), Late: at(day + 3)}, {Late: at(day), Habits: Habits{Floors: true}}}},
			Memory{At: now, Held: at(1), Windows: []WindowMemory{{Early: at(2), Late: at(3)}, {Habits: Habits{Floors: true}}}},
		},
		"of years to come, from a hostile text": {
			Memory{At: at(40000 * day), Windows: []WindowMemory{{Late: at(80000 * day)}, {Early: time.Time{}.Add(day), Late: at(80000 * day)}}},
			Memory{At: now, Windows: []WindowMemory{{Late: at(40000 * day)}, {Late: at(40000 * day)}}}, // with an Early before the year 0, JSON is an error
		},
		"of years to come": {Memory{At: at(1000 * day), Rate: 1}, Memory{At: now, Rate: 1}},
		"too many limits":  {Memory{At: now, Windows: slices.Repeat([]WindowMemory{window}, 100)}, Memory{At: now, Windows: slices.Repeat([]WindowMemory{window}, maxWindows)}},
		"a name of 1 kB":   {Memory{At: now, Windows: []WindowMemory{{Name: strings.Repeat("x", 1000), Late: at(1)}}}, Memory{}},
	} {
		before := slices.Clone(test.m.Windows)
		left := test.m
		if kept := left.Prune(now); kept != (!test.want.At.IsZero()) || kept && !reflect.DeepEqual(left, test.want) {
			t.Errorf("%s: %v, %+v are left, want %+v", name, kept, left, test.want)
		}
		if !reflect.DeepEqual(before, test.m.Windows) {
			t.Errorf("%s: what was given was changed", name)
		}
	}
}

// TestMemoryIsOfTheLatestAnswer: where a pace is known as well, what remains of a limit is of its latest
// answer, and not of the latest request: else what came back before that answer would be counted twice.
func TestMemoryIsOfTheLatestAnswer(t *testing.T) {
	var clock monotime.Clock
	clock.Start()
	b := newBucket(t, Config{})
	for range 2 {
		for range 20 {
			b.exchange(says())
			b.now = b.now.Add(100 * time.Millisecond)
		}
		b.exchange(refuses())
		b.now = b.now.Add(time.Second)
	}
	slow := b.send()
	b.now = b.now.Add(100 * time.Second)
	b.done(slow, says(left(0, 100, 100*time.Second)))
	if m := b.Memory(b.now, &clock); m.Rate == 0 || !m.At.Equal(clock.Date(b.now)) {
		t.Errorf("rate %v, of %v, want some of %v", m.Rate, m.At, clock.Date(b.now))
	}
}
