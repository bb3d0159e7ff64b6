package store

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/definition"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// lates has three members ask a bucket for random slots, each with a SlotLife that rises and falls. Those
// before some instant are used as late as they may be: until the SlotLife of the request after them, or of a
// later one of the member if that is shorter. The others are used in time.
func lates(t *testing.T, seed uint64, q quota.Quota) (sent []definition.Sent) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 3))
	l := &Ledger{Epoch: time.Unix(1e9, 0)}
	type held struct {
		at, until time.Duration
		n         int
	}
	var has [3][]held
	var serials [3]int64
	var slotLife [3]time.Duration
	now := time.Second
	turn := now + time.Duration(r.IntN(9000))*time.Millisecond
	for range 60 {
		now += time.Duration(r.IntN(300)) * time.Millisecond
		m := r.IntN(1 + int(seed%3))
		if serials[m]++; serials[m] == 1 || r.IntN(4) == 0 {
			slotLife[m] = time.Duration(10+r.IntN(2)*r.IntN(300)) * time.Millisecond
		}
		for i := range has[m] {
			s := &has[m][i]
			s.until = min(s.until, max(s.at+slotLife[m], now))
		}
		req := request(quota.Quotas{q}, serials[m])
		req.Member, req.SlotLife = fmt.Sprint(m), slotLife[m]
		for range 1 + r.IntN(3) {
			within := time.Duration(r.IntN(2)) * 2 * time.Second
			req.Asks = append(req.Asks, Ask{Cost: []int64{int64(1 + r.IntN(int(cmp.Or(q.Burst, 9))))}, Count: 1, Within: within})
		}
		for _, s := range exchange(t, l, now, req).Slots {
			has[m] = append(has[m], held{now + s.In, now + s.In + slotLife[m], int(int64(s.Count) * req.Asks[s.Ask].Cost[0])})
		}
	}
	for _, s := range slices.Concat(has[0], has[1], has[2]) {
		if s.at >= turn {
			s.until = s.at
		}
		sent = append(sent, definition.Sent{At: s.until, N: int64(s.n)})
	}
	slices.SortStableFunc(sent, func(a, b definition.Sent) int { return cmp.Compare(a.At, b.At) })
	return sent
}

// TestStoreSlotLifeRisesAndFalls: a bucket grants no more than its burst and its rate, and a window no more
// than N, however late slots may be used, and whenever that changes.
func TestStoreSlotLifeRisesAndFalls(t *testing.T) {
	for _, q := range []quota.Quota{
		{N: 100, Burst: 500},
		{N: 10, Burst: 30},
		{N: 1, Burst: 4},
		{N: 20, Burst: 20},
		{N: 10, Burst: 5},
		{N: 20, Per: 2 * time.Second, Kind: quota.SlidingLog},
		{N: 30, Per: time.Second, Kind: quota.SlidingWindow},
		{N: 10, Per: 3 * time.Second, Kind: quota.FixedWindow},
	} {
		q = plain(q)
		for seed := range uint64(300) {
			if err := definition.Check(q, time.Unix(1e9, 0), 0, lates(t, seed, q)); err != nil {
				t.Fatalf("%v, seed %d: %v", q, seed, err)
			}
		}
	}
}

// TestStoreSlotLifeChangesNoRate: a bucket that is always empty hands out its slots at its rate, also when
// SlotLife rises and falls.
func TestStoreSlotLifeChangesNoRate(t *testing.T) {
	l := &Ledger{Epoch: time.Unix(1e9, 0)}
	got, cost := "", 10
	for i := range 12 {
		r := request(quota.Quotas{plain(quota.Quota{N: 1, Burst: 10})}, int64(i+1))
		r.Asks = []Ask{{Cost: []int64{int64(cost)}, Count: 1, Within: -1}}
		if r.SlotLife = 10 * time.Millisecond; i >= 3 && i < 5 {
			r.SlotLife = 500 * time.Millisecond
		}
		now := time.Second + time.Duration(i)*time.Second
		reply := exchange(t, l, now, r)
		cost = 1
		got += fmt.Sprint(now+reply.Slots[0].In, " ")
	}
	if want := "1s 2.01s 3.01s 4.01s 5.01s 6.01s 7.01s 8.01s 9.01s 10.01s 11.01s 12.01s "; got != want {
		t.Errorf("slots at %s, want %s", got, want)
	}
}

// TestStoreSlotLifeFalls: a store that was slow for a second slows the bucket no longer: once all have asked
// for less, no slot is used for as long any more. Then 100 even tokens a second are 100 again, less one for the
// usual SlotLife, when those have come back that went late.
func TestStoreSlotLifeFalls(t *testing.T) {
	l := &Ledger{Epoch: time.Unix(1e9, 0)}
	var got [4]int // in each second
	for i := range 10 * len(got) {
		r := request(quota.Quotas{plain(quota.Quota{N: 100, Burst: 1})}, int64(i+1))
		r.Asks = []Ask{{Cost: []int64{1}, Count: 100, Within: 100*time.Millisecond - 1}}
		if i < 10 {
			r.SlotLife = 120 * time.Millisecond
		}
		for _, s := range exchange(t, l, time.Second+time.Duration(i)*100*time.Millisecond, r).Slots {
			got[i/10] += s.Count
		}
	}
	if want := [4]int{90, 87, 99, 99}; got != want {
		t.Errorf("handed out %v, want %v", got, want)
	}
}

