package lease

import (
	"slices"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/store"
)

// TestDue: when a claim may go by slots that are in hand from 0, for 100 ms after their instants.
func TestDue(t *testing.T) {
	for name, c := range map[string]struct {
		slots []time.Duration
		at    time.Duration
		n     int
		want  time.Duration
	}{
		"none":                           {nil, 0, 1, never},
		"now":                            {[]time.Duration{0}, 0, 1, 0},
		"later":                          {[]time.Duration{200 * ms}, 0, 1, 200 * ms},
		"until it expires":               {[]time.Duration{0}, 100 * ms, 1, 100 * ms},
		"expired":                        {[]time.Duration{0}, 100*ms + 1, 1, 100*ms + 1 + never},
		"the first that has not":         {[]time.Duration{0, 200 * ms}, 150 * ms, 1, 200 * ms},
		"too few":                        {[]time.Duration{0, 10 * ms}, 0, 3, never},
		"two together":                   {[]time.Duration{0, 10 * ms}, 0, 2, 10 * ms},
		"three together":                 {[]time.Duration{0, 10 * ms, 100 * ms}, 0, 3, 100 * ms},
		"the first expires before":       {[]time.Duration{0, 10 * ms, 101 * ms}, 0, 3, never},
		"enough without the first":       {[]time.Duration{0, 90 * ms, 150 * ms}, 0, 2, 90 * ms},
		"together only without it":       {[]time.Duration{0, 120 * ms, 150 * ms}, 0, 2, 150 * ms},
		"what costs nothing needs none":  {nil, 0, 0, 0},
		"what is above what ever may go": {[]time.Duration{0}, 0, 6, 0},
	} {
		l := newLease(t, "9/s burst 5", 0)
		stock(t, l, c.slots...)
		if got := due(l, c.at, c.n); got != c.want {
			t.Errorf("%s: due at %v, want %v", name, got, c.want)
		}
		opens := c.want == c.at && c.n <= 5
		if got := l.Open(at(c.at), requests(c.n), false); got != opens {
			t.Errorf("%s: open %v, want %v", name, got, opens)
		}
	}
}

// TestDueFrom: something else stands in the way first.
func TestDueFrom(t *testing.T) {
	l := newLease(t, "9/s burst 5", 0)
	stock(t, l, 0, 200*ms)
	from := limit.Due{At: at(150 * ms), Cause: limit.Hold}
	equal(t, "due", l.DueFrom(at(0), from, &limit.Demand{}, requests(1), true, false), limit.Due{At: at(200 * ms), Cause: limit.Pace, Quota: l.names[0]})
	from.At = at(250 * ms)
	equal(t, "due with a slot", l.DueFrom(at(0), from, &limit.Demand{}, requests(1), true, false), from)
	equal(t, "due without", l.DueFrom(at(0), from, &limit.Demand{}, requests(2), true, false), from)
}

// TestDueNever: what a claim is told that asks for more than a quota ever grants.
func TestDueNever(t *testing.T) {
	l := newLease(t, "9/s burst 5, 4/m log", 0)
	want := limit.Due{At: at(0), Cause: limit.Pace, Quota: l.names[1], Cost: 5, Never: true}
	equal(t, "due", l.DueFrom(at(0), limit.Due{At: at(0)}, &limit.Demand{}, requests(5), true, false), want)
}

// TestDueReserve: what is left to claims that are not urgent does not hold urgent ones up.
func TestDueReserve(t *testing.T) {
	l := newLease(t, "8/s burst 4", 0.5)
	c := l.Next(at(0), 0, &testLine{claims: []Waiter{{requests(1), true, -1}}})
	l.Step(at(0), at(0), c, &store.Reply{Slots: in(0)}, nil, false)
	if !l.Open(at(0), requests(1), true) || l.Open(at(0), requests(1), false) {
		t.Errorf("open: urgent %v, else %v", l.Open(at(0), requests(1), true), l.Open(at(0), requests(1), false))
	}
	for _, unreserved := range []bool{false, true} {
		d := l.DueFrom(at(0), limit.Due{At: at(0)}, &limit.Demand{}, requests(1), unreserved, false)
		if (d.At == at(0)) == unreserved {
			t.Errorf("unreserved %v: due %+v", unreserved, d)
		}
	}
}

