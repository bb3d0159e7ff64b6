package lease

import (
	"testing"
	"time"

	"github.com/gopacer/pacer/throttle/store"
)

// busy has l send at so many instants, the last at 0, with so many claims behind each. Slots are
// at hand for all.
func busy(l *Lease, n int, every time.Duration, waiting int) {
	for i := n - 1; i >= 0; i-- {
		now := at(-time.Duration(i) * every)
		l.Take(nil, now, now, requests(1), false, waiting)
	}
	l.unsent.more = nil
}

// TestPrefetch: how many slots are asked for while nobody waits, of 1000/s, 10 ms of work each
// ten. Rates are those of a decaying average.
func TestPrefetch(t *testing.T) {
	for name, c := range map[string]struct {
		before  func(l *Lease)
		members int
		count   int // zero if there is no call
		within  time.Duration
	}{
		"nobody came": {func(*Lease) {}, 1, 0, 0},
		"one came":    {func(l *Lease) { busy(l, 1, s, 0) }, 1, 0, 0},
		// 20 a second for 100 ms: one of these is likely to be used.
		"a few a second": {func(l *Lease) { busy(l, 20, 50*ms, 0) }, 1, 1, 100 * ms},
		// 13 in a decaying second, 1.3 in 100 ms; 13/(13 + 1.2) and 13/(13 + 2.8) of that, squared, is
		// 1.09 and 0.88.
		"a few, and one expired long ago": {func(l *Lease) { busy(l, 20, 50*ms, 0); l.demand.expire(at(0), 0.3) }, 1, 1, 100 * ms},
		"a few, and one expired":          {func(l *Lease) { busy(l, 20, 50*ms, 0); l.demand.expire(at(0), 0.7) }, 1, 0, 0},
		// A slot is 1 ms of work; the Horizon, shared by 500, too.
		"a few, and a slot is the share":   {func(l *Lease) { busy(l, 20, 50*ms, 0) }, 500, 1, 100 * ms},
		"a few, and a slot is above it":    {func(l *Lease) { busy(l, 20, 50*ms, 0) }, 501, 0, 0},
		"a few, and others hardly wait":    {func(l *Lease) { busy(l, 20, 50*ms, 0); l.last.at, l.last.next = at(0), at(2*ms) }, 1, 1, 100 * ms},
		"a few, and others wait for slots": {func(l *Lease) { busy(l, 20, 50*ms, 0); l.last.at, l.last.next = at(0), at(2*ms+1) }, 1, 0, 0},
		// 63 in a decaying second of 100 a second; 6.3 while a slot is of use; half of it, rounded up.
		"many a second": {func(l *Lease) { busy(l, 100, 10*ms, 0) }, 1, 4, 100 * ms},
		// 62 were used and 17 expired: 62/(62 + 68) of that.
		"many, and some expire": {func(l *Lease) {
			busy(l, 100, 10*ms, 0)
			l.demand.expire(at(0), 17)
		}, 1, 2, 100 * ms},
		"slow round trips":    {func(l *Lease) { busy(l, 100, 10*ms, 0); l.trips.add(90 * ms) }, 1, 0, 0},
		"others behind":       {func(l *Lease) { busy(l, 100, 10*ms, 1) }, 1, 500, s},
		"others share":        {func(l *Lease) { busy(l, 100, 10*ms, 1) }, 4, 125, s},
		"while it is down":    {func(l *Lease) { busy(l, 100, 10*ms, 1); l.outage.since = at(0) }, 1, 0, 0},
		"the store has none":  {func(l *Lease) { busy(l, 100, 10*ms, 1); l.noPrefetch = at(1) }, 1, 0, 0},
		"the store may again": {func(l *Lease) { busy(l, 100, 10*ms, 1); l.noPrefetch = at(0) }, 1, 500, s},
	} {
		l := newLease(t, "1000/s burst 100", 0)
		l.last.members = c.members
		c.before(l)
		got := l.Next(at(0), 0, queue())
		if c.count == 0 {
			if got != nil {
				t.Errorf("%s: asks %+v", name, got.Request.Asks)
			}
			continue
		}
		if got == nil {
			t.Errorf("%s: no call", name)
			continue
		}
		equal(t, name, got.Request.Asks, []store.Ask{{Cost: []int64{1}, Count: c.count, Within: c.within}})
		equal(t, name+", asked", got.asked, []Asked(nil))
	}
}

// TestPrefetchLow: more is asked for when a quarter of the target is left, or what is used during a
// round trip, and then up to the target.
func TestPrefetchLow(t *testing.T) {
	for _, c := range []struct {
		trip   time.Duration
		inHand int
		count  int // zero if there is no call
	}{
		{0, 126, 0},
		{0, 125, 375},
		{20 * ms, 166, 0},
		{20 * ms, 165, 335}, // 125 and 40 ms
		{200 * ms, 251, 0},  // half of the target at most
		{200 * ms, 250, 250},
	} {
		l := newLease(t, "1000/s burst 500", 0)
		line := queue()
		for range c.inHand {
			line.claims = append(line.claims, Waiter{requests(1), false, -1})
		}
		call(t, l, 0, line, store.Reply{Slots: []store.Slot{{ID: 1, Count: c.inHand}}, Bound: -1, Members: 1})
		busyWithout(l)
		l.trips.add(c.trip)
		got, count := l.Next(at(0), 0, queue()), 0
		if got != nil {
			count = got.Request.Asks[0].Count
		}
		if count != c.count {
			t.Errorf("with %d in hand, trips of %v: asks for %d, want %d", c.inHand, c.trip, count, c.count)
		}
	}
}

