package lease

import (
	"errors"
	"iter"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/slot"
	"github.com/gopacer/pacer/throttle/store"
)

const (
	ms = time.Millisecond
	s  = time.Second
)

var errDown = errors.New("down")

// t0 is when the tests begin.
const t0 = monotime.Time(time.Hour)

// at is an instant of a test.
func at(d time.Duration) monotime.Time { return t0.Add(d) }

// testLine is a line of claims of one bucket.
type testLine struct {
	claims []Waiter
	hopes  []*Hope
	barred monotime.Time // something other than the store stands in the way until then
}

// queue returns a line of claims of so many requests.
func queue(ns ...int64) *testLine {
	l := &testLine{}
	for _, n := range ns {
		l.claims = append(l.claims, Waiter{Demand: requests(int(n)), Within: -1})
	}
	return l
}

func requests(n int) *limit.Demand { return &limit.Demand{Claims: 1, N: n} }

func (l *testLine) Waiting() int { return len(l.claims) }

func (l *testLine) First(now monotime.Time) (first Waiter, until monotime.Time, ok bool) {
	if len(l.claims) == 0 {
		return first, 0, false
	}
	return l.claims[0], max(now, l.barred), true
}

func (l *testLine) Demands() iter.Seq2[*limit.Demand, bool] {
	return func(yield func(*limit.Demand, bool) bool) {
		for _, w := range l.claims {
			if !yield(w.Demand, w.Urgent) {
				return
			}
		}
	}
}

func (l *testLine) InOrder(monotime.Time) iter.Seq[Waiter] { return slices.Values(l.claims) }

func (l *testLine) Hope(i int) *Hope {
	for len(l.hopes) <= i {
		l.hopes = append(l.hopes, new(Hope))
	}
	return l.hopes[i]
}

// newLease returns a Lease of quotas, with a SlotLife of 100 ms.
func newLease(t *testing.T, quotas string, reserve float64) *Lease {
	t.Helper()
	l := New(Config{Name: "api", Bucket: "b", Member: "m", SlotLife: 100 * ms, Believed: time.Hour})
	l.Set(0, parse(t, quotas), reserve)
	return l
}

func parse(t *testing.T, quotas string) quota.Quotas {
	t.Helper()
	qs, err := quota.Parse(quotas)
	if err != nil {
		t.Fatal(err)
	}
	return qs.Explicit()
}

// call has l ask at d for the claims in line and get a reply at once. It fails if there is no
// call.
func call(t *testing.T, l *Lease, d time.Duration, line *testLine, reply store.Reply) (*Call, Effects) {
	t.Helper()
	c := l.Next(at(d), 0, line)
	if c == nil {
		t.Fatalf("at %v: no call", d)
	}
	for _, s := range reply.Slots {
		reply.Ahead = max(reply.Ahead, s.In)
	}
	return c, l.Step(at(d), at(d), c, &reply, nil, false)
}

// in are slots of the first ask, one each.
func in(ds ...time.Duration) (slots []store.Slot) {
	for i, d := range ds {
		slots = append(slots, store.Slot{ID: int64(i + 1), In: d, Count: 1, Bound: -1})
	}
	return slots
}

// stock has l have slots of one request in hand, got at 0.
func stock(t *testing.T, l *Lease, ds ...time.Duration) {
	t.Helper()
	call(t, l, 0, queue(slices.Repeat([]int64{1}, max(len(ds), 1))...), store.Reply{Slots: in(ds...), Bound: -1, Members: 1})
}

// due returns in how long after t0 a claim may go, as seen at d.
func due(l *Lease, d time.Duration, n int) time.Duration {
	return l.DueFrom(at(d), limit.Due{At: at(d)}, &limit.Demand{}, requests(n), true, false).At.Sub(t0)
}

const never = monotime.Longest // until a reply is here

func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %+v, want %+v", what, got, want)
	}
}

// TestNextForClaims: what is asked for on behalf of whom.
func TestNextForClaims(t *testing.T) {
	urgent := func(n int) Waiter { return Waiter{requests(n), true, -1} }
	within := func(n int, d time.Duration) Waiter { return Waiter{requests(n), false, d} }
	ask := func(count int, within time.Duration, cost ...int64) store.Ask {
		return store.Ask{Cost: cost, Count: count, Within: within}
	}
	for name, c := range map[string]struct {
		quotas  string
		reserve float64
		claims  []Waiter
		asks    []store.Ask
		asked   []Asked
	}{
		"alike":     {"9/s burst 5", 0, []Waiter{within(1, -1), within(1, -1)}, []store.Ask{ask(2, -1, 1)}, []Asked{{0, 0}, {1, 0}}},
		"not alike": {"9/s burst 5", 0, []Waiter{within(1, -1), within(2, -1), within(1, -1)}, []store.Ask{ask(1, -1, 1), ask(1, -1, 2), ask(1, -1, 1)}, []Asked{{0, 0}, {1, 1}, {2, 2}}},
		"two quotas": {
			"9/s burst 5, 9 tokens/s burst 9", 0,
			[]Waiter{{&limit.Demand{Claims: 1, N: 2, Costs: quota.Costs{"tokens": 7}}, false, -1}},
			[]store.Ask{ask(1, -1, 2, 7)},
			[]Asked{{0, 0}},
		},
		"reserve": {"8/s burst 4", 0.5, []Waiter{urgent(3), within(1, -1)}, []store.Ask{ask(1, -1, 3, 0), ask(1, -1, 1, 1)}, []Asked{{0, 0}, {1, 1}}},
		// An eighth of the shorter bound is 125 ms.
		"bounds that are close":    {"9/s even", 0, []Waiter{within(1, s), within(1, s+125*ms)}, []store.Ask{ask(2, s, 1)}, []Asked{{0, 0}, {1, 0}}},
		"bounds that are apart":    {"9/s even", 0, []Waiter{within(1, s), within(1, s+126*ms)}, []store.Ask{ask(1, s, 1), ask(1, s+126*ms, 1)}, []Asked{{0, 0}, {1, 1}}},
		"bound and none":           {"9/s even", 0, []Waiter{within(1, s), within(1, -1)}, []store.Ask{ask(1, s, 1), ask(1, -1, 1)}, []Asked{{0, 0}, {1, 1}}},
		"what costs nothing":       {"9/s even", 0, []Waiter{within(1, -1), within(0, -1), within(1, -1)}, []store.Ask{ask(2, -1, 1)}, []Asked{{0, 0}, {2, 0}}},
		"nothing costs anything":   {"9/s even", 0, []Waiter{within(0, -1)}, nil, nil},
		"what is not in the store": {"9/s even, 3 in flight", 0, []Waiter{within(1, -1)}, []store.Ask{ask(1, -1, 1)}, []Asked{{0, 0}}},
	} {
		l := newLease(t, c.quotas, c.reserve)
		got := l.Next(at(0), 0, &testLine{claims: c.claims})
		if got == nil {
			got = &Call{Request: &store.Request{}}
		}
		equal(t, name+", asks", got.Request.Asks, c.asks)
		equal(t, name+", asked", got.asked, c.asked)
	}
}

// TestNextRequest: all that is in a request but for asks.
func TestNextRequest(t *testing.T) {
	l := newLease(t, "9/s burst 2", 0)
	l.Said(at(0), []quota.Statement{{Name: "core", Unit: quota.Requests, Remaining: 3, Reset: s, ResetKnown: true}})
	got := l.Next(at(100*ms), at(2*s), queue(1)).Request
	equal(t, "request", *got, store.Request{
		Version: 1, Bucket: "b", Quotas: quota.Quotas{{N: 9, Per: s, Kind: quota.TokenBucket, Burst: 2}}, SlotLife: 100 * ms, Horizon: Horizon, Member: "m", Serial: 1, GoesOn: true,
		Statements: []quota.Statement{{Name: "core", Remaining: 3, Reset: 900 * ms, ResetKnown: true}},
		Hold:       1900 * ms, Asks: []store.Ask{{Cost: []int64{1}, Count: 1, Within: -1}},
	})
}

// TestNextNotTogether: slots in hand that are enough, but at no instant all, do not keep the first
// claim from asking.
func TestNextNotTogether(t *testing.T) {
	l := newLease(t, "9/s burst 5", 0)
	stock(t, l, 0, 100*ms+1)
	c := l.Next(at(0), 0, queue(2))
	if c == nil {
		t.Fatal("no call")
	}
	equal(t, "asks", c.Request.Asks, []store.Ask{{Cost: []int64{2}, Count: 1, Within: -1}})
}

