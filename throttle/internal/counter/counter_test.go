package counter

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// answer is one of a history: one request after the other, unless it overlaps the one before.
type answer struct {
	at        int // second at which it comes; the request went 0.1 s before
	path      string
	limit     int // zero if nothing is stated, negative if the limit is not
	remaining int
	reset     int // second at which the limit is restored; zero if that is not stated
	overlaps  bool
	refused   bool
	unhinted  bool // and does not say for how long
	guessed   bool // the reset is a bare number of seconds
}

// history hears answers.
type history struct {
	Router
	sequence uint64
	granted  uint64
}

func (h *history) hear(a answer) Change {
	if !a.overlaps {
		h.sequence++
		h.granted = h.sequence
	}
	h.sequence++
	now := monotime.Time(1e9 + a.at*1e9)
	st := quota.Statement{Limit: int64(a.limit), Remaining: int64(a.remaining), Resolution: time.Second, Window: 24 * time.Hour}
	if a.reset > 0 {
		st.ResetKnown, st.Reset = true, time.Duration(a.reset-a.at)*time.Second
	}
	if a.guessed {
		st.Window = 0
	}
	ans := &Answer{Granted: h.granted, Heard: h.sequence, Sent: now.Add(-100 * time.Millisecond), Now: now, N: 1, Refused: a.refused, Hold: 7 * time.Second, HoldKnown: a.refused && !a.unhinted}
	if a.limit != 0 {
		ans.Statements = []quota.Statement{st}
	}
	return h.Hear("GET", a.path, ans)
}

// groups returns which paths belong together, as "/a /b, /c".
func (h *history) groups(paths ...string) string {
	of := map[string][]string{}
	var names []string
	for _, p := range paths {
		name := h.Of("GET", p)
		if of[name] == nil {
			names = append(names, name)
		}
		of[name] = append(of[name], p)
	}
	var all []string
	for _, n := range names {
		all = append(all, strings.Join(of[n], " "))
	}
	return strings.Join(all, ", ")
}

// TestUnitOfANumberThatNeverChanges: it proves no unit, however far apart the answers are and however long they
// take. Of a reset that stays where it is, each answer proves seconds whose request goes proofAfter later, and
// none that goes sooner.
func TestUnitOfANumberThatNeverChanges(t *testing.T) {
	for _, way := range []time.Duration{0, 3 * time.Second} {
		for gap := time.Duration(0); gap < 20*time.Second; gap += 250 * time.Millisecond {
			var never, stays unit
			var ofNever, ofStays said
			var r Router
			now := monotime.Time(1e9)
			for i := range 10 {
				a := Answer{Sent: now.Add(time.Duration(i) * (gap + way)), Now: now.Add(time.Duration(i)*(gap+way) + way)}
				y := r.says(nil, &a, &quota.Statement{Limit: 9, Reset: time.Hour, ResetKnown: true, Resolution: time.Second})
				never.note(&ofNever, &y)
				y = r.says(nil, &a, &quota.Statement{Limit: 9, Reset: time.Hour - a.Now.Sub(now), ResetKnown: true, Resolution: time.Second})
				stays.note(&ofStays, &y)
			}
			if never.stayed > 0 || (stays.stayed == 9) != (gap >= proofAfter) {
				t.Errorf("%v apart, on their way for %v: %d prove the unit of a number that never changes, %d that of a reset that stays", gap, way, never.stayed, stays.stayed)
			}
		}
	}
}

// TestUnitOfBothReadings: where some numbers are read as milliseconds, by their size, the others are none of
// seconds.
func TestUnitOfBothReadings(t *testing.T) {
	u := unit{stayed: enoughProof}
	seconds, millis := said{guessed: true}, said{inMillis: true}
	var mark said
	if u.note(&mark, &seconds); !u.isKnown(&seconds) {
		t.Error("seconds are not known although the clock has proved them")
	}
	u.note(&mark, &millis)
	if u.note(&mark, &seconds); u.isKnown(&seconds) || !u.isKnown(&millis) {
		t.Error("seconds are known beside milliseconds, or milliseconds are not")
	}
}

// TestUnitOfResetsThatGoBack: milliseconds that are read as seconds go back, and stay where they are by chance
// alone. A reset that has gone back once must have stayed eight times.
func TestUnitOfResetsThatGoBack(t *testing.T) {
	for _, test := range []struct {
		stayed int
		known  bool
	}{{enoughProof, false}, {7, false}, {8, true}} {
		u := unit{stayed: test.stayed}
		var r Router
		var mark, y said
		for at, reset := range []time.Duration{5000 * time.Second, 0} {
			now := monotime.Time(1e9).Add(time.Duration(at) * proofAfter)
			y = r.says(nil, &Answer{Sent: now, Now: now}, &quota.Statement{Limit: 9, Reset: reset, ResetKnown: true, Resolution: time.Second})
			u.note(&mark, &y)
		}
		if u.back != 1 || u.stayed != test.stayed || u.isKnown(&y) != test.known {
			t.Errorf("%+v after a reset that went back: known is %v, want %v", u, u.isKnown(&y), test.known)
		}
	}
}

