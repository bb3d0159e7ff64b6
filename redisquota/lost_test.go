package redisquota_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/redisquota/goredis"
	"github.com/gopacer/pacer/throttle/store"
)

// A bucket that the server does not know has no slot before the Horizon is over, and
// then none that a bucket which was used up to then would not have.
func checkDrained(t *testing.T, what string, r *store.Reply, lost bool) {
	t.Helper()
	if r.Lost != lost {
		t.Errorf("%s: Lost is %v, want %v", what, r.Lost, lost)
	}
	if n := granted(r, 499*time.Millisecond); n > 0 {
		t.Errorf("%s: %d slots before the horizon, want 0", what, n)
	}
}

func TestStoreLostIsDrained(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			c := dial(t, start(t))
			for _, text := range []string{"50/s burst 50", "50/s log", "50/s sliding", "50/s window", "50/s burst 50, 5000/h log"} {
				flushAll(t, c)
				a := &member{t: t, store: goredis.New(c), quotas: parse(t, text), name: "a"}
				reply := a.ask(1, 10)
				checkDrained(t, text+", new", reply, true)
				if reply.Next < 510*time.Millisecond {
					t.Errorf("%s: a slot in %v, at once after the horizon", text, reply.Next)
				}
				if again := a.ask(1, 10); again.Lost {
					t.Errorf("%s: lost without a reason", text)
				}
				flushAll(t, c)
				checkDrained(t, text+", flushed", a.ask(1, 10), true)
			}
		})
	}
}

// The reply that says that a bucket is lost may get lost: those that follow say so until one was answered.
func TestStoreLostUntilHeardOf(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			c := dial(t, start(t))
			a := &member{t: t, store: goredis.New(c), quotas: parse(t, "50/s log"), name: "a"}
			a.open()
			a.ask(1, 1)
			flushAll(t, c)
			answered := a.serial
			r := a.request(1, 1)
			r.Answered = answered
			checkDrained(t, "first", a.send(r), true)
			checkDrained(t, "called again", a.send(r), true)
			next := a.request(1, 1)
			next.Answered = answered
			checkDrained(t, "the next one", a.send(next), true)
			last := a.request(1, 1)
			last.Answered = next.Serial
			checkDrained(t, "heard of", a.send(last), false)
		})
	}
}

// Keys may be evicted one by one.
func TestStoreKeyEvicted(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			c := dial(t, start(t))
			a := &member{t: t, store: goredis.New(c), quotas: parse(t, "50/s burst 50, 100/s log, 20/s estimate"), name: "a"}
			b := &member{t: t, store: a.store, quotas: a.quotas, name: "b"}
			fill := func() {
				flushAll(t, c)
				a.open()
				h := a.request(1, 20)
				h.Hold = 100 * time.Millisecond // so that what comes back is still to come
				first := a.send(h)
				r := b.request(1, 5)
				r.Hold = 10 * time.Second
				r.Statements = []quota.Statement{{Name: "x", Remaining: 1, Reset: time.Hour, ResetKnown: true}}
				b.send(r)
				r = a.request(1, 0)
				r.Horizon = 20 * time.Second // then it is near, and leaves a hole
				r.Back = []store.Part{{Slot: first.Slots[len(first.Slots)-1].ID, Cost: []int64{1, 1, 1}}}
				a.send(r)
			}
			fill()
			keys, err := c.Keys(t.Context(), "*").Result()
			if err != nil {
				t.Fatal(err)
			}
			if len(keys) != 6 {
				t.Errorf("%d keys, want 6: %v", len(keys), keys)
			}
			for _, key := range keys {
				fill()
				ttl, err := c.PTTL(t.Context(), key).Result()
				if err != nil || ttl < 24*time.Hour {
					t.Errorf("%s expires in %v, %v, want a day at least", key, ttl, err)
				}
				if err := c.Del(t.Context(), key).Err(); err != nil {
					t.Fatal(err)
				}
				reply := a.ask(1, 10)
				checkDrained(t, "without "+key, reply, strings.HasSuffix(key, ":state") || strings.HasSuffix(key, ":members"))
				held := reply.Hold > 9*time.Second
				for _, key := range keys { // those that came again too
					if ttl, err := c.PTTL(t.Context(), key).Result(); err != nil || ttl == -1 {
						t.Errorf("%s never expires: %v", key, err)
					}
				}
				if want := !strings.HasSuffix(key, ":state"); held != want {
					t.Errorf("without %s: held for %v, want %v", key, reply.Hold, want)
				}
			}
		})
	}
}

