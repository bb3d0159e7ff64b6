package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/gopacer/pacer/internal/tests/whole"
)

// A few cells, of which each goes the same way twice, and is read back as it was written. It links a test,
// which takes seconds: a step of the gate does, with PACER_WHOLE=1.
func TestPlay(t *testing.T) {
	if !whole.Wanted() {
		t.Skip("the gate plays")
	}
	p, err := build(t.Context(), filepath.Join(t.TempDir(), "simulation.test"))
	if err != nil {
		t.Fatal(err)
	}
	p.seed = 5
	names := namesOf(1, regexp.MustCompile(`/(1-short|3-long)/`))
	if len(names) != 2*len(classes) {
		t.Fatalf("%d names: %v", len(names), names)
	}
	m := &matrix{Build: "b", Seed: 5}
	if m.Outcomes, err = p.playAll(t.Context(), names, 2); err != nil {
		t.Fatal(err)
	}
	if err := m.problems(); err != nil {
		t.Error(err)
	}
	for i, o := range m.Outcomes {
		if o.Name != names[i] || o.Served < 100 || o.Just < 0.9 || o.Cell == "" || o.Bound == nil || o.Bound.Name != o.Name || o.Bound.Served != o.Served || o.Bound.Just < 0.9 {
			t.Errorf("%+v", o)
		}
	}
	again, err := p.playAll(t.Context(), names, 1)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(again, m.Outcomes) {
		t.Errorf("%+v, and again %+v", m.Outcomes, again)
	}
	file := filepath.Join(t.TempDir(), "m.json")
	if err := m.write(file); err != nil {
		t.Fatal(err)
	}
	if read, err := readMatrix(file); err != nil || !reflect.DeepEqual(read, m) {
		t.Errorf("%+v, %v; want %+v", read, err, m)
	}
	if o := p.play(t.Context(), "exact/9-long/0"); !strings.Contains(o.Problem, "no such cell") {
		t.Errorf("a cell that is not there: %+v", o)
	}
	var b strings.Builder
	if err := p.trace(t.Context(), "exact/1-short/0", &b); err != nil || !strings.Contains(b.String(), "request 0 of process 0: 200") {
		t.Errorf("%v: %s", err, b.String())
	}
}

func TestKeep(t *testing.T) {
	old := &matrix{Outcomes: []outcome{{Name: "a", Cell: "1"}, {Name: "b", Cell: "1"}, {Name: "c", Cell: "1"}}}
	old.keep(&matrix{Outcomes: []outcome{{Name: "b", Cell: "2"}, {Name: "c", Cell: "1"}, {Name: "d", Cell: "1"}}})
	if len(old.Outcomes) != 1 || old.Outcomes[0].Name != "c" {
		t.Errorf("%+v", old.Outcomes)
	}
}

func TestQuantiles(t *testing.T) {
	for n, want := range map[int]pair{1: {1, 1}, 2: {1, 2}, 4: {2, 3}, 48: {24, 36}} {
		var all []outcome
		for i := range n {
			all = append(all, outcome{Just: float64(n - i)})
		}
		if got := quantiles(all, func(o outcome) float64 { return o.Just }); got != want {
			t.Errorf("of %d: %v, want %v", n, got, want)
		}
	}
}

