package main

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gopacer/pacer/interop/suites"
)

func TestSuites(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{[]string{"-only", "^net/http$"}, []string{"net/http"}},
		{[]string{"-only", "retryable|^slack$"}, []string{"go-retryablehttp", "slack"}},
		{[]string{"-short", "-only", "slack"}, nil},
		{[]string{"-only", "("}, nil},
	} {
		o, err := parse(tt.args, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		chosen, err := o.suites()
		if (err != nil) != (tt.want == nil) {
			t.Errorf("%q: error %v", tt.args, err)
		}
		var got []string
		for _, s := range chosen {
			got = append(got, s.Name)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q: got %q, want %q", tt.args, got, tt.want)
		}
	}
}

// TestPrint is that a difference without a cause is an error, and one with a cause is not.
func TestPrint(t *testing.T) {
	report := suites.Report{
		Suite: suites.Suite{Name: "sdk", Version: "v1"}, Packages: 2,
		Results: map[suites.Mode]suites.Results{
			suites.Bare:  {Status: map[suites.Test]suites.Status{{Package: "a"}: suites.Passed, {Package: "a", Name: "TestX"}: suites.Passed}},
			suites.Paced: {Status: map[suites.Test]suites.Status{{Package: "a"}: suites.Failed, {Package: "a", Name: "TestX"}: suites.Failed}},
			suites.Once:  {Status: map[suites.Test]suites.Status{{Package: "a"}: suites.Passed, {Package: "a", Name: "TestX"}: suites.Skipped}},
		},
		Took: map[suites.Mode]time.Duration{suites.Bare: time.Second, suites.Paced: 1600 * time.Millisecond},
		Differences: []suites.Difference{
			{Test: suites.Test{Package: "a", Name: "TestX"}, Mode: suites.Paced, Bare: suites.Passed, Through: suites.Failed, Cause: "it counts"},
		},
	}
	var b strings.Builder
	if err := (options{markdown: true}).print(&b, []suites.Report{report}); err != nil {
		t.Error(err)
	}
	for _, want := range []string{
		"| sdk | v1 | 2 | 1 | 0, 1 failed | 0, 1 skipped | 1 · 0 | 1 · 2 · 0 |",
		"- sdk, paced: it counts: `TestX`\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("got\n%s\nwant it to contain %q", b.String(), want)
		}
	}
	report.Differences[0].Cause = ""
	if err := (options{}).print(io.Discard, []suites.Report{report}); err == nil {
		t.Error("no error for a difference without a cause")
	}
}
