package lease

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/store"
)

// down returns a Lease that had its last reply at 0, of so many members, and whose calls have
// failed since d; no reply was ever had if members is zero.
func down(t *testing.T, quotas string, mode Outage, members int, d time.Duration) *Lease {
	t.Helper()
	l := newLease(t, quotas, 0)
	l.config.Outage = mode
	if members > 0 {
		call(t, l, 0, queue(1), store.Reply{Members: members, Bound: -1})
	}
	l.Step(at(d), at(d), l.Next(at(d), 0, queue(1)), nil, errDown, false)
	return l
}

// TestOutage: when claims go while the store cannot be reached, after the last reply at 0. What is
// in hand is of use until 600 ms, and what others may have got until the outage began until 600 ms after that.
func TestOutage(t *testing.T) {
	for name, c := range map[string]struct {
		mode    Outage
		members int
		since   time.Duration
		due     []time.Duration // of claims that are there from the beginning, and go one after the other
	}{
		// 10/s among 3, nine tenths of it: one each 333,333,334 ns.
		"share": {Share, 3, 100 * ms, []time.Duration{700*ms + 333333334, 700*ms + 2*333333334, 700*ms + 3*333333334}},
		// Nobody knows how many: one in 100 ms · 2^30 / 0.9, which is almost four years.
		"share, of too many":     {Share, 1 << 30, 100 * ms, []time.Duration{700*ms + 119304647*s + 111111117}},
		"share, long after":      {Share, 3, 2 * s, []time.Duration{2600*ms + 333333334, 2600*ms + 2*333333334}},
		"share of an unknown":    {Share, 0, 100 * ms, []time.Duration{100*ms + never}},
		"share of very many":     {Share, math.MaxInt, 100 * ms, []time.Duration{700*ms + monotime.Longest/10}},
		"closed":                 {Closed, 3, 100 * ms, []time.Duration{100*ms + never}},
		"none of the constants":  {Open + 1, 3, 100 * ms, []time.Duration{100*ms + never}},
		"open":                   {Open, 3, 100 * ms, []time.Duration{600 * ms, 600 * ms, 600 * ms}},
		"open, never reached":    {Open, 0, 700 * ms, []time.Duration{700 * ms, 700 * ms}},
		"open while it was down": {Open, 3, 2 * s, []time.Duration{2 * s}},
	} {
		l := down(t, "10/s burst 10", c.mode, c.members, c.since)
		now := c.since
		for i, want := range c.due {
			got := due(l, now, 1)
			if want > now && got < want && got > now { // the share begins then
				now = got
				got = due(l, now, 1)
			}
			if got != want {
				t.Fatalf("%s: %d is due at %v, want %v", name, i, got, want)
			}
			if want-now >= never {
				break
			}
			now = want
			l.Take(nil, at(now), at(now), requests(1), false, 0)
		}
	}
}

// TestOutageCountsFromWhenItBegins: a claim that goes without the store, and that waited before, counts from
// when such claims begin to go, and not from sooner, however late its timer may be.
func TestOutageCountsFromWhenItBegins(t *testing.T) {
	const lag = 2 * ms
	for late, want := range map[time.Duration]limit.Due{
		0:   {At: at(600 * ms), Cause: limit.Store},
		ms:  {At: at(600 * ms), Cause: limit.Store},
		lag: {At: at(600 * ms)},
		s:   {At: at(600*ms + s - lag)},
	} {
		l := down(t, "10/s burst 10", Open, 3, 100*ms)
		now := 600*ms + late
		equal(t, fmt.Sprint(late, " late"), l.DueFrom(at(now), limit.Due{At: at(now - lag)}, &limit.Demand{}, requests(1), true, false), want)
	}
}

// TestOutageOfAStoreThatHangs: the part of a process begins half a second, and SlotLife, after the first call
// that is not answered was sent: a store that hangs has served nobody since. But of a process that did not run
// itself nobody knows when the store was gone. From 3/8 of a second after that call on, the store is told that
// others may have begun.
func TestOutageOfAStoreThatHangs(t *testing.T) {
	for took, began := range map[time.Duration]time.Duration{0: 0, 100 * ms: 0, 250 * ms: 0, 300 * ms: 0, 301 * ms: 4 * ms, 380 * ms: 320 * ms, 400 * ms: 400 * ms, s: s} {
		l := newLease(t, "10/s burst 10", 0)
		call(t, l, 0, queue(1), store.Reply{Members: 3, Bound: -1})
		sent := 2 * s
		l.Step(at(sent+took), at(sent), l.Next(at(sent), 0, queue(1)), nil, errDown, false)
		now := sent + took
		equal(t, fmt.Sprintf("a call took %v: the part begins", took), due(l, now, 1), sent+began+600*ms)
		tells := min(sent+took+250*ms, sent+began+375*ms)
		for _, d := range []time.Duration{tells - 1, tells} {
			if l.alone(at(d)) != (d == tells) {
				t.Errorf("a call took %v: at %v alone is %v, want that from %v on", took, d, l.alone(at(d)), tells)
			}
		}
	}
}

