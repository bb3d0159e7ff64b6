package limit

import (
	"maps"
	"testing"

	"github.com/gopacer/pacer/quota"
)

// What goes before a claim is summed up without a change of the maps of those who wait, which are theirs.
func TestAheadChangesNoMap(t *testing.T) {
	tokens := Demand{Claims: 1, N: 1, Costs: quota.Costs{"tokens": 5}}
	plain := Demand{Claims: 1, N: 2}
	for _, order := range [][]*Demand{{&tokens, &tokens, &plain}, {&plain, &tokens, &tokens}, {&tokens, &plain, &tokens}} {
		var a Ahead
		for _, d := range order {
			a.Add(d, d == &plain)
		}
		if a.All.Claims != 3 || a.All.N != 4 || !maps.Equal(a.All.Costs, quota.Costs{"tokens": 10}) {
			t.Errorf("all: %+v, want 3 claims, 4 requests, 10 tokens", a.All)
		}
		if a.Unreserved.Claims != 2 || a.Unreserved.N != 2 || !maps.Equal(a.Unreserved.Costs, quota.Costs{"tokens": 10}) {
			t.Errorf("unreserved: %+v, want 2 claims, 2 requests, 10 tokens", a.Unreserved)
		}
		if !maps.Equal(tokens.Costs, quota.Costs{"tokens": 5}) || plain.Costs != nil {
			t.Fatalf("%v and %v have changed", tokens.Costs, plain.Costs)
		}
	}
}
