package suites

import (
	"slices"
	"testing"
)

func TestCompare(t *testing.T) {
	bare := Results{Status: map[Test]Status{
		{"a", ""}: Passed, {"a", "TestSame"}: Passed, {"a", "TestX"}: Passed, {"a", "TestX/1"}: Passed, {"a", "TestX/2"}: Passed,
		{"a", "TestXY"}: Passed, {"b", ""}: Failed, {"b", "TestFails"}: Failed, {"c", ""}: Passed, {"c", "TestGone"}: Skipped,
	}}
	through := Results{
		Status: map[Test]Status{
			{"a", ""}: Failed, {"a", "TestSame"}: Passed, {"a", "TestX"}: Failed, {"a", "TestX/1"}: Failed, {"a", "TestX/2"}: Passed,
			{"a", "TestXY"}: Unfinished, {"b", ""}: Failed, {"b", "TestFails"}: Failed, {"c", ""}: Failed,
		},
		Output: map[Test]string{{"a", "TestX/1"}: "why"},
	}
	got := Compare(Paced, bare, through)
	want := []Difference{
		{Test: Test{"a", "TestX/1"}, Mode: Paced, Bare: Passed, Through: Failed, Output: "why"},
		{Test: Test{"a", "TestXY"}, Mode: Paced, Bare: Passed, Through: Unfinished},
		{Test: Test{"c", "TestGone"}, Mode: Paced, Bare: Skipped},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if same := Compare(Paced, bare, bare); len(same) > 0 {
		t.Errorf("the same results differ: %v", same)
	}
}

func TestComparePackageAlone(t *testing.T) {
	got := Compare(Once, Results{Status: map[Test]Status{{"a", ""}: Passed}}, Results{Status: map[Test]Status{{"a", ""}: Failed}})
	if len(got) != 1 || got[0].Test != (Test{Package: "a"}) {
		t.Errorf("got %v, want the package", got)
	}
}

func TestReportUnexplained(t *testing.T) {
	known, unsteady, unknown := Difference{Cause: "it counts"}, Difference{Unsteady: true}, Difference{Through: Failed}
	r := Report{Differences: []Difference{known, unsteady, unknown}}
	if got := r.Unexplained(); !slices.Equal(got, []Difference{unknown}) {
		t.Errorf("got %v, want the last", got)
	}
}

func TestReportLines(t *testing.T) {
	r := Report{Suite: Suite{Name: "sdk"}, Differences: []Difference{
		{Test: Test{"a", "TestX"}, Mode: Paced, Bare: Passed, Through: Failed, Cause: "it counts"},
		{Test: Test{"a", "TestY"}, Mode: Paced, Bare: Passed, Through: Failed},
		{Test: Test{"b", "TestZ/1"}, Mode: Paced, Bare: Passed, Through: Unfinished, Cause: "it counts"},
		{Test: Test{Package: "c"}, Mode: Once, Bare: Failed, Unsteady: true},
	}}
	want := []string{
		"sdk, paced: it counts: `TestX`, `TestZ/1 (passed, unfinished)`",
		"sdk, paced: unexplained: `TestY`",
		"sdk, once: not so when it was run again: `c (failed, did not run)`",
	}
	if got := r.Lines(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCauseOf(t *testing.T) {
	c := Cause{Suite: "s", Mode: Paced, Tests: "TestX|TestY/.*"}
	for _, tt := range []struct {
		suite, test string
		mode        Mode
		want        bool
	}{
		{"s", "TestX", Paced, true},
		{"s", "TestX", Once, false},
		{"s", "TestX/1", Paced, false},
		{"s", "TestXY", Paced, false},
		{"s", "TestY/1", Paced, true},
		{"other", "TestX", Paced, false},
	} {
		if got := c.of(tt.suite, Difference{Test: Test{"a", tt.test}, Mode: tt.mode}); got != tt.want {
			t.Errorf("%s %s in mode %q: got %v, want %v", tt.suite, tt.test, tt.mode, got, tt.want)
		}
	}
}

// TestCauses is that each cause is of a suite, can be matched, and says something.
func TestCauses(t *testing.T) {
	for _, c := range Causes() {
		if !slices.ContainsFunc(All(), func(s Suite) bool { return s.Name == c.Suite }) {
			t.Errorf("cause %+v: no such suite", c)
		}
		if c.Why == "" || c.Tests == "" {
			t.Errorf("cause %+v: want tests and why", c)
		}
		c.of(c.Suite, Difference{Mode: c.Mode}) // panics if Tests is no expression
	}
}