// TestStoreStateOfBefore: somebody puts an old copy of the state there, and of nothing else. Who has asked
// since knows.
func TestStoreStateOfBefore(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			c := dial(t, s)
			m := &member{t: t, store: goredis.New(c), quotas: parse(t, "10/m burst 10, 100/m window grid"), name: "m"}
			r := m.request(1, 1)
			r.Fresh = true
			m.send(r)
			before := c.HGetAll(t.Context(), "{pacer:api}:state").Val()
			for range 2 {
				if m.ask(1, 1).Lost {
					t.Error("lost before that")
				}
			}
			c.HSet(t.Context(), "{pacer:api}:state", before)
			if reply := m.ask(1, 1); !reply.Lost || len(reply.Slots) > 0 {
				t.Errorf("what was there of before counts: %+v", reply)
			}
		})
	}
}

func TestStoreScriptFlush(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			c := dial(t, start(t))
			a := &member{t: t, store: goredis.New(c), quotas: parse(t, "50/s even"), name: "a"}
			a.open()
			a.ask(1, 1)
			if err := c.ScriptFlush(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			if reply := a.ask(1, 1); reply.Lost || len(reply.Slots) != 1 {
				t.Errorf("after SCRIPT FLUSH: %+v", reply)
			}
		})
	}
}