// TestOutageOfASlowStore: a reply that comes after its call counted as failed ends no outage, unless it comes
// within the SlotLife that the user has set; or, where only slots let claims go, unless its slots are of use.
// The next call is made at once; where claims go meanwhile, it asks for nothing, and so its late reply, without
// slots, ends the outage no more. The reply that comes in time does end it.
func TestOutageOfASlowStore(t *testing.T) {
	expired, none := in(0), []store.Slot(nil)
	for name, c := range map[string]struct {
		mode     Outage
		slotLife time.Duration // as the user has set it
		took     time.Duration
		slots    []store.Slot
		ends     bool
		asks     int // of the next call
	}{
		"share, in time":           {Share, 0, 300 * ms, expired, true, 1},
		"share, later":             {Share, 0, 301 * ms, expired, false, 0},
		"share, a slot ahead":      {Share, 0, 400 * ms, in(s), false, 0},
		"share, SlotLife is long":  {Share, s, 400 * ms, expired, true, 1},
		"share, SlotLife is short": {Share, 200 * ms, 400 * ms, expired, false, 0},
		"share, no slots":          {Share, 200 * ms, 400 * ms, none, false, 0},
		"open":                     {Open, 0, 400 * ms, in(s), false, 0},
		"closed":                   {Closed, 0, 400 * ms, expired, false, 1},
		"closed, SlotLife is long": {Closed, s, 400 * ms, expired, true, 1},
		"closed, no slots":         {Closed, 0, 400 * ms, none, true, 1},
	} {
		l := New(Config{Name: "api", Bucket: "b", Member: "m", SlotLife: c.slotLife, Outage: c.mode})
		l.Set(0, parse(t, "10/s burst 10"), 0)
		call(t, l, 0, queue(1), store.Reply{Members: 3, Bound: -1})
		slow := l.Next(at(s), 0, queue(1, 1))
		l.Step(at(s+300*ms), at(s), slow, nil, errDown, true)
		e := l.Step(at(s+c.took), at(s), slow, &store.Reply{Slots: c.slots, SlotLife: l.slotLife, Members: 3, Bound: -1}, nil, false)
		equal(t, name+": ended", len(e.Events) > 0 && e.Events[0].Err == nil, c.ends)
		if c.ends {
			continue
		}
		next := l.Next(at(s+c.took), 0, queue(1, 1))
		if next == nil || len(next.Request.Asks) != c.asks {
			t.Errorf("%s: the next call is %+v, want one with %d asks", name, next, c.asks)
			continue
		}
		e = l.Step(at(s+c.took+ms), at(s+c.took), next, &store.Reply{Members: 3, Bound: -1}, nil, false)
		equal(t, name+": after", e.Events, []Event{{Kind: Back, After: c.took + ms - 300*ms}})
	}
}

// TestOutageDue: what a claim waits for.
func TestOutageDue(t *testing.T) {
	l := down(t, "9/s burst 5", Share, 2, 0)
	from := limit.Due{At: at(0), Unreserved: 7}
	want := limit.Due{At: at(Horizon + 100*ms), Unreserved: 7, Cause: limit.Store}
	equal(t, "before the share begins", l.DueFrom(at(0), from, &limit.Demand{}, requests(1), true, false), want)
	from.At = at(s)
	l.DueFrom(at(s), from, &limit.Demand{}, requests(1), true, false)
	// 9/s of two, nine tenths: four a second, and one claim is ahead.
	want = limit.Due{At: at(s + 2*246913581), Unreserved: 7, Cause: limit.Store, Quota: l.names[0]}
	equal(t, "behind another", l.DueFrom(at(s), from, requests(1), requests(1), true, true), want)
	want.At = at(s + 246913581)
	equal(t, "alone", l.DueFrom(at(s), from, &limit.Demand{}, requests(1), true, true), want)
	l = down(t, "9/s burst 5", Closed, 2, 0)
	want = limit.Due{At: at(probeEvery), Cause: limit.Store}
	equal(t, "projected", l.DueFrom(at(0), limit.Due{At: at(0)}, &limit.Demand{}, requests(1), true, true), want)
}

// TestOutageHand: what is in hand is used up first.
func TestOutageHand(t *testing.T) {
	l := newLease(t, "9/s burst 5", 0)
	l.config.Outage = Closed
	stock(t, l, 200*ms)
	l.Step(at(0), at(0), l.Next(at(0), 0, queue(1, 1)), nil, errDown, false)
	equal(t, "due", due(l, 0, 1), 200*ms)
	if uses := l.Take(nil, at(200*ms), at(200*ms), requests(1), false, 0); len(uses) != 1 {
		t.Errorf("it took %+v", uses)
	}
}

// TestOutageProbesAStoreThatHangs: a call that has hung for longer than calls are apart is followed by the next
// one at once.
func TestOutageProbesAStoreThatHangs(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{0: 200 * ms, 150 * ms: 200 * ms, 250 * ms: 250 * ms} {
		l := newLease(t, "9/s burst 5", 0)
		l.Step(at(took), at(0), l.Next(at(0), 0, queue(1)), nil, errDown, false)
		for now := took; now <= want; now += 50 * ms {
			l.Tick(at(now), 0)
			if called := l.Next(at(now), 0, queue(1)) != nil; called != (now == want) {
				t.Errorf("a call took %v: called again at %v: %v, want that at %v", took, now, called, want)
			}
		}
	}
}

