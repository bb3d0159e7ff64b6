package redisquota_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gopacer/pacer/redisquota"
	"github.com/gopacer/pacer/redisquota/internal/server"
	"github.com/gopacer/pacer/throttle/store"
)

// TestStoreWorkOfWhatHasLeft: a log is full of cells of one token each, and nobody asks until all of them have
// left, or half of them. No call goes through all that have left, all that is asked for is granted, and of many
// that have left a part is told to be left, until calls have looked at the rest.
func TestStoreWorkOfWhatHasLeft(t *testing.T) {
	const n, most, looked = 100_000, 12_000, 400
	c := anyServer(t)
	for _, left := range []int{n, n / 2} {
		t.Run(fmt.Sprint(left), func(t *testing.T) {
			send := fullLog(t, c, n, most)
			key := fill(t, c, n, func(i int) time.Duration {
				if i < left {
					return 25*time.Hour - time.Duration(i)*210*time.Microsecond
				}
				return time.Hour - time.Duration(i)*210*time.Microsecond
			})
			if r := send(nil); r.Left[0] < looked || r.Left[0] > int64(left) {
				t.Errorf("%d are left of those %d that have left, want %d at least", r.Left[0], left, looked)
			}
			one := store.Ask{Cost: []int64{1}, Count: 100, Within: time.Second}
			for range 3 {
				if r := send(nil, one); granted(r, time.Second) != 100 {
					t.Errorf("%d of 100 are granted", granted(r, time.Second))
				}
			}
			if cells := c.ZCard(t.Context(), key).Val(); left == n && cells > 3 || left < n && cells > n-2*looked {
				t.Errorf("%d cells after %d of %d have left", cells, left, n)
			}
		})
	}
}

// TestStoreWorkOfALargeCost: a log is full of cells of one token each, and a claim costs half of them. No call
// goes through all of these: it says when to ask again, never later than the claim may go, and who asks then
// gets its slot, neither before the last of these cells has left nor much later. So it is where they have left
// already, and where they leave meanwhile.
func TestStoreWorkOfALargeCost(t *testing.T) {
	const n, cost, most, calls = 100_000, 49_700, 12_000, 150
	c := anyServer(t)
	for _, leave := range []time.Duration{-time.Hour, time.Second} { // in so long the first one leaves
		t.Run(leave.String(), func(t *testing.T) {
			send := fullLog(t, c, n, most)
			const each = 50 * time.Microsecond                             // cells leave one after the other
			leaves := c.Time(t.Context()).Val().Add(leave + (cost-1)*each) // the last of those cells; later by what fill takes until it knows the time
			fill(t, c, n, func(i int) time.Duration {
				if i >= n/2 && leave < 0 {
					return time.Hour - time.Duration(i)*each // these have not left
				}
				return 24*time.Hour + 20*time.Millisecond - leave - time.Duration(i)*each
			})
			filled := c.Time(t.Context()).Val()
			latest := filled.Add(max(0, leave) + (cost-1)*each)
			for i := range calls {
				before := c.Time(t.Context()).Val()
				r := send(nil, store.Ask{Cost: []int64{cost}, Count: 1, Within: 10 * time.Second})
				if granted(r, 10*time.Second) == 1 {
					if slot := c.Time(t.Context()).Val().Add(r.Slots[0].In); slot.Before(leaves) || leave < 0 && r.Slots[0].In > 0 {
						t.Errorf("the slot is at %v, want %v or later", slot, leaves)
					}
					t.Logf("%d calls, a slot %v after the log was full", i+1, before.Add(r.Slots[0].In).Sub(filled))
					return
				}
				if again := before.Add(r.Next); r.Next > 0 && again.After(latest) {
					t.Fatalf("who is to ask again at %v is late by %v", again, again.Sub(latest))
				}
				time.Sleep(r.Next)
			}
			t.Errorf("no slot after %d calls", calls)
		})
	}
}

// TestStoreWorkBeforeALaterSlot: a log is full of cells of one token each, and a member tells of much that goes
// when as much has left. No call goes through all that leaves until then: it says when to ask again, and one
// who asks then gets a slot before what goes later.
func TestStoreWorkBeforeALaterSlot(t *testing.T) {
	const n, most, calls, first, later = 100_000, 12_000, 200, time.Second, 6 * time.Second // later than a slow machine takes until the slot
	c := anyServer(t)
	send := fullLog(t, c, n, most)
	leaves := c.Time(t.Context()).Val().Add(first) // or somewhat later
	fill(t, c, n, func(i int) time.Duration {
		return 24*time.Hour + 20*time.Millisecond - first - time.Duration(i)*50*time.Microsecond
	})
	var goes time.Time // or somewhat earlier
	own := []store.Own{{In: later, Cost: []int64{30_000}}}
	for i := range calls {
		before := c.Time(t.Context()).Val()
		r := send(own, store.Ask{Cost: []int64{1}, Count: 1, Within: 10 * time.Second})
		after := c.Time(t.Context()).Val()
		if own = nil; i == 0 {
			goes = after.Add(later)
		}
		if granted(r, 10*time.Second) == 1 {
			in := r.Slots[0].In
			t.Logf("%d calls, a slot %v after the first cell left", i+1, after.Add(in).Sub(leaves))
			if after.Add(in).Before(leaves) || before.Add(in).After(goes) {
				t.Errorf("a slot at %v, want it between %v and %v", after.Add(in), leaves, goes)
			}
			return
		}
		if again := before.Add(r.Next); r.Next > 0 && again.After(goes) {
			t.Fatalf("who is to ask again at %v is late by %v", again, again.Sub(goes))
		}
		time.Sleep(r.Next)
	}
	t.Errorf("no slot after %d calls", calls)
}