// TestNextBehindOneThatAsks: the slots in hand may have expired when a claim goes that is behind one
// for which they do not suffice.
func TestNextBehindOneThatAsks(t *testing.T) {
	l := newLease(t, "9/s burst 5", 0)
	stock(t, l, 0, 0)
	c := l.Next(at(0), 0, queue(1, 3, 1))
	equal(t, "asks", c.Request.Asks, []store.Ask{{Cost: []int64{3}, Count: 1, Within: -1}, {Cost: []int64{1}, Count: 1, Within: -1}})
	equal(t, "asked", c.asked, []Asked{{1, 0}, {2, 1}})
}

// TestNextTogether: claims behind one that has its slot are asked for one by one, unless the store
// had too few or demand is steady: then once little is in hand of the share, 500 ms of 1000/s.
func TestNextTogether(t *testing.T) {
	for name, c := range map[string]struct {
		short, steady bool
		hand          int
		call          bool
	}{
		"one by one":              {false, false, 200, true},
		"short":                   {true, false, 126, false},
		"short, and little left":  {true, false, 125, true},
		"steady":                  {false, true, 126, false},
		"steady, and little left": {false, true, 125, true},
	} {
		l := newLease(t, "1000/s burst 500", 0)
		call(t, l, 0, queue(slices.Repeat([]int64{1}, c.hand)...), store.Reply{Slots: []store.Slot{{ID: 1, In: ms, Count: c.hand}}, Bound: -1, Members: 1})
		l.last.short = c.short
		if c.steady {
			l.demand.backlog = backlog{least: 1, before: 1, since: at(0)}
		}
		if got := l.Next(at(0), 0, queue(slices.Repeat([]int64{1}, c.hand+1)...)); (got != nil) != c.call {
			t.Errorf("%s, %d in hand: call %v, want %v", name, c.hand, got != nil, c.call)
		}
	}
}

// TestNextBounded: a request has 256 asks at most; the claims after these are asked for later.
func TestNextBounded(t *testing.T) {
	l := newLease(t, "9/s burst 5", 0)
	line := queue(slices.Repeat([]int64{1, 2}, 150)...)
	c := l.Next(at(0), 0, line)
	equal(t, "asks and asked", [2]int{len(c.Request.Asks), len(c.asked)}, [2]int{maxAsks, maxAsks})
}

// TestNextWhen: when there is a call, and when the Lease looks again.
func TestNextWhen(t *testing.T) {
	for name, c := range map[string]struct {
		before func(t *testing.T, l *Lease)
		line   *testLine
		call   bool
		wake   time.Duration // after t0; zero if never
	}{
		"nobody waits":         {nil, queue(), false, 0},
		"a claim waits":        {nil, queue(1), true, 0},
		"the claim is barred":  {nil, &testLine{claims: queue(1).claims, barred: at(3 * s)}, false, 3 * s},
		"barred until further": {nil, &testLine{claims: queue(1).claims, barred: at(monotime.Longest)}, false, 0},
		"a call is under way":  {func(_ *testing.T, l *Lease) { l.Next(at(0), 0, queue(1)) }, queue(1), false, 0},
		"after an error": {func(_ *testing.T, l *Lease) {
			l.Step(at(0), at(0), l.Next(at(0), 0, queue(1)), nil, errDown, false)
		}, queue(1), false, probeEvery},
		"a slot is in hand":       {func(t *testing.T, l *Lease) { t.Helper(); stock(t, l, 200*ms) }, queue(1), false, 300*ms + 1},
		"fewer slots than claims": {func(t *testing.T, l *Lease) { t.Helper(); stock(t, l, 200*ms) }, queue(1, 1), true, 300*ms + 1},
		"another claim joins":     {func(t *testing.T, l *Lease) { t.Helper(); stock(t, l, 200*ms, 300*ms) }, queue(1, 1, 1), true, 400*ms + 1},
		"the store had fewer": {func(t *testing.T, l *Lease) {
			t.Helper()
			call(t, l, 0, queue(1, 1, 1), store.Reply{Slots: in(200*ms, 300*ms), Bound: -1, Members: 1})
		}, queue(1, 1, 1), false, 400*ms + 1},
		"the slots are too small": {func(t *testing.T, l *Lease) { t.Helper(); stock(t, l, 200*ms) }, queue(2), true, 300*ms + 1},
		"told not to ask":         {func(_ *testing.T, l *Lease) { l.AskNotBefore(at(50 * ms)) }, queue(1), false, 50 * ms},
		"a limit is used up":      {func(_ *testing.T, l *Lease) { l.Said(at(0), usedUp(s)) }, queue(), true, 0},
		"used up, as the store was told": {func(t *testing.T, l *Lease) {
			t.Helper()
			l.Said(at(0), usedUp(s))
			call(t, l, 0, queue(), store.Reply{Bound: -1})
			l.Said(at(0), usedUp(2*s))
		}, queue(), false, 0},
		"used up, in milliseconds that were read as seconds": {func(t *testing.T, l *Lease) {
			t.Helper()
			read := quota.Statement{Name: "core", Reset: 4980 * s, ResetKnown: true, Resolution: s}
			l.Said(at(0), []quota.Statement{read})
			call(t, l, 0, queue(), store.Reply{Bound: -1})
			read.Reset, read.Resolution = 4980*ms, ms
			l.Said(at(0), []quota.Statement{read})
		}, queue(), true, 0},
		"another limit is used up, until sooner": {func(t *testing.T, l *Lease) {
			t.Helper()
			said := quota.Statement{Name: "core", Reset: 4980 * s, ResetKnown: true, Resolution: s}
			l.Said(at(0), []quota.Statement{said})
			call(t, l, 0, queue(), store.Reply{Bound: -1})
			said.Name, said.Reset, said.Resolution = "other", 4980*ms, ms
			l.Said(at(0), []quota.Statement{said})
		}, queue(), false, 0},
		"a limit is not used up": {func(_ *testing.T, l *Lease) {
			l.Said(at(0), []quota.Statement{{Name: "core", Remaining: 1, Reset: s, ResetKnown: true}})
		}, queue(), false, 0},
		"a hold": {func(_ *testing.T, l *Lease) { l.TellHold(at(0)); l.Tick(at(0), at(s)) }, queue(), true, 0},
		"a hold that is known": {func(_ *testing.T, l *Lease) {
			l.HeldByStore(at(0), at(s), 0)
			l.TellHold(at(0))
			l.Tick(at(0), at(s))
		}, queue(), false, 0},
		"a hold that is over": {func(_ *testing.T, l *Lease) { l.TellHold(at(0)); l.Tick(at(0), at(0)) }, queue(), false, 0},
	} {
		l := newLease(t, "9/s burst 2", 0)
		if c.before != nil {
			c.before(t, l)
		}
		got := l.Next(at(0), at(s), c.line)
		wake := l.Wake()
		if wake == at(0) {
			wake = 0 // Told and Said ask for a look at once, which this was
		}
		if c.wake != 0 {
			wake -= t0
		}
		if (got != nil) != c.call || wake != monotime.Time(c.wake) {
			t.Errorf("%s: call %v, want %v; wake %v, want %v", name, got != nil, c.call, time.Duration(wake), c.wake)
		}
	}
}

func usedUp(reset time.Duration) []quota.Statement {
	if reset > s {
		reset = 2*s - 1 // less than a second more
	}
	return []quota.Statement{{Name: "core", Reset: reset, ResetKnown: true}}
}

// TestNextWithoutQuotas: a bucket without quotas in the store asks once in a Horizon whether it is
// held, while it is used.
func TestNextWithoutQuotas(t *testing.T) {
	l := newLease(t, "3 in flight", 0)
	for _, c := range []struct {
		at   time.Duration
		used bool
		call bool
	}{
		{0, false, false}, // never used
		{0, true, true},
		{Horizon, true, false},
		{Horizon + 1, true, true},
		{3 * Horizon, false, true},
	} {
		if c.used {
			l.Take(nil, at(c.at), at(c.at), requests(1), false, 0)
		}
		got := l.Next(at(c.at), 0, queue())
		if (got != nil) != c.call {
			t.Errorf("at %v: call %v, want %v", c.at, got != nil, c.call)
		}
		if got != nil {
			l.Step(at(c.at), at(c.at), got, &store.Reply{Bound: -1}, nil, false)
		}
	}
	if d := due(l, 4*Horizon, 1); d != 4*Horizon {
		t.Errorf("a claim is due at %v", d)
	}
}

