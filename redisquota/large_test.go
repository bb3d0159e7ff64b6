package redisquota_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/gopacer/pacer/redisquota/goredis"
	"github.com/gopacer/pacer/throttle/store"
)

// A call that looks at much that is ahead ends early, and the next goes on: others wait for the server meanwhile.
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
				r.Asks = append(r.Asks, store.Ask{Cost: []int{1 + i%4}, Count: 1, Within: time.Second})
			}
			r.Asks = append(r.Asks, store.Ask{Cost: []int{1}, Count: 1, Within: -1})
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
				r.Back = append(r.Back, part{Slot: s.ID, Cost: []int{s.Count}})
			}
			a.send(r)
			if n, err := c.ZCard(t.Context(), "{pacer:api}:holes").Result(); err != nil || n > 1000 {
				t.Errorf("%d holes, %v, want 1000 at most", n, err)
			}
		})
	}
}