// TestStoreSlotLifeFallsWhenAllAskForLess: a log counts what went with a long SlotLife no longer than Per after
// all that are active have asked for less, since who asks for less uses nothing for longer that it has in hand.
// Who is silent may; and what was sent before, and comes late, says nothing.
func TestStoreSlotLifeFallsWhenAllAskForLess(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		silent bool
		old    int64 // the Serial of a request that comes at last
		want   time.Duration
	}{
		"all have asked for less": {false, 0, 0},
		"one is silent":           {true, 0, 100 * ms},
		"one asked before":        {false, 1, 100 * ms},
	} {
		l := &Ledger{Epoch: time.Unix(1e9, 0)}
		send := func(at time.Duration, member string, serial int64, slotLife time.Duration, n int) *Reply {
			r := request(quota.Quotas{{N: 10, Per: time.Second, Kind: quota.SlidingLog}}, serial)
			r.Member, r.SlotLife = member, slotLife
			r.Asks = []Ask{{Cost: []int64{1}, Count: n, Within: 0}}
			return exchange(t, l, at, r)
		}
		send(1000*ms, "a", 3, 200*ms, 5)
		send(1000*ms, "b", 2, 200*ms, 5)
		if send(1050*ms, "a", 4, 10*ms, 1); c.old == 0 && !c.silent {
			send(1100*ms, "b", 3, 10*ms, 1)
		} else if !c.silent {
			send(1100*ms, "b", c.old, 10*ms, 1)
		}
		if got := send(2100*ms, "a", 5, 10*ms, 1).Next; got != c.want {
			t.Errorf("%s: the next slot is in %v, want %v", name, got, c.want)
		}
	}
}

// TestStoreSlotLifeFallsAhead: when a SlotLife falls is known before. What is handed out for later reckons with
// it, and with nothing before that.
func TestStoreSlotLifeFallsAhead(t *testing.T) {
	const ms = time.Millisecond
	for _, kind := range []quota.Kind{quota.SlidingLog, quota.SlidingWindow, quota.FixedWindow} {
		l := &Ledger{Epoch: time.Unix(1e9, 0)}
		send := func(at time.Duration, member string, serial int64, slotLife time.Duration, n int) *Reply {
			r := request(quota.Quotas{{N: 10, Per: time.Second, Kind: kind}}.Explicit(), serial)
			r.Member, r.SlotLife = member, slotLife
			r.Asks = []Ask{{Cost: []int64{1}, Count: n, Within: 0}}
			return exchange(t, l, at, r)
		}
		send(1000*ms, "a", 1, 200*ms, 5)
		send(1000*ms, "b", 1, 200*ms, 5)
		for _, c := range []struct {
			member string
			at     time.Duration
			want   time.Duration
		}{
			{"a", 1100 * ms, 2200 * ms}, // b may use its slots for 200 ms
			{"b", 1150 * ms, 2150 * ms}, // nobody uses anything for longer than 10 ms from now on
		} {
			if got := c.at + send(c.at, c.member, 2, 10*ms, 1).Next; got != c.want {
				t.Errorf("%v: when %s has asked for less, the next slot is at %v, want %v", kind, c.member, got, c.want)
			}
		}
	}
}

// TestStoreSlotLifeAskedFor: the longest SlotLife of a horizon counts, whoever asks, and for as long as
// somebody asked for it.
func TestStoreSlotLifeAskedFor(t *testing.T) {
	const ms, horizon = time.Millisecond, 500 * time.Millisecond
	for _, steps := range [][]struct {
		at, slotLife int // in milliseconds, as want is
		horizon      time.Duration
		want         int
	}{
		{{0, 200, horizon, 200}, {1, 10, horizon, 200}, {499, 10, horizon, 200}, {500, 10, horizon, 10}},
		{{0, 200, horizon, 200}, {400, 200, horizon, 200}, {899, 10, horizon, 200}, {900, 10, horizon, 10}},
		{{0, 200, horizon, 200}, {100, 100, horizon, 200}, {500, 10, horizon, 100}, {999, 10, horizon, 100}, {1000, 10, horizon, 10}},
		{{0, 200, horizon, 200}, {100, 100, horizon, 200}, {1000, 10, horizon, 10}}, // nobody has asked for a horizon
		{{0, 200, horizon, 200}, {1, 10, 0, 200}, {499, 10, horizon, 200}},          // one of slots of now alone
	} {
		var a askedSlotLife
		for _, s := range steps {
			got := a.ask(time.Duration(s.slotLife)*ms, monotime.Longest, s.horizon, instant(time.Duration(s.at)*ms))
			if got != time.Duration(s.want)*ms {
				t.Errorf("%v: at %d ms, SlotLife is %v", steps, s.at, got)
			}
		}
	}
}