// TestNextHand: the store is told what is in hand, unless that is of no use to the first claim,
// which then gets something whatever the share of the member.
func TestNextHand(t *testing.T) {
	for _, c := range []struct {
		line *testLine
		want []int64
	}{{queue(1, 1, 1), []int64{2}}, {queue(3, 1), nil}} {
		l := newLease(t, "9/s burst 5", 0)
		stock(t, l, 200*ms, 300*ms)
		equal(t, "hand", l.Next(at(0), 0, c.line).Request.Hand, c.want)
	}
}

// TestNextTellsBack: what expired goes back within a Horizon, once, and again only if the call
// failed.
func TestNextTellsBack(t *testing.T) {
	l := newLease(t, "9/s burst 5", 0)
	stock(t, l, 0, 0)
	if d := l.Wake().Sub(t0); d != 0 {
		l.Next(at(0), 0, queue())
	}
	step := func(d time.Duration) *store.Request {
		t.Helper()
		if !l.Tick(at(d), 0) {
			t.Fatalf("at %v: it is not time, but at %v", d, l.Wake().Sub(t0))
		}
		c := l.Next(at(d), 0, queue())
		if c == nil {
			t.Fatalf("at %v: no call", d)
		}
		return c.Request
	}
	back := []store.Part{{Slot: 1, Cost: []int64{1}}, {Slot: 2, Cost: []int64{1}}}
	slices.Reverse(back) // the later of two at the same instant is first in hand
	r := step(100*ms + 1)
	equal(t, "back", r.Back, back)
	equal(t, "serial", r.Serial, int64(2))
	l.Step(at(110*ms), at(100*ms), &Call{Request: r, version: l.version}, nil, errDown, false)
	l.Next(at(110*ms), 0, queue())
	r = step(110*ms + probeEvery)
	equal(t, "back again", r.Back, back)
	equal(t, "serial again", r.Serial, int64(2))
	l.Step(at(320*ms), at(310*ms), &Call{Request: r, version: l.version}, &store.Reply{Bound: -1}, nil, false)
	if c := l.Next(at(s), 0, queue()); c != nil || !l.Idle(at(s)) {
		t.Errorf("after that a call %+v, idle %v", c, l.Idle(at(s)))
	}
}

// TestNextTellsInTurns: what is too much for one request is told with the next ones, each of which is made at
// once, all of it once and in order. While there is more that went without the store, nothing is asked for.
func TestNextTellsInTurns(t *testing.T) {
	for _, test := range []struct {
		quotas string
		most   int
	}{{"1000/s burst 300", 64}, {"1000/s burst 300, 2000/s burst 400", 32}} {
		l := newLease(t, test.quotas, 0)
		stock(t, l)
		cost := slices.Repeat([]int64{1}, len(l.quotas))
		for i := range int64(150) {
			l.giveBack(at(0), &heldSlot{id: i, epoch: l.slots.epoch}, cost)
			l.unsent.own = append(l.unsent.own, own{at(time.Duration(i) * ms), cost})
		}
		l.mustCall = true
		var back []int64
		var went []time.Duration
		for n := 0; len(back) < 150; n++ {
			if n == 4 { // its reply is lost
				c := l.Next(at(ms), 0, queue(1))
				l.Step(at(ms), at(ms), c, nil, errDown, false)
				l.notBefore = 0
			}
			c, _ := call(t, l, ms, queue(1), store.Reply{Bound: -1, Members: 1})
			if len(c.Request.Back)+len(c.Request.Own) > test.most || (len(went)+len(c.Request.Own) < 150) != (len(c.Request.Asks) == 0) {
				t.Fatalf("%d back, %d own, %d asks, after %d", len(c.Request.Back), len(c.Request.Own), len(c.Request.Asks), len(went))
			}
			for _, p := range c.Request.Back {
				back = append(back, p.Slot)
			}
			for _, o := range c.Request.Own {
				went = append(went, o.In+ms)
			}
		}
		for i := range int64(150) {
			if back[i] != i || went[i] != time.Duration(i)*ms {
				t.Fatalf("part %d is %d, %v", i, back[i], went[i])
			}
		}
		if c := l.Next(at(ms), 0, queue()); c != nil {
			t.Errorf("one more call: %+v", c.Request)
		}
	}
}

// TestNextTrims: slots that the line no longer needs go back, the last first, but not those that
// are due before a round trip.
func TestNextTrims(t *testing.T) {
	l := newLease(t, "9/s burst 5", 0)
	stock(t, l, 20*ms, 30*ms, 200*ms, 300*ms, 400*ms)
	l.trips.add(25 * ms)
	l.Shrunk(true)
	c := l.Next(at(0), 0, queue(1))
	equal(t, "back", c.Request.Back, []store.Part{{Slot: 5, Cost: []int64{1}}, {Slot: 4, Cost: []int64{1}}, {Slot: 3, Cost: []int64{1}}, {Slot: 2, Cost: []int64{1}}})
	equal(t, "hand", l.State(at(0)).Hand, 1)

	l = newLease(t, "9/s burst 5", 0)
	stock(t, l, 20*ms, 200*ms)
	l.trips.add(25 * ms)
	l.Shrunk(true)
	equal(t, "back of none", l.Next(at(0), 0, queue()).Request.Back, []store.Part{{Slot: 2, Cost: []int64{1}}})
}

// TestAskNotBefore: the later of two instants counts.
func TestAskNotBefore(t *testing.T) {
	l := newLease(t, "9/s burst 5", 0)
	l.AskNotBefore(at(50 * ms))
	l.AskNotBefore(at(20 * ms))
	if l.MayAsk(at(50*ms-1)) || !l.MayAsk(at(50*ms)) {
		t.Errorf("may ask: before the later instant %v, then %v", l.MayAsk(at(50*ms-1)), l.MayAsk(at(50*ms)))
	}
}

// TestNextReturnsFar: when the store may have earlier slots, those that are further ahead than a tenth of a
// Horizon go back if the first claim needs one of them, once in so long; a twentieth if claims have cost less
// lately. Among many members, each does so more seldom.
func TestNextReturnsFar(t *testing.T) {
	for name, c := range map[string]struct {
		quotas string
		slots  []time.Duration
		back   int
		often  time.Duration
		less   bool // a claim has cost less
		among  int  // how many members
	}{
		"far":                {"9/m log", []time.Duration{Horizon/10 + 1, 3 * s}, 2, Horizon / 10, false, 1},
		"far, and cost less": {"9/m log", []time.Duration{Horizon/20 + 1, 3 * s}, 2, Horizon / 20, true, 1},
		"far, among many":    {"9/m log", []time.Duration{Horizon/20 + 1, 3 * s}, 2, Horizon / 8, true, 100},
		"not far":            {"9/m log", []time.Duration{Horizon / 10, 3 * s}, 0, 0, false, 1},
		"near":               {"9/m log", []time.Duration{Horizon / 20, 3 * s}, 0, 0, true, 1},
		"an early":           {"9/m log", []time.Duration{0, 3 * s}, 0, 0, false, 1},
		"far on the clock":   {"9/m window grid", []time.Duration{Horizon/10 + 1, 3 * s}, 2, Horizon / 10, false, 1},
	} {
		l := newLease(t, c.quotas, 0)
		stock(t, l, c.slots...)
		line := queue(slices.Repeat([]int64{1}, len(c.slots))...)
		if l.Next(at(0), 0, line) != nil {
			t.Errorf("%s: a call, though nobody said that there was room", name)
		}
		if c.less {
			l.settledLow = at(0)
		}
		l.Heard(0, store.News{Room: true})
		got := l.Next(at(0), 0, line)
		if (got != nil) != (c.back > 0) || got != nil && len(got.Request.Back) != c.back {
			t.Errorf("%s: %+v, want %d back", name, got, c.back)
		}
		if got == nil {
			continue
		}
		l.Step(at(0), at(0), got, &store.Reply{Slots: in(3*s, 4*s), Ahead: 4 * s, Bound: -1, Members: c.among}, nil, false)
		l.Heard(0, store.News{Room: true})
		if l.Next(at(ms), 0, line) != nil || l.Next(at(c.often-1), 0, line) != nil {
			t.Errorf("%s: far slots were given back twice in %v", name, c.often)
		}
		if l.Next(at(c.often), 0, line) == nil {
			t.Errorf("%s: far slots were not given back after %v", name, c.often)
		}
	}
}

