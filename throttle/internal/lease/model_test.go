package lease

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/definition"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/slot"
	"github.com/gopacer/pacer/throttle/store"
)

// fleet is some Leases that share one bucket of a store, a network between them, and claims, as
// one list of what happens when.
type fleet struct {
	t        *testing.T
	r        *rand.Rand
	quotas   quota.Quotas
	slotLife time.Duration
	fails    bool // calls fail, and arrive twice and late
	ledger   store.Ledger
	now      time.Duration // by the clock of the store
	events   []event       // in their order
	members  []*member
	claims   []*claim
	down     func() bool // the store is, where members are stopped; else nil
}

type event struct {
	at time.Duration
	do func()
}

// member is a process. Its clock is ahead of that of the store.
type member struct {
	*fleet
	*Lease
	ahead time.Duration
	line  testLine
	queue []*claim // those of line
	held  monotime.Time

	stops, wakes time.Duration // it does not run in between
	stopsFor     time.Duration // with the first call after stops, if wakes is not set
	next         func()        // has another claim come when one has gone; or nil
}

// claim is one request.
type claim struct {
	Waiter
	deadline time.Duration // zero if there is none
	gone     bool
	gaveUp   bool
	at       time.Duration // when it went
	uses     []Use
	returned bool
	less     int // requests that it turned out not to need
}

// after has something happen in so long.
func (f *fleet) after(d time.Duration, do func()) {
	at := f.now + max(d, 0)
	i := sort.Search(len(f.events), func(i int) bool { return f.events[i].at > at })
	f.events = slices.Insert(f.events, i, event{at, do})
}

// upTo is a random span.
func (f *fleet) upTo(d time.Duration) time.Duration { return time.Duration(f.r.Int64N(int64(d) + 1)) }

// run has everything happen until an instant.
func (f *fleet) run(until time.Duration) {
	for n := 0; len(f.events) > 0 && f.events[0].at <= until; n++ {
		if n > 300_000 {
			f.t.Fatal("it does not come to an end")
		}
		e := f.events[0]
		f.events = f.events[1:]
		f.now = e.at
		e.do()
	}
	f.now = until
}

// clock is the clock of m.
func (m *member) clock() monotime.Time { return monotime.Time(m.now+m.ahead) + 1 }

// after has something happen here in so long. What was due while m did not run happens soon after that, in any
// order.
func (m *member) after(d time.Duration, do func()) {
	m.fleet.after(d, func() {
		if m.stops <= m.now && m.now < m.wakes {
			m.fleet.after(m.wakes-m.now+m.upTo(3*ms), do)
			return
		}
		do()
	})
}

// come has a claim come.
func (m *member) come(c *claim) {
	m.queue = append(m.queue, c)
	if c.deadline > 0 {
		m.after(c.deadline-m.now, func() { m.giveUp(c) })
	}
	m.look()
}

// giveUp has a claim leave the line, if it still waits.
func (m *member) giveUp(c *claim) {
	i := slices.Index(m.queue, c)
	if i < 0 {
		return
	}
	c.gaveUp = true
	m.queue = slices.Delete(m.queue, i, i+1)
	m.Shrunk(true)
	m.look()
}

// look has claims go that may, in their order, asks for more, and looks again when that may have
// changed.
func (m *member) look() {
	now := m.clock()
	for len(m.queue) > 0 {
		c := m.queue[0]
		d := m.DueFrom(now, limit.Due{At: max(now, m.held)}, &limit.Demand{}, c.Demand, !c.Urgent, false)
		if d.At > now {
			if d.At < now.Add(monotime.Longest/2) {
				m.after(d.At.Sub(now), m.look)
			}
			break
		}
		m.queue = m.queue[1:]
		m.goes(c, d.At)
	}
	m.line.claims, m.line.barred = m.line.claims[:0], m.held
	for _, c := range m.queue {
		w := c.Waiter
		if w.Within = -1; c.deadline > 0 {
			w.Within = c.deadline - m.now
		}
		m.line.claims = append(m.line.claims, w)
	}
	if c := m.Next(now, m.held, &m.line); c != nil {
		if asked := slices.Clone(m.queue); m.down != nil {
			m.sendStopped(c, asked)
		} else {
			m.send(c, asked)
		}
	}
	if w := m.Wake(); w != 0 {
		m.after(w.Sub(now), func() {
			if m.Tick(m.clock(), m.held) {
				m.look()
			}
		})
	}
}

