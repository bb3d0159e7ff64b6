package throttle

import (
	"math"
	"slices"
	"time"
)

// grant hands out slots, and returns the last of them.
func (b *storeBucket) grant(r *Request, reply *Reply, now instant) (last instant) {
	work, share := b.work(r.Hand), r.Horizon/time.Duration(max(b.active(now), 1))
	next := func(cost []int) {
		at, bound, _ := b.earliest(cost, now)
		reply.Next, reply.Bound = at.sub(now), bound
	}
	missed := false
	var one []int // the cost of the last ask
	for i, ask := range r.Asks {
		if !b.fits(ask.Cost) {
			continue
		}
		one = ask.Cost
		for range ask.Count {
			at, bound, hole := b.earliest(ask.Cost, now)
			in := at.sub(now)
			if ask.Within >= 0 && in > ask.Within {
				if !missed {
					missed, reply.Next, reply.Bound = true, in, bound
				}
				break
			}
			if in > r.Horizon/4 && work >= share {
				if !missed {
					reply.Next, reply.Bound = in, bound
				}
				return last
			}
			b.take(now, ask.Cost, at, hole)
			work += b.work(ask.Cost)
			last = max(last, at)
			reply.add(Slot{ID: int64(at), In: in, Ask: i, Count: 1, Bound: bound})
		}
	}
	switch {
	case missed:
	case one != nil:
		next(one)
	default:
		reply.Next = max(b.last.sub(now), 0)
	}
	return last
}

// add adds a slot, to the one before it if that is the same.
func (r *Reply) add(s Slot) {
	if n := len(r.Slots); n > 0 {
		if o := &r.Slots[n-1]; o.ID == s.ID && o.Ask == s.Ask {
			o.Count++
			return
		}
	}
	r.Slots = append(r.Slots, s)
}

// fits reports whether a cost is one that can be handed out.
func (b *storeBucket) fits(cost []int) bool {
	if len(cost) != len(b.ledgers) {
		return false
	}
	for i, n := range cost {
		if q := &b.quotas[i]; n > q.most() {
			return false
		}
	}
	return true
}

// most is the greatest cost that q ever grants at once.
func (q *Quota) most() int {
	switch {
	case q.Kind != TokenBucket:
		return q.N
	case q.Debt:
		return math.MaxInt
	}
	return q.burst()
}

// earliest returns the next slot for a cost, what it waits for, and, if it is a
// hole, which.
func (b *storeBucket) earliest(cost []int, now instant) (at instant, bound, hole int) {
	at, bound = max(now, b.held), -1
	for moved := true; moved; {
		moved = false
		for i, n := range cost {
			if n == 0 {
				continue
			}
			if t := max(b.ledgers[i].when(at, n), b.since[i]); t > at {
				at, bound, moved = t, i, true
			}
		}
	}
	for i := range b.holes {
		h := &b.holes[i]
		if h.at > at {
			break
		}
		if h.at >= b.held && len(h.cost) == len(cost) && suffices(h.cost, cost) {
			return h.at, -1, i
		}
	}
	return at, bound, -1
}

// take charges a slot.
func (b *storeBucket) take(now instant, cost []int, at instant, hole int) {
	if hole >= 0 {
		h := &b.holes[hole]
		add(h.cost, cost, -1)
		if empty(h.cost) {
			b.holes = slices.Delete(b.holes, hole, hole+1)
		}
		return
	}
	b.last = max(b.last, at)
	for i, n := range cost {
		if n > 0 {
			b.ledgers[i].take(now, at, n)
		}
	}
}

// work is the time in which a cost comes back.
func (b *storeBucket) work(cost []int) time.Duration { return b.quotas.work(cost) }