// TestStepSlowEvents: the owner is told of slow round trips when three of them were too slow in a row, and of
// one that was slow between others never.
func TestStepSlowEvents(t *testing.T) {
	for name, c := range map[string]struct {
		took []time.Duration
		want []int // events of each
	}{
		"always":        {[]time.Duration{101 * ms, 101 * ms, 101 * ms, 101 * ms, 101 * ms}, []int{0, 0, 1, 0, 0}},
		"now and then":  {[]time.Duration{101 * ms, ms, 101 * ms, 101 * ms, ms, 101 * ms}, []int{0, 0, 0, 0, 0, 0}},
		"after a while": {[]time.Duration{ms, 101 * ms, 101 * ms, 101 * ms}, []int{0, 0, 0, 1}},
	} {
		l := newLease(t, "9/s burst 5", 0)
		for i, took := range c.took {
			now := at(time.Duration(i) * 3 * s)
			sent := l.Next(now, 0, queue(1))
			if sent == nil {
				t.Fatalf("%s: nothing is asked for at %d", name, i)
			}
			e := l.Step(now.Add(took), now, sent, &store.Reply{Slots: in(0), Bound: -1}, nil, false)
			if len(e.Events) != c.want[i] {
				t.Errorf("%s: %d events after trip %d, want %d", name, len(e.Events), i, c.want[i])
			}
			l.Return(now.Add(took), l.Take(nil, now.Add(took), now.Add(took), &limit.Demand{Claims: 1, N: 1}, false, 0))
		}
	}
}

// TestStepSlots: from when and until when a slot may be used, however long the reply took.
func TestStepSlots(t *testing.T) {
	for name, c := range map[string]struct {
		slotLife    time.Duration // as the store says
		took, in    time.Duration
		from, until time.Duration // after the request was sent
		ok          bool
	}{
		"at once":            {0, 0, 0, 0, 100 * ms, true},
		"after a round trip": {0, 30 * ms, 0, 30 * ms, 100 * ms, true},
		"to come":            {0, 30 * ms, 200 * ms, 230 * ms, 300 * ms, true},
		"just in time":       {0, 100 * ms, 0, 100 * ms, 100 * ms, true},
		"too late":           {0, 100*ms + 1, 0, 0, 0, false},
		"others are slow":    {250 * ms, 50 * ms, 0, 50 * ms, 100 * ms, true},
		"late for this one":  {250 * ms, 150 * ms, 0, 0, 0, false},
		"it has begun":       {0, 10 * ms, -40 * ms, 10 * ms, 60 * ms, true},
	} {
		l := newLease(t, "9/s burst 5", 0)
		sent := l.Next(at(0), 0, queue(1))
		e := l.Step(at(c.took), at(0), sent, &store.Reply{Slots: in(c.in), SlotLife: c.slotLife, Bound: -1}, nil, false)
		if st := l.State(at(c.took)); st.Hand != 1 && c.ok || !c.ok && (st.Hand != 0 || st.Wasted != 1 || st.Err == nil || len(e.Events) != 0) {
			t.Errorf("%s: %+v", name, st)
		}
		if !c.ok {
			if got := l.Farewell(at(c.took), 0); !reflect.DeepEqual(got.Back, []store.Part{{Slot: 1, Cost: []int64{1}}}) {
				t.Errorf("%s: %+v goes back", name, got.Back)
			}
			continue
		}
		equal(t, name+", from", due(l, c.took, 1), c.from)
		equal(t, name+", until", due(l, c.until, 1), c.until)
		if due(l, c.until+1, 1) <= c.until+1 {
			t.Errorf("%s: may be used after %v", name, c.until)
		}
	}
}

// TestStepTooMany: slots that nobody asked for are ignored.
func TestStepTooMany(t *testing.T) {
	l := newLease(t, "9/s burst 5", 0)
	slots := []store.Slot{{ID: 1, Count: -3}, {ID: 2, Ask: -1, Count: 1}, {ID: 3, Ask: 2, Count: 1}, {ID: 4, Count: 1}, {ID: 5, Count: math.MaxInt}, {ID: 6, Ask: 1, Count: 2}}
	_, e := call(t, l, 0, queue(1, 1, 1, 2), store.Reply{Slots: slots})
	equal(t, "state", l.State(at(0)), &State{Members: 1, Calls: 1, Hand: 5})
	equal(t, "unserved", len(e.Unserved), 0)
}

// TestStepNoReply: a store that says nothing cannot be reached.
func TestStepNoReply(t *testing.T) {
	l := newLease(t, "9/s burst 5", 0)
	e := l.Step(at(0), at(0), l.Next(at(0), 0, queue(1)), nil, nil, false)
	equal(t, "events", e.Events, []Event{{Kind: Down, Err: errNoReply}})
}

// TestStepSlow: the owner is told that round trips take too long, once in ten seconds, and the
// store is left alone for a while; unless the Lease can wait for longer by itself.
func TestStepSlow(t *testing.T) {
	for _, own := range []bool{false, true} {
		l := New(Config{Name: "api"})
		if !own {
			l.config.SlotLife = 10 * ms
		}
		l.Set(0, parse(t, "100/s even"), 0)
		now, told, useful := time.Duration(0), 0, 0
		for range 40 {
			now += 400 * ms
			c := l.Next(at(now), 0, queue(1))
			if c == nil {
				t.Fatalf("at %v: no call", now)
			}
			before := l.Wake()
			e := l.Step(at(now+300*ms), at(now), c, &store.Reply{Slots: in(0), Bound: -1}, nil, false)
			told += len(e.Events)
			useful += int(l.State(at(now + 300*ms)).Hand)
			if !own && l.MayAsk(at(now+300*ms)) {
				t.Fatalf("at %v: the store is asked again at once; wake %v", now, before)
			}
			now += 300 * ms
			l.Take(nil, at(now), at(now), requests(1), false, 0)
		}
		// 40 calls take 28 s: the owner is told after 0, 10.5 and 21 s. After three round trips the
		// fourth request says how long a slot is of use.
		if want := map[bool][2]int{false: {3, 0}, true: {0, 37}}[own]; [2]int{told, useful} != want {
			t.Errorf("by itself %v: told %d times, %d slots of use; want %v", own, told, useful, want)
		}
	}
}

// TestStepUnserved: who hears that there is no slot for it, and when there is one.
func TestStepUnserved(t *testing.T) {
	slots := func(counts ...int) (slots []store.Slot) {
		for i, n := range counts {
			if n > 0 {
				slots = append(slots, store.Slot{ID: int64(i), Ask: i, Count: n})
			}
		}
		return slots
	}
	for name, c := range map[string]struct {
		line  *testLine
		slots []store.Slot
		want  []int
		retry time.Duration
	}{
		"all got one":               {queue(1, 1, 2), slots(2, 1), nil, 0},
		"the last got none":         {queue(1, 1, 1), slots(2), []int{2}, 0},
		"a smaller one may go":      {queue(2, 1), slots(0, 1), []int{0}, 0},
		"not known of smaller ones": {queue(2, 1), slots(), []int{0}, 100 * ms},
		"the first that got none":   {queue(1, 2, 1, 2), slots(1), []int{1, 3}, 0}, // the smaller one may go before
		"nor are larger ones":       {queue(1, 2), slots(), []int{0, 1}, 100 * ms},
	} {
		l := newLease(t, "9/s burst 5", 0)
		bound := len(c.slots) - 1 // if that is -1, the store does not say which quota binds
		_, e := call(t, l, 0, c.line, store.Reply{Slots: c.slots, Next: 400 * ms, Bound: min(bound, 0)})
		var got []int
		for _, u := range e.Unserved {
			got = append(got, u.Waiter)
			equal(t, name+", due", u.Due, limit.Due{At: at(400 * ms), Cause: limit.Pace, Quota: l.names[0]})
		}
		equal(t, name, got, c.want)
		var retry time.Duration
		if e.Retry != 0 {
			retry = e.Retry.Sub(t0)
		}
		equal(t, name+", retry", retry, c.retry)
	}
}

