package suites

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

const printed = `{"Time":"2026-11-22T00:00:00Z","Action":"start","Package":"a"}
{"Action":"run","Package":"a","Test":"TestX"}
{"Action":"run","Package":"a","Test":"TestX/one"}
{"Action":"output","Package":"a","Test":"TestX/one","Output":"    x_test.go:1: got 2, want 1\n"}
{"Action":"fail","Package":"a","Test":"TestX/one","Elapsed":0.1}
{"Action":"fail","Package":"a","Test":"TestX","Elapsed":0.1}
{"Action":"run","Package":"a","Test":"TestParallel"}
{"Action":"pause","Package":"a","Test":"TestParallel"}
{"Action":"run","Package":"a","Test":"TestLater"}
{"Action":"pause","Package":"a","Test":"TestLater"}
{"Action":"run","Package":"a","Test":"TestSkipped"}
{"Action":"skip","Package":"a","Test":"TestSkipped"}
{"Action":"cont","Package":"a","Test":"TestParallel"}
{"Action":"pass","Package":"a","Test":"TestParallel"}
{"Action":"run","Package":"a","Test":"TestHangs"}
{"Action":"output","Package":"a","Test":"TestHangs","Output":"panic: test timed out after 1s\n"}
{"Action":"fail","Package":"a","Elapsed":1}
go: downloading example.com v1.0.0
{"ImportPath":"b","Action":"build-output","Output":"./b.go:1:1: syntax error\n"}
{"ImportPath":"b","Action":"build-fail"}
{"Action":"start","Package":"b"}
{"Action":"output","Package":"b","Output":"FAIL\tb [build failed]\n"}
{"Action":"fail","Package":"b","Elapsed":0,"FailedBuild":"b"}
`

func TestParse(t *testing.T) {
	got, err := Parse(strings.NewReader(printed))
	if err != nil {
		t.Fatal(err)
	}
	want := map[Test]Status{
		{"a", ""}: Failed, {"a", "TestX"}: Failed, {"a", "TestX/one"}: Failed, {"a", "TestParallel"}: Passed,
		{"a", "TestSkipped"}: Skipped, {"a", "TestHangs"}: Unfinished, {"b", ""}: Failed,
	}
	if !maps.Equal(got.Status, want) {
		t.Errorf("got %v, want %v", got.Status, want)
	}
	for test, want := range map[Test]string{
		{"a", "TestX/one"}:    "    x_test.go:1: got 2, want 1\n",
		{"b", ""}:             "./b.go:1:1: syntax error\nFAIL\tb [build failed]\n",
		{"a", "TestParallel"}: "",
	} {
		if got := got.Output[test]; got != want {
			t.Errorf("output of %v is %q, want %q", test, got, want)
		}
	}
	if want := map[Status]int{Passed: 1, Failed: 2, Skipped: 1, Unfinished: 1}; !maps.Equal(got.Count(), want) {
		t.Errorf("Count is %v, want %v", got.Count(), want)
	}
}

func TestParseNoEvents(t *testing.T) {
	got, err := Parse(strings.NewReader("no required module provides package x\n[1, 2]\n{}\n"))
	if err != nil || len(got.Status) > 0 {
		t.Errorf("got %v, %v, want no tests", got.Status, err)
	}
}

func TestResultsBroken(t *testing.T) {
	for name, tt := range map[string]struct {
		status map[Test]Status
		output map[Test]string
		want   bool
	}{
		"all passed":     {map[Test]Status{{"a", ""}: Passed, {"a", "TestX"}: Passed}, nil, false},
		"a test failed":  {map[Test]Status{{"a", ""}: Failed, {"a", "TestX"}: Failed}, map[Test]string{{"a", "TestX"}: "no panic: here\n"}, false},
		"a test hung":    {map[Test]Status{{"a", ""}: Failed, {"a", "TestX"}: Unfinished}, nil, true},
		"another did":    {map[Test]Status{{"a", ""}: Failed, {"b", ""}: Failed, {"b", "TestX"}: Unfinished}, nil, false},
		"a test panics":  {map[Test]Status{{"a", ""}: Failed, {"a", "TestX"}: Failed}, map[Test]string{{"a", "TestX"}: "--- FAIL: TestX\npanic: nil\n"}, true},
		"a package does": {map[Test]Status{{"a", ""}: Failed}, map[Test]string{{"a", ""}: "panic: nil\n"}, true},
	} {
		if got := (Results{tt.status, tt.output}).broken("a"); got != tt.want {
			t.Errorf("%s: broken is %v, want %v", name, got, tt.want)
		}
	}
}

func TestResultsAdd(t *testing.T) {
	first := Results{map[Test]Status{{"a", "TestX"}: Unfinished}, map[Test]string{{"a", "TestX"}: "hung"}}
	first.add(Results{map[Test]Status{{"a", "TestX"}: Passed, {"a", "TestY"}: Failed, {"a", "TestY/1"}: Failed}, map[Test]string{{"a", "TestY"}: "bad"}})
	want := map[Test]Status{{"a", "TestX"}: Unfinished, {"a", "TestY"}: Failed, {"a", "TestY/1"}: Failed}
	if !maps.Equal(first.Status, want) || first.Output[Test{"a", "TestX"}] != "hung" || first.Output[Test{"a", "TestY"}] != "bad" {
		t.Errorf("got %v, want %v", first, want)
	}
	if got := slices.Sorted(slices.Values(first.seen("a"))); !slices.Equal(got, []string{"TestX", "TestY"}) {
		t.Errorf("seen are %v, want TestX and TestY", got)
	}
}
