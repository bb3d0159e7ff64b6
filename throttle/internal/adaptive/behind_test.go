package adaptive

import (
	"slices"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
)

// TestBehind: what a server says of what remains. A digit was said to a request that was served, R refused one
// where one had remained.
func TestBehind(t *testing.T) {
	for said, want := range map[string]int{ // what a 3 stands for then
		"1R":     3, // others may have taken it
		"1R1R":   2,
		"1R1R0":  3, // none remains, it says: so it counts the request
		"1R01R":  3,
		"1R1R1R": 2,
	} {
		w := window{remains: remains{remaining: 9}}
		for _, c := range said {
			if c == 'R' {
				w.remaining = w.stands(0, 1, true, false)
			} else {
				w.remaining = w.stands(int(c-'0'), 1, false, false)
			}
		}
		if got := w.stands(3, 1, false, false); got != want {
			t.Errorf("%s: 3 stands for %d, want %d", said, got, want)
		}
	}
}

// TestBehindIsTriedAgain: others may have taken the last one, so what the server says counts again, ever more
// rarely.
func TestBehindIsTriedAgain(t *testing.T) {
	b := newBucket(t, Config{})
	var refused []int
	for n := range 20 {
		b.at(time.Duration(n) * time.Minute)
		b.exchange(says(left(2, 2, time.Minute)))
		b.exchange(says(left(1, 2, time.Minute)))
		if b.Open(b.now, of(1), nil, 0) {
			b.exchange(refuses(left(0, 2, time.Minute)))
			refused = append(refused, n)
		}
		if steady := b.Steady(); steady {
			t.Errorf("window %d: steady", n)
		}
	}
	if want := []int{0, 1, 3, 7, 15}; len(refused) != len(want) || refused[4] != want[4] {
		t.Errorf("refused in windows %v, want %v", refused, want)
	}
}

// TestBehindWithoutALimit: a server that is one behind, and does not state its limit, once said that all
// remains. So what a look finds looks like all but its own request there, and shows nothing.
func TestBehindWithoutALimit(t *testing.T) {
	for _, limit := range []int{10, 0} {
		b := newBucket(t, Config{})
		var refused []int
		for n := range 40 {
			b.at(time.Duration(n) * time.Minute)
			for used := 0; b.Open(b.now, of(1), nil, 0); used++ {
				if used == 10 {
					b.exchange(refuses(left(0, limit, time.Minute)))
					refused = append(refused, n)
					break
				}
				b.exchange(says(left(10-used, limit, time.Minute)))
			}
		}
		if want := []int{0, 1, 3, 7, 15, 31}; !slices.Equal(refused, want) {
			t.Errorf("limit %d: refused in windows %v, want %v", limit, refused, want)
		}
	}
}

// TestBehindIsKept: a second run counts one less from the beginning.
func TestBehindIsKept(t *testing.T) {
	b := newBucket(t, Config{})
	for n := range 2 {
		b.at(time.Duration(n) * time.Minute)
		b.exchange(says(left(1, 2, time.Minute)))
		b.exchange(refuses(left(0, 2, time.Minute)))
	}
	later := again(t, b, time.Hour)
	later.exchange(says(left(1, 2, time.Minute)))
	later.wantDue(time.Minute)
	if got := again(t, later, time.Hour).Memory(b.now, wallClock()).Windows[0].BehindFailed; got != 2 {
		t.Errorf("%d refusals are kept, want 2", got)
	}
}

// TestBehindOfDearRequests: that one remains does not let a request go that costs more. So its refusal says
// nothing of what the server counts.
func TestBehindOfDearRequests(t *testing.T) {
	b := newBucket(t, Config{})
	tokens := func(remaining int) quota.Statement {
		st := left(remaining, 100, time.Minute)
		st.Unit = "tokens"
		return st
	}
	cost := &limit.Demand{Claims: 1, N: 1, Costs: quota.Costs{"tokens": 50}}
	exchange := func(a Answer) {
		a.Cost = cost
		b.exchange(a)
	}
	for n := range 3 {
		b.at(time.Duration(n) * time.Minute)
		exchange(says(tokens(60)))
		first, second := b.send(), b.send()
		for i, ticket := range []*Ticket{first, second} { // others took some
			a := []Answer{says(tokens(1)), refuses(tokens(1))}[i]
			a.Cost = cost
			b.done(ticket, a)
		}
	}
	if w := b.window1(); w.behind.failures > 0 {
		t.Errorf("%d refusals count", w.behind.failures)
	}
}
