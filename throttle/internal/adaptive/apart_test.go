package adaptive

import (
	"testing"
	"time"
)

// TestContradictions: it is looked closer at answers after two contradictions, unless they are far from each
// other.
func TestContradictions(t *testing.T) {
	for _, test := range []struct {
		answers []sequence
		enough  bool
	}{
		{[]sequence{5}, false},
		{[]sequence{5, 5 + contradictionsWithin}, true},
		{[]sequence{5, 6 + contradictionsWithin}, false},
		{[]sequence{5, 5000, 5001, 50000}, true}, // it is still to be looked at
	} {
		var c contradictions
		for _, answer := range test.answers {
			c.note(answer)
		}
		if c.enough != test.enough {
			t.Errorf("%v: %v, want %v", test.answers, c.enough, test.enough)
		}
	}
}

// TestOverlapSeparate: who hears what contradicts a shared window goes on with what it heard, and the other
// with what was known before; it does not take them for one again.
func TestOverlapSeparate(t *testing.T) {
	var site Site
	a, b := newBucketOf(t, &site, Config{}), newBucketOf(t, &site, Config{})
	for i, n := range []int{9, 8, 9, 9} {
		[]*bucket{a, b}[i%2].exchange(says(left(n, 10, time.Minute)))
	}
	if a.window1() == b.window1() {
		t.Fatal("one window")
	}
	b.wantOpen(9)
	for n := 7; n > 2; n -= 2 {
		a.exchange(says(left(n, 10, time.Minute)))
		b.exchange(says(left(n-1, 10, time.Minute)))
	}
	if a.window1() == b.window1() {
		t.Error("they are one again")
	}
	a.wantOpen(3)
	b.wantOpen(2)
}
