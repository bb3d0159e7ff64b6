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
	for _, test := range []struct {
		claimed  quota.Costs
		requests int         // apart from
		others   quota.Costs // these
		spent    quota.Costs
		want     quota.Costs // that it was charged
	}{
		{nil, 0, nil, nil, quota.Costs{"requests": 1}},
		{quota.Costs{"tokens": 5}, 0, quota.Costs{"tokens": 5}, nil, quota.Costs{"requests": 1, "tokens": 5}},
		{quota.Costs{"requests": 3}, 3, nil, nil, quota.Costs{"requests": 3}},
		{quota.Costs{"": 3, "tokens": 5}, 3, quota.Costs{"tokens": 5}, nil, quota.Costs{"requests": 3, "tokens": 5}},
		{quota.Costs{"": 3, "requests": 5}, 5, nil, quota.Costs{"": 4}, quota.Costs{"requests": 4}},
		{quota.Costs{"": 5, "requests": 3}, 5, nil, quota.Costs{"requests": 0}, quota.Costs{"requests": 0}},
		{quota.Costs{"requests": 3}, 3, nil, quota.Costs{"": 5, "requests": 4}, quota.Costs{"requests": 5}},
		{quota.Costs{"requests": 3}, 3, nil, quota.Costs{"": 4, "requests": 5}, quota.Costs{"requests": 5}},
		{quota.Costs{"requests": -3}, 0, nil, quota.Costs{"requests": -3}, quota.Costs{"requests": 0}},
		{quota.Costs{"requests": -3, "": -1}, 0, nil, nil, quota.Costs{"requests": 1}},
		{quota.Costs{"requests": 0, "tokens": 5}, 0, quota.Costs{"tokens": 5}, quota.Costs{"tokens": 7, "bytes": -1}, quota.Costs{"requests": 1, "tokens": 7, "bytes": 0}},
	} {
		before := maps.Clone(test.claimed)
		n, others := Apart(test.claimed)
		if n != test.requests || !maps.Equal(others, test.others) || (others == nil) != (test.others == nil) || !maps.Equal(test.claimed, before) {
			t.Errorf("of %v: %d requests and %#v, want %d and %#v; and now %v", before, n, others, test.requests, test.others, test.claimed)
		}
		if got := Costs(n, others, test.spent); !maps.Equal(got, test.want) {
			t.Errorf("claimed %v, spent %v: got %v, want %v", test.claimed, test.spent, got, test.want)
		}
	}
}

func TestOver(t *testing.T) {
	for _, test := range []struct{ costs, others, want quota.Costs }{
		{nil, nil, quota.Costs{}},
		{quota.Costs{"": 5, "tokens": 7}, nil, quota.Costs{"": 5, "tokens": 7}},
		{nil, quota.Costs{"": 5, "tokens": 7}, quota.Costs{"": 5, "tokens": 7}},
		{quota.Costs{"tokens": 7, "bytes": 1}, quota.Costs{"tokens": 3}, quota.Costs{"tokens": 3, "bytes": 1}},
		{quota.Costs{"requests": 5, "tokens": 7}, quota.Costs{"": 1}, quota.Costs{"": 1, "tokens": 7}},
		{quota.Costs{"": 5, "tokens": 7}, quota.Costs{"requests": 1, "tokens": 0}, quota.Costs{"requests": 1, "tokens": 0}},
	} {
		before := [...]quota.Costs{maps.Clone(test.costs), maps.Clone(test.others)}
		if got := Over(test.costs, test.others); got == nil || !maps.Equal(got, test.want) {
			t.Errorf("%v over %v: got %v, want %v", test.others, test.costs, got, test.want)
		}
		if !maps.Equal(test.costs, before[0]) || !maps.Equal(test.others, before[1]) {
			t.Errorf("%v are %v and %v now", before, test.costs, test.others)
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