// TestOutageProbes: the store is tried each 200 ms, and the owner is told once that it is down, and
// once that it is back.
func TestOutageProbes(t *testing.T) {
	l := newLease(t, "9/s burst 5", 0)
	l.config.Outage = Closed
	var events []Event
	var tried []time.Duration
	for now := time.Duration(0); now <= 800*ms; now += 50 * ms {
		l.Tick(at(now), 0)
		if c := l.Next(at(now), 0, queue(1)); c != nil {
			tried = append(tried, now)
			equal(t, "serial", c.Request.Serial, int64(1))
			var reply *store.Reply
			err := errDown
			if now >= 800*ms {
				reply, err = &store.Reply{Slots: in(0), Members: 1}, nil
			}
			e := l.Step(at(now), at(now), c, reply, err, false)
			events = append(events, e.Events...)
		}
		if st := l.State(at(now)); now < 800*ms && (st.Err != errDown || st.Down != now) || now >= 800*ms && (st.Err != nil || st.Down != 0) { //nolint:errorlint // the very one
			t.Errorf("at %v: %+v", now, st)
		}
	}
	equal(t, "tried", tried, []time.Duration{0, 200 * ms, 400 * ms, 600 * ms, 800 * ms})
	equal(t, "events", events, []Event{{Kind: Down, Err: errDown}, {Kind: Back, After: 800 * ms}})
}

// TestOutageOver: what the store is told, when it is back after two seconds, of 30 requests that went without
// it half a second ago: all that a quota still counts, with the first call that arrives; and with the next one
// what the part of a bucket still owes beside what empties it: 30 went from it where 13.5 had come, of which
// 13.5 have come since.
func TestOutageOver(t *testing.T) {
	for name, c := range map[string]struct {
		quotas string
		mode   Outage
		went   bool
		want   []store.Own
		more   []int64
		empty  []store.Own
	}{
		"a shared bucket":    {"30/s burst 30", Share, true, []store.Own{{In: -s / 2, Cost: []int64{30}}}, []int64{4}, []store.Own{{Cost: []int64{30}}}},
		"an open bucket":     {"30/s burst 30", Open, true, []store.Own{{In: -s / 2, Cost: []int64{30}}}, nil, nil},
		"one that is full":   {"300/s burst 30", Open, true, nil, nil, nil},
		"a window":           {"10/s log", Open, true, []store.Own{{In: -s / 2, Cost: []int64{30}}}, nil, nil},
		"of which all left":  {"10/400ms log", Open, true, nil, nil, nil},
		"each":               {"30/s burst 30, 10/m log", Share, true, []store.Own{{In: -s / 2, Cost: []int64{30, 0}}, {In: -s / 2, Cost: []int64{0, 30}}}, []int64{4, 0}, []store.Own{{Cost: []int64{30, 0}}}},
		"nothing":            {"10/s log", Closed, false, nil, nil, nil},
		"nothing went alone": {"10/s log", Share, false, nil, nil, nil},
	} {
		l := down(t, c.quotas, c.mode, 1, 0)
		if c.went {
			l.DueFrom(at(s), limit.Due{At: at(s)}, &limit.Demand{}, requests(1), true, false)
			for range 30 {
				l.Take(nil, at(3*s/2), at(3*s/2), requests(1), false, 0)
			}
		}
		first, _ := call(t, l, 2*s, queue(1), store.Reply{Bound: -1})
		equal(t, name, first.Request.Own, c.want)
		equal(t, name+": alone", first.Request.Outage, c.mode != Closed)
		last := l.Farewell(at(2*s), 0)
		equal(t, name+": more", last.More, c.more)
		equal(t, name+": so that a bucket is empty", last.Own, c.empty)
	}
}

// TestOutageWindow: what a process sends of a short window without the store is what it used before, or nothing
// if windows are those of the clock; and when what others used has left, its even part.
func TestOutageWindow(t *testing.T) {
	for _, test := range []struct {
		quotas string
		want   []int64 // that go until 1 s, 1.6 s, 2 s and 2.6 s, and in the second from 3.5 s on
	}{
		// 12 a second is its even part, from 1.6 s on. Until its four have left there is nothing, and then
		// these.
		{"40/s log", []int64{0, 4, 8, 4, 12}},
		{"40/s window", []int64{0, 4, 8, 4, 12}},
		{"40/s window grid", []int64{0, 0, 12, 0, 12}},
	} {
		l := newLease(t, test.quotas, 0)
		// Four of its own at 0, and twelve are left, which others may have used at once.
		c := l.Next(at(0), 0, queue(4))
		l.Step(at(0), at(0), c, &store.Reply{Slots: []store.Slot{{In: 0, Count: 1}}, Members: 3, Left: []int64{12}, Bound: -1}, nil, false)
		l.Take(nil, at(0), at(0), requests(4), false, 0)
		l.Step(at(0), at(0), l.Next(at(0), 0, queue(1)), nil, errDown, false)
		var went []time.Duration
		for now := 600 * ms; now < 5*s; {
			d := due(l, now, 1)
			if now = d; d < 5*s && due(l, now, 1) == now {
				l.Take(nil, at(now), at(now), requests(1), false, 0)
				went = append(went, now)
			}
		}
		count := func(from, to time.Duration) (n int) {
			for _, d := range went {
				if d >= from && d < to {
					n++
				}
			}
			return n
		}
		got := []int64{int64(count(0, s)), int64(count(s, 1600*ms)), int64(count(1600*ms, 2*s)), int64(count(2*s, 2600*ms)), int64(count(3500*ms, 4500*ms))}
		equal(t, fmt.Sprintf("%s: went %v", test.quotas, went), got, test.want)
	}
}