// TestDueProjected: when a claim behind others is likely to go: by slots in hand, by what the last
// reply said of the next slot, or as the quota grants.
func TestDueProjected(t *testing.T) {
	for name, c := range map[string]struct {
		slots    []time.Duration
		at       time.Duration
		ahead, n int
		want     time.Duration // with a next slot at 300 ms, of 10/s burst 5
	}{
		"by slots":               {[]time.Duration{0, 100 * ms, 200 * ms}, 0, 2, 1, 200 * ms},
		"alone by slots":         {[]time.Duration{0, 100 * ms, 200 * ms}, 0, 0, 3, 200 * ms}, // though the first has expired then
		"the next slot":          {[]time.Duration{0}, 0, 1, 1, 300 * ms},
		"three after that":       {[]time.Duration{0}, 0, 4, 1, 600 * ms},
		"a larger one":           {[]time.Duration{0}, 0, 1, 2, 300 * ms},
		"long after the reply":   {nil, Horizon, 3, 2, Horizon},
		"more than may go then":  {nil, Horizon, 5, 2, Horizon + 200*ms},
		"before there was reply": {nil, -1, 5, 2, -1 + 200*ms},
	} {
		l := newLease(t, "10/s burst 5", 0)
		if c.at >= 0 {
			call(t, l, 0, queue(slices.Repeat([]int64{1}, max(len(c.slots), 1))...), store.Reply{Slots: in(c.slots...), Next: 300 * ms, Bound: 0})
		}
		ahead := &limit.Demand{Claims: c.ahead, N: c.ahead}
		got := l.DueFrom(at(c.at), limit.Due{At: at(c.at)}, ahead, requests(c.n), true, true).At.Sub(t0)
		if got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestTake: what a claim takes of which slots, and what the store is told of the rest.
func TestTake(t *testing.T) {
	for name, c := range map[string]struct {
		at   time.Duration
		n    int
		hand int64
		more []int64
	}{
		"of one slot":          {50 * ms, 1, 2, nil},
		"of two":               {50 * ms, 2, 1, nil},
		"of three too early":   {50 * ms, 3, 1, []int64{1}},
		"of two that are left": {120 * ms, 3, 0, []int64{1}},
		"nothing":              {50 * ms, 0, 3, nil},
	} {
		l := newLease(t, "9/s burst 5", 0)
		stock(t, l, 0, 30*ms, 110*ms)
		l.Open(at(c.at), requests(1), false)
		uses := l.Take(nil, at(c.at), at(c.at), requests(c.n), false, 0)
		used := 0
		for _, u := range uses {
			used += int(u.cost[0])
		}
		if c.more != nil {
			used += int(c.more[0])
		}
		equal(t, name+", used", used, c.n)
		equal(t, name+", hand", l.State(at(c.at)).Hand, c.hand)
		equal(t, name+", more", l.Farewell(at(c.at), 0).More, c.more)
	}
}

// TestTakeAboveTheBurst: of a slot above the burst, claims that do not take all of it find the burst at most,
// whatever comes back of it. The store is told of the rest, and that is in hand no more.
func TestTakeAboveTheBurst(t *testing.T) {
	take := func(ns ...int64) []int64 { return ns }
	for name, c := range map[string]struct {
		slot  int
		takes []int64
		less  int // by so much the last one cost less
		hand  int64
		back  int
	}{
		"all of it":                 {12, take(12), 0, 0, 0},
		"a burst":                   {5, take(1), 0, 4, 0},
		"one":                       {12, take(1), 0, 4, 7},
		"several":                   {12, take(1, 3), 0, 1, 7},
		"nearly all":                {12, take(8), 0, 0, 4},
		"less than it took":         {12, take(12), 8, 1, 7},
		"little less than that":     {12, take(12), 2, 0, 2},
		"less than a part of it":    {12, take(4), 2, 3, 7},
		"nothing, after all":        {12, take(12), 12, 5, 7},
		"less where burst sufficed": {5, take(5), 2, 2, 0},
	} {
		l := newLease(t, "100/s burst 5 debt", 0)
		call(t, l, 0, queue(int64(c.slot)), store.Reply{Slots: in(0), Bound: -1})
		var uses []Use
		for _, n := range c.takes {
			uses = l.Take(nil, at(0), at(0), requests(int(n)), false, 0)
		}
		l.Settle(at(0), uses, nil, []limit.Part{{At: at(0), Cost: quota.Costs{quota.Requests: int64(c.less)}}}, false)
		equal(t, name+", hand", l.State(at(0)).Hand, c.hand)
		var back []store.Part
		if c.back > 0 {
			back = []store.Part{{Slot: 1, Cost: []int64{int64(c.back)}}}
		}
		equal(t, name+", back", l.unsent.back, back)
	}
}

// TestTakeEarliestFirst: the slots that expire first are used first.
func TestTakeEarliestFirst(t *testing.T) {
	l := newLease(t, "9/s burst 5", 0)
	stock(t, l, 50*ms, 0, 20*ms)
	var got []int64
	for _, u := range l.Take(nil, at(60*ms), at(60*ms), requests(3), false, 0) {
		got = append(got, u.slot.id)
	}
	equal(t, "slots", got, []int64{2, 3, 1})
}

// TestReturn: what was taken comes back into hand while the slot is of use, and goes back to the
// store after that.
func TestReturn(t *testing.T) {
	for name, c := range map[string]struct {
		at   time.Duration
		hand int64
		back []store.Part
	}{
		"in time":     {100 * ms, 2, nil},
		"after that":  {100*ms + 1, 0, []store.Part{{Slot: 1, Cost: []int64{2}}}},
		"much later":  {s, 0, []store.Part{{Slot: 1, Cost: []int64{2}}}},
		"immediately": {0, 2, nil},
	} {
		l, other := newLease(t, "9/s burst 5", 0), newLease(t, "9/s burst 5", 0)
		call(t, l, 0, queue(2), store.Reply{Slots: in(0), Bound: -1})
		uses := l.Take(nil, at(0), at(0), requests(2), false, 0)
		other.Return(at(c.at), uses)
		equal(t, name+", of another", other.State(at(0)).Hand, 0)
		l.Return(at(c.at), uses)
		equal(t, name+", hand", l.State(at(c.at)).Hand, c.hand)
		if got := l.Open(at(c.at), requests(2), false); got != (c.hand == 2) {
			t.Errorf("%s: open again %v", name, got)
		}
		if c.hand > 0 { // and expires where nothing else happens
			if !l.Tick(at(100*ms+1), 0) {
				t.Errorf("%s: wakes at %v", name, l.Wake().Sub(t0))
			}
			c.back = []store.Part{{Slot: 1, Cost: []int64{2}}}
		}
		equal(t, name+", back", l.unsent.back, c.back)
	}
}

// TestReturnPart: what comes back of a slot that is partly left, and in parts.
func TestReturnPart(t *testing.T) {
	l := newLease(t, "9/s burst 5", 0)
	call(t, l, 0, queue(1, 1, 1), store.Reply{Slots: []store.Slot{{ID: 7, Count: 3}}, Bound: -1})
	a := l.Take(nil, at(0), at(0), requests(1), false, 0)
	b := l.Take(nil, at(0), at(0), requests(1), false, 0)
	l.Return(at(ms), a)
	equal(t, "hand", l.State(at(ms)).Hand, 2)
	l.Return(at(101*ms), b) // what is in hand has not been looked at since
	l.expire(at(101 * ms))
	equal(t, "back", l.unsent.back, []store.Part{{Slot: 7, Cost: []int64{3}}})
}

// TestReturnAfterSet: slots of the old quotas do not come back.
func TestReturnAfterSet(t *testing.T) {
	l := newLease(t, "9/s burst 5", 0)
	stock(t, l, 0)
	uses := l.Take(nil, at(0), at(0), requests(1), false, 0)
	l.Set(0, parse(t, "9/s burst 5, 9/m log"), 0)
	l.Return(at(0), uses)
	l.Settle(at(0), uses, nil, []limit.Part{{At: at(0), Cost: quota.Costs{quota.Requests: 1}}}, false)
	equal(t, "hand", l.State(at(0)).Hand, 0)
	equal(t, "back", l.unsent.back, []store.Part(nil))
}

// TestSettle: a claim cost more or less than it took, in units of the quotas.
func TestSettle(t *testing.T) {
	less := func(unit string, ns ...int64) (parts []limit.Part) {
		for _, n := range ns {
			parts = append(parts, limit.Part{At: at(0), Cost: quota.Costs{unit: n}})
		}
		return parts
	}
	for name, c := range map[string]struct {
		more   quota.Costs
		less   []limit.Part
		urgent bool
		hand   int64
		told   []int64
	}{
		"as it was":                {nil, nil, false, 0, nil},
		"more":                     {quota.Costs{"tokens": 3}, nil, false, 0, []int64{0, 3, 0, 3}},
		"more of an urgent claim":  {quota.Costs{"tokens": 3}, nil, true, 0, []int64{0, 3, 0, 0}},
		"more, but negative":       {quota.Costs{"tokens": -3}, nil, false, 0, nil},
		"of no quota":              {quota.Costs{"bytes": 3}, less("bytes", 2), false, 0, nil},
		"less":                     {nil, less("tokens", 3), false, 6, nil},
		"less in parts":            {nil, less("tokens", 1, 2), false, 6, nil},
		"less than nothing":        {nil, less("tokens", 100), false, 8, nil},
		"less of an urgent claim":  {nil, less("tokens", 3), true, 3, nil},
		"more requests, less else": {quota.Costs{quota.Requests: 1}, less("tokens", 1), false, 2, []int64{1, 0, 1, 0}},
	} {
		l := newLease(t, "9/s burst 5, 5000 tokens/s log", 0.5)
		d := &limit.Demand{Claims: 1, N: 1, Costs: quota.Costs{"tokens": 4}}
		line := &testLine{claims: []Waiter{{Demand: d, Within: -1}}}
		call(t, l, 0, line, store.Reply{Slots: in(0), Bound: -1})
		uses := l.Take(nil, at(0), at(0), d, false, 0)
		l.Settle(at(0), uses, c.more, c.less, c.urgent)
		equal(t, name+", hand", l.State(at(0)).Hand, c.hand)
		equal(t, name+", told", l.Farewell(at(0), 0).More, c.told)
	}
}

// TestSettleLarge: what a claim cost less goes back to the store at once if it is much, unless it suffices here
// for another claim.
func TestSettleLarge(t *testing.T) {
	for name, c := range map[string]struct {
		quotas     string
		less       int
		hand, back int64
	}{
		"much":                {"50 tokens/s log", 4, 0, 4},
		"little":              {"5000 tokens/s log", 4, 4, 0},
		"enough for the next": {"50 tokens/s log", 5, 5, 0},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLease(t, c.quotas, 0)
			d := &limit.Demand{Claims: 1, Costs: quota.Costs{"tokens": 5}}
			call(t, l, 0, &testLine{claims: []Waiter{{Demand: d, Within: -1}}}, store.Reply{Slots: in(0), Bound: -1})
			uses := l.Take(nil, at(0), at(0), d, false, 0)
			l.Settle(at(0), uses, nil, []limit.Part{{At: at(0), Cost: quota.Costs{"tokens": int64(c.less)}}}, false)
			equal(t, "hand", l.State(at(0)).Hand, c.hand)
			var back []store.Part
			if c.back > 0 {
				back = []store.Part{{Slot: 1, Cost: []int64{c.back}}}
			}
			equal(t, "back", l.unsent.back, back)
			equal(t, "at once", l.Wake() == at(0), c.back > 0)
		})
	}
}

