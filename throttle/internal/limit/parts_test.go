package limit

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/pacer/quota"
)

func TestPartsCorrect(t *testing.T) {
	for name, test := range map[string]struct {
		parts Parts
		spent quota.Costs
		want  Parts
		more  quota.Costs
		less  Parts
	}{
		"nothing":           {Parts{{1, quota.Costs{"requests": 1}}}, nil, Parts{{1, quota.Costs{"requests": 1}}}, quota.Costs{}, nil},
		"as it was":         {Parts{{1, quota.Costs{"b": 5}}}, quota.Costs{"b": 5}, Parts{{1, quota.Costs{"b": 5}}}, quota.Costs{}, nil},
		"more":              {Parts{{1, quota.Costs{"b": 5}}}, quota.Costs{"b": 7}, Parts{{1, quota.Costs{"b": 5}}, {9, quota.Costs{"b": 2}}}, quota.Costs{"b": 2}, nil},
		"a new unit":        {Parts{{1, quota.Costs{"b": 5}}}, quota.Costs{"c": 7}, Parts{{1, quota.Costs{"b": 5}}, {9, quota.Costs{"c": 7}}}, quota.Costs{"c": 7}, nil},
		"less":              {Parts{{1, quota.Costs{"b": 5}}}, quota.Costs{"b": 3}, Parts{{1, quota.Costs{"b": 3}}}, quota.Costs{}, Parts{{1, quota.Costs{"b": 2}}}},
		"less of two":       {Parts{{1, quota.Costs{"b": 5}}, {2, quota.Costs{"b": 3}}}, quota.Costs{"b": 1}, Parts{{1, quota.Costs{"b": 1}}, {2, quota.Costs{"b": 0}}}, quota.Costs{}, Parts{{2, quota.Costs{"b": 3}}, {1, quota.Costs{"b": 4}}}},
		"negative":          {Parts{{1, quota.Costs{"b": 5}}}, quota.Costs{"b": math.MinInt}, Parts{{1, quota.Costs{"b": 0}}}, quota.Costs{}, Parts{{1, quota.Costs{"b": 5}}}},
		"no unit":           {Parts{{1, quota.Costs{"requests": 1}}}, quota.Costs{"": 3}, Parts{{1, quota.Costs{"requests": 1}}, {9, quota.Costs{"requests": 2}}}, quota.Costs{"requests": 2}, nil},
		"two names of one":  {Parts{{1, quota.Costs{"requests": 9}}}, quota.Costs{"": 5, "requests": 7}, Parts{{1, quota.Costs{"requests": 7}}}, quota.Costs{}, Parts{{1, quota.Costs{"requests": 2}}}},
		"and the other way": {Parts{{1, quota.Costs{"requests": 1}}}, quota.Costs{"": 5, "requests": 2}, Parts{{1, quota.Costs{"requests": 1}}, {9, quota.Costs{"requests": 4}}}, quota.Costs{"requests": 4}, nil},
		"of no charges":     {nil, quota.Costs{"b": 3}, Parts{{9, quota.Costs{"b": 3}}}, quota.Costs{"b": 3}, nil},
	} {
		got, more, less := test.parts.Correct(9, test.spent)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: parts\n%s", name, diff)
		}
		if diff := cmp.Diff(test.more, more); diff != "" {
			t.Errorf("%s: more\n%s", name, diff)
		}
		if diff := cmp.Diff(test.less, less); diff != "" {
			t.Errorf("%s: less\n%s", name, diff)
		}
	}
}

func TestPartsDemand(t *testing.T) {
	claimed := Demand{Claims: 1, N: 2, Costs: quota.Costs{"b": 5}}
	for name, test := range map[string]struct {
		parts Parts
		want  Demand
	}{
		"nothing":     {nil, Demand{Claims: 1, Costs: quota.Costs{"b": 5}}},
		"as claimed":  {Parts{{1, quota.Costs{"requests": 2, "b": 5}}}, claimed},
		"corrected":   {Parts{{1, quota.Costs{"requests": 1, "b": 4}}, {2, quota.Costs{"b": 5, "c": 1}}}, Demand{Claims: 1, N: 1, Costs: quota.Costs{"b": 9, "c": 1}}},
		"taken back":  {Parts{{1, quota.Costs{"requests": 0, "b": 0}}}, Demand{Claims: 1, Costs: quota.Costs{"b": 0}}},
		"in requests": {Parts{{1, quota.Costs{"requests": 7}}}, Demand{Claims: 1, N: 7, Costs: quota.Costs{"b": 5}}},
	} {
		if diff := cmp.Diff(test.want, test.parts.Demand(claimed)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	if claimed.Costs["b"] != 5 || len(claimed.Costs) != 1 {
		t.Errorf("what was claimed has become %v", claimed.Costs)
	}
}
