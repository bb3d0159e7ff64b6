package headers

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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
		if _, ok := scanList(nil, []string{l.value}); ok != l.quick {
			t.Errorf("scanList(%q) = %v, want %v", l.value, ok, l.quick)
		}
	}
	for _, value := range []string{"limit=100, remaining=50, reset=5", "limit=1,limit=2,q=3"} {
		if _, _, ok := scanCombined(value); !ok {
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
		lines := bounded([]string{value})
		if got, ok := scanList(nil, []string{value}); ok {
			want, ok := parseList(lines)
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(entry{})); !ok || diff != "" {
				t.Errorf("scanList(%q) (-want +got):\n%s", value, diff)
			}
		}
		if got, in, ok := scanCombined(value); ok {
			want, wantIn, ok := parseCombined(lines)
			if !ok || got != want || in != wantIn {
				t.Errorf("scanCombined(%q) = %+v, %v, want %+v, %v", value, got, in, want, wantIn)
			}
		}
	})
}
