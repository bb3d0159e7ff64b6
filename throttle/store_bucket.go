package throttle

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// storeBucket is one bucket of a MemoryStore.
type storeBucket struct {
	quotas  Quotas
	ledgers []ledger
	since   []instant     // of each, if it was lost: no slot is before, since some of then may be about
	late    time.Duration // how late a request may go after its slot
	last    instant       // the latest slot
	held    instant
	holes   []hole // in their order
	members map[string]*storeMember
	said    []said
	used    instant // when it was asked last
	hears   map[*func(News)]struct{}
	room    bool // there are such news
}

// hole is what came back of a slot.
type hole struct {
	at   instant
	cost []int
}

// storeMember is what is known of a member.
type storeMember struct {
	serial int64
	active instant // until then
	known  instant // until then
}

// said is what a server said of a limit.
type said struct {
	Statement
	reset instant // or when it is forgotten
}

// same reports whether o speaks of the same limit.
func (w *said) same(o *Statement) bool {
	return w.Name == o.Name && w.Bucket == o.Bucket && w.Unit == o.Unit
}

// idle reports whether forgetting the bucket loses nothing.
func (b *storeBucket) idle(now instant) bool {
	for _, m := range b.members {
		if m.known > now {
			return false
		}
	}
	return len(b.hears) == 0 && b.held <= now && now.sub(max(b.used, b.last)) > 24*time.Hour+2*b.quotas.longest()
}

// longest is the longest Per.
func (qs Quotas) longest() (d time.Duration) {
	for i := range qs {
		d = max(d, qs[i].per())
	}
	return d
}

// exchange does what a request says.
func (b *storeBucket) exchange(r *Request, now instant) *Reply {
	b.used, b.room = now, false
	b.fill(now)
	m := b.members[r.Member]
	known := m != nil
	if !known {
		m = &storeMember{}
		maps.DeleteFunc(b.members, func(_ string, m *storeMember) bool { return m.known <= now })
	}
	reply := &Reply{Bound: -1, Lost: !known && r.Serial > 1}
	if known && r.Serial < m.serial {
		return b.finish(reply, now)
	}
	if r.Serial > m.serial {
		if !reply.Lost {
			b.back(r.Back, now, r.Horizon)
		}
		b.more(r.More, now)
	}
	if r.Hold > 0 {
		b.held = max(b.held, now.add(min(r.Hold, ages)))
	}
	b.tell(r, now)
	b.room = b.room && b.last > now.add(2*r.Horizon)
	if r.Leave {
		delete(b.members, r.Member)
		return b.finish(reply, now)
	}
	m.serial = r.Serial
	m.active = max(m.active, now.add(max(2*time.Second, 2*r.Horizon)))
	b.members[r.Member] = m
	if last := b.grant(r, reply, now); last != 0 {
		m.active = max(m.active, last.add(b.late))
	}
	m.known = max(m.active, now.add(max(b.quotas.longest(), time.Minute)))
	return b.finish(reply, now)
}

// finish says how the bucket is.
func (b *storeBucket) finish(reply *Reply, now instant) *Reply {
	reply.Late, reply.Members = b.late, max(b.active(now), 1)
	reply.Ahead, reply.Hold = max(b.last.sub(now), 0), max(b.held.sub(now), 0)
	for _, w := range b.said {
		st := w.Statement
		if st.ResetKnown {
			st.Reset = w.reset.sub(now)
		}
		reply.Statements = append(reply.Statements, st)
	}
	return reply
}

// active is how many members are.
func (b *storeBucket) active(now instant) (n int) {
	for _, m := range b.members {
		if m.active > now {
			n++
		}
	}
	return n
}

// fill has holes that have passed be as if they had never been handed out. Those of another
// number of quotas than there are now are lost.
func (b *storeBucket) fill(now instant) {
	n := 0
	for n < len(b.holes) && b.holes[n].at < now {
		if len(b.holes[n].cost) == len(b.ledgers) {
			b.give(now, b.holes[n].at, b.holes[n].cost)
		}
		n++
	}
	b.holes = slices.Delete(b.holes, 0, n)
}

// back takes back what was not used.
func (b *storeBucket) back(parts []Part, now instant, horizon time.Duration) {
	for _, p := range parts {
		at := instant(p.Slot)
		if len(p.Cost) != len(b.ledgers) {
			continue // of other quotas
		}
		if at < now {
			b.give(now, at, p.Cost)
			b.room = true
			continue
		}
		if at > now.add(2*horizon) {
			b.give(now, at, p.Cost) // nothing is in order with it
			continue
		}
		i, found := slices.BinarySearchFunc(b.holes, at, func(h hole, at instant) int { return cmp.Compare(h.at, at) })
		switch {
		case !found:
			b.holes = slices.Insert(b.holes, i, hole{at, make([]int, len(p.Cost))})
		case len(b.holes[i].cost) != len(p.Cost):
			continue
		}
		add(b.holes[i].cost, p.Cost, 1)
	}
}

// give has a cost at a slot be as if it had never been.
func (b *storeBucket) give(now, slot instant, cost []int) {
	for i, n := range cost {
		if n > 0 && i < len(b.ledgers) {
			b.ledgers[i].give(now, slot, n)
		}
	}
}

// more charges what is sent now, whether it may go or not.
func (b *storeBucket) more(cost []int, now instant) {
	if len(cost) != len(b.ledgers) {
		return
	}
	for i, n := range cost {
		if n > 0 {
			b.last = max(b.last, now)
			b.ledgers[i].owe(now, n)
		}
	}
}

// tell takes in what a server said.
func (b *storeBucket) tell(r *Request, now instant) {
	b.said = slices.DeleteFunc(b.said, func(w said) bool { return w.reset <= now })
	for _, st := range r.Statements {
		st.Unit = canonical(st.Unit)
		w := said{st, now.add(r.Horizon)}
		if st.ResetKnown {
			w.reset = now.add(min(st.Reset, ages))
		}
		i := slices.IndexFunc(b.said, func(o said) bool { return o.same(&st) })
		if i < 0 {
			if len(b.said) < maxWindows {
				b.said = append(b.said, w)
			}
			continue
		}
		o := &b.said[i]
		step := 2*time.Second + max(st.Resolution, o.Resolution)
		switch d := w.reset.sub(o.reset); {
		case !st.ResetKnown && !o.ResetKnown, d > step:
			*o = w
		case d >= -step && w.Remaining < o.Remaining:
			*o = w
		}
	}
}
