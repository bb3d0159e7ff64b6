package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
)

// asks has a member ask for one token of each quota as often as it gets one within a wait, and returns how many
// it got.
func asks(t *testing.T, l *Ledger, now time.Duration, member, text string, within time.Duration) (n int) {
	t.Helper()
	qs := quota.MustParse(text).Explicit()
	cost := make([]int64, len(qs))
	for i := range cost {
		cost[i] = 1
	}
	serial := int64(1)
	if m := l.members[member]; m != nil {
		serial += m.serial
	}
	r := request(qs, serial)
	r.Member, r.Asks = member, []Ask{{Cost: cost, Count: 1000, Within: within}}
	for _, s := range exchange(t, l, now, r).Slots {
		n += s.Count
	}
	return n
}

// TestPlacesByIdentity: what two lists have in common they share, wherever it stands, and what only one of them
// has the other pays for, too.
func TestPlacesByIdentity(t *testing.T) {
	const s = time.Second
	for _, c := range []struct{ first, then string }{
		{"100/s burst 100, 5/m log", "5/m log, 100/s burst 100"},
		{"5/m log", "100/s burst 100, 5/m log"},
		{"100/s burst 100, 5/m log", "5/m log"},
		{"5/m log", "7/m log"},
		{"7/m log", "5/m log"},
		{"5/m log, 100 tokens/s burst 100", "5/m log"},
	} {
		l := &Ledger{Epoch: time.Unix(1e9, 0)}
		if got, want := asks(t, l, 0, "a", c.first, 0), min(quota.MustParse(c.first)[0].N, 7); int64(got) > want || got < 5 {
			t.Errorf("%s: %d, want 5", c.first, got)
		}
		for at := s; at < 9*s; at += s {
			if got := asks(t, l, at, "b", c.then, 0); got > 0 {
				t.Errorf("%s, then %s: %d more after %v", c.first, c.then, got, at)
			}
			if got := asks(t, l, at+s/2, "a", c.first, 0); got > 0 {
				t.Errorf("%s, then %s: %d more of the first after %v", c.first, c.then, got, at)
			}
		}
	}
}

// TestPlacesAreKept: a program that runs now and then finds what was used meanwhile, though for long nobody has
// asked by its quota, which does not bind then.
func TestPlacesAreKept(t *testing.T) {
	const h = time.Hour
	l := &Ledger{Epoch: time.Unix(1e9, 0)}
	r := request(quota.MustParse("10/d log").Explicit(), 0)
	r.Member, r.Asks = "tool", []Ask{{Cost: []int64{1}, Count: 2, Within: 0}}
	exchange(t, l, 0, r)
	got := 0
	for at := h; at < 6*h; at += h {
		got += asks(t, l, at, "daemon", "1/h burst 3", 0)
	}
	if got < 3 || got > 5 {
		t.Errorf("%d while the tool does not run, want one each hour", got)
	}
	if again := asks(t, l, 23*h, "tool", "10/d log", 0); again != 10-2-got {
		t.Errorf("%d for the tool, want %d: the daemon has used %d", again, 10-2-got, got)
	}
	for at := 26 * h; at < 60*h; at += h {
		asks(t, l, at, "daemon", "1/h burst 3", 0)
	}
	if n := len(l.places); n != 1 {
		t.Errorf("%d quotas are kept a day after, want 1", n)
	}
}

// TestPlacesOfABucketThatDoesNotBind: what a faster one grants meanwhile leaves a slower bucket empty, and not
// in debt for hours.
func TestPlacesOfABucketThatDoesNotBind(t *testing.T) {
	const s = time.Second
	l := &Ledger{Epoch: time.Unix(1e9, 0)}
	asks(t, l, 0, "old", "1/m burst 2", 0)
	for at := 20 * s; at < 70*s; at += s / 10 {
		asks(t, l, at, "new", "100/s burst 50", 0)
	}
	if got := asks(t, l, 70*s, "old", "1/m burst 2", s); got != 0 {
		t.Errorf("%d at once, want none", got)
	}
	if got := asks(t, l, 132*s, "old", "1/m burst 2", 0); got != 1 {
		t.Errorf("%d after a minute, want 1", got)
	}
}

// TestPlacesBounded: however many lists there are, few quotas are kept.
func TestPlacesBounded(t *testing.T) {
	l := &Ledger{Epoch: time.Unix(1e9, 0)}
	for i := range 100 {
		asks(t, l, time.Duration(i)*time.Millisecond, fmt.Sprint(i), fmt.Sprintf("5/%ds log, 5/%ds window grid", 100+i, 100+i), 0)
		if n := len(l.places); n > mostKept+2*mostLists {
			t.Fatalf("%d quotas, want %d at most", n, mostKept+2*mostLists)
		}
		again(t, l)
	}
}
