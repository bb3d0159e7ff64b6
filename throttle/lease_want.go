package throttle

import (
	"math"
	"slices"
	"time"
)

// claimed is a waiter, and the ask which is for it.
type claimed struct {
	w   *Waiter
	ask int
}

// asks returns what to ask for, and for whom. Nobody is asked for while something else
// stands in the way of all: then slots would only get old.
func (s *lease) asks(now instant) (asks []Ask, asked []claimed) {
	if len(s.quotas) == 0 {
		if now.sub(s.heard) > horizon && (s.heard != 0 || s.l.line.waiting > 0 || s.rate.at == now) {
			s.urgent = true // only to hear whether it is held
		}
		return nil, nil
	}
	var head *Waiter
	for w := range s.l.line.all() {
		head = w
		break
	}
	if head != nil {
		if at := s.blocked(head, now); at > now {
			if at < now.add(ages) {
				s.later(now, at.sub(now))
			}
			head = nil
		}
	}
	if s.surplus {
		s.surplus = false
		s.trim(now)
	}
	if head != nil && s.room {
		s.sooner(now, head)
	}
	share := horizon / time.Duration(max(s.members, 1))
	congested := s.busy.steady()
	hand := s.quotas.work(s.sum)
	var need []int
	if head != nil {
		need = s.needed()
	}
	goal := s.goal(now, share, congested)
	switch {
	case head != nil && !s.ready(now, head):
	case head != nil && !suffices(s.sum, need) && (!s.full && !congested || s.low(hand, share)):
	case goal > 0 && s.low(hand, goal) && (head != nil || s.linger(now)):
	default:
		return nil, nil
	}
	rest := slices.Clone(s.sum)
	if head != nil {
		if !s.ready(now, head) {
			clear(rest)
		}
		asks, asked = s.waiters(now, rest)
	}
	for _, a := range asks {
		hand += time.Duration(a.Count) * s.quotas.work(a.Cost)
	}
	if one := s.quotas.work(s.unit); one > 0 && hand < goal {
		within := s.late
		if congested {
			within = 2 * horizon
		}
		asks = append(asks, Ask{Cost: slices.Clone(s.unit), Count: int((goal - hand + one - 1) / one), Within: within})
	}
	return asks, asked
}

// linger reports whether it was long enough that only those who may come are to be asked for: if many
// went just now, they may be back at once, and then one call is for both.
func (s *lease) linger(now instant) bool {
	if s.soon.now(now, moment) < burst {
		return true
	}
	if s.lull == 0 {
		s.lull = now
	}
	wait := s.lull.add(min(s.took(), time.Millisecond)).sub(now)
	if wait > 0 {
		s.later(now, wait)
	}
	return wait <= 0
}

// sooner gives back the slots in hand if the first of these is far ahead: what was asked for again with
// that is not later.
func (s *lease) sooner(now instant, head *Waiter) {
	if wait := s.looked.add(horizon).sub(now); wait > 0 && s.looked != 0 {
		s.later(now, wait)
		return
	}
	s.room = false
	var buf costs
	if at, ok := s.first(now, now, s.cost(buf[:0], &head.demand, !head.urgent())); !ok || at <= now.add(2*horizon) {
		return
	}
	s.looked = now
	s.hand = slices.DeleteFunc(s.hand, func(h *held) bool {
		if h.from <= now.add(2*horizon) {
			return false
		}
		add(s.sum, h.left, -1)
		s.giveBack(now, h, h.left)
		return true
	})
}

// low reports whether so little is in hand that there should be more: a quarter of what is wanted, or what
// will be used until a reply is here.
func (s *lease) low(hand, goal time.Duration) bool {
	return hand <= min(goal/4+2*s.took()/time.Duration(max(s.members, 1)), goal/2)
}

// trim gives back the slots that come last, if those who wait do not need them.
func (s *lease) trim(now instant) {
	need := s.needed()
	goal := s.goal(now, horizon/time.Duration(max(s.members, 1)), s.busy.steady())
	for i := len(s.hand) - 1; i >= 0 && s.hand[i].from > now.add(s.took()); i-- {
		h := s.hand[i]
		add(s.sum, h.left, -1)
		if !suffices(s.sum, need) || s.quotas.work(s.sum) < goal {
			add(s.sum, h.left, 1)
			return
		}
		s.giveBack(now, h, h.left)
		s.hand, s.urgent = slices.Delete(s.hand, i, i+1), true
	}
}

// If so many go in a moment, as they do when a window begins, as many may follow at once.
const (
	burst  = 3
	moment = 10 * time.Millisecond
)