// TestStepEffects: what a reply says to the owner.
func TestStepEffects(t *testing.T) {
	l := newLease(t, "9/s burst 5", 0)
	said := []quota.Statement{{Name: "core", Remaining: 3}}
	_, e := call(t, l, 0, queue(1), store.Reply{Slots: in(0), Hold: 3 * s, Lost: true, Statements: said, Ahead: 2 * s, Members: 4, Bound: -1})
	equal(t, "effects", e, Effects{Hold: at(3 * s), Statements: said, Concerned: []Asked{{}}, Events: []Event{{Kind: Lost}}})
	equal(t, "state", l.State(at(s)), &State{Members: 4, Ahead: s, Calls: 1, Hand: 1})
}

// TestStepReturnsWhatIsUnknown: slots beyond the last one of which the store knows go back: it was broken when
// it handed them out. So nothing waits for them, unless the store has lost them and is not told of all yet.
func TestStepReturnsWhatIsUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		reply store.Reply
		own   bool
		back  []store.Part
	}{
		"known":              {store.Reply{Ahead: 10*s - Horizon}, false, nil},
		"not known":          {store.Reply{Ahead: 10*s - Horizon - 1}, false, []store.Part{{Slot: 2, Cost: []int64{1}}}},
		"lost":               {store.Reply{Ahead: 0, Lost: true, Known: s}, false, nil},
		"not all told of":    {store.Reply{Ahead: 0}, true, nil},
		"of a long time":     {store.Reply{Ahead: monotime.Longest}, false, nil},
		"of a time that was": {store.Reply{Ahead: -1}, false, []store.Part{{Slot: 2, Cost: []int64{1}}}},
	} {
		l := newLease(t, "9/m log", 0)
		stock(t, l, Horizon, 10*s)
		l.mustCall = true
		next := l.Next(at(0), 0, queue(1, 1))
		if c.own {
			l.unsent.own = []own{{at(10 * s), []int64{1}}}
		}
		l.Step(at(0), at(0), next, &c.reply, nil, false)
		equal(t, name+": back", l.unsent.back, c.back)
		equal(t, name+": hand", l.State(at(0)).Hand, int64(2-len(c.back)))
	}
}

// TestStepKeepsWhatCameLate: a slot whose reply took longer than the next one is no slot of which the store
// does not know.
func TestStepKeepsWhatCameLate(t *testing.T) {
	l := New(Config{Name: "api", Bucket: "b", Member: "m", SlotLife: s})
	l.Set(0, parse(t, "9/m log"), 0)
	const took = Horizon + ms
	l.Step(at(took), at(0), l.Next(at(0), 0, queue(1, 1)), &store.Reply{Slots: in(10 * s), Ahead: 10 * s}, nil, false) // so its instant is 10 s, or up to 501 ms later
	l.mustCall = true
	l.Step(at(took), at(took), l.Next(at(took), 0, queue(1, 1)), &store.Reply{Ahead: 10*s - took}, nil, false)
	equal(t, "hand", l.State(at(took)).Hand, 1)
}

// TestStepLost: a store that has lost the bucket hands out nothing for a Horizon. Slots of that
// time are used; nothing goes back of what it handed out before.
func TestStepLost(t *testing.T) {
	l := newLease(t, "9/s burst 5", 0)
	stock(t, l, 0, Horizon, Horizon+1)
	var uses []Use
	uses = l.Take(uses, at(0), at(0), requests(1), false, 0)
	c := l.Next(at(0), 0, queue(3))
	l.Settle(at(0), nil, quota.Costs{quota.Requests: 2}, nil, false)
	e := l.Step(at(0), at(0), c, &store.Reply{Lost: true, Bound: -1}, nil, false)
	equal(t, "events", e.Events, []Event{{Kind: Lost}})
	equal(t, "hand", l.State(at(0)).Hand, 1)
	l.Return(at(0), uses)
	l.Settle(at(0), uses, nil, []limit.Part{{At: at(0), Cost: quota.Costs{quota.Requests: 1}}}, false)
	equal(t, "hand after a return", l.State(at(0)).Hand, 1)
	r := l.Farewell(at(0), 0)
	equal(t, "back", r.Back, []store.Part(nil))
	equal(t, "more", r.More, []int64{2})
}

// TestStepLostAndNew: that a bucket is new, as its user has said, is no event; that it is lost later is one.
func TestStepLostAndNew(t *testing.T) {
	l := newLease(t, "9/s burst 5", 0)
	l.config.Fresh = true
	for i, want := range [][]Event{nil, {{Kind: Lost}}} {
		_, e := call(t, l, time.Duration(i)*s, queue(1), store.Reply{Lost: true, Bound: -1})
		equal(t, "events", e.Events, want)
	}
}

// TestStepLostTellsWhatWent: a store that has lost the bucket is told of all that went of slots from before the
// loss, also of what went after it; and of no slot of its own, if it has only forgotten the member.
func TestStepLostTellsWhatWent(t *testing.T) {
	for name, c := range map[string]struct {
		known time.Duration // at 2 s
		want  []store.Own
	}{
		"lost after the slots went": {known: 300 * ms, want: []store.Own{{In: -500 * ms, Cost: []int64{2}}, {In: s, Cost: []int64{1}}}},
		"lost before they went":     {known: 700 * ms, want: []store.Own{{In: -500 * ms, Cost: []int64{2}}, {In: s, Cost: []int64{1}}}},
		"lost before they came":     {known: 2 * s},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLease(t, "9/10s log", 0)
			call(t, l, s, queue(1, 1, 1), store.Reply{Slots: in(500*ms, 500*ms, 2*s), Bound: -1, Members: 1})
			l.Take(nil, at(1500*ms), at(1500*ms), requests(2), false, 0)
			l.mustCall = true
			call(t, l, 2*s, queue(), store.Reply{Lost: true, Known: c.known, Bound: -1})
			told, _ := call(t, l, 2*s, queue(), store.Reply{Bound: -1})
			equal(t, "own", told.Request.Own, c.want)
		})
	}
}

// TestStepLostTellsWhatWentByOtherQuotas: a store that has lost the bucket is told also of what this process's
// quotas do not count, or no longer, where those of others do, or of this process before they were replaced.
func TestStepLostTellsWhatWentByOtherQuotas(t *testing.T) {
	for name, c := range map[string]struct {
		first, then string   // of the process; nothing is replaced if then is empty
		others      []string // by which others go
		want        []store.Own
	}{
		"a window of the clock before":       {first: "9/10s window grid", then: "9/10s log", want: []store.Own{{In: -s, Cost: []int64{2}}}},
		"a longer one before":                {first: "9/10s log", then: "9/500ms log", want: []store.Own{{In: -s, Cost: []int64{2}}}},
		"a window before":                    {first: "9/10s log", then: "9/10s burst 9", want: []store.Own{{In: -s, Cost: []int64{2}}}},
		"two of a unit":                      {first: "9/10s log", then: "9/s log, 20/m burst 9", want: []store.Own{{In: -s, Cost: []int64{2, 2}}}},
		"another unit":                       {first: "9/10s log", then: "90 tokens/10s log"},
		"a bucket, where others go by a log": {first: "9/10s burst 9", others: []string{"20/2s log"}, want: []store.Own{{In: -s, Cost: []int64{2}}}},
		"a shorter log than that of others":  {first: "9/500ms log", others: []string{"20/2s log"}, want: []store.Own{{In: -s, Cost: []int64{2}}}},
		"a bucket, where others go by one":   {first: "9/10s burst 9", others: []string{"20/2s burst 3"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLease(t, c.first, 0)
			var others []quota.Quotas
			for _, o := range c.others {
				others = append(others, parse(t, o))
			}
			call(t, l, s, queue(1, 1), store.Reply{Slots: in(0, 0), Bound: -1, Members: 1, Others: others})
			l.Take(nil, at(s), at(s), requests(2), false, 0)
			if c.then != "" {
				l.Set(at(1500*ms), parse(t, c.then), 0)
			}
			l.mustCall = true
			call(t, l, 2*s, queue(), store.Reply{Lost: true, Known: 300 * ms, Bound: -1, Life: 7, Others: others})
			told, _ := call(t, l, 2*s, queue(), store.Reply{Bound: -1, Life: 7})
			equal(t, "own", told.Request.Own, c.want)
		})
	}
}