// TestSettleLatestFirst: of several slots, the latest is taken back first.
func TestSettleLatestFirst(t *testing.T) {
	l := newLease(t, "20/s burst 5", 0)
	stock(t, l, 0, 10*ms)
	uses := l.Take(nil, at(20*ms), at(20*ms), requests(2), false, 0)
	l.Settle(at(105*ms), uses, nil, []limit.Part{{At: at(20 * ms), Cost: quota.Costs{quota.Requests: 1}}}, false)
	equal(t, "hand", l.State(at(105*ms)).Hand, 1) // that of 10 ms, which is of use until 110 ms
	l.Settle(at(105*ms), uses, nil, []limit.Part{{At: at(20 * ms), Cost: quota.Costs{quota.Requests: 1}}}, false)
	equal(t, "back", l.unsent.back, []store.Part{{Slot: 1, Cost: []int64{1}}})
}

// TestFarewell: whoever leaves gives back what is in hand, tells what there is to tell, and leaves
// with the last request.
func TestFarewell(t *testing.T) {
	l := newLease(t, "9/s burst 5", 0)
	if r := l.Farewell(at(0), 0); r != nil {
		t.Errorf("of one that was never heard of: %+v", r)
	}
	stock(t, l, 0, 300*ms)
	l.Take(nil, at(0), at(0), requests(2), false, 0)
	c := l.Next(at(0), 0, queue(1, 1))
	l.Take(nil, at(0), at(0), requests(1), false, 0)
	l.Step(at(ms), at(0), c, nil, errDown, false) // which may have told of More: it is told again, alone
	r := l.Farewell(at(ms), at(s))
	equal(t, "first", []any{r.Serial, r.More, r.Back, r.Leave, r.Hold, r.Asks}, []any{int64(2), []int64{1}, []store.Part(nil), false, s - ms, []store.Ask(nil)})
	l.Acknowledged()
	l.HeldByStore(at(0), at(s), 0)
	r = l.Farewell(at(ms), at(s))
	equal(t, "last", []any{r.Serial, r.More, r.Back, r.Leave, r.Hold}, []any{int64(3), []int64{1}, []store.Part{{Slot: 2, Cost: []int64{1}}}, true, time.Duration(0)})
}