func anyServer(t *testing.T) *redis.Client {
	t.Helper()
	s, err := server.Any(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return dial(t, s)
}

// fullLog has a member take all n of a day at once. It returns how that member tells and asks, with so many
// rounds at most.
func fullLog(t *testing.T, c *redis.Client, n, most int) (send func([]store.Own, ...store.Ask) *store.Reply) {
	t.Helper()
	flushAll(t, c)
	client := &counting{c: c}
	shared := &redisquota.Store{Client: client}
	quotas, serial := parse(t, fmt.Sprintf("%d/d log", n)), int64(0)
	send = func(own []store.Own, asks ...store.Ask) *store.Reply {
		t.Helper()
		serial++
		r := &store.Request{
			Version: 1, Bucket: "api", Quotas: quotas, SlotLife: 20 * time.Millisecond, Horizon: 500 * time.Millisecond, Member: "a", Serial: serial, Answered: serial - 1, Own: own, Asks: asks,
		}
		begin := time.Now()
		reply, err := shared.Exchange(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d rounds, %v, %d granted, %d left, next in %v", client.rounds, time.Since(begin), granted(reply, time.Second), reply.Left[0], reply.Next)
		if client.rounds > most {
			t.Errorf("%d rounds for %d asks, want %d at most", client.rounds, len(asks), most)
		}
		return reply
	}
	opens := &store.Request{Version: 1, Bucket: "api", Quotas: quotas, Member: "opens", Serial: 1, Horizon: 1, Fresh: true, Leave: true}
	if _, err := shared.Exchange(t.Context(), opens); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Millisecond)
	if r := send(nil, store.Ask{Cost: []int64{int64(n)}, Count: 1, Within: time.Second}); granted(r, time.Second) != 1 {
		t.Fatal("the log is not filled")
	}
	return send
}

// fill has the only log of a server be one of n cells of one token each, the i-th of which went so long ago.
func fill(t *testing.T, c *redis.Client, n int, ago func(i int) time.Duration) (key string) {
	t.Helper()
	ctx := t.Context()
	for _, k := range c.Keys(ctx, "*").Val() {
		if strings.Contains(k, "log") {
			key = k
		}
	}
	now := c.Time(ctx).Val()
	c.Del(ctx, key)
	all := make([]redis.Z, 0, 1000)
	for i := range n {
		us := now.Add(-ago(i)).UnixMicro()
		all = append(all, redis.Z{Score: float64(us), Member: fmt.Sprintf("%d:0:1", us)})
		if len(all) == cap(all) {
			if err := c.ZAdd(ctx, key, all...).Err(); err != nil {
				t.Fatal(err)
			}
			all = all[:0]
		}
	}
	if got := c.ZCard(ctx, key).Val(); got != int64(n) {
		t.Fatalf("%d cells, want %d", got, n)
	}
	return key
}

// TestStoreStepsEndAnywhere: wherever in a call its steps end, in the walk through a log or after it, the next
// calls get on, and a cost for which enough has left is granted.
func TestStoreStepsEndAnywhere(t *testing.T) {
	s := mini(t)
	c := dial(t, s)
	const bound = "most_steps = 5000 "
	if strings.Count(redisquota.Script(), bound) != 1 {
		t.Fatalf("the script does not have %q once", bound)
	}
	by := &redisquota.Store{Client: scripted{c, redis.NewScript(strings.Replace(redisquota.Script(), bound, "most_steps = 400 ", 1))}}
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for cost := 1; cost <= 200; cost += 2 { // another cell each time
		flushAll(t, c)
		serial := int64(0)
		send := func(at time.Duration, r store.Request) *store.Reply {
			t.Helper()
			s.Mini.SetTime(start.Add(at))
			r.Version, r.Bucket, r.Member, r.Quotas = store.Version, "b", "m", parse(t, "200/20s log, 200/30s log")
			r.SlotLife, r.Horizon, r.Hand, r.Fresh = time.Millisecond, 500*time.Millisecond, []int64{0, 0}, true
			r.Serial, r.Answered = serial+1, serial
			serial++
			reply, err := by.Exchange(t.Context(), &r)
			if err != nil {
				t.Fatal(err)
			}
			return reply
		}
		var went []store.Own
		for i := range 100 {
			went = append(went, store.Own{In: time.Duration(i-100) * 100 * time.Millisecond, Cost: []int64{2, 2}})
		}
		send(0, store.Request{})
		send(10*time.Second, store.Request{Own: went})
		asks := 0
		for granted := false; !granted; asks++ {
			if asks == 20 {
				t.Fatalf("a cost of %d is not granted in %d calls, though all has left", cost, asks)
			}
			reply := send(50*time.Second, store.Request{Asks: []store.Ask{{Cost: []int64{int64(cost), int64(cost)}, Count: 1, Within: -1}}})
			granted = len(reply.Slots) == 1
		}
	}
}