// TestStepLostIsToldOnce: what a store that lost the bucket does not know is told once, in as many requests as
// it takes. Only with the last of them the member says that it has told all: of another life of the bucket it
// tells all anew.
func TestStepLostIsToldOnce(t *testing.T) {
	l := newLease(t, "900/10s log", 0)
	call(t, l, s, queue(1), store.Reply{Slots: in(0), Bound: -1, Members: 1, Sharing: 3, Life: 7})
	costs := make([]int64, 80)
	for i := range costs { // in hand, one by one
		costs[i] = 1
	}
	var slots []time.Duration
	for i := range costs {
		slots = append(slots, time.Duration(i+1)*s)
	}
	told, _ := call(t, l, s, queue(costs...), store.Reply{Slots: in(slots...), Bound: -1, Members: 1, Ahead: 80 * s, Life: 7})
	equal(t, "life", told.Request.Life, int64(7))
	now := 2 * s
	for _, life := range []int64{8, 9} { // a Horizon apart, in which one slot expires
		l.mustCall = true
		call(t, l, now, queue(), store.Reply{Lost: true, Known: 1, Bound: -1, Ahead: 80 * s, Life: life})
		for i, want := range []int{64, 15 - int(life-8), 0} { // of 79 in hand, or 78
			l.mustCall = true
			told, _ := call(t, l, now, queue(), store.Reply{Lost: i < 1, Known: 1, Bound: -1, Ahead: 80 * s, Life: life})
			equal(t, "own", len(told.Request.Own), want)
			equal(t, "told all", told.Request.Life == life, i > 0)
			equal(t, "shared by", told.Request.Sharing, 3)
		}
		now += Horizon
	}
	l.mustCall = true
	call(t, l, now, queue(), store.Reply{Bound: -1, Ahead: 80 * s, Life: 9, Parted: true})
	l.mustCall = true
	left, _ := call(t, l, now, queue(), store.Reply{Bound: -1, Ahead: 80 * s, Life: 9})
	equal(t, "shared by, where one has left", left.Request.Sharing, 0)
	l.mustCall = true
	all, _ := call(t, l, now, queue(), store.Reply{Bound: -1, Ahead: 80 * s, Life: 9})
	equal(t, "shared by, where none has left any more", all.Request.Sharing, 3)
}

// TestHeardLost: who hears that the store has lost the bucket calls it at once, since the store waits for what
// members know. If a call is under way, so it does after the reply, which may be of before the loss: also a
// process that has no other reply, and one for which the store was out of reach; one that was refused, and
// would ask later, within a quarter of the Horizon.
func TestHeardLost(t *testing.T) {
	never := func(*testing.T, *Lease) {}
	known := func(t *testing.T, l *Lease) {
		t.Helper()
		stock(t, l, 9*s)
	}
	out := func(t *testing.T, l *Lease) {
		t.Helper()
		stock(t, l, 9*s)
		l.mustCall = true
		l.Step(at(0), at(0), l.Next(at(0), 0, queue()), nil, errDown, false)
	}
	news := store.News{Lost: true}
	for name, c := range map[string]struct {
		before func(*testing.T, *Lease)
		claims []int64
		news   store.News
		lost   bool          // the reply says so
		want   time.Duration // until the next call
	}{
		"a first call":                 {never, []int64{1}, news, false, 0},
		"a call in an outage":          {out, []int64{1}, news, false, 0},
		"a refusal":                    {known, []int64{1, 1, 1}, news, false, Horizon / 4},
		"a refusal, other news":        {known, []int64{1, 1, 1}, store.News{Sharing: 2}, false, Horizon},
		"a first refusal, of after it": {never, []int64{1, 1, 1}, news, true, Horizon},
		"a refusal, of after it":       {known, []int64{1, 1, 1}, news, true, 0}, // a slot in hand is to be told
		"a first call, and other news": {never, []int64{1}, store.News{Sharing: 2}, false, 2 * s},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLease(t, "9/10s log", 0)
			c.before(t, l)
			sent := at(200 * ms)
			first := l.Next(sent, 0, queue(c.claims...))
			if first == nil {
				t.Fatal("no call")
			}
			l.Heard(sent, c.news)
			reply := &store.Reply{Next: 8 * s, Lost: c.lost, Known: 1, Bound: -1, Members: 1}
			if len(c.claims) == 1 {
				reply.Slots, reply.Ahead, c.claims = in(8*s), 8*s, nil
			}
			e := l.Step(sent, sent, first, reply, nil, false)
			l.AskNotBefore(e.Retry)
			got := monotime.Longest
			for d := time.Duration(0); d <= 2*s; d += Horizon / 20 {
				if l.Next(sent.Add(d), 0, queue(c.claims...)) != nil {
					got = d
					break
				}
			}
			equal(t, "next call", got, c.want)
		})
	}
	t.Run("no call is under way", func(t *testing.T) {
		l := newLease(t, "9/10s log", 0)
		out(t, l)
		l.Heard(at(100*ms), news)
		equal(t, "calls before a probe is due", l.Next(at(200*ms-1), 0, queue()) != nil, false)
		equal(t, "calls then", l.Next(at(200*ms), 0, queue()) != nil, true)
		idle := newLease(t, "9/10s log", 0)
		idle.Heard(at(0), news)
		equal(t, "calls of who has nothing to tell", idle.Next(at(0), 0, queue()) != nil, false)
	})
}

// TestStepLostTellsBesideAWindowBeyondAllBounds: a store that speaks of a window of 292 years does not have a
// process forget what others count for an hour.
func TestStepLostTellsBesideAWindowBeyondAllBounds(t *testing.T) {
	l := newLease(t, "100/m log", 0)
	others := append([]quota.Quotas{parse(t, "1000/h log")}, quota.Quotas{{Kind: quota.SlidingLog, N: 1, Per: math.MaxInt64}})
	call(t, l, s, queue(1, 1), store.Reply{Slots: in(0, 0), Bound: -1, Members: 1, Others: others})
	l.Take(nil, at(s), at(s), requests(2), false, 0)
	l.mustCall = true
	call(t, l, 301*s, queue(), store.Reply{Lost: true, Known: 300 * ms, Bound: -1, Life: 7})
	told, _ := call(t, l, 301*s, queue(), store.Reply{Bound: -1, Life: 7})
	equal(t, "own", told.Request.Own, []store.Own{{In: -300 * s, Cost: []int64{2}}})
}

// TestStepLostTellsWhatALongerWindowKnew: what others count for ten seconds does not have a process forget what
// went by a quota of its own that counted for a minute, and was replaced a moment ago.
func TestStepLostTellsWhatALongerWindowKnew(t *testing.T) {
	l := newLease(t, "9/s log", 0)
	others := []quota.Quotas{parse(t, "20/10s log")}
	call(t, l, s, queue(1, 1), store.Reply{Slots: in(0, 0), Bound: -1, Members: 1, Others: others})
	l.Take(nil, at(s), at(s), requests(2), false, 0)
	l.mustCall = true
	call(t, l, 10*s, queue(), store.Reply{Bound: -1, Members: 1, Others: others})
	l.Set(at(10500*ms), parse(t, "60/m log"), 0)
	l.Take(nil, at(15*s), at(15*s), requests(1), false, 0)
	l.Set(at(16*s), parse(t, "9/s log"), 0)
	l.mustCall = true
	call(t, l, 17*s, queue(), store.Reply{Lost: true, Known: 300 * ms, Bound: -1, Life: 7})
	told, _ := call(t, l, 17*s, queue(), store.Reply{Bound: -1, Life: 7})
	equal(t, "own", told.Request.Own, []store.Own{{In: -16 * s, Cost: []int64{2}}, {In: -2 * s, Cost: []int64{1}}})
}

// TestStepLostTellsShortWindowsWhatTheyCount: where others count for a day what this process's quota counts for
// a minute, a store that has lost the bucket is told of the latest minute as if there were no others. What is
// older, in a cell of three quarters of an hour, does not fill the minute.
func TestStepLostTellsShortWindowsWhatTheyCount(t *testing.T) {
	l := newLease(t, "100/m log", 0)
	others := []quota.Quotas{parse(t, "1000/d log")}
	call(t, l, s, queue(1, 1), store.Reply{Slots: in(0, 0), Bound: -1, Members: 1, Others: others})
	now := s
	for range 200 {
		l.Take(nil, at(now), at(now), requests(1), false, 0)
		now += 10 * s
	}
	l.mustCall = true
	call(t, l, now, queue(), store.Reply{Lost: true, Known: 300 * ms, Bound: -1, Life: 7, Others: others})
	told, _ := call(t, l, now, queue(), store.Reply{Bound: -1, Life: 7})
	want := []store.Own{{In: -60 * s, Cost: []int64{195}}}
	for in := -50 * s; in < 0; in += 10 * s {
		want = append(want, store.Own{In: in, Cost: []int64{1}})
	}
	equal(t, "own", told.Request.Own, want)
}

