package lease

import (
	"testing"
	"time"

	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/store"
)

// TestHope: which claims a call may still bring something, while it is under way, when it has ended, and after
// Next.
func TestHope(t *testing.T) {
	l := newLease(t, "9/s burst 5", 0)
	line := queue(1, 1)
	check := func(when string, h *Hope, called, may bool) {
		t.Helper()
		if h.Called() != called || l.MayBring(h) != may {
			t.Errorf("%s: called %v, may bring %v, want %v and %v", when, h.Called(), l.MayBring(h), called, may)
		}
	}
	early := new(Hope)
	l.Meet(early)
	check("before any call", early, false, false)
	c := l.Next(at(0), 0, line)
	late := new(Hope)
	l.Meet(late)
	check("who was there and is not in line", early, false, false)
	check("the first in line", line.Hope(0), true, false)
	check("who came since", late, false, true)
	l.Step(at(ms), at(0), c, &store.Reply{Bound: -1, Slots: []store.Slot{{ID: 1, Count: 1, Bound: -1}}}, nil, false)
	check("whom the reply serves", line.Hope(0), false, true)
	check("whom it does not serve", line.Hope(1), false, false)
	check("who came since, and the next call is not made yet", late, false, true)
	l.Next(at(ms), 0, queue())
	check("who came since, and no call follows", late, false, false)
	check("whom the reply serves, and no call follows", line.Hope(0), false, false)
}

// TestHopeInHand: enough is in hand for a claim that does not go yet, and others may take it before: the call
// under way is not about it, but another one may be.
func TestHopeInHand(t *testing.T) {
	l := newLease(t, "9/s burst 5", 0)
	stock(t, l, 0, 90*ms)
	line := queue(1, 1, 2)
	if l.Next(at(0), 0, line) == nil {
		t.Fatal("no call")
	}
	for i, want := range []struct{ called, may bool }{{false, true}, {false, false}, {true, false}} { // the second one's slot is for later
		if h := line.Hope(i); h.Called() != want.called || l.MayBring(h) != want.may {
			t.Errorf("%d: called %v, may bring %v, want %v", i, h.Called(), l.MayBring(h), want)
		}
	}
}

// TestHopeHasAnEnd: a claim whose slots always go to others has calls made for it, but not for ever.
func TestHopeHasAnEnd(t *testing.T) {
	var s flights
	h := new(Hope)
	for n := 1; ; n++ {
		c := s.begin([]*Hope{h})
		c.answer(0, true)
		s.end(&c)
		if !s.mayBring(h) {
			if n != mostServed {
				t.Errorf("%d calls, want %d", n, mostServed)
			}
			return
		}
		s.ended = nil
	}
}

// TestVain: what counts is how long the same claim was first in line, asked for all the time, and got nothing.
func TestVain(t *testing.T) {
	const bound = time.Minute
	one, other := new(Hope), new(Hope)
	for name, test := range map[string]struct {
		spoil func(i int, at *monotime.Time, first **Hope, got []int)
		lasts bool
	}{
		"nothing":           {func(int, *monotime.Time, **Hope, []int) {}, true},
		"a slot in between": {func(i int, _ *monotime.Time, _ **Hope, got []int) { got[0] = btoi(i == 60) }, false},
		"another claim":     {func(i int, _ *monotime.Time, first **Hope, _ []int) { *first = [2]*Hope{one, other}[btoi(i >= 60)] }, false},
		"a hold in between": {func(i int, at *monotime.Time, _ **Hope, _ []int) {
			*at = at.Add(time.Duration(btoi(i >= 60)) * time.Hour)
		}, false},
		"nobody in between": {func(i int, _ *monotime.Time, first **Hope, _ []int) { *first = [2]*Hope{one, nil}[btoi(i == 60)] }, false},
		"a slower store":    {func(_ int, at *monotime.Time, _ **Hope, _ []int) { *at = 1 + 2*(*at) - 2 }, true},
	} {
		var v vain
		var now monotime.Time
		for i := range 122 { // each Horizon, until just after the bound
			first, got := one, []int{0}
			now = monotime.Time(1).Add(time.Duration(i) * Horizon)
			test.spoil(i, &now, &first, got)
			if first == nil {
				v.note(now, nil, got, now)
			} else {
				v.note(now, []*Hope{first}, got, now)
			}
		}
		if v.lasts(now, bound) != test.lasts || v.lasts(now.Add(goesOn), bound) != test.lasts || v.lasts(now.Add(goesOn+1), bound) {
			t.Errorf("%s: it lasts: %v, then %v, later %v, want %v, and not later", name, v.lasts(now, bound), v.lasts(now.Add(goesOn), bound), v.lasts(now.Add(goesOn+1), bound), test.lasts)
		}
	}
	if v := (vain{one, 1, 1, 1}); v.broken(monotime.Time(1).Add(mostVain-1)) || !v.broken(monotime.Time(1).Add(mostVain)) {
		t.Errorf("want that a word counts as broken after %v", mostVain)
	}
}

// TestVainWithoutABound: a store that says that there is a slot now, so that no quota stands in the way, and
// has none, is waited for as long as one that says which quota it is: for a day, or for the window of that. Who
// has slots, or needs none, does not wait for it.
func TestVainWithoutABound(t *testing.T) {
	const now, day = monotime.Time(1) + monotime.Time(10000*time.Hour), 24 * time.Hour
	for text, most := range map[string]time.Duration{"10/s burst 5": day, "5/720h window": 720 * time.Hour} {
		for _, due := range []string{"", "of another room"} { // for which the claim is
			for _, c := range []struct {
				n      int
				lasted time.Duration
				want   bool
			}{{1, most, false}, {1, most + 1, true}, {0, most + 1, false}} {
				l := newLease(t, text, 0)
				l.vain = vain{new(Hope), now.Add(-c.lasted), now, now.Add(-c.lasted)}
				d, demand := limit.Due{At: now, Quota: due}, limit.Demand{Claims: 1, N: c.n}
				if _, got := l.Beyond(now, d, &demand, false, monotime.Unbounded); got != c.want {
					t.Errorf("%s, due for %q, a cost of %d, after %v: beyond is %v, want %v", text, due, c.n, c.lasted, got, c.want)
				}
			}
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
