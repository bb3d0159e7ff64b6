package lease

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gopacer/pacer/throttle/internal/definition"
	"github.com/gopacer/pacer/throttle/store"
)

// sendStopped makes a call of a member that may not run for a while: before the request is written, or before
// the reply is read. What takes long may fail though a reply is there, and may have counted as failed before.
func (m *member) sendStopped(c *Call, asked []*claim) {
	sent := m.clock()
	if m.wakes == 0 && m.stopsFor > 0 && m.now >= m.stops {
		m.stops = m.now + m.upTo(5*ms)
		m.wakes = m.stops + m.stopsFor
	}
	m.after(m.upTo(ms), func() {
		m.fleet.after(m.upTo(3*ms), func() {
			var reply *store.Reply
			if !m.down() {
				r := *c.At(m.clock(), true)
				reply = m.exchange(&r)
				if m.fails && m.r.IntN(4) == 0 {
					m.fleet.after(m.upTo(1900*ms), func() { m.exchange(&r) }) // once more: a store with a clock of its own leaves out what is later
				}
				if m.fails && m.r.IntN(4) == 0 {
					reply = nil
				}
			}
			m.after(m.upTo(3*ms), func() {
				var err error
				took := m.clock().Sub(sent)
				if reply == nil || took > longestCall && m.r.IntN(2) == 0 {
					reply, err = nil, errDown
				}
				if took <= longestCall || m.r.IntN(2) == 0 {
					m.ended(c, sent, asked, reply, err)
					return
				}
				m.Step(m.clock(), sent, c, nil, errDown, true)
				m.look()
				m.after(m.upTo(3*ms), func() { m.ended(c, sent, asked, reply, err) })
			})
		})
	})
}

// stopped has one or two of five members, which all want more than there is, not run for 0.1 to 10 s, from some
// instant of a call on. Replies may be lost, and the store may be down meanwhile.
func stopped(t *testing.T, seed uint64, text string, slotLife time.Duration, costs []int64) error {
	t.Helper()
	f := &fleet{t: t, r: rand.New(rand.NewPCG(seed, 7)), quotas: parse(t, text), fails: seed%2 > 0, slotLife: EffectiveSlotLife(parse(t, text), slotLife)}
	f.ledger.Epoch = time.Unix(0, f.r.Int64N(1e18))
	stops := 2*s + f.upTo(3*s)
	long := []time.Duration{100 * ms, 250 * ms, 300 * ms, 310 * ms, 500 * ms, s, 3 * s, 10 * s}[f.r.IntN(8)]
	end := stops + long + 6*s
	from := stops - f.upTo(2*s)
	to := from + f.upTo(6*s)
	f.down = func() bool { return seed%4 > 1 && f.now >= from && f.now < to }
	stop := 1 + f.r.IntN(2)
	for i := range 5 {
		m := &member{fleet: f, ahead: f.upTo(time.Hour), Lease: New(Config{Name: "api", Member: fmt.Sprint(i), SlotLife: slotLife, Outage: Closed})}
		m.Set(0, f.quotas, 0)
		if i < stop {
			m.stops, m.stopsFor = stops, long
		}
		k := 0
		m.next = func() {
			if f.now < end-3*s {
				c := &claim{Waiter: Waiter{requests(int(costs[k%len(costs)])), false, -1}}
				k++
				f.claims, m.queue = append(f.claims, c), append(m.queue, c)
			}
		}
		for range 3 {
			m.next()
		}
		f.after(f.upTo(10*ms), m.look)
		f.members = append(f.members, m)
	}
	f.run(end)
	sent, n := f.sent(false)
	if n == 0 {
		t.Errorf("%s, seed %d: nothing went", text, seed)
	}
	return definition.Check(f.quotas[0], f.ledger.Epoch, f.slotLife, sent)
}

// TestFleetStopped: no more is sent than each quota allows, at whatever instant some processes are stopped, and
// for however long, while nothing goes without slots.
func TestFleetStopped(t *testing.T) {
	for _, c := range []struct {
		quotas string
		costs  []int64
	}{
		{"100/s burst 300", []int64{200, 200, 50, 1}},
		{"100/s even", []int64{1}},
		{"100/s burst 20", []int64{1}},
		{"60/2s log", []int64{1}},
		{"100/5s log", []int64{1, 1, 10}},
		{"60/2s sliding", []int64{1}},
		{"60/2s window", []int64{1}},
		{"60/2s window grid", []int64{1}},
		{"60/2s estimate", []int64{1}},
	} {
		for _, slotLife := range []time.Duration{0, 500 * ms} {
			for seed := range uint64(8) {
				if err := stopped(t, seed, c.quotas, slotLife, c.costs); err != nil {
					t.Errorf("%s, SlotLife %v, seed %d: %v", c.quotas, slotLife, seed, err)
				}
			}
		}
	}
}

// TestCallAtWithoutNews: who hears of nobody that comes does not know how many share the bucket.
func TestCallAtWithoutNews(t *testing.T) {
	l := newLease(t, "10/s even", 0)
	call(t, l, s, queue(1), store.Reply{Bound: -1, Sharing: 2})
	equal(t, "shared by", l.Next(at(3*s), 0, queue(1)).At(at(3*s), false).Sharing, 0)
}

// TestCallAt: a store is told how long ago a request was answered when this one was sent.
func TestCallAt(t *testing.T) {
	l := newLease(t, "10/s even", 0)
	if r := l.Next(at(0), 0, queue(1)).At(at(s), true); r.Since != 0 {
		t.Errorf("Since is %v, and none was answered", r.Since)
	}
	l = newLease(t, "10/s even", 0)
	call(t, l, s, queue(1), store.Reply{Bound: -1, Sharing: 2})
	r := l.Next(at(3*s), 0, queue(1)).At(at(13*s), true)
	equal(t, "Since", r.Since, 12*s)
	equal(t, "shared by", r.Sharing, 2)
}
