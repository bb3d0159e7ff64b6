package lease

import (
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/store"
)

// TestSerialAfterLostReply: the store does twice what it is told with one serial only if it is the
// same. So what is told first after a call whose reply was lost is not of the serial of that call.
func TestSerialAfterLostReply(t *testing.T) {
	charge := func(l *Lease, n int) { l.Settle(at(0), nil, quota.Costs{quota.Requests: int64(n)}, nil, false) }
	for name, c := range map[string]struct {
		before int // what the call whose reply is lost tells of
		set    bool
		left   int // of 100, after 50 more
	}{
		"it told of the old quotas":               {before: 30, set: true, left: 20},
		"it told of nothing":                      {before: 0, left: 50},
		"it told of nothing, and of other quotas": {before: 0, set: true, left: 50},
		"it is told again":                        {before: 30, left: 20},
	} {
		for _, arrived := range []bool{false, true} {
			var ledger store.Ledger
			now := time.Duration(0)
			tell := func(r *store.Request) *store.Reply {
				reply, _, err := ledger.Exchange(now, r)
				if err != nil {
					t.Fatal(err)
				}
				return reply
			}
			exchange := func(l *Lease) *Call {
				c := l.Next(at(now), 0, queue())
				if c != nil {
					l.Step(at(now), at(now), c, tell(c.Request), nil, false)
				}
				return c
			}
			l := newLease(t, "100/h log", 0)
			l.mustCall = true
			exchange(l) // the store knows the member
			charge(l, c.before)
			l.mustCall = true
			lost := l.Next(at(0), 0, queue())
			if arrived {
				tell(lost.Request)
			}
			l.Step(at(0), at(0), lost, nil, errDown, false)
			if c.set {
				l.Set(0, parse(t, "100/h log"), 0)
			}
			charge(l, 50)
			for range 2 { // what the lost call told, and then the rest
				now += probeEvery
				l.Tick(at(now), 0)
				exchange(l)
				now += Horizon
				l.Tick(at(now), 0)
				exchange(l)
			}
			tell(l.Farewell(at(now), 0)) // else its part is left to it: it might have sent without the store
			other := &store.Request{Version: 1, Quotas: parse(t, "100/h log"), SlotLife: 100 * ms, Horizon: Horizon, Member: "other", Serial: 1}
			other.Asks = []store.Ask{{Cost: []int64{1}, Count: 100, Within: 0}}
			got := 0
			for _, o := range tell(other).Slots {
				got += o.Count
			}
			want := c.left // also what was to be told of the old quotas, once
			if got != want {
				t.Errorf("%s, arrived %v: another member gets %d at once, want %d", name, arrived, got, want)
			}
		}
	}
}

// TestAgain: a call that failed may have got slots. So the next one asks for the same, with the same serial,
// whatever waits meanwhile, and what comes then is used as far as it has not passed. But where claims went
// without the store, it is told of that first.
func TestAgain(t *testing.T) {
	l := newLease(t, "100/s burst 100", 0)
	call(t, l, 0, queue(1), store.Reply{Members: 1, Bound: -1})
	lost := l.Next(at(10*ms), 0, queue(1, 1))
	equal(t, "serial", lost.Request.Serial, int64(2))
	l.Step(at(10*ms), at(10*ms), lost, nil, errDown, false)
	slots := []store.Slot{{ID: 1, In: -150 * ms, Count: 1, Bound: -1}, {ID: 2, In: -50 * ms, Count: 1, Bound: -1}}
	again, e := call(t, l, 210*ms, queue(3), store.Reply{Slots: slots, Members: 1, Bound: -1})
	equal(t, "serial again", again.Request.Serial, int64(2))
	equal(t, "asks again", again.Request.Asks, lost.Request.Asks)
	equal(t, "claims without slots", e.Unserved, []Unserved(nil))
	equal(t, "claims asked for", len(again.asked), 0)
	equal(t, "from", due(l, 210*ms, 1), 210*ms)
	equal(t, "until", due(l, 260*ms, 1), 260*ms)
	equal(t, "expired", due(l, 261*ms, 1), never+261*ms)
	next, _ := call(t, l, 261*ms, queue(3), store.Reply{Members: 1, Bound: -1})
	equal(t, "serial after", next.Request.Serial, int64(3))
	equal(t, "what had passed goes back", next.Request.Back, []store.Part{{Slot: 1, Cost: []int64{1}}, {Slot: 2, Cost: []int64{1}}})

	failed := l.Next(at(300*ms), 0, queue(3))
	l.Step(at(300*ms), at(300*ms), failed, nil, errDown, false)
	failed = l.Next(at(510*ms), 0, queue(3, 3))
	e = l.Step(at(510*ms), at(510*ms), failed, nil, errDown, false)
	equal(t, "claims to be told that a repetition failed", len(e.Concerned), 2)

	// A store that hands out what has passed is not asked at once.
	l = newLease(t, "100/s burst 100", 0)
	_, e = call(t, l, 0, queue(1), store.Reply{Slots: []store.Slot{{ID: 1, In: -200 * ms, Count: 1, Bound: -1}}, Members: 1, Bound: -1})
	equal(t, "asks again", e.Retry, at(10*ms))

	l = down(t, "30/s burst 30", Share, 1, 0)
	goes := func(d time.Duration) {
		l.DueFrom(at(d), limit.Due{At: at(d)}, &limit.Demand{}, requests(1), true, false)
		l.Take(nil, at(d), at(d), requests(1), false, 0)
	}
	goes(s)
	first := l.Next(at(s), 0, queue(1))
	equal(t, "what went first", first.Request.Own, []store.Own{{In: 0, Cost: []int64{1}}})
	equal(t, "asks with it", len(first.Request.Asks), 1)
	l.Step(at(s), at(s), first, nil, errDown, false)
	goes(3 * s / 2)
	second, _ := call(t, l, 2*s, queue(1), store.Reply{Slots: in(0), Members: 1, Bound: -1})
	equal(t, "serial of the first", second.Request.Serial, first.Request.Serial)
	equal(t, "what went first, again", second.Request.Own, []store.Own{{In: -s, Cost: []int64{1}}})
	equal(t, "slots in hand", l.State(at(2*s)).Hand, 0)
	third := l.Next(at(2*s), 0, queue(1))
	equal(t, "what went then", third.Request.Own, []store.Own{{In: -s / 2, Cost: []int64{1}}})
	equal(t, "the slot that came too early", third.Request.Back, []store.Part{{Slot: 1, Cost: []int64{1}}})
}

// TestLateAgain: a call that repeats another one is overdue, and its reply comes all the same, with what the
// other asked for: for fewer costs, and for none of the claims because of which the call was made.
func TestLateAgain(t *testing.T) {
	l := newLease(t, "100/s burst 100", 0)
	lost := l.Next(at(0), 0, queue(1))
	l.Step(at(0), at(0), lost, nil, errDown, false)
	again := l.Next(at(200*ms), 0, queue(1, 2))
	equal(t, "asks again", again.Request.Asks, lost.Request.Asks)
	e := l.Step(at(500*ms), 0, again, nil, errDown, true)
	equal(t, "claims to be told that it is overdue", len(e.Concerned), 2)
	e = l.Step(at(510*ms), at(450*ms), again, &store.Reply{Slots: in(0, 0), Next: s, Members: 1, Bound: -1}, nil, false)
	equal(t, "claims without slots", e.Unserved, []Unserved(nil))
	equal(t, "claims answered", e.Concerned, []Asked(nil))
	equal(t, "slots in hand", len(l.slots.list), 1)
}