func TestStoreRestartedEmpty(t *testing.T) {
	s := realServer(t)
	a := &member{t: t, store: goredis.New(dial(t, s)), quotas: parse(t, "50/s burst 50"), name: "a"}
	a.ask(1, 1)
	s.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
	defer cancel()
	r := a.request(1, 10)
	if reply, err := a.store.Exchange(ctx, r); err == nil {
		t.Fatalf("a server that is down answers %+v", reply)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkDrained(t, "restarted", a.send(r), true)
}

// Time stands still in a bucket until a clock that was set back has caught up; by more than two seconds is a
// loss.
func TestStoreClockSetBack(t *testing.T) {
	s := mini(t)
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, text := range kinds[:8] {
		c := dial(t, s)
		flushAll(t, c)
		a := &member{t: t, store: goredis.New(c), quotas: parse(t, text), name: "a"}
		s.Mini.SetTime(now)
		a.open()
		a.ask(1, 3)
		s.Mini.SetTime(now.Add(10 * time.Second))
		before := a.ask(1, 100)
		s.Mini.SetTime(now.Add(8 * time.Second))
		frozen := a.ask(1, 0)
		s.Mini.SetTime(now.Add(10 * time.Second))
		same := a.ask(1, 0)
		if frozen.Ahead != before.Ahead || same.Ahead != before.Ahead || frozen.Lost {
			t.Errorf("%s: ahead %v, then %v, %v, lost %v, want all the same and not lost", text, before.Ahead, frozen.Ahead, same.Ahead, frozen.Lost)
		}
		s.Mini.SetTime(now.Add(8*time.Second - time.Microsecond))
		checkDrained(t, text+", set back by more than two seconds", a.ask(1, 10), true)
	}
}

// A clock that was set forward brings nothing back: a member says for how long it has not asked.
func TestStoreClockSetForward(t *testing.T) {
	s := mini(t)
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, text := range kinds[:8] {
		c := dial(t, s)
		flushAll(t, c)
		a := &member{t: t, store: goredis.New(c), quotas: parse(t, text), name: "a"}
		s.Mini.SetTime(now)
		a.open()
		a.ask(1, 3)
		after := func(clock, since time.Duration) *store.Reply {
			now = now.Add(clock)
			s.Mini.SetTime(now)
			r := a.request(1, 10)
			r.Since = since
			return a.send(r)
		}
		if reply := after(time.Hour, time.Hour-2*time.Second); reply.Lost || len(reply.Slots) == 0 {
			t.Errorf("%s, after an hour: %+v", text, reply)
		}
		checkDrained(t, text+", set forward", after(time.Hour, time.Second), true)
		if reply := after(time.Hour, 0); reply.Lost { // who was never answered does not know
			t.Errorf("%s, a new member: %+v", text, reply)
		}
	}
}

// Whatever somebody else writes into the keys of a bucket, and whatever part of it, is lost and no error.
func TestStoreCorrupt(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			c := dial(t, start(t))
			a := &member{t: t, store: goredis.New(c), quotas: parse(t, "50/s burst 50, 100/s log, 20/s estimate, 30/s window grid"), name: "a"}
			b := &member{t: t, store: a.store, quotas: a.quotas, name: "b"}
			var latest *store.Request // of a
			fill := func() {
				flushAll(t, c)
				a.open()
				latest = a.request(1, 20)
				latest.Statements = []quota.Statement{{Name: "x", Remaining: 1, Reset: time.Hour, ResetKnown: true}}
				latest.Hold = 10 * time.Millisecond
				first := a.send(latest)
				r := b.request(1, 0)
				r.Horizon = 20 * time.Second // then it is near, and leaves a hole
				r.Back = []store.Part{{Slot: first.Slots[0].ID, Cost: []int64{1, 1, 1, 1}}}
				b.send(r)
			}
			fill()
			try := func(what string, spoil func() error) {
				t.Helper()
				fill()
				if err := spoil(); err != nil {
					t.Fatal(err)
				}
				for i := range 4 {
					r := latest // comes again
					if i > 0 {
						r = a.request(1, 3)
					}
					if reply, err := a.store.Exchange(t.Context(), r); err != nil || granted(reply, 9*time.Millisecond) > 50 {
						t.Errorf("%s, request %d: %+v, %v", what, i, reply, err)
					}
				}
			}
			keys, err := c.Keys(t.Context(), "*").Result()
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range keys {
				try(key+" is a text", func() error { return c.Set(t.Context(), key, "x", 0).Err() })
				try(key+" is a list", func() error { c.Del(t.Context(), key); return c.RPush(t.Context(), key, "x").Err() })
				kind := c.Type(t.Context(), key).Val()
				for _, text := range []string{"", "x", "1", "2 3", "0:Requests 7", "9007199254740992 9007199254740992", "1:2", "1:2:3"} {
					switch fill(); kind {
					case "list":
						continue
					case "zset":
						try(key+" has "+text, func() error { return c.ZAdd(t.Context(), key, redis.Z{Score: 1, Member: text}).Err() })
					}
				}
			}
			record := func() []string { return strings.Fields(c.HGet(t.Context(), "{pacer:api}:members", "a").Val()) }
			for _, slots := range []string{
				"x", "1", "1:2", "1:2:3", "1:0:1:", ":::", "junk 1:0:1:0", "SLOT", "SLOT:0:1:0:x", "SLOT:0:1:0:1:BIG", "SLOT:0:1:-BIG", "SLOT:0:1:BIG", "SLOT:0:BIG:0", "SLOT:7:1:0",
				"SLOT:BIG:1:0", "BIG:0:1:0", "SLOT:0:1:0:BIG:2", "SLOT:0:1:0:9007199254740992:20", strings.Repeat("SLOT:0:1:0:1:20 ", 30),
			} {
				try("slots are "+slots, func() error {
					all := record()
					slot, _, _ := strings.Cut(all[6], ":")
					text := strings.NewReplacer("SLOT", slot, "BIG", strings.Repeat("9", 30)).Replace(slots)
					return c.HSet(t.Context(), "{pacer:api}:members", "a", strings.Join(append(all[:6], text), " ")).Err()
				})
			}
			for key, fields := range map[string][]string{"state": {"bucket", "q1", "q2", "q3", "q4"}, "members": {"a"}, "said": {"\x00x\x00"}} {
				for _, field := range fields {
					for _, text := range []string{"", "x", "2", "1 2 3 4 5 6 7 8 9 10 11", "2 1 9007199254740992 3 4 5 6 7 8 9 10", "1:requests 7", "4:requests 7", "4:requests 1 2"} {
						try(key+" "+field+" is "+text, func() error { return c.HSet(t.Context(), "{pacer:api}:"+key, field, text).Err() })
					}
					try(key+" "+field+" is gone", func() error { return c.HDel(t.Context(), "{pacer:api}:"+key, field).Err() })
				}
			}
		})
	}
}

// Buckets of stores with other prefixes are others, whatever is in the names, and each is in one slot of a
// cluster.
func TestStorePrefix(t *testing.T) {
	c := dial(t, mini(t))
	seen := map[string]string{}
	for _, prefix := range []string{"a", "a:b", "{a}", "}", "%7D", "{}"} {
		for _, bucket := range []string{"b:c", "c", "%3Ac", ":c"} {
			flushAll(t, c)
			s := goredis.New(c)
			s.Prefix = prefix
			a := &member{t: t, store: s, quotas: parse(t, "50/s burst 50, 100/s log"), name: "a"}
			r := a.request(1, 0)
			r.Bucket = bucket
			a.send(r)
			keys, err := c.Keys(t.Context(), "*").Result()
			if err != nil || len(keys) == 0 {
				t.Fatal(keys, err)
			}
			for _, key := range keys {
				tag, _, ok := strings.Cut(strings.TrimPrefix(key, "{"), "}")
				if first, _, _ := strings.Cut(keys[0][1:], "}"); !ok || tag == "" || tag != first {
					t.Errorf("prefix %q, bucket %q: %s is in another slot than %s", prefix, bucket, key, keys[0])
				}
				if was := seen[key]; was != "" {
					t.Errorf("prefix %q, bucket %q: %s is of %s, too", prefix, bucket, key, was)
				}
				seen[key] = prefix + " and " + bucket
			}
		}
	}
}

