package redisquota_test

import (
	"math"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/redisquota/goredis"
	"github.com/gopacer/pacer/throttle/store"
)

// A call that looks at much that is ahead ends early, and the next goes on: others wait for the server
// meanwhile.
func TestStoreWorkOfACall(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			c := dial(t, start(t))
			a := &member{t: t, store: goredis.New(c), quotas: parse(t, "60/m burst 4"), name: "a"}
			a.open()
			for i := range 64 { // each of another member, and far ahead
				m := &member{t: t, store: a.store, quotas: a.quotas, name: strconv.Itoa(i)}
				if n := granted(m.ask(4, 1), time.Hour); n != 1 {
					t.Fatalf("%d slots, want 1", n)
				}
			}
			r := a.request(1, 0)
			for i := range 256 { // none can wait, but for the last
				r.Asks = append(r.Asks, store.Ask{Cost: []int64{int64(1 + i%4)}, Count: 1, Within: time.Second})
			}
			r.Asks = append(r.Asks, store.Ask{Cost: []int64{1}, Count: 1, Within: -1})
			if reply := a.send(r); len(reply.Slots) > 0 || reply.Next < time.Minute {
				t.Errorf("%+v, want nothing: it has looked at enough before the last ask", reply)
			}
			if n := granted(a.ask(1, 1), time.Hour); n != 1 {
				t.Errorf("%d slots with the next call, want 1", n)
			}
		})
	}
}

// One call never keeps the server busy for long, however much is asked for or comes back.
func TestStoreManySlots(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			c := dial(t, start(t))
			a := &member{t: t, store: goredis.New(c), quotas: parse(t, "1000000/s even"), name: "a"}
			a.open()
			reply := a.ask(1, 100_000)
			if n := granted(reply, time.Hour); n != 512 {
				t.Errorf("granted %d at once, want 512", n)
			}
			for range 3 {
				next := a.ask(1, 100_000)
				reply.Slots = append(reply.Slots, next.Slots...)
			}
			r := a.request(1, 0)
			for _, s := range reply.Slots {
				r.Back = append(r.Back, part{Slot: s.ID, Cost: []int64{int64(s.Count)}})
			}
			a.send(r)
			if n, err := c.ZCard(t.Context(), "{pacer:api}:holes").Result(); err != nil || n > 1000 {
				t.Errorf("%d holes, %v, want 1000 at most", n, err)
			}
		})
	}
}

// TestStoreFiftyYears: whatever costs and claims there are, no slot is further ahead than 50 years, as with the
// model. What is beyond gets none and hears when it may ask again, and nothing is lost.
func TestStoreFiftyYears(t *testing.T) {
	s := mini(t)
	c := dial(t, s)
	for _, text := range []string{"1/s burst 1 debt", "1/s burst 1 debt, 1000/s window grid", "1/438000h log", "1/438000h window grid"} {
		t.Run(text, func(t *testing.T) {
			flushAll(t, c)
			start, steps := fiftyYears(t, parse(t, text))
			if next := steps[len(steps)-1].want.Next; next < 25*365*24*time.Hour {
				t.Errorf("the next slot is in %v", next)
			}
			answers(t, s, goredis.New(c), start, steps, false)
		})
	}
}

// TestStoreBucketsOfAges: a bucket may have a Per that is longer than any span. It is known from call to call,
// and only a burst is there.
func TestStoreBucketsOfAges(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			c := dial(t, start(t))
			for _, per := range []time.Duration{100 * 365 * 24 * time.Hour, 200 * 365 * 24 * time.Hour, 280 * 365 * 24 * time.Hour} {
				flushAll(t, c)
				a := &member{t: t, store: goredis.New(c), quotas: quota.Quotas{{Kind: quota.TokenBucket, N: 1000, Per: per, Burst: 5}}, name: "a"}
				first := a.request(1, 10)
				first.Fresh, first.Horizon = true, time.Nanosecond
				a.send(first)
				got := 0
				for range 5 {
					r := a.request(1, 1)
					r.Answered = r.Serial - 1
					reply := a.send(r)
					if got += granted(reply, time.Hour); reply.Lost {
						t.Errorf("of %v: a bucket that was lost, want one that is known", per)
					}
				}
				if got != 5 {
					t.Errorf("of %v: %d slots, want the burst of 5", per, got)
				}
			}
		})
	}
}

// fiftyYears has members of a store.Ledger ask for what takes that long.
func fiftyYears(t *testing.T, quotas quota.Quotas) (start time.Time, steps []step) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		start = time.Now()
		model := &store.Ledger{Epoch: start}
		time.Sleep(10 * time.Second)
		model.Lose()
		for i := range 40 {
			time.Sleep(time.Second)
			cost := make([]int64, len(quotas))
			for k := range cost {
				cost[k] = 1
			}
			if quotas[0].Debt && i < 20 {
				cost[0] = math.MaxInt >> (i % 3)
			}
			req := store.Request{
				Version: 1, Bucket: "api", Quotas: quotas, SlotLife: 20 * time.Millisecond, Horizon: 500 * time.Millisecond,
				Member: strconv.Itoa(i), Serial: 1, Asks: []store.Ask{{Cost: cost, Count: 3, Within: -1}},
			}
			if i%4 == 3 {
				req.More = cost
			}
			reply, news, err := model.Exchange(time.Since(start), &req)
			if err != nil {
				t.Fatal(err)
			}
			steps = append(steps, step{time.Now(), req, reply, news, false})
		}
	})
	return start, steps
}

// TestStoreLargeCostTakesNoRoom: a call takes as much memory for a large cost as for a small one. Of a list of
// one number, miniredis makes that number where a script asks for a text, and a table with it as a key has room
// for all numbers below: a call took seconds on a busy machine.
func TestStoreLargeCostTakesNoRoom(t *testing.T) {
	a := &member{t: t, store: goredis.New(dial(t, mini(t))), quotas: parse(t, "9007199/h burst 9007199"), name: "a"}
	a.open()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	a.ask(9_000_000, 1)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 10<<20 {
		t.Errorf("a call for 9000000 took %d bytes, want that of one for 1, half a MB", n)
	}
}