// TestOutageAfterWhatLeft: what had left the window of a process before the outage began, others may have got,
// and slots as much farther ahead as the last reply is old. Of what was left, they have used all of a short
// window, and of a longer one at the whole rate.
func TestOutageAfterWhatLeft(t *testing.T) {
	for _, c := range []struct {
		quotas        string
		members, left int
		since, until  time.Duration
		want          int
	}{
		{"40/2s log", 3, 0, 2100 * ms, 4 * s, 0},
		{"40/2s log", 3, 12, 0, 2 * s, 0},
		{"40/2s log", 3, 12, 2100 * ms, 4700 * ms, 0}, // nothing
		{"40/2s log", 3, 12, 2100 * ms, 6700 * ms, 12},
		{"40/2s log", 1, 12, 2100 * ms, 4 * s, 23}, // it had all of it, and 18 a second since 2.7 s
		{"40/4s log", 3, 12, 0, 4 * s, 0},
		{"40/5s log", 3, 12, 0, 3 * s, 3}, // nine tenths of twelve, among three
		{"40/5s log", 3, 12, s, 4 * s, 1}, // of four, since others have used it at 8 a second
		{"40/5s log", 3, 12, 1500 * ms, 4 * s, 0},
		{"40/5s window", 3, 12, 0, 3 * s, 3},
		{"40/5s window grid", 3, 12, 0, 3 * s, 3},
	} {
		l := newLease(t, c.quotas, 0)
		l.Step(at(0), at(0), l.Next(at(0), 0, queue(4)), &store.Reply{
			Slots: []store.Slot{{In: 0, Count: 1}}, Members: c.members, Left: []int64{int64(c.left)}, Bound: -1,
		}, nil, false)
		l.atOnce = nil // others have used the rest evenly
		l.Take(nil, at(0), at(0), requests(4), false, 0)
		l.Step(at(c.since), at(c.since), l.Next(at(c.since), 0, queue(1)), nil, errDown, false)
		went := 0
		for now := due(l, c.since, 1); now < c.until; now = due(l, now, 1) {
			if due(l, now, 1) == now {
				l.Take(nil, at(now), at(now), requests(1), false, 0)
				went++
			}
		}
		equal(t, fmt.Sprintf("went, of %+v", c), went, c.want)
	}
	for _, test := range []struct{ ahead, since, want time.Duration }{
		{3 * s, 200 * ms, 3750 * ms}, // a quarter of what the reply said
		{3 * s, s, 4 * s},
		{3 * s, 3 * s, 6 * s},
		{3 * s, 5 * s, 6 * s},
		{3 * s, s * 60, 60*s + Horizon},
		{0, 3 * s, 3*s + Horizon},
	} {
		l := newLease(t, "40/s burst 5", 0)
		l.Step(at(0), at(0), l.Next(at(0), 0, queue(1)), &store.Reply{Slots: in(0), Ahead: test.ahead, Members: 3, Bound: -1}, nil, false)
		l.Take(nil, at(0), at(0), requests(1), false, 0)
		l.Step(at(test.since), at(test.since), l.Next(at(test.since), 0, queue(1)), nil, errDown, false)
		from, ok := l.aloneFrom()
		equal(t, fmt.Sprintf("%+v", test), []any{from, ok}, []any{at(test.want).Add(l.slotLife), true})
	}
}

