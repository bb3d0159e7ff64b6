package waits

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

func TestMerge(t *testing.T) {
	a, b := throttle.Wait{Bucket: "a", Cause: throttle.CausePace, For: 3}, throttle.Wait{Bucket: "b", Cause: throttle.CausePace, For: 2}
	got := Merge(nil, []throttle.Wait{a, b})
	got = Merge(got, []throttle.Wait{{Bucket: "b", Cause: throttle.CausePace, For: 2}, {Bucket: "a", Cause: throttle.CauseHold, For: 1}})
	want := []throttle.Wait{{Bucket: "b", Cause: throttle.CausePace, For: 4}, a, {Bucket: "a", Cause: throttle.CauseHold, For: 1}}
	if !slices.Equal(got, want) || Sum(got) != 8*time.Nanosecond {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestCosts(t *testing.T) {
	for _, test := range []struct{ claimed, spent, want quota.Costs }{
		{nil, nil, quota.Costs{"requests": 1}},
		{quota.Costs{"": 3, "tokens": 5}, nil, quota.Costs{"requests": 3, "tokens": 5}},
		{quota.Costs{"requests": 0, "tokens": 5}, quota.Costs{"tokens": 7, "bytes": -1}, quota.Costs{"requests": 1, "tokens": 7, "bytes": 0}},
	} {
		if got := Costs(test.claimed, test.spent); !maps.Equal(got, test.want) {
			t.Errorf("claimed %v, spent %v: got %v, want %v", test.claimed, test.spent, got, test.want)
		}
	}
}

func TestHooks(t *testing.T) {
	type set struct{ hook func(int) }
	var got []int
	add := func(by int) *set { return &set{func(n int) { got = append(got, n+by) }} }
	of := func(s *set) func(int) { return s.hook }
	Hooks([]*set{add(1), nil, {}, add(2)}, of)(10)
	if !slices.Equal(got, []int{11, 12}) {
		t.Errorf("got %v", got)
	}
	if Hooks([]*set{nil, {}}, of) != nil {
		t.Error("a hook of nobody")
	}
}
