package agenda

import (
	"testing"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

func TestEarliest(t *testing.T) {
	for _, test := range []struct {
		instants []monotime.Time
		want     monotime.Time
	}{
		{nil, 0},
		{[]monotime.Time{0}, 0},
		{[]monotime.Time{20, 30}, 0},
		{[]monotime.Time{0, 19, 15, 0, 17}, 15},
		{[]monotime.Time{15, 10}, 11},
		{[]monotime.Time{3, 15}, 11},
		{[]monotime.Time{-3}, 11},
	} {
		e := Earliest{Now: 10, Before: 20}
		for _, at := range test.instants {
			e.Or(at)
		}
		if e.At != test.want {
			t.Errorf("the earliest of %v, from 11 to 19, is %v, want %v", test.instants, e.At, test.want)
		}
	}
}