// TestHowFarAhead: while slots in hand are far ahead, the store is asked how far, each quarter of that; and
// every five seconds, so that the quotas by which this process asks go on to count.
func TestHowFarAhead(t *testing.T) {
	for _, test := range []struct {
		mode  Outage
		slot  time.Duration // in hand
		ahead time.Duration
		heard time.Duration // when news tell once more how far the last slot is
		want  []time.Duration
	}{
		{Share, 8 * s, 8 * s, 0, []time.Duration{2 * s, 3500 * ms, 4625 * ms}},
		{Share, 8 * s, 8 * s, 1500 * ms, []time.Duration{3125 * ms, 4375 * ms}},
		{Share, 0, 8 * s, 0, nil},
		{Share, 30 * s, 40 * s, 0, []time.Duration{5 * s, 10 * s, 15 * s, 20 * s, 25 * s, 28750 * ms}},
		{Closed, 5 * s, 5 * s, 0, nil},
		{Closed, 8 * s, 8 * s, 0, []time.Duration{5 * s}},
		{Closed, 16 * s, 16 * s, 0, []time.Duration{5 * s, 10 * s, 15 * s}},
		{Open, 12 * s, 12 * s, 0, []time.Duration{5 * s, 10 * s}},
		{Closed, 0, 8 * s, 0, nil},
	} {
		l := newLease(t, "5/m log", 0)
		l.config.Outage = test.mode
		reply := store.Reply{Ahead: test.ahead, Members: 2, Bound: -1}
		if test.slot > 0 {
			reply.Slots = in(test.slot)
		}
		l.Step(at(0), at(0), l.Next(at(0), 0, queue(1)), &reply, nil, false)
		line := queue(1)
		if test.slot == 0 {
			line = queue()
		}
		var calls []time.Duration
		for now := time.Duration(0); now < cmp.Or(test.slot, 8*s); now += 125 * ms {
			if test.heard > 0 && now == test.heard {
				l.Heard(at(now), store.News{Ahead: test.ahead + 1 - now})
			}
			l.Tick(at(now), 0)
			if c := l.Next(at(now), 0, line); c != nil {
				calls = append(calls, now)
				l.Step(at(now), at(now), c, &store.Reply{Ahead: max(test.ahead-now, 0), Members: 2, Bound: -1}, nil, false)
			}
		}
		equal(t, fmt.Sprintf("%+v", test), calls, test.want)
	}
}

// TestOutageAmong: among how many the quotas are divided: those of the last reply, or of news since.
func TestOutageAmong(t *testing.T) {
	among := func(reply store.Reply, asked, replied time.Duration, heard map[time.Duration]int) int {
		l := newLease(t, "10/s burst 10", 0)
		c := l.Next(at(asked), 0, queue(1))
		for _, when := range slices.Sorted(maps.Keys(heard)) {
			if when < replied {
				l.Heard(at(when), store.News{Sharing: heard[when]})
			}
		}
		l.Step(at(replied), at(asked), c, &reply, nil, false)
		for _, when := range slices.Sorted(maps.Keys(heard)) {
			if when >= replied {
				l.Heard(at(when), store.News{Sharing: heard[when]})
			}
		}
		return l.sharing()
	}
	for name, c := range map[string]struct {
		reply store.Reply
		heard map[time.Duration]int
		want  int
	}{
		"the store does not say":     {store.Reply{Members: 3}, nil, 3},
		"it says":                    {store.Reply{Members: 3, Sharing: 7}, nil, 7},
		"it says nonsense":           {store.Reply{Members: -1, Sharing: -7}, nil, 1},
		"news":                       {store.Reply{Members: 1, Sharing: 2}, map[time.Duration]int{3 * s: 3, 4 * s: 4}, 4},
		"news of fewer":              {store.Reply{Members: 1, Sharing: 5}, map[time.Duration]int{3 * s: 4}, 5},
		"news before the request":    {store.Reply{Members: 1, Sharing: 2}, map[time.Duration]int{0: 9}, 2},
		"news while it is under way": {store.Reply{Members: 1, Sharing: 2}, map[time.Duration]int{1500 * ms: 9}, 9},
		"news before a minute":       {store.Reply{Members: 1, Sharing: 1}, map[time.Duration]int{61*s - 1: 4}, 4},
		"news after a minute":        {store.Reply{Members: 1, Sharing: 1}, map[time.Duration]int{61 * s: 4}, 5},
		"news of nonsense":           {store.Reply{Members: 1, Sharing: 1}, map[time.Duration]int{2 * s: -4}, 1},
		"news of very many":          {store.Reply{Members: 1, Sharing: 1}, map[time.Duration]int{61 * s: math.MaxInt}, math.MaxInt},
	} {
		equal(t, name, among(c.reply, s, 2*s, c.heard), c.want)
	}
	// A store that has lost the bucket counts only who has asked since; for a minute all count that it counted
	// before, also if it loses the bucket once more.
	l := newLease(t, "10/s burst 10", 0)
	for i, r := range []struct {
		at      time.Duration
		sharing int
		lost    bool
		want    int
	}{
		{0, 5, false, 5}, {s, 1, true, 5}, {2 * s, 2, false, 5}, {30 * s, 1, true, 5}, {90*s - 1, 3, false, 5}, {90 * s, 3, false, 3}, {91 * s, 2, false, 2},
	} {
		call(t, l, r.at, queue(1), store.Reply{Members: 1, Sharing: r.sharing, Lost: r.lost, Life: int64(i), Bound: -1})
		equal(t, fmt.Sprint("sharing at ", r.at), l.sharing(), r.want)
	}
	// Who came may have got all that was left of a window, and what leaves that of this process.
	l = newLease(t, "40/2s log", 0)
	l.Step(at(0), at(0), l.Next(at(0), 0, queue(4)), &store.Reply{Slots: []store.Slot{{In: 0, Count: 1}}, Members: 3, Left: []int64{12}, Bound: -1}, nil, false)
	l.Take(nil, at(0), at(0), requests(4), false, 0)
	l.Heard(at(0), store.News{Sharing: 4})
	l.Step(at(0), at(0), l.Next(at(0), 0, queue(1)), nil, errDown, false)
	equal(t, "due", due(l, s, 1), 2600*ms)
}