func TestReport(t *testing.T) {
	made := func(build string, just, refused, adapted float64) *matrix {
		m := &matrix{Build: build, Seed: 3}
		for i := range 4 {
			more := float64(i)
			m.Outcomes = append(m.Outcomes,
				outcome{Name: fmt.Sprintf("hint/1-long/%d", i), Cell: "a GCRA", Just: just + more/100, Refused: refused + more/10, Took: 1, Served: 100},
				outcome{Name: fmt.Sprintf("hint/idle/%d", i), Cell: "a log", Just: just, Took: 1, Served: 100},
				outcome{Name: fmt.Sprintf("silent/double/%d", i), Cell: "a bucket", Adapted: adapted + 10*more, Settled: i < 3, Served: 100})
		}
		return m
	}
	var b strings.Builder
	report(&b, made("new", 1.02, 0.2, 60), nil, 1)
	for _, want := range []string{
		"Build new, seed 3.\n",
		"| hint: goal | 1.01/1.25; 5/8 | 1.03/1.10; 0.5/1 | 1.05/1.40; 10/18 | 1.10/1.25; 1/2 | 1.20/1.40; 4/6 | – | 60 s | 60 s |\n" +
			"| reached |  | 1.03/1.04; 0.3/0.4 |  |  |  | 1.02/1.02; 0.0/0.0 |  |  |\n",
		"| reached |  |  |  |  |  |  |  | 70/80 s (3 of 4) |\n",
		"Farthest from the goals, hint (of 8 cells, 0 take more than 3 times the least; the slowest is `hint/1-long/3`, 1.1 times):\n\n- `hint/1-long/3` 1.05, 0.5 refused: a GCRA\n\n",
		"- `silent/double/3` 90 s, 0.0 refused, not settled before: a bucket\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in:\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "bound:") {
		t.Errorf("a bound that was not played: %s", b.String())
	}
	m := made("new", 1.02, 0.2, 60)
	for i := range m.Outcomes {
		m.Outcomes[i].Bound = &outcome{Name: m.Outcomes[i].Name, Just: 1.01, Refused: 1.5, Adapted: 70, Settled: true, Took: 1, Served: 100}
	}
	b.Reset()
	report(&b, m, nil, 1)
	for _, want := range []string{
		"| bound |  | 1.01/1.01; **1.5**/**1.5** |  |  |  | 1.01/1.01; 1.5/1.5 |  |  |\n",
		"| bound |  |  |  |  |  |  |  | 70/70 s (4 of 4) |\n",
		"- `silent/double/3` 90 s, 0.0 refused, not settled before (bound: 70 s, 1.5 refused): a bucket\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in:\n%s", want, b.String())
		}
	}
	m = made("new", 1.02, 0.2, 60)
	m.Outcomes[0].Ended, m.Outcomes[0].Just, m.Outcomes[1].Failed = "it stalls", 1000, 3
	m.Outcomes[2].Problem = "exit status 2"
	b.Reset()
	report(&b, m, nil, 8)
	for _, want := range []string{
		"- `silent/double/0` exit status 2: a bucket\n",
		"- `hint/1-long/0` it stalls, 0.2 refused: a GCRA\n",
		"- `hint/idle/0` 1.02, 0.0 refused, 3 failed: a log\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in:\n%s", want, b.String())
		}
	}
	if err := m.problems(); err == nil || err.Error() != "silent/double/0: exit status 2: a bucket" {
		t.Errorf("problems: %v", err)
	}
	b.Reset()
	report(&b, made("new", 3.1, 0.2, 60), made("old", 1.02, 2, 190), 1)
	for _, want := range []string{
		"Before: build old, seed 3.\n",
		"| before |  | 1.03/1.04; **2.1**/**2.2** |",
		"| after |  | **3.11**/**3.12**; 0.3/0.4 |",
		"| before |  |  |  |  |  |  |  | >200/**>200** s (3 of 4) |\n| after |  |  |  |  |  |  |  | 70/80 s (3 of 4) |\n",
		"8 take more than 3 times",
		"- `hint/1-long/3` 3.13, 0.5 refused (before: 1.05, 2.3 refused): a GCRA\n",
		"Worse than before, the most:\n\n- `hint/idle/0` from 1.02, 0.0 refused to 3.10, 0.0 refused: a log\n",
		"Better than before, the most:\n\n- `silent/double/0` from 190 s, 0.0 refused to 60 s, 0.0 refused: a bucket\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in:\n%s", want, b.String())
		}
	}
}

// The page shows the goals that the command compares with.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, class := range classes {
		var b strings.Builder
		line(&b, class+": goal", class, func(place string, _ int) string { return goals[place].String() })
		if !strings.Contains(string(page), b.String()) {
			t.Errorf("README.md has no %q", b.String())
		}
	}
}
