package lease

import (
	"iter"
	"slices"
	"time"

	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/slot"
	"github.com/gopacer/pacer/throttle/store"
)

// Line is who waits in a bucket.
type Line interface {
	// Waiting is how many wait in the bucket or in one below it.
	Waiting() int

	// First returns who is first in the line of the bucket, and the instant until which
	// something else than the store stands in its way. Ok is false if nobody stands there.
	First(now monotime.Time) (first Waiter, until monotime.Time, ok bool)

	// Demands are what those who stand in line ask for, with whether these are urgent; one
	// demand may be of several.
	Demands() iter.Seq2[*limit.Demand, bool]

	// InOrder are those who stand in line, in the order in which they are to go, and after
	// each who came from a bucket below those who would follow at once.
	InOrder(now monotime.Time) iter.Seq[Waiter]
}

// Waiter is one who waits.
type Waiter struct {
	Demand *limit.Demand
	Urgent bool
	Within time.Duration // for how long it can wait; negative if there is no bound
}

// maxAsks bounds what is asked for in one request.
const maxAsks = 256

// asks returns what to ask for, and for whom. Nobody is asked for while something else
// stands in the way of all: then slots would only get old.
func (s *Lease) asks(now monotime.Time, line Line) (asks []store.Ask, asked []Asked) {
	if len(s.quotas) == 0 {
		if now.Sub(s.heard) > Horizon && (s.heard != 0 || line.Waiting() > 0 || s.demand.went.at == now) {
			s.urgent = true // only to hear whether it is held
		}
		return nil, nil
	}
	head := s.head(now, line)
	s.tidy(now, head, line)
	ready := head != nil && s.ready(now, head)
	target := s.prefetchTarget(now)
	if !s.wanted(now, line, head, ready, target) {
		return nil, nil
	}
	if head != nil {
		free := slices.Clone(s.hand.sum)
		if !ready {
			clear(free)
		}
		asks, asked = s.forWaiters(now, line, free)
	}
	hand := s.work(s.hand.sum)
	for _, a := range asks {
		hand += time.Duration(a.Count) * s.work(a.Cost)
	}
	if one := s.work(s.demand.unit); one > 0 && hand < target {
		within := s.late
		if s.demand.line.steady() {
			within = 2 * Horizon
		}
		asks = append(asks, store.Ask{Cost: slices.Clone(s.demand.unit), Count: int((target - hand + one - 1) / one), Within: within})
	}
	return asks, asked
}

// head returns who is first in line, nil if there is nobody, or none whom only the store keeps
// from going.
func (s *Lease) head(now monotime.Time, line Line) *Waiter {
	w, until, ok := line.First(now)
	switch {
	case !ok:
		return nil
	case until > now:
		if until < now.Add(monotime.Longest) {
			s.later(until)
		}
		return nil
	}
	return &w
}

// wanted reports whether slots should be asked for.
func (s *Lease) wanted(now monotime.Time, line Line, head *Waiter, ready bool, target time.Duration) bool {
	hand := s.work(s.hand.sum)
	if head == nil {
		return target > 0 && s.low(hand, target) && s.delayPrefetch(now)
	}
	switch {
	case !ready:
		return true
	case !slot.Suffices(s.hand.sum, s.needed(line)):
		steady := s.demand.line.steady()
		if !s.full && !steady || s.low(hand, s.share()) {
			return true
		}
	}
	return target > 0 && s.low(hand, target)
}

// ready reports whether what is in hand will do for w.
func (s *Lease) ready(now monotime.Time, w *Waiter) bool {
	var buf costs
	n := s.cost(buf[:0], w.Demand, !w.Urgent)
	_, ok := s.hand.first(now, now, n)
	return ok || slot.Empty(n)
}

// low reports whether so little is in hand that there should be more: a quarter of what is
// wanted, or what will be used until a reply is here.
func (s *Lease) low(hand, target time.Duration) bool {
	return hand <= min(target/4+2*s.trips.last()/time.Duration(max(s.members, 1)), target/2)
}

// delayPrefetch reports whether it was long enough that only those who may come are to be asked
// for: if many went just now, they may be back at once, and then one call is for both.
func (s *Lease) delayPrefetch(now monotime.Time) bool {
	if s.demand.burst.now(now, moment) < many {
		return true
	}
	if s.lull == 0 {
		s.lull = now
	}
	until := s.lull.Add(min(s.trips.last(), time.Millisecond))
	if until > now {
		s.later(until)
	}
	return until <= now
}