// TestOutageAfterNewsOfSlotsAhead: what news says of slots far ahead counts as if a reply had said it, when it
// came: the part begins after these, and nothing is left of a window. A reply to a request that was sent before
// may not know of them.
func TestOutageAfterNewsOfSlotsAhead(t *testing.T) {
	for name, c := range map[string]struct {
		heard, sent time.Duration // of the news, and of the request of the last reply, which comes 10 ms later
		ahead       time.Duration // by the news
		end         time.Duration // the last slot that is known
		left        int
	}{
		"no news":            {-1, s, 0, 1210 * ms, 40},
		"after the reply":    {1500 * ms, s, 4 * s, 5500 * ms, 0},
		"while it came":      {1005 * ms, s, 4 * s, 5005 * ms, 0},
		"as it was sent":     {s, s, 4 * s, 5 * s, 0},
		"before":             {990 * ms, s, 4 * s, 1210 * ms, 40},
		"no farther than it": {1005 * ms, s, 100 * ms, 1210 * ms, 0},
		"of nonsense":        {1500 * ms, s, -s, 1210 * ms, 40},
	} {
		l := newLease(t, "100/10s log", 0)
		call(t, l, 0, queue(1), store.Reply{Members: 2, Bound: -1, Left: []int64{40}})
		l.mustCall = true
		asks := l.Next(at(c.sent), 0, queue(1))
		hear := func(from, to time.Duration) {
			if c.heard >= from && c.heard < to && l.Heard(at(c.heard), store.News{Ahead: c.ahead}) {
				t.Errorf("%s: it is asked again", name)
			}
		}
		hear(0, c.sent+10*ms)
		l.Step(at(c.sent+10*ms), at(c.sent), asks, &store.Reply{Members: 2, Bound: -1, Left: []int64{40}, Ahead: 200 * ms}, nil, false)
		hear(c.sent+10*ms, 2*s)
		equal(t, name, []any{l.last.end, int(l.last.left[0])}, []any{at(c.end), c.left})
	}
}

// TestOutageLeftOfAnotherN: of a window that takes over from one of another N, as much more or less is left,
// whatever a store says.
func TestOutageLeftOfAnotherN(t *testing.T) {
	for _, c := range []struct{ had, left, n, want int64 }{
		{100, 40, 150, 90},
		{100, 40, 80, 20},
		{100, 40, 50, 0},
		{100, math.MaxInt, 150, 150},
		{100, math.MaxInt, 80, 80},
		{math.MaxInt32 - 5, math.MaxInt32 - 10, math.MaxInt32, math.MaxInt32 - 5}, // which would be too large beside N where an int has 32 bits
	} {
		l := newLease(t, "100/10s log", 0)
		qs := parse(t, "100/10s log")
		qs[0].N = c.had
		l.Set(0, qs, 0)
		call(t, l, 0, queue(1), store.Reply{Members: 2, Bound: -1, Left: []int64{c.left}})
		qs = slices.Clone(qs)
		qs[0].N = c.n
		l.Set(at(s), qs, 0)
		equal(t, fmt.Sprint(c), l.last.left[0], c.want)
	}
}

// TestOutageSet: quotas that are replaced while the store is down begin anew.
func TestOutageSet(t *testing.T) {
	l := down(t, "10/s log", Share, 2, 0)
	due(l, s, 1)
	l.Take(nil, at(s), at(s), requests(3), false, 0)
	l.Set(0, parse(t, "10/s log, 20/s window"), 0)
	equal(t, "due", due(l, s, 1), s+222222223)
	call(t, l, s, queue(1), store.Reply{Bound: -1})
	equal(t, "more", l.Farewell(at(s), 0).More, []int64(nil))
}

// TestStatementsThroughOutage: what the server said is told with the next call that arrives, as of
// then.
func TestStatementsThroughOutage(t *testing.T) {
	l := newLease(t, "9/s burst 5", 0)
	l.Said(at(0), usedUp(s))
	l.Step(at(0), at(0), l.Next(at(0), 0, queue()), nil, errDown, false)
	l.Said(at(100*ms), []quota.Statement{{Name: "other", Reset: s}})
	c := l.Next(at(200*ms), 0, queue())
	want := []quota.Statement{{Name: "core", Reset: 800 * ms, ResetKnown: true}, {Name: "other", Reset: 900 * ms}}
	equal(t, "told", c.Request.Statements, want)
	l.Step(at(200*ms), at(200*ms), c, &store.Reply{}, nil, false)
	equal(t, "told again", l.Next(at(s), 0, queue(1)).Request.Statements, []quota.Statement(nil))
}

