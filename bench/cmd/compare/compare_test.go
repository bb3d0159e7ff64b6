package main

import (
	"strings"
	"testing"

	"github.com/gopacer/pacer/bench"
)

// A goal that is missed is said, and makes the program fail; so does an allocation.
func TestPrintGoals(t *testing.T) {
	for name, test := range map[string]struct {
		ns, allow float64
		allocs    int64
		missed    int
	}{
		"met":              {320, 110, 1, 0},
		"a trip missed":    {331, 110, 1, 1},
		"a grant missed":   {320, 112, 1, 1},
		"an allocation":    {320, 110, 2, 1},
		"all three missed": {331, 112, 2, 3},
	} {
		trips := []*row{
			{name: bench.Bare, ns: [][]float64{{100}}, mem: []int64{1}},
			{name: bench.XTime, ns: [][]float64{{300}}, mem: []int64{1}},
			{name: "pacer", goal: 1.15, ns: [][]float64{{test.ns}}, mem: []int64{test.allocs}},
			{name: "a peer", ns: [][]float64{{5000}}, mem: []int64{9}},
		}
		grants := []*row{
			{name: bench.XTimeAllow, ns: [][]float64{{100}}, mem: []int64{0}},
			{name: "throttle", goal: 1.1, ns: [][]float64{{test.allow}}, mem: []int64{0}},
		}
		var w strings.Builder
		met := printGoals(&w, trips, grants)
		if n := strings.Count(w.String(), "MISSED"); met != (test.missed == 0) || n != test.missed {
			t.Errorf("%s: met %v, %d missed, want %d\n%s", name, met, n, test.missed, w.String())
		}
	}
}

// three are paths, of which one has a goal.
var three = []bench.Path{
	{Name: "bare"},
	{Name: "lines", Over: "bare", Per: "lines"},
	{Name: "ours", Over: "bare", Per: "lines", Goal: 1.5},
}

// countsOfThree are the instructions that they take, if ours takes so many.
func countsOfThree(ours float64) map[string]float64 {
	return map[string]float64{"bare": 100, "lines": 300, "ours": ours}
}

func TestPrintInstructions(t *testing.T) {
	for ours, want := range map[float64]string{
		400: "| ours | 400 | 300 | 1.50 | 1.50 | met |",
		402: "| ours | 402 | 302 | 1.51 | 1.50 | MISSED |",
	} {
		var w strings.Builder
		met := printInstructions(&w, three, countsOfThree(ours), 0)
		if !strings.HasSuffix(w.String(), want+"\n") || met != strings.HasSuffix(want, " met |") {
			t.Errorf("%v\n%s, want %s", met, w.String(), want)
		}
	}
}

// A path that misses its goal is counted again, four times at most, and the least counts.
func TestInstructionsAgain(t *testing.T) {
	for name, test := range map[string]struct {
		ours  []float64 // of each count
		slack float64
		table string
		met   bool
	}{
		"met at once":         {[]float64{400}, 0, "| ours | 400 | 300 | 1.50 | 1.50 | met |", true},
		"met the third time":  {[]float64{410, 420, 390}, 0, "| ours | 390 | 290 | 1.45 | 1.50 | met |", true},
		"missed each time":    {[]float64{420, 410, 420, 430, 420}, 3, "| ours | 410 | 310 | 1.55 | 1.50 | MISSED |", false},
		"missed by little":    {[]float64{420, 410, 420, 430, 420}, 4, "| ours | 410 | 310 | 1.55 | 1.50 | MISSED |", true},
		"met the second time": {[]float64{410, 400}, 0, "| ours | 400 | 300 | 1.50 | 1.50 | met |", true},
	} {
		var w strings.Builder
		n := 0
		met, err := instructions(&w, three, test.slack, func(asked []bench.Path) (map[string]float64, error) {
			counts := map[string]float64{}
			for _, p := range asked {
				counts[p.Name] = countsOfThree(test.ours[min(n, len(test.ours)-1)])[p.Name]
			}
			if len(asked) > 0 {
				n++
			}
			return counts, nil
		})
		if err != nil || met != test.met || n != len(test.ours) || !strings.HasSuffix(w.String(), test.table+"\n") {
			t.Errorf("%s: met %v, %v, counted %d times\n%s, want %s", name, met, err, n, w.String(), test.table)
		}
	}
}

// Each path that is compared is compared with one that there is.
func TestPathsAreCompared(t *testing.T) {
	known := map[string]bool{"": true}
	for _, p := range bench.Paths() {
		if known[p.Name] {
			t.Errorf("two paths %q", p.Name)
		}
		known[p.Name] = true
	}
	for _, p := range bench.Paths() {
		if _, err := p.Begin(); err != nil || !known[p.Over] || !known[p.Per] {
			t.Errorf("%s: %v, over %q, per %q", p.Name, err, p.Over, p.Per)
		}
	}
}
