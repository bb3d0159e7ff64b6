package adaptive

import (
	"slices"
	"testing"
)

// TestPricing: a price is out as soon as no whole multiple of it is what was used, with as many of ours as were
// counted; once all are, others use the limit.
func TestPricing(t *testing.T) {
	type answer struct {
		least, most float64
		fewest, all int
	}
	for _, test := range []struct {
		name    string
		limit   int
		answers []answer
		open    []int // of the prices up to 5
	}{
		{"nothing was heard", 5, nil, []int{2, 3, 4, 5}},
		{"one of ours cost one", 5, []answer{{0.9, 1.1, 1, 1}}, nil},
		{"two each time", 3, []answer{{1.9, 2.1, 1, 1}, {1.9, 2.1, 1, 1}}, []int{2}},
		{"two or three", 5, []answer{{1.9, 3.1, 1, 1}}, []int{2, 3}},
		{"twice two, as two may have been counted", 5, []answer{{3.9, 4.1, 1, 2}}, []int{2, 4}},
		{"two, and then three", 5, []answer{{1.9, 2.1, 1, 1}, {2.9, 3.1, 1, 1}}, nil},
		{"six are no multiple of four and five", 5, []answer{{5.9, 6.1, 1, 5}}, []int{2, 3}},
		{"a refused request costs nothing", 5, []answer{{-0.1, 0.1, 0, 0}}, []int{2, 3, 4, 5}},
		{"but one that was served does", 5, []answer{{-0.1, 0.1, 1, 1}}, nil},
		{"nothing was ours", 5, []answer{{0.5, 1.1, 0, 0}}, nil},
		{"two, and more than two of these find place", 5, []answer{{1.9, 2.1, 1, 1}}, []int{2}},
		{"none costs more than the limit", 2, []answer{{3.9, 4.1, 1, 1}}, []int{4}},
	} {
		var p pricing
		for _, a := range test.answers {
			for price := 2; price <= highestPrice; price++ {
				p.refute(price, a.least, a.most, a.fewest, a.all)
			}
		}
		for price := 2; price <= 5; price++ {
			if got, want := p.open(price), slices.Contains(test.open, price); got != want {
				t.Errorf("%s: a price of %d is open %v, want %v", test.name, price, got, want)
			}
		}
		want := !slices.ContainsFunc(test.open, func(price int) bool { return 2*price >= test.limit && price <= test.limit })
		if got := p.none(test.limit); got != want {
			t.Errorf("%s: no price is left %v, want %v", test.name, got, want)
		}
	}
}