// TestStepLostForEver: a store that says in each reply, or in each other one, or beside it in news, that it has
// lost what it knew is not called all the time, whatever it says of the bucket's life.
func TestStepLostForEver(t *testing.T) {
	for name, reply := range map[string]func(n int) store.Reply{
		"one life":       func(int) store.Reply { return store.Reply{Lost: true, Known: 1, Life: 7} },
		"two lives":      func(n int) store.Reply { return store.Reply{Lost: true, Known: 1, Life: int64(1 + n%2)} },
		"always another": func(n int) store.Reply { return store.Reply{Lost: true, Known: 1, Life: int64(n)} },
		"none":           func(int) store.Reply { return store.Reply{Lost: true, Known: 1} },
		"one or none":    func(n int) store.Reply { return store.Reply{Lost: true, Known: 1, Life: int64(n % 2)} },
		"nothing known":  func(n int) store.Reply { return store.Reply{Lost: true, Life: int64(n)} },
		"each other":     func(n int) store.Reply { return store.Reply{Lost: n%2 > 0, Known: 1, Life: int64(n)} },
	} {
		for _, line := range []Line{queue(), queue(1)} {
			calls := func(news bool, reply func(n int) store.Reply) (n int) {
				l := newLease(t, "10/s log", 0)
				l.mustCall = true
				for now := at(0); now < at(s); now = now.Add(ms) {
					for range 10 { // the store replies at once
						if c := l.Next(now, 0, line); c != nil {
							n++
							r := reply(n)
							r.Bound, r.Next = -1, 100*ms
							l.Step(now, now, c, &r, nil, false)
							l.Heard(now, store.News{Lost: news && r.Lost})
						}
					}
				}
				return n
			}
			works := calls(false, func(int) store.Reply { return store.Reply{Life: 7} })
			for _, news := range []bool{false, true} {
				if n := calls(news, reply); n > works+5 {
					t.Errorf("%s, news %v, %d in line: %d calls in a second, want %d at most: 5 more than one that works", name, news, line.Waiting(), n, works+5)
				}
			}
		}
	}
}

// TestStepAfterSet: slots of a reply that comes after the quotas were replaced are of other
// quotas, and so is what the reply says of the next one.
func TestStepAfterSet(t *testing.T) {
	for _, quotas := range []string{"9/s burst 5", "9/s burst 5, 9/m log, 20/m window", "3 in flight"} {
		l := newLease(t, "9/s burst 5, 9/m log", 0)
		c := l.Next(at(0), 0, queue(1))
		l.Set(0, parse(t, quotas), 0)
		e := l.Step(at(ms), at(0), c, &store.Reply{Slots: in(0), Next: 300 * ms, Bound: 1, Hold: s}, nil, false)
		equal(t, quotas+", effects", e, Effects{Hold: at(ms + s), Concerned: []Asked{{}}})
		equal(t, quotas+", hand", l.State(at(ms)).Hand, 0)
		due := l.DueFrom(at(ms), limit.Due{At: at(ms)}, &limit.Demand{}, requests(1), true, true)
		equal(t, quotas+", projected", due, limit.Due{At: at(ms)})
	}
}

// TestSetGivesBack: when quotas are replaced, slots in hand go back, and those that a call gets that is under
// way, or has failed and comes again, as slots of the quotas that take over.
func TestSetGivesBack(t *testing.T) {
	for _, c := range []struct {
		sets []string
		cost []int64 // as which a slot goes back; nil if nothing does
	}{
		{[]string{"90/s burst 5, 9/m log"}, []int64{1, 1}},
		{[]string{"9/m log, 9/s burst 50"}, []int64{1, 1}},
		{[]string{"9/m log"}, []int64{1}},
		{[]string{"9/m log, 20/m window grid, 9/s burst 50", "9/s burst 5, 20/m window grid"}, []int64{1, 0}},
		{[]string{"9/s burst 50, 7 tokens/s", "7 tokens/s, 8/m log"}, nil},
		{[]string{"9 tokens/s"}, nil},
	} {
		for _, where := range []string{"in hand", "under way", "failed"} {
			l := newLease(t, "9/s burst 5, 9/m log", 0)
			if l.last.at = at(0); where == "in hand" {
				stock(t, l, 10*ms, 20*ms)
				l.Take(nil, at(10*ms), at(10*ms), requests(1), false, 0)
			}
			under := l.Next(at(10*ms), 0, queue(1, 1))
			for _, text := range c.sets {
				l.Set(0, parse(t, text), 0)
			}
			reply, now := store.Reply{Bound: -1, Slots: in(10*ms, 20*ms)[1:]}, 13*ms
			switch where {
			case "in hand":
				if under != nil {
					l.Step(at(12*ms), at(11*ms), under, &store.Reply{Bound: -1}, nil, false)
				}
			case "under way":
				l.Step(at(12*ms), at(11*ms), under, &reply, nil, false)
			case "failed":
				l.Step(at(12*ms), at(11*ms), under, nil, errDown, false)
				now += probeEvery
				again, _ := call(t, l, now, queue(1), reply)
				equal(t, "asks again", again.Request.Asks, under.Request.Asks)
				equal(t, "by the quotas of then", again.Request.Quotas, under.Request.Quotas)
			}
			told, _ := call(t, l, now, queue(), store.Reply{Bound: -1})
			var want []store.Part
			if c.cost != nil {
				want = []store.Part{{Slot: 2, Cost: c.cost}}
			}
			equal(t, strings.Join(c.sets, ", then ")+" "+where, told.Request.Back, want)
		}
	}
}

// TestSetNoneGivesBack: when there are no quotas any more, slots in hand go back, and those that a call under
// way gets, and what went without slots is told. After that the store is told of no quotas.
func TestSetNoneGivesBack(t *testing.T) {
	l := newLease(t, "9/s burst 5, 3 in flight", 0)
	stock(t, l, 10*ms, 20*ms)
	l.Settle(at(0), nil, quota.Costs{quota.Requests: 3}, nil, false)
	under := l.Next(at(ms), 0, queue(1, 1, 1))
	had := under.Request.Quotas
	l.Settle(at(ms), nil, quota.Costs{quota.Requests: 2}, nil, false)
	for range 2 {
		l.Set(0, parse(t, "3 in flight"), 0)
	}
	equal(t, "cost", l.Open(at(ms), requests(1), false), true)
	l.Settle(at(ms), nil, quota.Costs{quota.Requests: 1}, nil, false) // of a claim that goes now
	l.Step(at(2*ms), at(ms), under, &store.Reply{Slots: []store.Slot{{ID: 3, In: 30 * ms, Count: 1}}, Bound: -1}, nil, false)
	told, _ := call(t, l, 2*ms, queue(), store.Reply{Bound: -1})
	equal(t, "by the quotas of before", told.Request.Quotas, had)
	equal(t, "back", told.Request.Back, []store.Part{{Slot: 1, Cost: []int64{1}}, {Slot: 2, Cost: []int64{1}}, {Slot: 3, Cost: []int64{1}}})
	equal(t, "more", told.Request.More, []int64{2})
	next, _ := call(t, l, 2*ms+Horizon+1, queue(1), store.Reply{Bound: -1})
	equal(t, "then", []int64{int64(len(next.Request.Quotas)), int64(len(next.Request.Back)), int64(len(next.Request.Asks))}, []int64{0, 0, 0})
	l.Set(0, parse(t, "8/s burst 2"), 0)
	next, _ = call(t, l, 3*ms+Horizon, queue(1), store.Reply{Bound: -1})
	equal(t, "asks by new ones", len(next.Request.Asks), 1)
}