// TestSlotLife: for how long after its instant a slot may be used, by itself.
func TestSlotLife(t *testing.T) {
	for quotas, want := range map[string][2]time.Duration{ // with short round trips, and with long ones
		"10/s even":                  {10 * ms, s},
		"10/s burst 5":               {40 * ms, s},
		"10/s burst 1000":            {s, s},
		"10/m even":                  {600 * ms, s},
		"10/s log":                   {10 * ms, 250 * ms},
		"10/20ms log":                {5 * ms, 5 * ms},
		"10/m log":                   {600 * ms, s},
		"10/h window":                {s, s},
		"10/m sliding, 10/s window":  {10 * ms, 250 * ms},
		"10/m even, 5 in flight":     {600 * ms, s},
		"5 in flight":                {s, 20 * s},
		"10/s burst 5, 10/h sliding": {40 * ms, s},
	} {
		equal(t, quotas, DefaultSlotLife(parse(t, quotas)), want[0])
		l := New(Config{})
		l.Set(0, parse(t, quotas), 0)
		for range 2 {
			l.trip(10 * s)
			equal(t, quotas+", after few round trips", l.slotLife, want[0])
		}
		l.trip(11 * s)
		equal(t, quotas+", after long round trips", l.slotLife, want[1])
		l.trip(ms)
		l.trip(ms)
		equal(t, quotas+", after two short ones", l.slotLife, want[1])
		l.trip(ms)
		equal(t, quotas+", after three", l.slotLife, want[0])
		l = New(Config{SlotLife: 7 * ms})
		l.Set(0, parse(t, quotas), 0)
		for range 3 {
			l.trip(10 * s)
		}
		equal(t, quotas+", as it was said", l.slotLife, 7*ms)
	}
}

// TestSlotLifeIsSeenToFall: after a round trip that took much less than those before, two calls are made at
// once, though nothing is wanted: SlotLife falls with the third. That happens once in a Horizon. A fourth call
// tells the store of it.
func TestSlotLifeIsSeenToFall(t *testing.T) {
	const ms = time.Millisecond
	l, now := New(Config{}), at(time.Second)
	l.Set(0, parse(t, "100/s even"), 0)
	l.mustCall = true
	var calls []string
	for _, took := range []time.Duration{60 * ms, 60 * ms, 60 * ms, ms, ms, ms, ms, 60 * ms, 60 * ms, 60 * ms, ms, ms} {
		c := l.Next(now, 0, &testLine{})
		if c == nil {
			calls = append(calls, "none")
			l.mustCall = true
			c = l.Next(now, 0, &testLine{})
		}
		calls = append(calls, l.slotLife.String())
		l.Step(now.Add(took), now, c, &store.Reply{Members: 1}, nil, false)
		now = now.Add(took)
	}
	want := "[10ms none 10ms none 10ms none 120ms 120ms 120ms 10ms none 10ms none 10ms none 10ms none 120ms none 120ms]"
	equal(t, "calls", fmt.Sprint(calls), want)
}

// TestSlotsInHandAreUsedAsTheLatestRequestSays: what a request asks for as SlotLife holds for the slots that
// came before, too. One of which it is not known well enough when it is, goes back with that request, and so
// does what comes back of one that was in use, if it is too late by then.
func TestSlotsInHandAreUsedAsTheLatestRequestSays(t *testing.T) {
	const ms = time.Millisecond
	l, now := New(Config{}), at(time.Second)
	l.Set(now, parse(t, "100/s even"), 0)
	exchange := func(took time.Duration, slots ...store.Slot) *store.Request {
		t.Helper()
		c := l.Next(now, 0, queue(slices.Repeat([]int64{1}, len(l.slots.list)+2)...))
		l.Step(now.Add(took), now, c, &store.Reply{Members: 1, Slots: slots}, nil, false)
		now = now.Add(took)
		return c.Request
	}
	exchange(60 * ms)
	exchange(60 * ms)
	exchange(60 * ms)
	exchange(60*ms, store.Slot{ID: 1, In: 60 * ms, Count: 1}, store.Slot{ID: 2, In: 400 * ms, Count: 1}) // the latter in 340 to 400 ms from now
	exchange(ms, store.Slot{ID: 3, In: 200 * ms, Count: 1})
	now = now.Add(60 * ms)
	uses := l.Take(nil, now, now, &limit.Demand{Claims: 1, N: 1}, false, 1)
	exchange(ms)
	equal(t, "SlotLife before", exchange(ms).SlotLife, 120*ms)
	r := exchange(ms)
	equal(t, "SlotLife", r.SlotLife, 10*ms)
	equal(t, "goes back", fmt.Sprint(r.Back), "[{2 [1]}]")
	equal(t, "in hand", len(l.slots.list), 1)
	equal(t, "for how long", l.slots.list[0].until.Sub(l.slots.list[0].at), 10*ms)
	l.Return(now, uses)
	equal(t, "in hand, with what was in use", len(l.slots.list), 1)
	equal(t, "goes back of that", fmt.Sprint(l.unsent.back), "[{1 [1]}]")
}

