package redisquota_test

import (
	"math"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/redisquota"
	"github.com/gopacer/pacer/redisquota/goredis"
	"github.com/gopacer/pacer/throttle/store"
)

type (
	request   = store.Request
	reply     = store.Reply
	part      = store.Part
	statement = quota.Statement
)

// listen listens, but for news of what was lost and of who came, and returns when it is subscribed.
func listen(t *testing.T, s *redisquota.Store, bucket string) (heard <-chan store.News, stop func()) {
	t.Helper()
	news := make(chan store.News, 16)
	stop, err := s.Listen(bucket, func(n store.News) {
		if !n.Lost && n.Sharing == 0 {
			news <- n
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return news, stop
}

// subscribers waits until there are so many.
func subscribers(t *testing.T, c *redis.Client, n int64) {
	t.Helper()
	for range 2000 {
		got, err := c.PubSubNumSub(t.Context(), "pacer:news").Result()
		if err != nil {
			t.Fatal(err)
		}
		if got["pacer:news"] == n {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("there never were %d subscribers", n)
}

func TestStoreNews(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			c := dial(t, s)
			other := goredis.New(dial(t, s))
			heard, stop := listen(t, other, "api")
			more, stopMore := listen(t, other, "api") // shares the subscription
			deaf, stopDeaf := listen(t, other, "api2")
			subscribers(t, c, 1)
			a := &member{t: t, store: goredis.New(c), quotas: parse(t, "50/s even"), name: "a"}
			r := a.request(1, 0)
			r.Hold = 3 * time.Second
			a.send(r)
			for _, news := range []<-chan store.News{heard, more} {
				if n := <-news; n.Hold != 3*time.Second {
					t.Errorf("heard %v, want to hold for 3s", n)
				}
			}
			// A shorter hold is no news.
			r = a.request(1, 1)
			r.Hold = time.Second
			if reply := a.send(r); reply.Hold <= time.Second || granted(reply, 2*time.Second) > 0 {
				t.Errorf("a hold of 1s after one of 3s: %+v", reply)
			}
			b := &member{t: t, store: other, quotas: a.quotas, name: "b"}
			if reply := b.ask(1, 1); reply.Hold <= 2*time.Second || granted(reply, 2*time.Second) > 0 {
				t.Errorf("who did not hear is told in the next reply; got %+v", reply)
			}
			stopMore()
			subscribers(t, c, 1)
			stop()
			stopDeaf()
			subscribers(t, c, 0)
			if len(heard)+len(more)+len(deaf) != 0 {
				t.Errorf("heard more: %d, %d, %d", len(heard), len(more), len(deaf))
			}
		})
	}
}

// Who idles hears of members that come, and how many there are then.
func TestStoreNewsOfWhoCame(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			c := dial(t, s)
			other := goredis.New(dial(t, s))
			heard := make(chan int, 16)
			stop, err := other.Listen("api {1} x", func(n store.News) {
				if n.Sharing > 0 {
					heard <- n.Sharing
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			subscribers(t, c, 1)
			sends := func(name string, serial int64, leave bool, want int) {
				t.Helper()
				r := &store.Request{Version: 1, Bucket: "api {1} x", Quotas: parse(t, "50/s even"), Member: name, Serial: serial, Leave: leave}
				if reply, err := goredis.New(c).Exchange(t.Context(), r); err != nil || reply.Sharing != want {
					t.Errorf("%s: %+v, %v; want %d that share", name, reply, err, want)
				}
			}
			sends("a", 1, false, 1)
			sends("b", 1, false, 2)
			sends("a", 2, false, 2)
			sends("b", 2, true, 1)
			sends("b", 3, false, 2)
			sends("c", 1, false, 3)
			sends("b", 4, true, 2)
			sends("d", 1, false, 3)
			for _, want := range []int{1, 2, 2, 3, 3} {
				if n := <-heard; n != want {
					t.Errorf("heard of %d that share, want %d", n, want)
				}
			}
		})
	}
}

// Members are asked what they have to tell when somebody waits for that, once.
func TestStoreNewsOfWhoWaits(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			c := dial(t, s)
			heard := make(chan store.News, 16)
			stop, err := goredis.New(dial(t, s)).Listen("api", func(n store.News) {
				if n.Lost {
					heard <- n
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			subscribers(t, c, 1)
			const horizon = 100 * time.Millisecond
			sends := func(name string, serial int64, count, news int) {
				t.Helper()
				r := &store.Request{
					Version: 1, Bucket: "api", Quotas: parse(t, "100/m log"), Member: name, Serial: serial, Horizon: horizon, GoesOn: true, Fresh: true,
					Asks: []store.Ask{{Cost: []int64{1}, Count: count, Within: -1}},
				}
				if _, err := goredis.New(c).Exchange(t.Context(), r); err != nil {
					t.Fatal(err)
				}
				for range news {
					<-heard
				}
				if len(heard) > 0 {
					t.Errorf("%s %d: %+v", name, serial, <-heard)
				}
			}
			sends("a", 1, 1, 2) // the bucket may have been lost, and so may messages before somebody listened
			time.Sleep(2 * horizon)
			sends("a", 2, 1, 0)
			sends("b", 1, 1, 0)
			time.Sleep(2 * horizon)
			sends("a", 3, 10, 0)
			sends("a", 4, 80, 1)
			sends("a", 5, 80, 0)
			sends("b", 2, 1, 0)
			sends("a", 6, 80, 0)
			time.Sleep(2 * horizon)
			sends("b", 3, 100, 1)
		})
	}
}

// That somebody has got slots far ahead is news for those that ask seldom, once; unless nobody else goes on
// with a part while it cannot call.
func TestStoreNewsOfSlotsAhead(t *testing.T) {
	const horizon = 250 * time.Millisecond // if one request came so long after another, on a busy machine, parts would be left for those that did not ask
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			c := dial(t, s)
			heard := make(chan store.News, 16)
			stop, err := goredis.New(dial(t, s)).Listen("api", func(n store.News) {
				if n.Ahead > 0 {
					heard <- n
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			subscribers(t, c, 1)
			sends := func(name string, serial int64, count int, shares bool) {
				t.Helper()
				r := &store.Request{
					Version: 1, Bucket: "api", Quotas: parse(t, "100/m log"), Member: name, Serial: serial, GoesOn: shares, Fresh: true,
					Horizon: horizon, Asks: []store.Ask{{Cost: []int64{1}, Count: count, Within: -1}},
				}
				if _, err := goredis.New(c).Exchange(t.Context(), r); err != nil {
					t.Fatal(err)
				}
			}
			sends("a", 1, 1, true) // it is new
			time.Sleep(horizon + 10*time.Millisecond)
			sends("a", 2, 100, true)
			sends("a", 3, 1, true) // the first that is ahead, and nobody else is there
			sends("b", 1, 0, true)
			sends("c", 1, 0, false)
			sends("a", 4, 1, true) // that is no news
			flushAll(t, c)
			sends("c", 2, 1, false)
			time.Sleep(horizon + 10*time.Millisecond)
			sends("c", 3, 100, false)
			sends("d", 1, 1, true) // it is new, and no other to itself
			time.Sleep(50 * time.Millisecond)
			if n := len(heard); n > 0 {
				t.Fatalf("heard %+v", <-heard)
			}
			flushAll(t, c)
			sends("a", 5, 1, true)
			time.Sleep(horizon + 10*time.Millisecond)
			sends("b", 2, 1, true)
			sends("a", 6, 99, true)
			sends("a", 7, 1, true)
			select {
			case n := <-heard:
				if n.Ahead < 50*time.Second || n.Ahead > time.Minute {
					t.Errorf("heard %+v, want some 60 s", n)
				}
			case <-time.After(time.Minute):
				t.Error("heard nothing")
			}
		})
	}
}

// Messages that nobody publishes now, and those of other releases, are passed over.
func TestStoreNewsThatIsNone(t *testing.T) {
	s := &redisquota.Store{Client: liar{
		"sharing=3 api", "sharing=3", "sharing= api", "sharing=-3 api", "sharing=x api", "members:3 api", "sharing=3 api2", "sharing=99999999999999999999 api",
		"sharing=9223372036854775807 api", "7 api", "release api", "ahead=7 api", "ahead=-7 api", "ahead=7 api2", "behind=7 api",
	}}
	heard := make(chan store.News, 16)
	stop, err := s.Listen("api", func(n store.News) { heard <- n })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	for _, want := range []store.News{{Sharing: 3}, {Sharing: math.MaxInt32}, {Hold: 7 * time.Microsecond}, {Released: true}, {Ahead: 7 * time.Microsecond}} {
		if n := <-heard; n != want {
			t.Errorf("heard %+v, want %+v", n, want)
		}
	}
}

// That something came back is news for those whose slots are far ahead.
func TestStoreNewsRoom(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			c := dial(t, s)
			other := goredis.New(dial(t, s))
			heard, stop := listen(t, other, "api")
			defer stop()
			subscribers(t, c, 1)
			a := &member{t: t, store: goredis.New(c), quotas: parse(t, "10/m log"), name: "a"}
			a.open()
			past := part{Slot: 1, Cost: []int64{1}}
			r := a.request(0, 0)
			r.Back = []part{past}
			a.send(r) // nothing is ahead yet
			if reply := a.ask(1, 1); reply.Ahead < 2*time.Second {
				t.Fatalf("ahead %v", reply.Ahead)
			}
			r = a.request(0, 0)
			r.Back = []part{past}
			a.send(r)
			r.Serial++
			r.Hold, r.Back = time.Second, nil
			a.send(r)
			if n := <-heard; n != (store.News{Room: true}) {
				t.Errorf("heard %+v, want room", n)
			}
			if n := <-heard; n != (store.News{Hold: time.Second}) {
				t.Errorf("heard %+v, want a hold", n)
			}
		})
	}
}

