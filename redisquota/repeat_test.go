package redisquota_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gopacer/pacer/redisquota"
	"github.com/gopacer/pacer/redisquota/goredis"
	"github.com/gopacer/pacer/throttle/store"
)

// twice runs each script twice, as a client library does which sees no reply.
type twice struct {
	redisquota.Client
	first []string
}

func (c *twice) Run(ctx context.Context, keys, args []string) (flat []string, err error) {
	if c.first, err = c.Client.Run(ctx, keys, args); err != nil {
		return nil, err
	}
	return c.Client.Run(ctx, keys, args)
}

func TestStoreRepeatedCallIsOneGrant(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			c := dial(t, start(t))
			for _, text := range kinds {
				flushAll(t, c)
				quotas := parse(t, text)
				plain := &member{t: t, store: goredis.New(c), quotas: quotas, name: "plain"}
				plain.open()
				hold := plain.request(1, 1)
				hold.Hold = 900 * time.Millisecond // so that what comes back is still to come, also where the machine is busy
				plain.send(hold)
				before := plain.ask(1, 3)
				repeats := &redisquota.Store{Client: &twice{Client: goredis.New(c).Client}}
				a := &member{t: t, store: repeats, quotas: quotas, name: "a"}
				got := a.ask(1, 3)
				after := plain.ask(1, 0)
				if len(got.Slots) == 0 || after.Ahead > got.Slots[len(got.Slots)-1].In {
					t.Errorf("%s: %+v, then %+v, then %+v: the last is ahead of what was granted", text, before, got, after)
				}
				if got.Slots[0].In > 2*time.Second {
					continue // what comes back of it leaves no hole
				}
				// What comes back comes back once, and what costs more does so once.
				r := a.request(1, 0)
				r.Horizon = 30 * time.Second // then it is near, and leaves a hole
				r.Back = []store.Part{{Slot: got.Slots[0].ID, Cost: make([]int64, len(quotas))}}
				for i := range quotas {
					r.Back[0].Cost[i] = 1
				}
				a.send(r)
				holes, err := c.ZRange(t.Context(), "{pacer:api}:holes", 0, -1).Result()
				if err != nil {
					t.Fatal(err)
				}
				if len(holes) != 1 || holes[0][len(holes[0])-2:] != ":1" {
					t.Errorf("%s: holes %q, want one of 1", text, holes)
				}
			}
		})
	}
}

func TestStoreOldSerialGetsNothing(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			c := dial(t, start(t))
			a := &member{t: t, store: goredis.New(c), quotas: parse(t, "50/s burst 50"), name: "a"}
			old := a.request(1, 5)
			a.ask(1, 1)
			before := a.ask(1, 1)
			if got := a.send(old); len(got.Slots) != 0 || got.Lost || got.Ahead > before.Ahead {
				t.Errorf("an old request got %+v", got)
			}
		})
	}
}

// lossy is a proxy that loses the reply to each second script, with the connection.
func lossy(t *testing.T, to string) (addr string, lost *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	lost = new(atomic.Int64)
	var n atomic.Int64
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				return
			}
			var drop atomic.Bool
			go func() {
				defer out.Close()
				buf := make([]byte, 64<<10)
				for {
					k, err := in.Read(buf)
					if err != nil {
						return
					}
					if bytes.Contains(buf[:k], []byte("evalsha")) && n.Add(1)%2 == 0 {
						drop.Store(true)
					}
					if _, err := out.Write(buf[:k]); err != nil {
						return
					}
				}
			}()
			go func() {
				defer in.Close()
				buf := make([]byte, 64<<10)
				for {
					k, err := out.Read(buf)
					if err != nil {
						return
					}
					if drop.Load() {
						lost.Add(1)
						return // the server did it, and nobody hears
					}
					if _, err := in.Write(buf[:k]); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String(), lost
}

// go-redis repeats a script of which the reply was lost.
func TestStoreReplyLost(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			c := dial(t, s)
			flushAll(t, c)
			addr, lost := lossy(t, s.Addr)
			bad := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: 5, MinRetryBackoff: time.Millisecond, MaxRetryBackoff: time.Millisecond})
			defer bad.Close()
			a := &member{t: t, store: goredis.New(bad), quotas: parse(t, "10/s even"), name: "a"}
			(&member{t: t, store: goredis.New(c), quotas: a.quotas}).open()
			hold := a.request(1, 0)
			hold.Hold = time.Minute // so that no slot has passed when the script is repeated, also where the machine is busy
			a.send(hold)
			var slots []int64
			for range 20 {
				got := a.ask(1, 1)
				if len(got.Slots) != 1 {
					t.Fatalf("after %d slots and %d lost replies: %+v, want a slot", len(slots), lost.Load(), got)
				}
				slots = append(slots, got.Slots[0].ID)
			}
			if lost.Load() == 0 {
				t.Fatal("no reply was lost")
			}
			// One after the other: 100ms, and a fiftieth more for SlotLife.
			for i := range slots[1:] {
				if d := slots[i+1] - slots[i]; d != 102_000 {
					t.Fatalf("slot %d is %dus after the one before, want 102000: %d replies were lost", i+1, d, lost.Load())
				}
			}
		})
	}
}