// goes has a claim go. Some do not, in the end, and some turn out to cost less.
func (m *member) goes(c *claim, due monotime.Time) {
	c.gone, c.at = true, m.now
	c.uses = m.Take(nil, due, m.clock(), c.Demand, c.Urgent, len(m.queue))
	used := 0
	for _, u := range c.uses {
		used += int(u.cost[0])
	}
	if used != c.Demand.N {
		m.t.Fatalf("at %v: %d of %d by slots", m.now, used, c.Demand.N)
	}
	if m.next != nil {
		m.next()
		return
	}
	switch m.r.IntN(6) {
	case 0:
		m.after(m.upTo(2*m.fleet.slotLife), func() {
			c.returned = true
			m.Return(m.clock(), c.uses)
			m.look()
		})
	case 1:
		c.less = m.r.IntN(c.Demand.N + 1)
		m.after(m.upTo(2*m.fleet.slotLife), func() {
			part := limit.Part{At: m.clock(), Cost: quota.Costs{quota.Requests: int64(c.less)}}
			m.Settle(m.clock(), c.uses, nil, []limit.Part{part}, c.Urgent)
			m.look()
		})
	}
}

// send makes a call.
func (m *member) send(c *Call, asked []*claim) {
	sent, what := m.clock(), 100
	if m.fails {
		what = m.r.IntN(20)
	}
	m.after(m.upTo(3*ms), func() {
		var reply *store.Reply
		if what != 0 {
			reply = m.exchange(c.Request)
		}
		switch what {
		case 2:
			reply = m.exchange(c.Request)
		case 3:
			m.after(m.upTo(s), func() { m.exchange(c.Request) })
		}
		m.after(m.upTo(3*ms), func() {
			err := errDown
			if what > 1 {
				err = nil
			}
			m.ended(c, sent, asked, reply, err)
		})
	})
}

// exchange is the store, and the news to all.
func (f *fleet) exchange(r *store.Request) *store.Reply {
	reply, news, err := f.ledger.Exchange(f.now, r)
	if err != nil {
		f.t.Fatal(err)
	}
	if news == (store.News{}) {
		return reply
	}
	for _, m := range f.members {
		m.after(f.upTo(3*ms), func() {
			if news.Hold > 0 {
				m.HeldByStore(m.clock(), m.clock().Add(news.Hold), 0)
				m.held = max(m.held, m.clock().Add(news.Hold))
			}
			if news.Room {
				m.Heard(0, store.News{Room: true})
			}
			m.look()
		})
	}
	return reply
}

// ended does what follows from a call.
func (m *member) ended(c *Call, sent monotime.Time, asked []*claim, reply *store.Reply, err error) {
	now := m.clock()
	e := m.Step(now, sent, c, reply, err, false)
	if e.Hold != 0 {
		m.HeldByStore(m.clock(), e.Hold, 0)
		m.held = max(m.held, e.Hold)
	}
	for _, u := range e.Unserved {
		if c := asked[u.Waiter]; c.deadline > 0 && u.Due.At.Sub(now) > c.deadline-m.now {
			m.giveUp(c) // it cannot go in time
		}
	}
	if e.Retry != 0 && slices.ContainsFunc(c.asked, func(a Asked) bool { return slices.Contains(m.queue, asked[a.Waiter]) }) {
		m.AskNotBefore(e.Retry)
	}
	m.look()
}

// newFleet returns a fleet with claims to come within a span.
func newFleet(t *testing.T, seed uint64, text string, reserve float64, fails bool, span time.Duration) *fleet {
	t.Helper()
	f := &fleet{t: t, r: rand.New(rand.NewPCG(seed, 1)), quotas: parse(t, text), fails: fails, slotLife: 20 * ms}
	f.ledger.Epoch = time.Unix(0, f.r.Int64N(1e18))
	for i := range 1 + f.r.IntN(5) {
		m := &member{fleet: f, ahead: f.upTo(time.Hour), Lease: New(Config{Name: "api", Member: fmt.Sprint(i), SlotLife: f.slotLife, Outage: Closed, Believed: monotime.Longest})}
		m.Set(0, f.quotas, reserve)
		f.members = append(f.members, m)
	}
	largest := 3
	for i := range f.quotas {
		largest = int(min(int64(largest), slot.Most(&f.quotas[i])))
	}
	for range 10 + f.r.IntN(90) {
		m, at := f.members[f.r.IntN(len(f.members))], f.upTo(span)
		if f.r.IntN(3) == 0 {
			at -= at % (span / 4) // many at once
		}
		c := &claim{Waiter: Waiter{requests(1 + f.r.IntN(largest)), f.r.IntN(3) == 0, -1}}
		if f.r.IntN(5) == 0 {
			c.deadline = at + f.upTo(span/4)
		}
		f.claims = append(f.claims, c)
		f.after(at, func() { m.come(c) })
	}
	if f.r.IntN(3) == 0 {
		m := f.members[0]
		f.after(f.upTo(span), func() {
			m.held = m.clock().Add(f.upTo(s))
			m.TellHold(m.clock())
			m.look()
		})
	}
	return f
}

// leave has all members leave.
func (f *fleet) leave() {
	for _, m := range f.members {
		for {
			r := m.Farewell(m.clock(), m.held)
			if r == nil {
				break
			}
			if _, _, err := f.ledger.Exchange(f.now, r); err != nil {
				f.t.Fatal(err)
			}
			if m.Acknowledged(); r.Leave {
				break
			}
		}
		if st := m.State(m.clock()); st.Hand != 0 {
			f.t.Fatalf("it left with %d in hand", st.Hand)
		}
	}
}