// What a member said that read milliseconds as seconds gives way to what one says that has found out the unit,
// and does not take its place: a member that joins is told nothing else.
func TestStoreStatementsInMillis(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			a := &member{t: t, store: goredis.New(dial(t, start(t))), quotas: parse(t, "50/s even"), name: "a"}
			raw := statement{Limit: 20, Reset: 4980 * time.Hour, ResetKnown: true, Resolution: time.Second}
			read, instant := raw, raw
			read.Remaining, read.Reset, read.Resolution = 7, raw.Reset/1000, time.Millisecond
			instant.Remaining, instant.Absolute = 9, true
			for i, said := range []statement{raw, read, raw, instant, read} {
				r := a.request(1, 0)
				r.Statements = []statement{said}
				a.send(r)
				joins := &member{t: t, store: a.store, quotas: a.quotas, name: "joins " + string(rune('a'+i))}
				got := joins.ask(1, 0).Statements
				if want := []int{0, 7, 7, 9, 9}[i]; len(got) != 1 || got[0].Remaining != int64(want) || want == 7 && got[0].Reset > read.Reset {
					t.Errorf("step %d: %+v is told, want %d left", i, got, want)
				}
			}
		})
	}
}

// What servers said is in each reply, as it is known to whoever said it last.
func TestStoreStatements(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			c := dial(t, start(t))
			a := &member{t: t, store: goredis.New(c), quotas: parse(t, "50/s even"), name: "a"}
			said := statement{
				Name: "core \"x\"\n\x00", Counter: "b", Unit: "points", Limit: 5000, Remaining: 7, Reset: time.Hour, ResetKnown: true,
				Resolution: time.Second, Absolute: true, Skew: -time.Second, Window: time.Hour,
			}
			r := a.request(1, 0)
			r.Statements = []statement{said}
			a.send(r)
			b := &member{t: t, store: a.store, quotas: a.quotas, name: "b"}
			got := b.ask(1, 0).Statements
			if len(got) != 1 {
				t.Fatalf("got %+v, want one", got)
			}
			if d := time.Hour - got[0].Reset; d < 0 || d > time.Minute {
				t.Errorf("reset in %v, want a little less than 1h", got[0].Reset)
			}
			got[0].Reset = time.Hour
			if got[0] != said {
				t.Errorf("got %+v, want %+v", got[0], said)
			}
			for i := range 20 {
				r = a.request(1, 0)
				r.Statements = []statement{{Name: string(rune('a' + i)), Remaining: 1, Reset: time.Hour, ResetKnown: true}}
				a.send(r)
			}
			if got := b.ask(1, 0).Statements; len(got) != 16 {
				t.Errorf("%d statements, want 16", len(got))
			}
		})
	}
}
