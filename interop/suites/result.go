package suites

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
)

// Test is the name of a test, of a subtest, or, if Name is empty, of a package, which
// fails when it cannot be built, or outside of all tests.
type Test struct{ Package, Name string }

// String returns the package and the name.
func (t Test) String() string { return strings.TrimSpace(t.Package + " " + t.Name) }

// top returns the name without those of subtests.
func (t Test) top() string {
	name, _, _ := strings.Cut(t.Name, "/")
	return name
}

// Status is how a test ended. Zero is that it did not run.
type Status string

// What a test can end as.
const (
	Passed     Status = "passed"
	Failed     Status = "failed"
	Skipped    Status = "skipped"
	Unfinished Status = "unfinished" // it hung, or the whole process died in it
)

// Results are how tests ended.
type Results struct {
	Status map[Test]Status
	Output map[Test]string // of those that failed
}

// event is a line of go test -json; see go doc test2json.
type event struct {
	Action, Package, Test, Output string
	ImportPath, FailedBuild       string // of what is built, and of what failed to be
}

// Parse reads what go test -json prints. Lines that are no events, which a go command
// mixes in, are passed over.
func Parse(r io.Reader) (Results, error) {
	all := Results{map[Test]Status{}, map[Test]string{}}
	output, builds := map[Test]*strings.Builder{}, map[string]string{}
	text, err := io.ReadAll(r)
	if err != nil {
		return all, err
	}
	for line := range bytes.Lines(text) {
		var e event
		if json.Unmarshal(line, &e) != nil {
			continue
		}
		t := Test{e.Package, e.Test}
		switch e.Action {
		case "build-output":
			builds[e.ImportPath] += e.Output
		case "run", "cont":
			all.Status[t] = Unfinished
		case "pause":
			delete(all.Status, t) // its turn comes when the others are done
		case "pass":
			all.Status[t] = Passed
		case "fail":
			all.Status[t] = Failed
			all.Output[t] = builds[e.FailedBuild]
		case "skip":
			all.Status[t] = Skipped
		case "output":
			if output[t] == nil {
				output[t] = &strings.Builder{}
			}
			output[t].WriteString(e.Output)
		}
	}
	for t, out := range output {
		if s := all.Status[t]; s == Failed || s == Unfinished {
			all.Output[t] += out.String()
		}
	}
	return all, nil
}

// Count returns how many tests and subtests ended in each way.
func (r Results) Count() map[Status]int {
	n := map[Status]int{}
	for t, s := range r.Status {
		if t.Name != "" {
			n[s]++
		}
	}
	return n
}

// broken reports whether a package's process died before all of its tests had their turn:
// one of them hung or called os.Exit, or something panicked.
func (r Results) broken(pkg string) bool {
	if r.Status[Test{Package: pkg}] != Failed {
		return false
	}
	for t, s := range r.Status {
		if t.Package == pkg && (s == Unfinished || strings.Contains("\n"+r.Output[t], "\npanic: ")) {
			return true
		}
	}
	return false
}

// seen returns the tests of a package that had their turn, without subtests.
func (r Results) seen(pkg string) (names []string) {
	for t := range r.Status {
		if t.Package == pkg && t.Name != "" && t.Name == t.top() {
			names = append(names, t.Name)
		}
	}
	return names
}

// add adds the tests that r does not have.
func (r Results) add(more Results) {
	for t, s := range more.Status {
		if _, ok := r.Status[t]; !ok {
			r.Status[t], r.Output[t] = s, more.Output[t]
		}
	}
}