// goal is how much to have in hand for those who may come, as work. While some go without having
// others behind them, that is what will be used while slots are good, and half of it, to be
// sure. Else all members want the same, whatever they send: see Ask.
func (s *lease) goal(now instant, share time.Duration, congested bool) time.Duration {
	one := s.quotas.work(s.unit)
	if one == 0 || s.down != 0 || now < s.scarce {
		return 0
	}
	if congested {
		return time.Duration(float64(share) * s.thrift(now))
	}
	thrift := s.thrift(now)
	n := s.rate.now(now, time.Second) * (s.late - s.took()).Seconds()
	if many := s.soon.now(now, moment); many >= burst {
		n = max(n, 2*many)
	}
	switch {
	case n >= 2:
		return time.Duration(n / 2 * thrift * float64(one))
	case n*thrift*thrift >= 1 && one <= share && s.next.sub(s.heard) <= 2*one:
		return one // one will likely be used, and nobody waits for it
	}
	return 0
}

// thrift is the part of what would be good to have in hand that there should be: the less, the more of it
// was not used lately. Half, if a fifth was not.
func (s *lease) thrift(now instant) float64 {
	used := s.rate.now(now, time.Second)
	return used / max(used+4*s.dead.now(now, time.Second), 1e-9)
}

// blocked returns when nothing but the store stands in the way of w.
func (s *lease) blocked(w *Waiter, now instant) instant {
	d := s.l.dueHere(now, w)
	for b := s.l.Parent; b != nil; b = b.Parent {
		if p := b.dueHere(now, w); p.at > d.at {
			d = p
			d.at = min(d.at, now.add(horizon)) // nobody tells us when that changes
		}
	}
	return d.at
}

// dueHere returns when w may go, but for what is in hand.
func (l *Limiter) dueHere(now instant, w *Waiter) due {
	d := due{at: now}
	if l.hold > now {
		d.at = l.hold
	}
	if w.l == l {
		d = l.server.due(d, &demand{}, &w.want, l.share(&w.want), false)
	}
	d = l.dueOf(l.limits, d, &demand{}, &w.want, false)
	if l.spare != nil && !w.urgent() {
		d = l.dueOf(l.spare, d, &demand{}, &w.want, false)
	}
	return d
}

// ready reports whether what is in hand will do for w.
func (s *lease) ready(now instant, w *Waiter) bool {
	var buf costs
	n := s.cost(buf[:0], &w.demand, !w.urgent())
	_, ok := s.first(now, now, n)
	return ok || empty(n)
}

// needed is what all who stand in line want together.
func (s *lease) needed() []int {
	var buf costs
	need := make([]int, len(s.quotas))
	q := &s.l.line
	for i := range q.sum {
		add(need, s.cost(buf[:0], &q.sum[i], Priority(i)+Background < Urgent), 1)
	}
	if q.len() > q.own {
		for w := range q.all() {
			if w.l != s.l {
				add(need, s.cost(buf[:0], &w.demand, !w.urgent()), 1)
			}
		}
	}
	return need
}

// waiters asks for those for whom rest, which is in hand, is not enough.
func (s *lease) waiters(now instant, rest []int) (asks []Ask, asked []claimed) {
	var buf costs
	claim := func(w *Waiter) bool {
		n := s.cost(buf[:0], &w.demand, !w.urgent())
		if empty(n) {
			return true
		}
		if len(asks) == 0 && suffices(rest, n) {
			add(rest, n, -1)
			return true
		}
		within := w.within(now)
		if last := len(asks) - 1; last >= 0 && slices.Equal(asks[last].Cost, n) && closeBy(asks[last].Within, within) {
			asks[last].Count++
			asks[last].Within = min(asks[last].Within, within)
		} else {
			if len(asks) == manyAsks {
				return false
			}
			asks = append(asks, Ask{Cost: slices.Clone(n), Count: 1, Within: within})
		}
		asked = append(asked, claimed{w, len(asks) - 1})
		return true
	}
	for w := range s.l.line.all() {
		if !claim(w) {
			break
		}
		if w.l == s.l || w.l.Parent != s.l || !w.l.lets(now) {
			continue
		}
		// All who wait below follow.
		for o := range w.l.line.all() {
			if o != w && o.l == w.l && !claim(o) {
				break
			}
		}
	}
	return asks, asked
}

// within is for how long w can wait; negative if there is no bound.
func (w *Waiter) within(now instant) time.Duration {
	at := instant(math.MaxInt64)
	if w.expires != 0 {
		at = w.expires
	}
	if w.deadline != 0 {
		at = min(at, w.deadline-1)
	}
	switch {
	case w.quick:
		return 0
	case at == math.MaxInt64:
		return -1
	}
	return max(at.sub(now), 0)
}

// closeBy reports whether two bounds of a wait are nearly the same.
func closeBy(a, b time.Duration) bool {
	if a < 0 || b < 0 {
		return a < 0 && b < 0
	}
	return max(a, b)-min(a, b) <= min(a, b)/8
}
