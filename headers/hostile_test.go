package headers

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gopacer/pacer/headers/internal/value"
)

// hostile is a case of testdata/hostile_headers.json.
type hostile struct {
	ID         string
	Headers    map[string][]string
	ReceivedAt time.Time `json:"received_at"`
	Expect     string
	Why        string
}

// TestParseHostile compares what is made of each hostile case with hostile.golden,
// which was checked by hand against what each case says about itself. One case is not
// as it says: metric-label-injection is no legal string, since RFC 9651 (4.2.5) allows
// a backslash only before a quote and another backslash.
func TestParseHostile(t *testing.T) {
	want := map[string]string{}
	golden, err := os.ReadFile("testdata/hostile.golden")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(golden)) {
		id, facts, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		want[id] = facts
	}
	var cases []hostile
	load(t, "hostile_headers.json", &cases)
	if len(cases) != len(want) {
		t.Errorf("%d cases, %d in hostile.golden", len(cases), len(want))
	}
	for _, c := range cases {
		facts := Parse(header(c.Headers), c.ReceivedAt)
		checkBounds(t, facts)
		if got := summary(facts); got != want[c.ID] {
			t.Errorf("%s (%s: %s)\n\tgot  %s\n\twant %s", c.ID, c.Expect, c.Why, got, want[c.ID])
		}
	}
}

// checkBounds fails if any fact is outside of what the package promises.
func checkBounds(tb testing.TB, f Facts) {
	tb.Helper()
	if len(f.Limits) > maxLimits {
		tb.Errorf("%d limits", len(f.Limits))
	}
	for _, l := range f.Limits {
		for _, c := range []Count{l.Limit, l.Remaining} {
			if c.N < 0 || c.N > value.MaxCount || !c.Known && c.N != 0 {
				tb.Errorf("count %+v of %+v", c, l)
			}
		}
		r := l.Reset
		if r.In < 0 || r.In > MaxReset || r.Resolution < 0 || r.Known != (r.Resolution > 0) || !r.Known && r != (Reset{}) {
			tb.Errorf("reset %+v of %+v", r, l)
		}
		if r.Known && r.In == 0 && (!l.Remaining.Known || l.Remaining.N > 0) {
			tb.Errorf("a reset that is past, of a limit that is not used up: %+v", l)
		}
		if l.Limit.N > 0 && l.Remaining.N > l.Limit.N {
			tb.Errorf("more than all remains: %+v", l)
		}
		if l.Window < 0 || l.Window > value.MaxWindow {
			tb.Errorf("window of %+v", l)
		}
		if l.Unit == value.Requests || len(l.Unit) > value.MaxName || len(l.Name) > value.MaxName || l.Name+l.Unit != "" && value.CleanName(l.Name+l.Unit) == "" {
			tb.Errorf("name or unit of %+v", l)
		}
		if !l.Limit.Known && !l.Remaining.Known && !l.Reset.Known {
			tb.Errorf("no fact: %+v", l)
		}
	}
	r := f.Retry
	if r.After < 0 || r.After > MaxRetryAfter || r.Known != (r.Resolution > 0) || !r.Known && r.After != 0 {
		tb.Errorf("retry %+v", r)
	}
}

// summary prints facts on one line: limits as name: remaining/limit unit in reset per
// window, then the retry hint, and the refusal.
func summary(f Facts) string {
	var parts []string
	num := func(c Count) string {
		if !c.Known {
			return "?"
		}
		return fmt.Sprint(c.N)
	}
	for _, l := range f.Limits {
		s := fmt.Sprintf("%q %s/%s", l.Name, num(l.Remaining), num(l.Limit))
		if l.Unit != "" {
			s += " " + l.Unit
		}
		if l.Reset.Known {
			s += fmt.Sprintf(" in %v", l.Reset.In)
		}
		if l.Window > 0 {
			s += fmt.Sprintf(" per %v", l.Window)
		}
		parts = append(parts, s)
	}
	if len(parts) > 4 {
		parts = append(parts[:2], fmt.Sprintf("%d more", len(parts)-2))
	}
	if f.Retry.Known {
		parts = append(parts, fmt.Sprintf("retry %v", f.Retry.After))
	}
	if f.Retry.Advice == AdviceNever {
		parts = append(parts, "never")
	}
	if f.Retry.Refusal != "" {
		parts = append(parts, string(f.Retry.Refusal))
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// TestTooManyNames reads answers with hundreds of names that only rules know. They state no limit, and names
// are taken apart for no more than maxFields of them: nothing else allocates so much. Hints under names of the
// tables are read all the same.
func TestTooManyNames(t *testing.T) {
	for _, pattern := range []string{"X-Ratelimit-A%d-Remaining", "X-%d-Retry-After"} {
		h := fields("Date", noon.Format(http.TimeFormat), "RateLimit-Limit", "10", "RateLimit-Remaining", "3", "Retry-After", "7")
		for i := range 500 {
			h[http.CanonicalHeaderKey(fmt.Sprintf(pattern, i))] = []string{"1"}
		}
		if s := summary(Parse(h, noon)); s != "retry 7s" {
			t.Errorf("%s: %s, want only the hint", pattern, s)
		}
		if n := testing.AllocsPerRun(5, func() { Parse(h, noon) }); n > 5*maxFields {
			t.Errorf("%s: %v allocations, want %d at most", pattern, n, 5*maxFields)
		}
	}
}
