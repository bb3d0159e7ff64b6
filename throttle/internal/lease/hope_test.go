package lease

import (
	"testing"

	"github.com/gopacer/pacer/throttle/store"
)

// TestHope: which claims a call may still bring something, while it is under way, when it has ended, and after Next.
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

// TestHopeInHand: enough is in hand for a claim that does not go yet, and others may take it before: the call under way
// is not about it, but another one may be.
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
