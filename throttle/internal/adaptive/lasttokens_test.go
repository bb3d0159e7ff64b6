package adaptive

import (
	"slices"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
)

// TestLastTokens: in which of 30 windows one of the last two tokens is asked for, if others take two for each
// of ours.
func TestLastTokens(t *testing.T) {
	for _, test := range []struct {
		name   string
		served func(window int) bool
		flight int // beside the request
		want   []int
	}{
		{"refused", func(int) bool { return false }, 0, []int{0, 1, 9, 25}},
		{"served in window 9", func(w int) bool { return w == 9 }, 0, []int{0, 1, 9, 10, 11, 19}},
		{"one more of ours under way", func(int) bool { return false }, 1, []int{0, 1, 9, 25}},
	} {
		var l lastTokens
		var asked []int
		for w := range 30 {
			if l.note(&outcome{n: 1, flight: 1, remaining: 5 + test.flight, newest: true}, w+1); l.leave(1, w+1) {
				t.Errorf("%s: one is left after the first answer of window %d", test.name, w)
			}
			l.note(&outcome{n: 1, flight: 1 + test.flight, remainingBefore: 5 + test.flight, remaining: 2 + test.flight, newest: true}, w+1)
			if l.leave(3, w+1) {
				t.Errorf("%s: three are left in window %d", test.name, w)
			}
			if l.leave(2, w+1) {
				continue
			}
			asked = append(asked, w)
			o := outcome{n: 1, flight: 1 + test.flight, remainingBefore: 2 + test.flight, remaining: test.flight, newest: true, refused: !test.served(w)}
			if l.note(&o, w+1); l.leave(0, w+1) {
				t.Errorf("%s: nothing is left to be left in window %d", test.name, w)
			}
		}
		if !slices.Equal(asked, test.want) {
			t.Errorf("%s: asked in %v, want %v", test.name, asked, test.want)
		}
	}
}

// TestLastTokensAlone: who is left alone has all tokens from the first window on in which it is, however long
// what is left would be left to others, and in the window in which others go leaves no more than they took
// last.
func TestLastTokensAlone(t *testing.T) {
	l := lastTokens{doubt: doubt{failures: 16, skip: maxSkip}}
	for w, takes := range []int{3, 1, 1, 3} { // with that of others
		left := 10
		l.note(&outcome{n: 1, flight: 1, remaining: left, newest: true}, w+1)
		for ; left >= takes && !l.leave(left, w+1); left -= takes {
			l.note(&outcome{n: 1, flight: 1, remainingBefore: left, remaining: left - takes, newest: true}, w+1)
		}
		if want := []int{1, 0, 0, 1}[w]; left != want {
			t.Errorf("%d are left in window %d, want %d", left, w, want)
		}
	}
	l.note(&outcome{n: 1, flight: 1, remaining: 10, newest: true}, 9)
	l.note(&outcome{n: 1, flight: 1, remainingBefore: 10, remaining: 3, newest: true}, 9) // others took six, and go
	l.note(&outcome{n: 1, flight: 1, remainingBefore: 3, remaining: 2, newest: true}, 9)
	if l.leave(2, 9) {
		t.Error("tokens are left to others that took none since the answer before")
	}
}

// TestLastTokensWhereNoResetIsStated: the last two of a window are left to others as well where looks have
// shown when it ends.
func TestLastTokensWhereNoResetIsStated(t *testing.T) {
	b := newBucket(t, Config{})
	of20 := func(remaining int) quota.Statement { return quota.Statement{Limit: 20, Remaining: int64(remaining)} }
	var asked []int
	for w := range 12 {
		b.at(time.Duration(w) * 10 * time.Second)
		for _, remaining := range []int{19, 5, 2} {
			b.exchange(says(of20(remaining)))
		}
		if b.window1().remaining > 0 {
			asked = append(asked, w)
			b.exchange(refuses(of20(0)))
		}
		if w == 0 { // so that it is known when all is back
			b.at(9 * time.Second).exchange(refuses(of20(0)))
		}
	}
	if want := []int{0, 1, 9}; !slices.Equal(asked, want) {
		t.Errorf("asked in %v, want %v", asked, want)
	}
}