// A slot that comes back is not handed out again to be used for longer than those after it reckon with.
func TestStoreReturnedSlotAndLongerSlotLife(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			c := dial(t, start(t))
			for _, text := range []string{"50/s log", "50/s sliding", "50/s window"} {
				flushAll(t, c)
				a := &member{t: t, store: goredis.New(c), quotas: parse(t, text), name: "a"}
				a.open()
				b := &member{t: t, store: a.store, quotas: a.quotas, name: "b"}
				d := &member{t: t, store: a.store, quotas: a.quotas, name: "d"}
				a.ask(50, 1)
				second, third := b.ask(50, 1), d.ask(50, 1)
				r := b.request(50, 1)
				r.SlotLife, r.Back = 100*time.Millisecond, []store.Part{{Slot: second.Slots[0].ID, Cost: []int64{50}}}
				if again := b.send(r); again.Slots[0].ID <= third.Slots[0].ID {
					t.Errorf("%s: %+v, to be used for %v, before %+v", text, again.Slots[0], again.SlotLife, third.Slots[0])
				}
			}
		})
	}
}

// A server that does not answer is not waited for longer than ctx allows.
func TestStoreContextEnds(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { io.Copy(io.Discard, c); c.Close() }()
		}
	}()
	c := redis.NewClient(&redis.Options{Addr: l.Addr().String(), MaxRetries: -1})
	defer c.Close()
	a := &member{t: t, store: goredis.New(c), quotas: parse(t, "1/s even"), name: "a"}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { cancel(why) })
	if reply, err := a.store.Exchange(ctx, a.request(1, 1)); !errors.Is(err, why) {
		t.Errorf("got %v, %v, want the cause of the context", reply, err)
	}
}

func TestStoreNeedsClient(t *testing.T) {
	var s redisquota.Store
	if _, err := s.Exchange(t.Context(), &store.Request{}); err == nil || err.Error() != "redisquota: Store.Client is nil, want a Client" {
		t.Errorf("a Store without a Client: %v", err)
	}
	if _, err := s.Listen("api", func(store.News) {}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Listen without a Client: %v, want ErrUnsupported", err)
	}
}

// TestStoreRemembersRuns: what a call got is remembered in few words, where slots are evenly spaced, and it
// gets the same again. Of slots that are not, a call hands out fewer while there are many members, as a
// store.Ledger does.
func TestStoreRemembersRuns(t *testing.T) {
	srv := mini(t)
	srv.Mini.SetTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	c := dial(t, srv)
	for _, text := range []string{"1000/s even", "300/s burst 20", "1000/s log"} {
		flushAll(t, c)
		m := &member{t: t, store: goredis.New(c), quotas: parse(t, text), name: "a"}
		m.open()
		r := m.request(1, 400)
		got := m.send(r)
		record, err := c.HGet(t.Context(), "{pacer:api}:members", "a").Result()
		if n := granted(got, time.Hour); err != nil || n < 100 || len(record) > 200 {
			t.Errorf("%s: of %d slots, Redis has %q, %v; want 200 bytes at most", text, n, record, err)
		}
		if again := m.send(r); !slices.Equal(again.Slots, got.Slots) {
			t.Errorf("%s: %+v, and again %+v", text, got.Slots, again.Slots)
		}
	}
	flushAll(t, c)
	qs, ledger := parse(t, "1000000/s burst 1000"), new(store.Ledger)
	for i := range 40 {
		m := &member{t: t, store: goredis.New(c), quotas: qs, name: fmt.Sprintf("m%d", i)}
		if i == 0 {
			m.open()
		}
		r := m.request(1, 1)
		r.Asks = nil
		for n := range 256 {
			r.Asks = append(r.Asks, store.Ask{Cost: []int64{int64(1 + n*n%7)}, Count: 1, Within: -1})
		}
		want, _, err := ledger.Exchange(time.Second, r)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.send(r); len(got.Slots) != len(want.Slots) || len(want.Slots) > max(512/(i+1), 32)+1 {
			t.Errorf("member %d got %d slots, of a store.Ledger %d", i, len(got.Slots), len(want.Slots))
		}
	}
}