// busyWithout has demand of one be steady, and leaves what is in hand.
func busyWithout(l *Lease) {
	for i := range 100 {
		l.demand.grant(at(time.Duration(i-99)*10*ms), 1)
	}
	l.demand.unit = []int64{1}
}

// TestPrefetchAfterBurst: after a burst, a call for prefetching alone waits for a round trip, and a
// millisecond at most, for claims that come back at once.
func TestPrefetchAfterBurst(t *testing.T) {
	for trip, wait := range map[time.Duration]time.Duration{0: 0, 300 * time.Microsecond: 300 * time.Microsecond, 20 * ms: ms} {
		l := newLease(t, "1000/s burst 100", 0)
		l.last.members = 1
		l.trips.add(trip)
		for range 5 {
			l.Take(nil, at(0), at(0), requests(1), false, 0)
		}
		l.unsent.more = nil
		l.wake = 0
		got := l.Next(at(0), 0, queue())
		if wait > 0 {
			if got != nil || l.Wake() != at(wait) {
				t.Errorf("trips of %v: a call %v, wake %v, want %v", trip, got != nil, l.Wake().Sub(t0), wait)
			}
			if l.Tick(at(wait), 0); l.Wake() != 0 {
				t.Errorf("trips of %v: wakes again at %v", trip, l.Wake().Sub(t0))
			}
			got = l.Next(at(wait), 0, queue())
		}
		// 5 went, 10 may follow: half of them.
		if got == nil || got.Request.Asks[0].Count != 5 {
			t.Errorf("trips of %v: after %v %+v", trip, wait, got)
		}
		if l.flights.now = nil; l.prefetchAlone != 0 {
			t.Errorf("trips of %v: the wait goes on", trip)
		}
	}
}

// TestPrefetchWithClaims: one call is for claims that wait and for those that may come; what is
// asked for claims that wait counts.
func TestPrefetchWithClaims(t *testing.T) {
	l := newLease(t, "1000/s burst 100", 0)
	l.last.members = 1
	busy(l, 100, 10*ms, 1)
	c := l.Next(at(0), 0, queue(1, 3))
	want := []store.Ask{{Cost: []int64{1}, Count: 1, Within: -1}, {Cost: []int64{3}, Count: 1, Within: -1}, {Cost: []int64{1}, Count: 496, Within: s}}
	equal(t, "asks", c.Request.Asks, want)
	l.Step(at(0), at(0), c, &store.Reply{Next: 40 * ms}, nil, false)
	if l.noPrefetch != 0 {
		t.Errorf("no prefetching until %v, though it was claims that got none", l.noPrefetch.Sub(t0))
	}
}

// TestPrefetchNone: if the store has nothing, it is not asked again at once for claims that may
// come.
func TestPrefetchNone(t *testing.T) {
	for next, want := range map[time.Duration]time.Duration{0: 10 * ms, 30 * ms: 30 * ms, 9 * s: Horizon} {
		l := newLease(t, "1000/s burst 100", 0)
		l.last.members = 1
		busy(l, 100, 10*ms, 1)
		call(t, l, 0, queue(), store.Reply{Next: next, Bound: -1, Members: 1})
		if l.Next(at(want-1), 0, queue()) != nil {
			t.Errorf("next in %v: asked again before %v", next, want)
		}
		if l.Next(at(want), 0, queue()) == nil {
			t.Errorf("next in %v: not asked again after %v", next, want)
		}
	}
}

// TestPrefetchUnit: what is reserved for urgent claims is not prefetched.
func TestPrefetchUnit(t *testing.T) {
	l := newLease(t, "1000/s burst 100", 0.5)
	l.Take(nil, at(0), at(0), requests(2), false, 0)
	l.Take(nil, at(0), at(0), requests(3), true, 0)
	equal(t, "unit", l.demand.unit, []int64{2, 2})
	l = newLease(t, "1000/s burst 100", 0)
	l.Take(nil, at(0), at(0), requests(3), true, 0)
	equal(t, "unit where nothing is reserved", l.demand.unit, []int64{3})
}

// TestDemandSteady: demand is steady if claims wait after each grant, for two half-horizons.
func TestDemandSteady(t *testing.T) {
	for name, c := range map[string]struct {
		grants map[time.Duration]int // how many wait after a grant then
		want   bool
	}{
		"a moment":        {map[time.Duration]int{0: 3, 10: 3}, false},
		"two halves":      {map[time.Duration]int{0: 3, 250: 3, 500: 1}, true},
		"with a gap":      {map[time.Duration]int{0: 3, 250: 3, 300: 0, 400: 5}, false},
		"a gap long ago":  {map[time.Duration]int{0: 0, 250: 3, 500: 3}, true},
		"a gap before":    {map[time.Duration]int{250: 3, 300: 0, 500: 3}, false},
		"a long pause":    {map[time.Duration]int{0: 3, 250: 3, 1250: 3}, false},
		"a shorter pause": {map[time.Duration]int{0: 3, 250: 3, 1249: 3}, true},
	} {
		var d demand
		for i := range 2000 {
			if waiting, ok := c.grants[time.Duration(i)]; ok {
				d.grant(at(time.Duration(i)*ms), waiting)
			}
		}
		if got := d.backlog.steady(); got != c.want {
			t.Errorf("%s: steady %v, want %v", name, got, c.want)
		}
	}
}
