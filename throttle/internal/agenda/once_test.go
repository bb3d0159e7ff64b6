package agenda

import (
	"slices"
	"testing"
)

func TestOnce(t *testing.T) {
	var o Once[int]
	for _, want := range [][]int{nil, {3, 1, 2}, {2, 3}, nil} {
		for range 2 {
			for _, k := range want {
				o.Add(k)
			}
		}
		if got := o.Take(); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}