// sent returns what was sent in the end, in order, of claims that are not urgent if unreserved.
func (f *fleet) sent(unreserved bool) (sent []definition.Sent, sum int) {
	for _, c := range f.claims {
		if n := c.Demand.N - c.less; c.gone && !c.returned && n > 0 && (!unreserved || !c.Urgent) {
			sent = append(sent, definition.Sent{At: c.at, N: int64(n)})
			sum += n
		}
	}
	slices.SortStableFunc(sent, func(a, b definition.Sent) int { return cmp.Compare(a.At, b.At) })
	return sent, sum
}

// check looks whether more was sent than the quotas allow, and whether every claim was served.
func (f *fleet) check(reserve float64) (err error) {
	sent, _ := f.sent(false)
	for _, q := range f.quotas {
		if err := definition.Check(q, f.ledger.Epoch, f.slotLife, sent); err != nil {
			return err
		}
	}
	if reserve > 0 {
		sent, _ = f.sent(true)
		for _, q := range limit.Unreserved(f.quotas, reserve) {
			if err := definition.Check(q, f.ledger.Epoch, f.slotLife, sent); err != nil {
				return err
			}
		}
	}
	for i, c := range f.claims {
		if !c.gone && !c.gaveUp {
			return fmt.Errorf("claim %d still waits", i)
		}
		if c.gaveUp && c.deadline == 0 {
			return fmt.Errorf("claim %d gave up", i)
		}
	}
	return nil
}

// TestFleet: whatever comes, and however calls fail, no more is sent than each quota allows in any
// span, and every claim goes that does not give up.
func TestFleet(t *testing.T) {
	for _, c := range []struct {
		quotas  string
		reserve float64
	}{
		{"30/s even", 0},
		{"20/s burst 10", 0},
		{"20/s log", 0},
		{"20/s window", 0},
		{"20/s sliding", 0},
		{"20/s window grid", 0},
		{"20/s estimate", 0},
		{"30/s burst 5, 40/2s log", 0},
		{"30/s window grid, 50/2s sliding, 40/s burst 8", 0},
		{"20/s log", 0.3},
		{"30/s burst 10", 0.5},
	} {
		for _, fails := range []bool{false, true} {
			for seed := range whole.Or[uint64](5, 12) {
				f := newFleet(t, seed, c.quotas, c.reserve, fails, 4*s)
				f.run(time.Minute)
				if err := f.check(c.reserve); err != nil {
					t.Fatalf("%s, fails %v, seed %d: %v", c.quotas, fails, seed, err)
				}
			}
		}
	}
}

// TestFleetLosesNothing: of a long window all that was not sent, in the end, can be granted again,
// and no more.
func TestFleetLosesNothing(t *testing.T) {
	for _, text := range []string{"60/h log", "60/h window", "300/h log, 40/s burst 10", "60/h window, 20/s log"} {
		for seed := range whole.Or[uint64](12, 25) {
			f := newFleet(t, seed, text, 0, false, 10*s)
			for _, c := range f.claims {
				if c.deadline == 0 {
					c.deadline = 20 * s // the window may be used up
				}
			}
			for _, m := range f.members {
				f.after(20*s, func() {
					for len(m.queue) > 0 {
						m.giveUp(m.queue[0])
					}
				})
			}
			f.run(21 * s)
			if err := f.check(0); err != nil {
				t.Fatalf("%s, seed %d: %v", text, seed, err)
			}
			f.leave()
			f.now += 30 * s // what came back before its instant is free after it
			_, sent := f.sent(false)
			left := f.quotas[0].N - int64(sent)
			for n, at := range map[int]time.Duration{int(left): 0, int(left + 1): 1} {
				if n == 0 || int64(n) > f.quotas[0].N {
					continue
				}
				ledger, cost := f.copied(), make([]int64, len(f.quotas))
				cost[0] = int64(n)
				ask := []store.Ask{{Cost: cost, Count: 1, Within: -1}}
				reply, _, err := ledger.Exchange(f.now, &store.Request{Version: 1, Quotas: f.members[0].Lease.quotas, SlotLife: f.slotLife, Horizon: Horizon, Member: "last", Serial: 1, Asks: ask})
				if err != nil || len(reply.Slots) != 1 || min(reply.Slots[0].In, 1) != at {
					t.Fatalf("%s, seed %d: %d sent; a slot for %d: %+v, %v", text, seed, sent, n, reply, err)
				}
			}
		}
	}
}

// copied returns a copy of the ledger.
func (f *fleet) copied() *store.Ledger {
	f.t.Helper()
	b, _ := f.ledger.MarshalBinary()
	ledger := new(store.Ledger)
	if err := ledger.UnmarshalBinary(b); err != nil {
		f.t.Fatal(err)
	}
	return ledger
}