// TestStoreLogEvicted: of a log whose own key alone is gone, it is known to half of its Per when something
// went, also if the key goes again. Nothing else is lost.
func TestStoreLogEvicted(t *testing.T) {
	s := mini(t)
	c := dial(t, s)
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		later time.Duration // when 20 more went, after 30
		back  time.Duration // when the first are back
		first int           // how many
	}{
		{1100 * time.Millisecond, 2020 * time.Millisecond, 30},
		{300 * time.Millisecond, 2320 * time.Millisecond, 50}, // as if all had gone with the latest of its half
	} {
		flushAll(t, c)
		a := &member{t: t, store: goredis.New(c), quotas: parse(t, "60/2s log, 1000/h log, 1000/h burst 200"), name: "a"}
		s.Mini.SetTime(now)
		fresh := a.request(0, 0)
		fresh.Horizon, fresh.Fresh = 0, true
		a.send(fresh)
		ask := func(at time.Duration, n, want, left int) {
			t.Helper()
			s.Mini.SetTime(now.Add(at))
			r := a.request(1, n)
			for i := range r.Asks {
				r.Asks[i].Within = 0
			}
			reply := a.send(r)
			if got := granted(reply, 0); got != want || reply.Lost || reply.Left[1] != int64(left) {
				t.Errorf("20 after %v, at %v: %d at once, lost %v, %d left of the hour, want %d and %d", test.later, at, got, reply.Lost, reply.Left[1], want, left)
			}
		}
		evict := func() {
			for _, key := range []string{"{pacer:api}:log1", "{pacer:api}:log2"} {
				if !s.Mini.Del(key) {
					t.Errorf("there is no %s", key)
				}
			}
		}
		ask(0, 30, 30, 970)
		ask(test.later, 20, 20, 950)
		evict()
		ask(1500*time.Millisecond, 100, 10, 940)
		for range 3 {
			evict()
			ask(test.back-time.Microsecond, 100, 0, 940)
		}
		evict()
		ask(test.back, 100, test.first, 940-test.first)
		evict()
		ask(10*time.Second, 100, 60, 880-test.first) // what went before has left
		ask(time.Hour+20*time.Second, 0, 0, 1000)
	}
}

// TestStoreLogEvictedKeepsAll: what came back is back, and what is assumed of a bucket that is not known to be
// new is assumed, also if the key of the log alone is gone.
func TestStoreLogEvictedKeepsAll(t *testing.T) {
	s := mini(t)
	c := dial(t, s)
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, fresh := range []bool{true, false} {
		flushAll(t, c)
		a := &member{t: t, store: goredis.New(c), quotas: parse(t, "60/2s log"), name: "a"}
		ask := func(at time.Duration, r *store.Request) *store.Reply {
			s.Mini.SetTime(now.Add(at))
			for i := range r.Asks {
				r.Asks[i].Within = 0
			}
			return a.send(r)
		}
		first := a.request(0, 0)
		first.Fresh = fresh
		ask(0, first)
		at := 500 * time.Millisecond
		if fresh {
			had := ask(at, a.request(10, 3)).Slots
			r := a.request(0, 0)
			r.Back = []store.Part{{Slot: had[0].ID, Cost: []int64{10}}, {Slot: had[0].ID, Cost: []int64{4}}}
			ask(at+100*time.Millisecond, r)
			at += 100 * time.Millisecond
		}
		left := ask(at, a.request(0, 0)).Left[0]
		if want := map[bool]int{true: 44, false: 0}[fresh]; left != int64(want) {
			t.Errorf("fresh is %v: %d are left, want %d", fresh, left, want)
		}
		s.Mini.Del("{pacer:api}:log1")
		if n := granted(ask(at, a.request(1, 100)), 0); int64(n) > left || fresh && int64(n) != left {
			t.Errorf("fresh is %v: %d after it was evicted, of %d that were left", fresh, n, left)
		}
	}
}
