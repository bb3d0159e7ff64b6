package redisquota_test

import (
	"testing"
	"time"

	"github.com/gopacer/pacer/redisquota/goredis"
)

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
