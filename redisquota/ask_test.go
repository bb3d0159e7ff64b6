package redisquota_test

import (
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/redisquota"
	"github.com/gopacer/pacer/throttle/store"
)

// member is one that asks a Store as a Limiter does.
type member struct {
	t      *testing.T
	store  *redisquota.Store
	quotas quota.Quotas
	name   string
	serial int64
}

func (m *member) request(cost, count int) *store.Request {
	m.serial++
	r := &store.Request{
		Version: 1, Bucket: "api", Quotas: m.quotas, SlotLife: 20 * time.Millisecond, Horizon: 500 * time.Millisecond,
		Member: m.name, Serial: m.serial, Hand: make([]int64, len(m.quotas)),
	}
	if count > 0 {
		c := make([]int64, len(m.quotas))
		for i := range c {
			c[i] = int64(cost)
		}
		r.Asks = []store.Ask{{Cost: c, Count: count, Within: -1}}
	}
	return r
}

func (m *member) send(r *store.Request) *store.Reply {
	m.t.Helper()
	reply, err := m.store.Exchange(m.t.Context(), r)
	if err != nil {
		m.t.Fatal(err)
	}
	return reply
}

// open has the server know the bucket: it waits for a horizon for what others may have to say, and that is none
// here.
func (m *member) open() {
	m.t.Helper()
	m.send(&store.Request{Version: 1, Bucket: "api", Quotas: m.quotas, SlotLife: 20 * time.Millisecond, Member: "opens", Serial: 1, Leave: true})
}

// ask asks for count slots of that cost of all quotas.
func (m *member) ask(cost, count int) *store.Reply {
	m.t.Helper()
	return m.send(m.request(cost, count))
}

// granted is how much a reply grants, and within the time from now on.
func granted(r *store.Reply, within time.Duration) (n int) {
	for _, s := range r.Slots {
		if s.In <= within {
			n += s.Count
		}
	}
	return n
}