// TestOutageOfWhoSlept: a process that did not run for a while in an outage sends nothing of its part before it
// has tried the store again, which may be back, and have handed out that part to others. What it tried before
// it slept says nothing.
func TestOutageOfWhoSlept(t *testing.T) {
	for name, c := range map[string]struct {
		until  time.Duration // when it runs again, after 12 s
		before bool          // it slept while a call was under way, which fails 5 ms after it has woken
		want   time.Duration // when one may go
		failed time.Duration // when one may go if a call has failed 10 ms after it has woken
	}{
		"it ran":             {12*s + sleptFor, false, 12*s + sleptFor, 13010 * ms},
		"a call was long":    {12750 * ms, true, 12755 * ms, 12760 * ms},
		"it slept":           {40 * s, false, 40*s + longestCall, 40010 * ms},
		"it slept in a call": {40 * s, true, 40*s + 5*ms + longestCall, 40010 * ms},
	} {
		l := down(t, "100/10s log", Share, 2, 0)
		now := 200 * ms
		for ; now < 12*s; now += 200 * ms {
			l.Tick(at(now), 0)
			l.Step(at(now), at(now), l.Next(at(now), 0, queue(1)), nil, errDown, false)
			due(l, now, 1) // the part begins
		}
		sleeps := l.Next(at(now), 0, queue(1))
		if !c.before {
			l.Step(at(now), at(now), sleeps, nil, errDown, false)
		}
		now = c.until
		if c.before {
			due(l, now, 1)
			now += 5 * ms
			l.Step(at(now), at(12*s), sleeps, nil, errDown, true)
			l.Step(at(now), at(12*s), sleeps, nil, errDown, false)
		}
		equal(t, name, due(l, now, 1), c.want)
		l.Step(at(c.until+10*ms), at(now), l.Next(at(now), 0, queue(1)), nil, errDown, false)
		equal(t, name+", when a call has failed", due(l, c.until+10*ms, 1), c.failed)
	}
}

// TestOutageOthersAtOnce: what others were seen to use at once they may have used again since the last reply.
// The quotas are of 100 in ten seconds, among two; the outage begins with the last reply.
func TestOutageOthersAtOnce(t *testing.T) {
	type told struct {
		at   time.Duration
		left int
	}
	for name, c := range map[string]struct {
		quotas string
		told   []told // each reply is to one that asks for one, and gets it
		want   int64  // how much may be left
	}{
		"nothing was used":         {"100/10s log", []told{{0, 99}}, 99},
		"the first reply":          {"100/10s log", []told{{0, 70}}, 41},              // 29 by others, at once as far as is known
		"of a longer window":       {"100/2m log", []told{{0, 70}}, 70},               // a process that is new would stand still
		"none, then 40":            {"100/10s log", []told{{0, 99}, {0, 58}}, 18},     // 40 by others
		"40 in two seconds":        {"100/10s log", []told{{0, 99}, {2 * s, 58}}, 38}, // 20 beyond the rate
		"the whole rate":           {"100/10s log", []told{{0, 99}, {2 * s, 78}}, 78}, // 20 by others
		"what comes back is known": {"100/10s log", []told{{0, 99}, {0, 58}, {s, 99}}, 59},
		"the most counts":          {"100/10s log", []told{{0, 99}, {0, 58}, {s, 87}, {s, 66}}, 26},
		"for two Per":              {"100/10s log", []told{{0, 99}, {0, 58}, {20 * s, 99}}, 59},
		"and no longer":            {"100/10s log", []told{{0, 99}, {0, 58}, {20*s + 1, 99}}, 99},
		"of another quota":         {"100/10s log, 100/10s window grid", []told{{0, 99}, {0, 58}}, 18},
	} {
		l := newLease(t, c.quotas, 0)
		for _, r := range c.told {
			l.mustCall = true
			call(t, l, r.at, queue(1), store.Reply{Slots: []store.Slot{{Count: 1}}, Left: slices.Repeat([]int64{int64(r.left)}, len(l.quotas)), Sharing: 2, Bound: -1})
			l.Take(nil, at(r.at), at(r.at), requests(1), false, 0)
		}
		equal(t, name, l.stillLeft(0, l.last.at), c.want)
	}
}

// TestOutageLeft: what is left of a window by a reply to a process that asked for nothing, beside others: no
// more than it knew, since they use it.
func TestOutageLeft(t *testing.T) {
	for name, c := range map[string]struct {
		asks, sharing int
		left, to      int
	}{
		"it asked":                  {1, 2, 90, 2},
		"it asked for nothing":      {0, 2, 30, 2}, // of 40, others used ten in a second
		"nothing, and more came":    {0, 3, 30, 2},
		"it asked, and more came":   {1, 3, 90, 3},
		"nothing, and it was alone": {0, 1, 90, 1},
	} {
		l := newLease(t, "100/10s log", 0)
		call(t, l, 0, queue(1), store.Reply{Left: []int64{40}, Sharing: min(c.sharing, 2), Bound: -1})
		l.mustCall, l.atOnce = true, nil // others have used it evenly
		call(t, l, s, queue(slices.Repeat([]int64{1}, c.asks)...), store.Reply{Left: []int64{90}, Sharing: c.sharing, Bound: -1})
		equal(t, name, [2]int{int(l.last.left[0]), l.last.leftTo}, [2]int{c.left, c.to})
	}
}
