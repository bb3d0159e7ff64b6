package throttle

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// take charges w to the slots in hand, and notes in g which.
func (s *lease) take(g *Grant, at, now instant, w *want) {
	var buf costs
	n := s.cost(buf[:0], &w.demand, !w.urgent())
	s.rate.count(now, 1, time.Second)
	s.soon.count(now, 1, moment)
	s.busy.count(now, max(s.l.line.waiting-1, 0))
	if empty(n) {
		return
	}
	if s.own == len(s.quotas) || !w.urgent() { // what is reserved is not got ahead
		s.unit = append(s.unit[:0], n...)
	}
	g.Share()
	for _, h := range s.hand {
		if h.from > now || empty(n) {
			break
		}
		if h.until < now {
			continue
		}
		u := use{of: s, slot: h, cost: make([]int, len(n))}
		for i := range n {
			u.cost[i] = min(n[i], h.left[i])
		}
		if !empty(u.cost) {
			add(n, u.cost, -1)
			add(h.left, u.cost, -1)
			add(s.sum, u.cost, -1)
			g.more.uses = append(g.more.uses, u)
		}
	}
	s.drop()
	if !empty(n) {
		s.excess(at, n)
	}
}

// drop takes out of hand what is used up.
func (s *lease) drop() {
	s.hand = slices.DeleteFunc(s.hand, func(h *held) bool { return empty(h.left) })
}

// purge takes out of hand what is too late to be used.
func (s *lease) purge(now instant) {
	if now <= s.dies {
		return
	}
	s.dies = instant(math.MaxInt64)
	s.hand = slices.DeleteFunc(s.hand, func(h *held) bool {
		if h.until >= now {
			s.dies = min(s.dies, h.until)
			return false
		}
		add(s.sum, h.left, -1)
		s.wasted += total(h.left)
		s.busy.count(now, 0) // nobody was there
		if one := s.quotas.work(s.unit); one > 0 {
			s.dead.count(now, float64(s.quotas.work(h.left))/float64(one), time.Second)
		}
		s.giveBack(now, h, h.left)
		return true
	})
}

// put puts a slot in hand, or back into it.
func (s *lease) put(h *held) {
	i, _ := slices.BinarySearchFunc(s.hand, h, func(a, b *held) int { return cmp.Compare(a.from, b.from) })
	s.hand = slices.Insert(s.hand, i, h)
	s.dies = min(s.dies, h.until)
}

// giveBack returns what was not used of a slot, which is not in hand, to the store.
func (s *lease) giveBack(now instant, h *held, cost []int) {
	if h.epoch != s.epoch || empty(cost) {
		return
	}
	if n := len(s.back); n > 0 && s.back[n-1].Slot == h.id {
		add(s.back[n-1].Cost, cost, 1)
	} else {
		s.back = append(s.back, Part{h.id, slices.Clone(cost)})
	}
	s.later(now, horizon)
}

// unuse takes back what was taken of a slot: it can be used again here while it is good.
func (s *lease) unuse(now instant, h *held, cost []int) {
	if h.epoch != s.epoch {
		return
	}
	if h.until < now {
		s.giveBack(now, h, cost)
		return
	}
	if empty(h.left) {
		add(h.left, cost, 1)
		s.put(h)
	} else {
		add(h.left, cost, 1)
	}
	add(s.sum, cost, 1)
	s.lookAgain(now)
}

// giveUses takes back all that g took.
func (g *Grant) giveUses(now instant) {
	if g.more == nil {
		return
	}
	for _, u := range g.more.uses {
		u.of.unuse(now, u.slot, u.cost)
	}
	g.more.uses = nil
}

// settle charges more, and takes back less of what g took.
func (s *lease) settle(now instant, g *Grant, more Costs, less []part) {
	charge, any := make([]int, len(s.quotas)), false
	for i, place := range s.places {
		if i >= s.own && g.urgent {
			break
		}
		unit := s.l.quotas[place].name()
		if n := more[unit]; n > 0 {
			charge[i], any = n, true
		}
		n := 0
		for _, p := range less {
			n += p.cost[unit]
		}
		for j := len(g.more.uses) - 1; j >= 0 && n > 0; j-- {
			u := &g.more.uses[j]
			if u.of != s || u.slot.epoch != s.epoch {
				continue
			}
			part := make([]int, len(s.quotas))
			part[i] = min(n, u.cost[i])
			if n -= part[i]; part[i] > 0 {
				u.cost[i] -= part[i]
				s.unuse(now, u.slot, part)
			}
		}
	}
	if any {
		s.excess(now, charge)
	}
}
