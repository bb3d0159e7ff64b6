package whose

import (
	"math"
	"strings"
	"testing"
)

// Letters are the kinds of those in line: an upper one was refused and not served since.
func TestAhead(t *testing.T) {
	for _, test := range []struct {
		line     string
		refusals int
		luck     float64
		want     int
	}{
		{"XXXab", 2, 0.9, 3}, // the first of another kind
		{"XXXab", 9, 0.9, 3},
		{"aXXXb", 1, 0.9, 0}, // the first is of no kind that was refused
		{"XXXXX", 1, 0.9, 0},
		{"XYXYX", 1, 0.9, 0},
		{"X", 9, 0.9, 0},
		{"XXXXX", 2, 0.9, 4}, // any
		{"XXXXX", 3, 0, 0},
		{"XXXXX", 3, 0.5, 2},
		{"XXXXX", 3, 0.999, 4},
		{"aXbXc", 3, 0.5, 2},
		{"aXbXc", 3, 1, 4}, // of a Rand that is not as it should be
		{"aXbXc", 3, -1, 0},
		{"aXbXc", 3, math.NaN(), 0},
		{"abc", 3, 0.5, 0}, // the server states a limit that is used up
	} {
		var j Judge
		kind := func(i int) *Kind { return &Kind{Verb: "GET", Path: "/" + strings.ToLower(test.line[i:i+1])} }
		for i, c := range test.line {
			if c < 'a' {
				j.unserved.refuse(1, &Past{}, &Refusal{*kind(i), 0, false, 0, 1})
			}
		}
		if got := j.Ahead(len(test.line), test.refusals, kind, func() float64 { return test.luck }); got != test.want {
			t.Errorf("%s after %d refusals, luck %v: %d goes, want %d", test.line, test.refusals, test.luck, got, test.want)
		}
	}
}