// TestIdle: what keeps a Lease from being forgotten.
func TestIdle(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(l *Lease)
		want bool
	}{
		"nothing":       {func(*Lease) {}, true},
		"a call":        {func(l *Lease) { l.Next(at(0), 0, queue(1)) }, false},
		"what went":     {func(l *Lease) { l.Take(nil, at(0), at(0), requests(1), false, 0) }, false},
		"what was said": {func(l *Lease) { l.Said(at(0), usedUp(s)) }, false},
		"a failed call": {func(l *Lease) { l.Step(at(0), at(0), l.Next(at(0), 0, queue(1)), nil, errDown, false) }, false},
		"a reply":       {func(l *Lease) { l.Step(at(0), at(0), l.Next(at(0), 0, queue(1)), &store.Reply{}, nil, false) }, true},
		"a slot in hand": {func(l *Lease) {
			l.Step(at(0), at(0), l.Next(at(0), 0, queue(1)), &store.Reply{Slots: in(0)}, nil, false)
		}, false},
	} {
		l := newLease(t, "9/s burst 5", 0)
		c.do(l)
		if got := l.Idle(at(0)); got != c.want {
			t.Errorf("%s: idle %v, want %v", name, got, c.want)
		}
	}
}

// TestSlotsExpire: a slot may be used until the instant at which it ends, included.
func TestSlotsExpire(t *testing.T) {
	var h heldSlots
	h.reset(1)
	for _, until := range []monotime.Time{5, 7} {
		h.put(&heldSlot{id: int64(until), from: 1, until: until, left: []int64{1}})
	}
	for _, test := range []struct {
		now  monotime.Time
		want int // how many are left
	}{{5, 2}, {6, 1}, {7, 1}, {8, 0}} {
		if h.expire(test.now); len(h.list) != test.want || h.inHand[0] != int64(test.want) {
			t.Errorf("at %d: %d slots with %d, want %d", test.now, len(h.list), h.inHand[0], test.want)
		}
	}
}
