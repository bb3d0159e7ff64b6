package bench

import (
	"math"
	"slices"
	"testing"
)

// Every figure is one of something that was done, and is told for ascending sizes.
func TestGrowths(t *testing.T) {
	for _, g := range Growths() {
		if got := g.Measure(20); math.IsNaN(got) || math.IsInf(got, 0) || got <= 0 && g.Unit != "B" {
			t.Errorf("%s: %v %s", g.Name, got, g.Unit)
		}
		if !slices.IsSorted(g.Sizes) || len(g.Sizes) < 3 {
			t.Errorf("%s: sizes %v, want at least three that ascend", g.Name, g.Sizes)
		}
	}
}

// What is linear is told from what is flat, and what is quadratic from what is linear.
func TestMost(t *testing.T) {
	for _, linear := range []bool{false, true} {
		sizes := []int{10, 100, 1000}
		degree := 0.0
		if linear {
			degree = 1
		}
		most := Growth{Sizes: sizes, Linear: linear}.Most()
		if as, more := math.Pow(100, degree), math.Pow(100, degree+1); most <= 2*as || most >= more/2 {
			t.Errorf("linear %v: may grow by %v, want more than %v, and less than %v", linear, most, 2*as, more/2)
		}
	}
}