// share is what each member may have in hand, as work.
func (s *Lease) share() time.Duration { return Horizon / time.Duration(max(s.members, 1)) }

// prefetchTarget is how much to have in hand for those who may come, as work. While some go
// without having others behind them, that is what will be used while slots are good, and half
// of it, to be sure. Else all members want the same, whatever they send: see store.Ask.
func (s *Lease) prefetchTarget(now monotime.Time) time.Duration {
	one := s.work(s.demand.unit)
	if one == 0 || s.outage.since != 0 || now < s.scarce {
		return 0
	}
	scale := s.demand.prefetchShare(now)
	if s.demand.line.steady() {
		return time.Duration(float64(s.share()) * scale)
	}
	n := s.demand.went.now(now, time.Second) * (s.late - s.trips.last()).Seconds()
	if burst := s.demand.burst.now(now, moment); burst >= many {
		n = max(n, 2*burst)
	}
	switch {
	case n >= 2:
		return time.Duration(n / 2 * scale * float64(one))
	case n*scale*scale >= 1 && one <= s.share() && s.next.Sub(s.heard) <= 2*one:
		return one // one will likely be used, and nobody waits for it
	}
	return 0
}

// needed is what all who stand in line want together.
func (s *Lease) needed(line Line) []int {
	var buf costs
	need := make([]int, len(s.quotas))
	for d, urgent := range line.Demands() {
		slot.Add(need, s.cost(buf[:0], d, !urgent), 1)
	}
	return need
}

// forWaiters asks for those for whom what is free, of what is in hand, is not enough.
func (s *Lease) forWaiters(now monotime.Time, line Line, free []int) (asks []store.Ask, asked []Asked) {
	var buf costs
	i := -1
	for w := range line.InOrder(now) {
		i++
		n := s.cost(buf[:0], w.Demand, !w.Urgent)
		if slot.Empty(n) {
			continue
		}
		if len(asks) == 0 && slot.Suffices(free, n) {
			slot.Add(free, n, -1)
			continue
		}
		if last := len(asks) - 1; last >= 0 && slices.Equal(asks[last].Cost, n) && closeBy(asks[last].Within, w.Within) {
			asks[last].Count++
			asks[last].Within = min(asks[last].Within, w.Within)
		} else {
			if len(asks) == maxAsks {
				break
			}
			asks = append(asks, store.Ask{Cost: slices.Clone(n), Count: 1, Within: w.Within})
		}
		asked = append(asked, Asked{i, len(asks) - 1})
	}
	return asks, asked
}

// closeBy reports whether two bounds of a wait are nearly the same.
func closeBy(a, b time.Duration) bool {
	if a < 0 || b < 0 {
		return a < 0 && b < 0
	}
	return max(a, b)-min(a, b) <= min(a, b)/8
}

// tidy gives back what is in hand and should not be: slots that nobody needs any more, and
// those that are far ahead where others may be before them.
func (s *Lease) tidy(now monotime.Time, head *Waiter, line Line) {
	if s.surplus {
		s.surplus = false
		s.trim(now, line)
	}
	if head != nil && s.room {
		s.returnFarSlots(now, head)
	}
}

// trim gives back the slots that come last, if those who wait do not need them.
func (s *Lease) trim(now monotime.Time, line Line) {
	need, target := s.needed(line), s.prefetchTarget(now)
	slots := &s.hand.slots
	for i := len(*slots) - 1; i >= 0 && (*slots)[i].from > now.Add(s.trips.last()); i-- {
		h := (*slots)[i]
		slot.Add(s.hand.sum, h.left, -1)
		if !slot.Suffices(s.hand.sum, need) || s.work(s.hand.sum) < target {
			slot.Add(s.hand.sum, h.left, 1)
			return
		}
		s.giveBack(now, h, h.left)
		*slots, s.urgent = slices.Delete(*slots, i, i+1), true
	}
}

// returnFarSlots gives back the slots in hand that are far ahead, if who is first needs one of
// these: what is asked for again with that is not later.
func (s *Lease) returnFarSlots(now monotime.Time, head *Waiter) {
	if again := s.returned.Add(Horizon); again > now && s.returned != 0 {
		s.later(again)
		return
	}
	s.room = false
	far := now.Add(2 * Horizon)
	var buf costs
	if at, ok := s.hand.first(now, now, s.cost(buf[:0], head.Demand, !head.Urgent)); !ok || at <= far {
		return
	}
	s.returned = now
	for _, h := range s.hand.remove(func(h *heldSlot) bool { return h.from > far }) {
		s.giveBack(now, h, h.left)
	}
}
