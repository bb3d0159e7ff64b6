package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/gopacer/pacer/bench"
)

func TestTable(t *testing.T) {
	flat := func(int) float64 { return 3 }
	linear := func(n int) float64 { return 0.5 * float64(n) }
	sizes := []int{10, 100, 1000}
	for name, test := range map[string]struct {
		growth bench.Growth
		met    bool
		row    string
	}{
		"flat":                {bench.Growth{Name: "a", Unit: "ns", Sizes: sizes, Measure: flat}, true, "| a | 10, 100, 1000 | 3, 3, 3 ns | 1.0 | 10.0 | met |"},
		"linear, not flat":    {bench.Growth{Name: "a", Unit: "ns", Sizes: sizes, Measure: linear}, false, "| a | 10, 100, 1000 | 5, 50, 500 ns | 100.0 | 10.0 | MISSED |"},
		"linear, as promised": {bench.Growth{Name: "a", Unit: "ns", Sizes: sizes, Linear: true, Measure: linear}, true, "| a | 10, 100, 1000 | 5, 50, 500 ns | 100.0 | 1000.0 | met |"},
	} {
		t.Run(name, func(t *testing.T) {
			other := bench.Growth{Name: "b", Sizes: sizes, Measure: linear}
			var w strings.Builder
			if met := table(&w, []bench.Growth{test.growth, other}, regexp.MustCompile("a"), 2); met != test.met {
				t.Errorf("met: %v, want %v", met, test.met)
			}
			if _, rows, _ := strings.Cut(w.String(), "---|\n"); rows != test.row+"\n" {
				t.Errorf("got\n%swant\n%s", rows, test.row)
			}
		})
	}
}
