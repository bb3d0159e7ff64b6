package store

import (
	"slices"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/slot"
)

// grant hands out slots, and returns the last of them.
func (l *Ledger) grant(r *Request, reply *Reply, now monotime.Time) (last monotime.Time) {
	work, share := l.work(r.Hand), r.Horizon/time.Duration(max(l.active(now), 1))
	next := func(cost []int) {
		at, bound, _ := l.earliest(cost, now)
		reply.Next, reply.Bound = at.Sub(now), bound
	}
	missed := false
	var one []int // the cost of the last ask
	for i, ask := range r.Asks {
		if !l.fits(ask.Cost) {
			continue
		}
		one = ask.Cost
		for range ask.Count {
			at, bound, hole := l.earliest(ask.Cost, now)
			in := at.Sub(now)
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
			l.take(now, ask.Cost, at, hole)
			work += l.work(ask.Cost)
			last = max(last, at)
			reply.add(Slot{ID: int64(at), In: in, Ask: i, Count: 1, Bound: bound})
		}
	}
	switch {
	case missed:
	case one != nil:
		next(one)
	default:
		reply.Next = max(l.last.Sub(now), 0)
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
func (l *Ledger) fits(cost []int) bool {
	if len(cost) != len(l.ledgers) {
		return false
	}
	for i, n := range cost {
		if q := &l.quotas[i]; n < 0 || n > q.Most() {
			return false
		}
	}
	return true
}

// earliest returns the next slot for a cost, what it waits for, and, if it is a
// hole, which.
func (l *Ledger) earliest(cost []int, now monotime.Time) (at monotime.Time, bound, hole int) {
	at, bound = max(now, l.held), -1
	for moved := true; moved; {
		moved = false
		for i, n := range cost {
			if n == 0 {
				continue
			}
			if t := max(l.ledgers[i].When(at, n), l.since[i]); t > at {
				at, bound, moved = t, i, true
			}
		}
	}
	for i := range l.holes {
		h := &l.holes[i]
		if h.at > at {
			break
		}
		if h.at >= l.held && len(h.cost) == len(cost) && slot.Suffices(h.cost, cost) {
			return h.at, -1, i
		}
	}
	return at, bound, -1
}

// take charges a slot.
func (l *Ledger) take(now monotime.Time, cost []int, at monotime.Time, hole int) {
	if hole >= 0 {
		h := &l.holes[hole]
		slot.Add(h.cost, cost, -1)
		if slot.Empty(h.cost) {
			l.holes = slices.Delete(l.holes, hole, hole+1)
		}
		return
	}
	l.last = max(l.last, at)
	for i, n := range cost {
		if n > 0 {
			l.ledgers[i].Take(now, at, n)
		}
	}
}

// work is the time in which a cost comes back.
func (l *Ledger) work(cost []int) time.Duration { return slot.Work(l.quotas, cost) }