// TestReplaces: which of two answers is the latest.
func TestReplaces(t *testing.T) {
	of := func(limit, remaining int, reset time.Duration) said {
		return said{heard: 10, now: 1e9, limit: int64(limit), remaining: int64(remaining), early: monotime.Time(reset), late: monotime.Time(reset + time.Second)}
	}
	x := of(100, 50, time.Minute)
	for name, test := range map[string]struct {
		x, y    said
		granted uint64
		want    bool
	}{
		"it went later":                     {x, of(100, 60, time.Minute), 11, true},
		"less remains":                      {x, of(100, 40, time.Minute), 10, true},
		"as much remains":                   {x, of(100, 50, time.Minute), 10, true},
		"more remains":                      {x, of(100, 60, time.Minute), 10, false},
		"more remains until another reset":  {x, of(100, 60, time.Hour), 10, true},
		"more remains of another limit":     {x, of(200, 60, time.Minute), 10, true},
		"more remains of who knows what":    {x, of(0, 60, time.Minute), 10, false},
		"the first one; nobody knows which": {said{}, said{remaining: 60}, 0, true},
	} {
		if got := test.y.replaces(&test.x, test.granted); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// TestAfter: what an answer that comes 60 s later is to one of a limit of 100 of which 50 remain, and that is
// back after 100 s.
func TestAfter(t *testing.T) {
	second := func(n int) monotime.Time { return monotime.Time(n) * monotime.Time(time.Second) }
	x := said{limit: 100, remaining: 50, n: 1, heard: 10, sent: second(1000), now: second(1000), early: second(1100), late: second(1101)}
	for name, test := range map[string]struct {
		change func(x, y *said)
		want   relation
	}{
		"as much":                         {func(_, _ *said) {}, fits},
		"a part has come back":            {func(_, y *said) { y.remaining = 80 }, fits},
		"more than that":                  {func(_, y *said) { y.remaining = 82 }, rises},
		"with what it cost":               {func(_, y *said) { y.remaining, y.n = 70, 13 }, rises},
		"it was refused and cost none":    {func(_, y *said) { y.remaining, y.n, y.refused = 70, 13, true }, fits},
		"beyond the limit":                {func(x, y *said) { x.limit, y.limit, x.remaining, y.remaining = 10, 10, 50, 49 }, fits},
		"no limit is stated":              {func(x, y *said) { x.limit, y.limit, y.remaining = 0, 0, 90 }, fits},
		"another limit":                   {func(_, y *said) { y.limit, y.remaining = 200, 190 }, nothing},
		"a reset before that one":         {func(_, y *said) { y.early, y.late = second(1090), second(1091) }, back},
		"hardly before that one":          {func(_, y *said) { y.early, y.late = second(1098), second(1099) }, fits},
		"a later reset":                   {func(_, y *said) { y.early, y.late = second(1200), second(1201) }, fits},
		"that one may have come":          {func(_, y *said) { y.now, y.early, y.late = second(1099), second(1050), second(1051) }, nothing},
		"no reset is stated":              {func(_, y *said) { y.remaining, y.early, y.late = 99, 0, 0 }, nothing},
		"no reset was stated":             {func(x, y *said) { y.remaining, x.early, x.late = 99, 0, 0 }, nothing},
		"back, of a limit that is hidden": {func(x, y *said) { x.limit, y.limit, y.early, y.late = 0, 0, second(1090), second(1091) }, back},
	} {
		x, y := x, x
		y.heard, y.sent, y.now = 20, second(1060), second(1060)
		test.change(&x, &y)
		if got := y.after(&x); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}

// TestStatedIsTheLeast: of answers that were under way at once, the one that leaves less is what is known of a
// leaf that gets a counter of its own, in whatever order they come.
func TestStatedIsTheLeast(t *testing.T) {
	var h history
	for i, a := range []answer{
		{path: "/b", limit: 1000, remaining: 999},
		{path: "/a", limit: 10, remaining: 3},
		{path: "/a", limit: 10, remaining: 0, refused: true, overlaps: true},
		{path: "/a", limit: 10, remaining: 2, overlaps: true},
		{path: "/b", limit: 1000, remaining: 998},
	} {
		if h.Split() {
			t.Fatalf("split before answer %d", i)
		}
		a.reset = 60
		h.hear(a)
	}
	st := h.Stated(h.Of("GET", "/a"))
	if !h.Split() || st.Heard == 0 || st.Remaining != 0 {
		t.Errorf("split %v: %+v, want that nothing remains", h.Split(), st)
	}
	h.hear(answer{path: "/b", limit: 1000, remaining: 998, reset: 60, overlaps: true})
	h.hear(answer{path: "/b", limit: 1000, remaining: 996, reset: 60})
	h.hear(answer{path: "/b", limit: 1000, remaining: 997, reset: 60, overlaps: true})
	if st = h.Stated(h.Of("GET", "/b")); st.Remaining != 996 {
		t.Errorf("%+v, want that 996 remain of the counter", st)
	}
}

// each is n answers of some paths in turn, every so many seconds.
func each(n, every int, f func(i, at int) answer) (all []answer) {
	for i := range n {
		a := f(i, i*every)
		a.at = i * every
		all = append(all, a)
	}
	return all
}

func TestHear(t *testing.T) {
	const far = 3600
	for name, tt := range map[string]struct {
		answers []answer
		want    string // groups of the paths that were seen; of others, see TestUnseen
	}{
		"limits differ": {
			[]answer{{path: "/a", limit: 10, remaining: 9}, {path: "/b", limit: 100, remaining: 99}, {path: "/a", limit: 10, remaining: 8}}, "/a, /b",
		},
		"three limits": {
			[]answer{
				{path: "/a", limit: 10, remaining: 9},
				{path: "/b", limit: 100, remaining: 99},
				{path: "/c", limit: 50, remaining: 49},
				{path: "/a", limit: 10, remaining: 8},
			}, "/a, /b, /c",
		},
		"routes of one limit are found by it": {
			[]answer{
				{path: "/a", limit: 10, remaining: 9, reset: far},
				{path: "/b", limit: 100, remaining: 99, reset: far},
				{path: "/c", limit: 100, remaining: 98, reset: far},
				{path: "/a", limit: 10, remaining: 8, reset: far},
			}, "/a, /b /c",
		},
		"the first limit is not stated again": {
			[]answer{{path: "/a", limit: 10, remaining: 9}, {path: "/b", limit: 100, remaining: 99}, {path: "/b", limit: 100, remaining: 98}}, "/a /b",
		},
		"it is, by a request that went before": {
			[]answer{{path: "/a", limit: 10, remaining: 9}, {path: "/b", limit: 100, remaining: 99}, {path: "/a", limit: 10, remaining: 8, overlaps: true}}, "/a /b",
		},
		"a limit changes": {
			[]answer{
				{path: "/a", limit: 10, remaining: 9},
				{path: "/b", limit: 10, remaining: 8},
				{path: "/c", limit: 10, remaining: 7},
				{path: "/a", limit: 100, remaining: 99},
				{path: "/b", limit: 100, remaining: 98},
				{path: "/a", limit: 100, remaining: 97},
				{path: "/c", limit: 100, remaining: 96},
			}, "/a /b /c",
		},
		"a limit changes, and what was stated before comes late": {
			[]answer{
				{path: "/a", limit: 10, remaining: 9},
				{path: "/b", limit: 10, remaining: 8},
				{path: "/a", limit: 100, remaining: 99},
				{path: "/b", limit: 100, remaining: 98},
				{path: "/b", limit: 10, remaining: 7, overlaps: true},
				{path: "/a", limit: 100, remaining: 97},
			}, "/a /b",
		},
		"a new path right after a change": {
			[]answer{
				{path: "/a", limit: 10, remaining: 9},
				{path: "/b", limit: 100, remaining: 99},
				{path: "/a", limit: 100, remaining: 98},
				{path: "/b", limit: 100, remaining: 97},
				{path: "/a", limit: 100, remaining: 96},
			}, "/a /b",
		},
		"stacked limits, each stated by every path": {
			each(20, 1, func(i, _ int) answer {
				return answer{path: "/" + string("ab"[i/3%2]), limit: []int{10, 100}[i%2], remaining: 5}
			}), "/a /b",
		},
		"resets go back": {
			each(16, 1, func(i, _ int) answer {
				return answer{path: "/" + string("ab"[i%2]), limit: 100, remaining: 90 - i, reset: []int{far, far / 2}[i%2]}
			}), "/a, /b",
		},
		"resets that nobody stated in a known unit": {
			each(12, 1, func(i, _ int) answer {
				return answer{path: "/" + string("ab"[i%2]), limit: 100, remaining: 90 - i, reset: []int{far, far / 2}[i%2], guessed: true}
			}), "/a /b",
		},
		"in a unit that the clock has proved": {
			each(16, 6, func(i, _ int) answer {
				return answer{path: "/" + string("ab"[i%2]), limit: 100, remaining: 90 - i, reset: []int{far, far / 2}[i%2], guessed: true}
			}), "/a, /b",
		},
		"what is read as seconds are milliseconds": {
			each(16, 6, func(i, at int) answer {
				return answer{path: "/" + string("ab"[i%2]), limit: 100, remaining: 90 - i, reset: at + 3600000 - 1000*at, guessed: true}
			}), "/a /b",
		},
		"more remains than came back": {
			each(16, 1, func(i, _ int) answer {
				return answer{path: "/" + string("ab"[i%2]), limit: 100, remaining: []int{90, 20}[i%2] - i/2, reset: far}
			}), "/a, /b",
		},
		"a server that refills": {
			each(40, 1, func(i, at int) answer {
				return answer{path: "/" + string("ab"[i%2]), limit: 100, remaining: 40 + i, reset: at + 60 - i}
			}), "/a /b",
		},
		"a reset that moves on": {
			each(16, 1, func(i, at int) answer {
				return answer{path: "/" + string("ab"[i%2]), limit: 100, remaining: 90 - i, reset: at + 600}
			}), "/a /b",
		},
		"a restart": {
			each(20, 1, func(i, _ int) answer {
				remaining, reset := 50-i, 1800
				if i >= 10 {
					remaining, reset = 109-i, 900
				}
				return answer{path: "/" + string("ab"[i%2]), limit: 100, remaining: remaining, reset: reset}
			}), "/a /b",
		},
		"two restarts": {
			each(60, 1, func(i, _ int) answer {
				return answer{path: "/" + string("ab"[i%2]), limit: 100, remaining: []int{50, 99, 99}[i/20] - i%20, reset: []int{1800, 900, 450}[i/20]}
			}), "/a /b",
		},
		"a limit that is stated now and then": {
			each(20, 1, func(i, _ int) answer {
				return answer{path: "/" + string("ab"[i%2]), limit: []int{-1, 100, 100}[i%3], remaining: 90 - i, reset: far}
			}), "/a /b",
		},
		"a number of milliseconds that is read as seconds of the window": {
			each(16, 1, func(i, _ int) answer {
				return answer{path: "/" + string("ab"[i%2]), limit: 100, remaining: 90 - i, reset: []int{50 * far, far}[i%2]}
			}), "/a /b",
		},
		"a restart with many requests in flight": {
			[]answer{
				{path: "/a", limit: 100, remaining: 50, reset: far},
				{path: "/b", limit: 100, remaining: 99, reset: far},
				{path: "/b", limit: 100, remaining: 98, reset: far, overlaps: true},
				{path: "/b", limit: 100, remaining: 97, reset: far, overlaps: true},
				{path: "/a", limit: 100, remaining: 96, reset: far},
				{path: "/b", limit: 100, remaining: 95, reset: far},
			}, "/a /b",
		},
		"a clock that goes wrong": {
			each(20, 1000, func(i, _ int) answer {
				return answer{path: "/" + string("ab"[i%2]), limit: 100, remaining: 90 - i, reset: 80000 - 15*i}
			}), "/a /b",
		},
		"two contradictions": {
			each(5, 1, func(i, _ int) answer {
				return answer{path: "/" + string("ab"[i%2]), limit: 100, remaining: 90 - i, reset: []int{far, far / 2}[i%2]}
			}), "/a, /b",
		},
		"instances at random": { // each path meets one of them more often
			each(60, 1, func(i, _ int) answer {
				return answer{path: "/" + string("ab"[i%2]), limit: 1000, remaining: 900 - i, reset: []int{far, far / 2}[(i%2*3+i%5+i/7)%3%2]}
			}), "/a /b",
		},
		"free requests": {
			each(30, 1, func(i, _ int) answer {
				return answer{path: "/" + string("ab"[i%2]), limit: 100, remaining: 90 - i/2, reset: far}
			}), "/a /b",
		},
		"two instances in turn": { // each path meets both
			each(40, 1, func(i, _ int) answer {
				return answer{path: "/" + string("aabb"[i%4]), limit: 100, remaining: 90 - i/2, reset: []int{far, far / 2}[i%2]}
			}), "/a /b",
		},
		"others take most of it": {
			each(20, 1, func(i, _ int) answer {
				return answer{path: "/" + string("ab"[i%2]), limit: 1000, remaining: 900 - 40*i, reset: far}
			}), "/a /b",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var h history
			var seen []string
			for i, a := range tt.answers {
				if a.at == 0 {
					a.at = i
				}
				h.hear(a)
				seen = append(seen, a.path)
			}
			slices.Sort(seen)
			if got := h.groups(slices.Compact(seen)...); got != tt.want {
				t.Errorf("%q, want %q; %d counters", got, tt.want, len(h.counters))
			}
		})
	}
}

// TestInFlight has requests overlap all the time: one of each round trip is compared all the same.
func TestInFlight(t *testing.T) {
	var r Router
	for i := range 80 {
		at := monotime.Time(1e9 + i*1e9)
		st := quota.Statement{Limit: 100, Remaining: int64(90 - i), Reset: time.Duration([]int{3600, 1800}[i/3%2]-i) * time.Second, ResetKnown: true, Window: time.Hour}
		r.Hear("GET", "/"+string("ab"[i/3%2]), &Answer{
			Granted: uint64(max(i-8, 0)*10 + 5), Heard: uint64(i*10 + 4), Sent: at.Add(-8 * time.Second), Now: at, N: 1, Statements: []quota.Statement{st},
		})
	}
	if r.Of("GET", "/a") == r.Of("GET", "/b") {
		t.Error("two counters are not found with 8 requests in flight")
	}
}

// split returns a history with two counters, of /a/x/c with a limit of 10, and of /b/x/c with one of 100.
func split() *history {
	h := &history{}
	for i, a := range []answer{{path: "/a/x/c", limit: 10, remaining: 9}, {path: "/b/x/c", limit: 100, remaining: 99}, {path: "/a/x/c", limit: 10, remaining: 8}} {
		a.at, a.reset = i, 3600
		h.hear(a)
	}
	return h
}

// TestMethods has two methods behind a colon with limits of their own, whatever IDs stand before them.
func TestMethods(t *testing.T) {
	var h history
	for i, a := range []answer{{path: "/jobs/17:run", limit: 10, remaining: 9}, {path: "/jobs/18:stop", limit: 100, remaining: 99}, {path: "/jobs/19:run", limit: 10, remaining: 8}} {
		a.at, a.reset = i, 3600
		h.hear(a)
	}
	if got, want := h.groups("/jobs/20:run", "/jobs/21:run", "/jobs/20:stop"), "/jobs/20:run /jobs/21:run, /jobs/20:stop"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestUnseen asks for paths that were not seen before: they belong to all that are as long and begin and end
// alike, or are on their own until they are answered.
func TestUnseen(t *testing.T) {
	h := split()
	if got, want := h.groups("/a/x/c", "/a/y/c", "/b/y/c", "/b/x/d", "/a/c"), "/a/x/c /a/y/c, /b/y/c, /b/x/d, /a/c"; !strings.HasPrefix(got, "/a/x/c /a/y/c,") || h.Of("GET", "/b/y/c") != h.Of("GET", "/b/x/c") {
		t.Errorf("%q, want %q", got, want)
	}
	if h.Of("GET", "/b/x/d") == h.Of("GET", "/b/x/c") {
		t.Error("/b/x/d does not wait for /b/x/c, whatever it draws on")
	}
	c := h.hear(answer{at: 5, path: "/b/x/d", limit: 100, remaining: 98, reset: 3600})
	if c.Counter != h.Of("GET", "/b/x/c") || len(c.Gone) != 1 {
		t.Errorf("%+v, want that /b/x/d turns out to be counted with /b/x/c", c)
	}
	c = h.hear(answer{at: 6, path: "/a/c", limit: 10, remaining: 9, reset: 7200})
	if c.Counter == h.Of("GET", "/a/x/c") || len(c.Left) != 0 {
		t.Errorf("%+v, want that /a/c stays on its own", c)
	}
}

// TestLook asks as TestUnseen does, and for paths of all kinds: what Look says is what Of says, where that
// makes no counter, and nothing is remembered of it.
func TestLook(t *testing.T) {
	h := split()
	for _, path := range []string{"/a/x/c", "/a/y/c", "/b/y/c", "/a/12345/c", "/b/x/d", "/a/c", "", "/1/2/3", "/a/x/c/d/e/f/g/h/i/j"} {
		leaves, counters := len(h.leaves), len(h.counters)
		got := h.Look("GET", path)
		if len(h.leaves) != leaves || len(h.counters) != counters {
			t.Errorf("%s: remembered", path)
		}
		want := h.Of("GET", path)
		if len(h.counters) > counters {
			want = ""
		}
		if got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	many := &history{}
	for i := range 3 * maxChildren {
		many.Of("GET", fmt.Sprintf("/%c%c", 'a'+i%26, 'a'+i/26))
	}
	leaves := len(many.leaves)
	if many.Look("GET", "/another"); len(many.leaves) != leaves || many.Look("GET", "/zz") != many.Of("GET", "/zz") {
		t.Error("a place with many children looks different")
	}
	full := split()
	for i := range maxLeaves {
		full.Of("GET", fmt.Sprintf("/x%c/y%c", 'a'+i/16, 'a'+i%16))
	}
	if got, want := full.Look("GET", "/another/of/them"), full.Of("GET", "/another/of/them"); got != want || want != full.First() {
		t.Errorf("with as many leaves as there may be, another path looks like one of %q, want %q", got, want)
	}
}

// TestRefusalOfAll has a limit that no leaf ever states refuse a request: all are to wait.
func TestRefusalOfAll(t *testing.T) {
	h := split()
	if c := h.hear(answer{at: 5, path: "/a/x/c", limit: 400, refused: true, reset: 60}); c.Hold != 7*time.Second || h.Of("GET", "/a/x/c") != c.Counter {
		t.Errorf("%+v, want a hold of 7 s for all", c)
	}
	if c := h.hear(answer{at: 6, path: "/a/x/c", refused: true}); c.Hold != 7*time.Second {
		t.Errorf("%+v, want a hold of 7 s for all", c)
	}
	if c := h.hear(answer{at: 7, path: "/a/x/c", limit: 10, refused: true, reset: 60}); c.Hold != 0 {
		t.Errorf("%+v, want none: it is the limit of the counter", c)
	}
	if c := h.hear(answer{at: 8, path: "/a/x/c", limit: 400, refused: true, unhinted: true, reset: 60}); c.Hold != 52*time.Second {
		t.Errorf("%+v, want a hold of 52 s, until the reset of the limit", c)
	}
	if c := h.hear(answer{at: 9, path: "/a/x/c", limit: 400, remaining: 1, refused: true, unhinted: true, reset: 60}); c.Hold != 0 {
		t.Errorf("%+v, want none: something remains of the limit", c)
	}
	var one history // one bucket learns all
	one.hear(answer{path: "/a", limit: 10, remaining: 9, reset: 60})
	if c := one.hear(answer{at: 1, path: "/a", limit: 400, refused: true, reset: 60}); c.Hold != 0 {
		t.Errorf("%+v, want none where there is one counter", c)
	}
}

// TestCalm: what is known is forgotten after so many answers without a sign of several counters, be it another
// limit or a reset that goes back.
func TestCalm(t *testing.T) {
	for name, sign := range map[string]answer{
		"limit":                    {path: "/a", limit: 20, remaining: 5, reset: 90000},
		"reset":                    {path: "/a", limit: 10, remaining: 4, reset: 40000},
		"reset of another request": {path: "/b", limit: 10, remaining: 4, reset: 40000},
	} {
		var h history
		hear := func(a answer) {
			a.at = int(h.sequence)
			h.hear(a)
		}
		for range calmAnswers - 1 {
			hear(answer{path: "/a", limit: 10, remaining: 5, reset: 90000})
		}
		hear(sign)
		if h.Calm() {
			t.Errorf("%s: calm after a sign of several counters", name)
		}
		for range calmAnswers {
			hear(answer{path: "/a", limit: sign.limit, remaining: 3, reset: 90000})
		}
		if !h.Calm() || h.Split() {
			t.Errorf("%s: calm %v, split %v, want that it is over", name, h.Calm(), h.Split())
		}
	}
}

// TestJoin has two counters agree: each says a little less than the other before. They become one.
func TestJoin(t *testing.T) {
	var h history
	for i := range 16 {
		h.hear(answer{at: i, path: "/" + string("ab"[i%2]), limit: 100, remaining: 90 - i, reset: []int{3600, 1800}[i%2]})
	}
	if len(h.counters) != 2 {
		t.Fatalf("%d counters, want 2", len(h.counters))
	}
	var gone []string
	for i := range 20 {
		gone = append(gone, h.hear(answer{at: 4000 + i, path: "/" + string("ab"[i%2]), limit: 100, remaining: 90 - i, reset: 7200}).Gone...)
	}
	if len(h.counters) != 1 || len(gone) != 1 {
		t.Errorf("%d counters, want 1: %q are gone", len(h.counters), gone)
	}
	h.check(t)
}

// TestEqualLimits: counters whose limits become equal are one, unless what they state contradicts that, or
// resets have told them apart.
func TestEqualLimits(t *testing.T) {
	for reset, want := range map[int]int{3600: 1, 1800: 2} {
		h := split()
		h.hear(answer{at: 10, path: "/a/x/c", limit: 100, remaining: 98, reset: reset})
		if len(h.counters) != want {
			t.Errorf("%d counters after the limits became equal, with a reset after %d s, want %d", len(h.counters), reset, want)
		}
		h.check(t)
	}
	var h history
	for i := range 32 {
		h.hear(answer{at: i, path: "/" + string("ab"[i%2]), limit: 100 + i/30*100, remaining: 90 - i, reset: []int{1800, 3600}[i%2]})
	}
	if got, want := h.groups("/a", "/b"), "/a, /b"; got != want {
		t.Errorf("%q after both limits were doubled, want %q", got, want)
	}
}

// TestReunite has routes that were told apart by resets contradict themselves: then they are instances.
func TestReunite(t *testing.T) {
	var h history
	at := 0
	hear := func(path string, reset int) {
		at++
		h.hear(answer{at: at, path: path, limit: 1000, remaining: 900 - at, reset: reset})
	}
	for range 8 {
		hear("/a", 3600)
		hear("/b", 1800)
	}
	if len(h.counters) != 2 {
		t.Fatalf("%d counters, want 2", len(h.counters))
	}
	for i := range 20 {
		hear("/a", []int{3600, 1800}[i%2])
		hear("/b", []int{3600, 1800}[i%2])
	}
	if len(h.counters) != 1 {
		t.Errorf("%d counters, want 1", len(h.counters))
	}
}

// TestInstances has one kind of request meet several instances of a server: what they allow together is what
// the emptiest does; and while some are empty nothing, until the latest reset of these.
func TestInstances(t *testing.T) {
	var h history
	var got []string
	for i, a := range []answer{
		{remaining: 9, reset: 3600},
		{remaining: 8, reset: 1800},
		{remaining: 7, reset: 3600},
		{remaining: 6, reset: 1800},
		{remaining: 5, reset: 3600},
		{remaining: 4, reset: 1800},
		{remaining: 3, reset: 3600},
		{remaining: 2, reset: 1800},
		{remaining: 1, reset: 3600},
		{remaining: 0, reset: 1800},
		{remaining: 0, reset: 3600},
		{remaining: 0, reset: 1800, refused: true},
		{at: 1900, remaining: 9, reset: 5400},
		{at: 3700, remaining: 8, reset: 5400},
	} {
		a.path, a.limit = "/a", 10
		if a.at == 0 {
			a.at = i
		}
		text := "-"
		if all := h.hear(a).Instances; all != nil {
			text = fmt.Sprintf("%d until %d", all[0].Remaining, a.at+int(all[0].Reset/time.Second))
		}
		got = append(got, text)
	}
	want := "- - - - - - - 2 until 1800 1 until 3600 0 until 1800 0 until 3600 0 until 3600 0 until 3600 8 until 5400"
	if got := strings.Join(got, " "); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestInstancesStatement: as much remains as the emptiest has; of several that are empty, the latest reset
// counts.
func TestInstancesStatement(t *testing.T) {
	in := instances{slots: []slot{{late: 5e9, remaining: 3}, {late: 9e9}, {late: 20e9}, {late: 15e9}, {late: 40e9, remaining: 1}}}
	for absolute, want := range map[bool]time.Duration{false: 17 * time.Second, true: 16 * time.Second} {
		st := in.statement(&said{now: 1e9, step: 2 * time.Second, statement: quota.Statement{Limit: 7, Absolute: absolute, Skew: time.Hour}})
		if wanted := (quota.Statement{Limit: 7, Reset: want}); st != wanted {
			t.Errorf("%+v, want %+v", st, wanted)
		}
	}
}

// TestInstancesOvertaken: an answer goes back to an instance only if its request went after the one before was
// answered.
func TestInstancesOvertaken(t *testing.T) {
	for name, overtakes := range map[string]bool{"one after the other": false, "under way at once": true} {
		in := instances{watching: true, previous: -1}
		for i := range uint64(12) {
			granted := 10 * i
			if overtakes {
				granted = 1
			}
			reset := monotime.Time(100e9 - 50e9*(i%2))
			in.hear(&said{heard: 10*i + 5, now: 1e9, early: reset, late: reset + 1e9, remaining: int64(20 - int(i))}, granted)
		}
		if in.found() == overtakes {
			t.Errorf("%s: found %v, want %v", name, in.found(), !overtakes)
		}
	}
}

// TestInstancesDoubt has resets go to and fro that are of no instants: there are too many, or more remains each
// time.
func TestInstancesDoubt(t *testing.T) {
	for name, f := range map[string]func(i int) answer{
		"too many": func(i int) answer { return answer{remaining: 90 - i, reset: 3600 + 100*(i*5%8)} },
		"rises":    func(i int) answer { return answer{remaining: 10 + i, reset: 3600 + 100*(i%2)} },
	} {
		var h history
		for i := range 60 {
			a := f(i)
			a.at, a.path, a.limit = i, "/a", 100
			if c := h.hear(a); i > 20 && c.Instances != nil {
				t.Errorf("%s: instances after %d answers", name, i)
				break
			}
			if n := len(h.counters[0].instances.slots); n > maxSlots {
				t.Fatalf("%s: %d slots", name, n)
			}
		}
	}
}

// TestMany has more names than are told apart: they are one star, but for those that are known to be counted
// elsewhere.
func TestMany(t *testing.T) {
	h := split()
	for i := range 500 {
		path := fmt.Sprintf("/name%c%c%c", 'a'+i%26, 'a'+i/26, 'x')
		h.hear(answer{at: 10 + i, path: path, limit: 100, remaining: 98 - i/10, reset: 3600})
	}
	if len(h.leaves) > 2*maxChildren {
		t.Errorf("%d leaves, want %d at most", len(h.leaves), 2*maxChildren)
	}
	if h.Of("GET", "/a/x/c") == h.Of("GET", "/b/x/c") {
		t.Error("what was told apart no longer is")
	}
}

// TestBounded has a server say at random what contradicts everything.
func TestBounded(t *testing.T) {
	var h history
	for i := range 20000 {
		path := fmt.Sprintf("/%c/%c/%c%c", 'a'+i%25, 'a'+i%23, 'a'+i%19, 'a'+i%17)
		h.hear(answer{at: i, path: path, limit: 1 + i*7919%1000, remaining: i * 31 % 100, reset: i + 1 + i*17%5000})
	}
	h.check(t)
}

// check fails the test if the Router is not what it should be.
func (r *Router) check(t *testing.T) {
	t.Helper()
	if len(r.leaves) > maxLeaves || len(r.counters) > maxCounters {
		t.Fatalf("%d leaves, %d counters", len(r.leaves), len(r.counters))
	}
	names := map[string]bool{}
	for _, c := range r.counters {
		if names[c.name] {
			t.Fatalf("two counters are named %q", c.name)
		}
		names[c.name] = true
		for _, p := range c.pairs {
			if !slices.Contains(r.counters, p.other) {
				t.Fatalf("%s is compared with a counter that is gone", c.name)
			}
		}
	}
	for _, l := range r.leaves {
		if !slices.Contains(r.counters, l.counter) {
			t.Fatalf("%s belongs to a counter that is gone", l.at.text())
		}
		if l.at.leaf != l {
			t.Fatalf("%s is not where it is", l.at.text())
		}
	}
}

// FuzzHear passes any answers: nothing panics, and all that is remembered is bounded and consistent.
func FuzzHear(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b"))
	f.Add([]byte(strings.Repeat("\x01\x10\x20\x30\x40\x50\x02\x11\x21\x31\x41\x51", 40)))
	f.Fuzz(func(t *testing.T, data []byte) {
		var r Router
		now, sequence := monotime.Time(1), uint64(0)
		for len(data) >= 6 {
			b := data[:6]
			data = data[6:]
			number := binary.BigEndian.Uint16(b[1:])
			now += monotime.Time(int(b[0])*int(b[0])) * 1e7
			sequence++
			granted := sequence - min(sequence, uint64(b[3]%8))
			path := fmt.Sprintf("/%c/%d/%c%c", 'a'+b[4]%40, b[5], 'a'+b[4]/32, 'a'+b[1]%8)
			a := &Answer{Granted: granted, Heard: sequence, Sent: now.Add(-time.Duration(b[3]) * 1e7), Now: now, N: int64(b[3] % 3), Refused: b[0]%16 == 1}
			if b[5]%8 != 7 {
				st := quota.Statement{
					Limit: int64(number % 5 * 50), Remaining: int64(number % 100), Reset: time.Duration(number%1000) * time.Second,
					ResetKnown: b[5]%4 != 3, Resolution: time.Second, Absolute: b[4]%2 == 1,
				}
				if number == math.MaxUint16 {
					st = quota.Statement{Limit: math.MinInt, Remaining: math.MinInt, Reset: math.MinInt64, Resolution: math.MaxInt64, Window: math.MinInt64, ResetKnown: true}
				}
				a.Statements = []quota.Statement{st}
			}
			c := r.Hear("GET", path, a)
			if !r.Has(c.Counter) && r.Split() {
				t.Fatalf("there is no counter %q", c.Counter)
			}
			for _, gone := range c.Gone {
				if r.Has(gone) || !slices.Contains(c.Left, gone) {
					t.Fatalf("%q is gone and there", gone)
				}
			}
			r.Of("POST", path)
		}
		r.check(t)
	})
}
