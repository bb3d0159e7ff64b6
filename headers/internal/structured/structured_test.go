package structured

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/pacer/headers/internal/value"
)

// lists are values of structured fields. quick reports whether the quick functions
// read them; the others are left to the general parser.
var lists = []struct {
	value string
	quick bool
}{
	{`"a";r=3;t=60`, true},
	{` "a"; r=3;  t=60 ,  "b";r=0 `, true},
	{`"fixed window";q=10;w=60;qu="tokens";pk=:MDJmODE5M2RjZTk3:`, true},
	{`100;w=60;name="x", 007`, true},
	{`"a";q=1;q=2`, true},
	{`"a";q=1;q="2"`, true},
	{`"";q=1;pk=::`, true},
	{`100;w=999999999999999`, true},
	{`100;w=9999999999999999`, false},
	{`"a\"b";r=1`, false},
	{`a;r=1`, false},
	{`"a";r=1.5`, false},
	{`"a";r=-1`, false},
	{`"a";r`, false},
	{`"a";r=`, false},
	{`"a" ;r=1`, false},
	{`"a";r=1,`, false},
	{"\"a\"\t,\"b\"", false},
	{`"a";pk=:a:`, false},
	{`"a";pk=:YQ=:`, false},
	{`("a" "b");r=1`, false},
	{`1,2,3,4,5`, false},
	{"\"\u00e9\"", false},
	{``, false},
}

func TestScanList(t *testing.T) {
	for _, l := range lists {
		if _, ok := ScanList(nil, []string{l.value}); ok != l.quick {
			t.Errorf("ScanList(%q) = %v, want %v", l.value, ok, l.quick)
		}
	}
	for _, value := range []string{"limit=100, remaining=50, reset=5", "limit=1,limit=2,q=3"} {
		if _, ok := scanCombined(value); !ok {
			t.Errorf("scanCombined(%q) is false", value)
		}
	}
}

// FuzzScan compares the quick functions with the general parser, where they read a value.
func FuzzScan(f *testing.F) {
	for _, l := range lists {
		f.Add(l.value)
	}
	f.Add("limit=100, remaining=50, reset=5")
	f.Add("limit=1,limit=2;w=3,q=3")
	f.Fuzz(func(t *testing.T, value string) {
		lines := Lines(nil, []string{value})
		if got, ok := ScanList(nil, []string{value}); ok {
			want, ok := ParseList(lines)
			if diff := cmp.Diff(want, got); !ok || diff != "" {
				t.Errorf("ScanList(%q) (-want +got):\n%s", value, diff)
			}
		}
		if got, ok := scanCombined(value); ok {
			want, ok := parseCombined(lines)
			if !ok || got != want {
				t.Errorf("scanCombined(%q) = %+v, want %+v", value, got, want)
			}
		}
	})
}

// TestParseList reads lists as the general parser does.
func TestParseList(t *testing.T) {
	count := func(n int64) value.Count { return value.Count{N: n, Known: true} }
	none := value.Count{N: -1}
	for _, tt := range []struct {
		lines []string
		want  []Member
		ok    bool
	}{
		{[]string{`burst;r=49;t=2, "da\"ily";r=900`}, []Member{{Name: "burst", Named: true, Number: none, R: count(49), T: count(2)}, {Name: `da"ily`, Named: true, Number: none, R: count(900)}}, true},
		{[]string{`"a";q=10;w=60`, ``, `100;w=1;name="b"`}, []Member{{Name: "a", Named: true, Number: none, Q: count(10), W: count(60)}, {Number: count(100), W: count(1), Label: "b"}}, true},
		{[]string{`"a";r=1.5;t=-1`}, []Member{{Name: "a", Named: true, Number: none, R: none, T: none}}, true},
		{[]string{`("a" "b");r=1, 5`}, []Member{{Number: count(5)}}, true}, // an inner list is left out
		{[]string{`"a";qu="tokens";pk=:YQ==:`}, []Member{{Name: "a", Named: true, Number: none, Qu: "tokens", PK: "YQ=="}}, true},
		{[]string{`"a`}, nil, false},
	} {
		got, ok := ParseList(Lines(nil, tt.lines))
		if diff := cmp.Diff(tt.want, got); ok != tt.ok || diff != "" {
			t.Errorf("ParseList(%q) is %v (-want +got):\n%s", tt.lines, ok, diff)
		}
	}
}

func TestParseCombined(t *testing.T) {
	count := func(n int64) value.Count { return value.Count{N: n, Known: true} }
	for _, tt := range []struct {
		lines []string
		want  Combined
		ok    bool
	}{
		{[]string{"limit=100, remaining=50, reset=5"}, Combined{Limit: count(100), Remaining: count(50), Reset: count(5)}, true},
		{[]string{"limit=100, remaining=50, window=60"}, Combined{Limit: count(100), Remaining: count(50), Window: count(60)}, true},
		{[]string{`limit=100, remaining=50, window="1m"`}, Combined{Limit: count(100), Remaining: count(50), Window: value.Count{N: -1}}, true},
		{[]string{"limit=100", "remaining=50"}, Combined{Limit: count(100), Remaining: count(50)}, true},
		{[]string{`limit=100;w=60, other="x"`}, Combined{Limit: count(100)}, true},
		{[]string{"limit=100, remaining=lots"}, Combined{}, false},
		{[]string{"limit=100, remaining"}, Combined{}, false},
		{[]string{"limit=100;"}, Combined{}, false},
	} {
		if got, ok := ParseCombined(tt.lines); ok != tt.ok || ok && got != tt.want {
			t.Errorf("ParseCombined(%q) = %+v, %v, want %+v, %v", tt.lines, got, ok, tt.want, tt.ok)
		}
	}
}

// TestLines checks that what is read of a field is bounded, and ends between members.
func TestLines(t *testing.T) {
	member := `"a,b\"";r=1`
	for _, lines := range [][]string{
		slices.Repeat([]string{member}, value.MaxMembers+8),
		{strings.Repeat(member+",", value.MaxMembers+8)},
		{strings.Repeat("x", value.MaxField+1)},
		{`"a", ` + strings.Repeat("x", value.MaxField)},
	} {
		got := Lines(nil, lines)
		size := 0
		for _, line := range got {
			size += len(line)
		}
		list, ok := ParseList(got)
		if len(got) > 0 && !ok || len(list) > value.MaxMembers || size > value.MaxField {
			t.Errorf("%d lines that begin with %.30q: %d lines of %d bytes with %d members (%v)", len(lines), lines[0], len(got), size, len(list), ok)
		}
	}
	if got := Lines(nil, []string{"", " \t", "5"}); !slices.Equal(got, []string{"5"}) {
		t.Errorf("Lines = %q, want no blank ones", got)
	}
}