// TestSetWhereStoreFails: quotas of which a store cannot do anything are not all that it is ever told of: ten
// more times, and then it hears of the ones that took over, and of what it was told with the others.
func TestSetWhereStoreFails(t *testing.T) {
	l := newLease(t, "9/m log, 900/s burst 5", 0)
	l.Settle(at(0), nil, quota.Costs{quota.Requests: 3}, nil, false)
	now := time.Duration(0)
	fail := func() *store.Request {
		c := l.Next(at(now), 0, queue(1))
		l.Step(at(now), at(now), c, nil, errDown, false)
		now += probeEvery
		return c.Request
	}
	old := fail()
	l.Set(at(now), parse(t, "9/s burst 5"), 0)
	for range mostOldTries {
		again := fail()
		equal(t, "quotas", again.Quotas, old.Quotas)
		equal(t, "asks again", again.Asks, old.Asks)
		equal(t, "more again", again.More, old.More)
	}
	told := fail()
	equal(t, "of now", told.Quotas, l.quotas)
	equal(t, "asks", len(told.Asks), 0)
	equal(t, "serial", told.Serial, old.Serial)
	equal(t, "more", [][]int64{old.More, told.More}, [][]int64{{3, 3}, {3}})
	_, _ = call(t, l, now, queue(1), store.Reply{Bound: -1})
	next, _ := call(t, l, now, queue(1), store.Reply{Bound: -1})
	equal(t, "then", []int64{int64(len(next.Request.Asks)), (next.Request.Serial - old.Serial)}, []int64{1, 1})
}

// TestSetGivesBackParts: two parts of a slot go back as one, and of what a store hands out again and again no
// more than was asked for.
func TestSetGivesBackParts(t *testing.T) {
	l := newLease(t, "9/s burst 5", 0)
	call(t, l, 0, queue(1, 1, 1), store.Reply{Slots: []store.Slot{{ID: 7, Count: 3}}, Bound: -1})
	l.giveBack(at(0), l.slots.list[0], []int64{1})
	slot.Add(l.slots.list[0].left, []int64{1}, -1)
	l.Set(0, parse(t, "90/s burst 5"), 0)
	equal(t, "parts", l.unsent.back, []store.Part{{Slot: 7, Cost: []int64{3}}})

	under := l.Next(at(ms), 0, queue(1, 1))
	equal(t, "asked for", under.Request.Asks[0].Count, 2)
	l.Set(0, parse(t, "9/s burst 5"), 0)
	l.Step(at(2*ms), at(ms), under, &store.Reply{Slots: []store.Slot{{ID: 8, Count: 9}, {ID: 8, Count: 1}, {ID: 9, Count: 1}}, Bound: -1}, nil, false)
	told, _ := call(t, l, 3*ms, queue(), store.Reply{Bound: -1})
	equal(t, "repeated", told.Request.Back, []store.Part{{Slot: 8, Cost: []int64{2}}})
}

// TestSetOften: where only a rate changes by a little, soon after another change, slots in hand stay until a
// tenth of a second after that one.
func TestSetOften(t *testing.T) {
	for text, stays := range map[string]bool{
		"110/s burst 5": true, "96/s burst 5": true, "95/s burst 5": false, "110/s burst 4": false, "100/s burst 4, 7/m log": false, "100/2s burst 4": false, "100/s log": false, "9 in flight": false,
	} {
		l := newLease(t, "100/s burst 5", 0)
		l.Set(at(0), parse(t, "120/s burst 5"), 0)
		stock(t, l, 10*ms, 200*ms)
		l.Set(at(20*ms), parse(t, text), 0)
		equal(t, text+": in hand", l.State(at(20*ms)).Hand > 0, stays)
		equal(t, text+": a call at once", l.Next(at(20*ms), 0, queue()) != nil, !stays)
		if !stays {
			continue
		}
		l.Take(nil, at(20*ms), at(20*ms), requests(1), false, 0)
		equal(t, "a call before", l.Next(at(100*ms-1), 0, queue()) != nil, false)
		equal(t, "when to look", l.Wake(), at(100*ms))
		told, _ := call(t, l, 100*ms, queue(), store.Reply{Bound: -1})
		equal(t, "back", told.Request.Back, []store.Part{{Slot: 2, Cost: []int64{1}}})
		equal(t, "numbers", told.Request.Quotas[0].N, parse(t, text)[0].N)
		equal(t, "in hand then", l.State(at(100*ms)).Hand, 0)
	}
}

// TestSetByALittle: where only a rate changes by a little, slots in hand stay which are so near that hardly
// more goes by the faster one; they are slots of the new quotas.
func TestSetByALittle(t *testing.T) {
	for _, c := range []struct {
		quotas, sets string // one after the other, with a semicolon
		stay         time.Duration
	}{
		{"100/s burst 5", "120/s burst 5", 30 * ms}, // of 100 there are a sixth fewer
		{"100/s burst 5", "80/s burst 5", 25 * ms},
		{"100/s burst 5", "99/s burst 5", 500 * ms},
		{"1000/s burst 5", "999/s burst 5", 5 * s},
		{"100/s burst 5", "126/s burst 5", -1},
		{"100/s burst 5", "100/s burst 6", -1},
		{"100/s burst 5, 9/m log", "99/s burst 5, 9/m log", 500 * ms},
		{"100/s burst 5, 9/m log", "99/s burst 5, 5/m log", -1},
		{"100/s burst 5", "80/s burst 5; 100/s burst 5", 25 * ms},                 // some may be by the 80
		{"100/s burst 5", strconv.Itoa(100+math.MaxInt/5*2+2) + "/s burst 5", -1}, // five times the difference is 2^64 + 4
	} {
		l := newLease(t, c.quotas, 0)
		ahead := []time.Duration{10 * ms, max(c.stay, 11*ms), max(c.stay, 11*ms) + 1}
		for i := range ahead {
			ahead[i] += s
		}
		call(t, l, s, queue(1, 1, 1), store.Reply{Slots: in(10*ms, ahead[1]-s, ahead[2]-s), Bound: -1})
		for text := range strings.SplitSeq(c.sets, "; ") {
			l.Set(at(s), parse(t, text), 0)
		}
		if l.again != 0 {
			l.change(at(s), l.quotas, takesOver(l.quotas, l.quotas, 0))
		}
		want := 3
		if c.stay >= 0 {
			want = 1
		}
		equal(t, c.quotas+" "+c.sets+": back", len(l.unsent.back), want)
		equal(t, c.quotas+" "+c.sets+": in hand", len(l.slots.list), 3-want)
		if c.stay < 0 {
			continue
		}
		uses := l.Take(nil, at(s+10*ms), at(s+10*ms), requests(1), false, 0)
		equal(t, "taken", len(uses), 1)
		l.Return(at(s+10*ms), uses)
		equal(t, "in hand when returned", len(l.slots.list), 2)
	}
}

// TestSetAfterReply: what the last reply said is of the old quotas.
func TestSetAfterReply(t *testing.T) {
	for _, quotas := range []string{"9/s burst 5", "9/s burst 5, 9/m log, 20/m window"} {
		l := newLease(t, "9/s burst 5, 9/m log", 0)
		call(t, l, 0, queue(1), store.Reply{Slots: in(10 * ms), Next: 300 * ms, Bound: 1})
		l.Set(0, parse(t, quotas), 0)
		due := l.DueFrom(at(ms), limit.Due{At: at(ms)}, &limit.Demand{}, requests(1), true, true)
		equal(t, quotas, due, limit.Due{At: at(ms)})
	}
}

// DueFrom returns from, put off by Due.
func (l *Lease) DueFrom(now monotime.Time, from limit.Due, ahead, d *limit.Demand, unreserved, optimist bool) limit.Due {
	l.Due(&limit.View{Now: now, From: now, Unreserved: unreserved, Optimist: optimist}, &from, ahead, d)
	return from
}

// TestProjectBesideWhatIsInHand: what is in hand of one quota may be more than what is missing, while some of
// another is. Of a quota with debt any number goes at once, which must not overflow.
func TestProjectBesideWhatIsInHand(t *testing.T) {
	l := newLease(t, "10/s burst 5 debt", 0.3)
	l.slots.put(&heldSlot{id: 1, from: at(0), until: at(time.Second), left: []int64{3, 0}}) // for an urgent claim
	if got := l.project(at(0), at(0), []int64{1, 1}, []int64{1, 1}); got != at(0) {
		t.Errorf("a claim that is not urgent goes %v later, want at once", got.Sub(at(0)))
	}
}
