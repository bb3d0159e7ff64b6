package store

import (
	"slices"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/slot"
)

// grant hands out slots for the asks of a request, in their order, and returns the last slot. It ends where the
// allowance of the call does; an ask that cannot wait long enough is passed over. Next is for the first slot
// that was not handed out. A request that came again gets nothing but what is in the reply already.
func (l *Ledger) grant(v *visit) (last monotime.Time) {
	reply, now := v.reply, v.now
	allowed := l.allowance(v.Request, now)
	told := false // reply has Next
	tell := func(in time.Duration, bound int) {
		if !told {
			told, reply.Next, reply.Bound = true, in, bound
		}
	}
	var cost []int64 // of the last ask
	for i, ask := range v.Asks {
		if !l.fits(v.Quotas, ask.Cost) {
			continue
		}
		cost = l.spread(ask.Cost)
		for range ask.Count - had(reply.Slots, i) {
			at, bound, hole := l.earliest(cost, now)
			in := at.Sub(now)
			if in > monotime.Longest || 0 <= ask.Within && ask.Within < in { // what is beyond Longest cannot be reckoned with
				tell(in, bound)
				break
			}
			if v.again || allowed.isUsedUp(in) || now < l.learnsUntil && (at >= l.learnsUntil || !l.spares(cost, now)) {
				if l.unheard > 0 && now < l.learnsUntil {
					in, l.cut = min(in, l.learnsUntil.Sub(now)), true // then all is known, and more may be there
				}
				tell(in, bound)
				return last
			}
			l.take(now, cost, at, hole)
			last = max(last, at)
			reply.add(Slot{ID: int64(at), In: in, Ask: i, Count: 1, Bound: l.indexOf(bound)})
			allowed.use(l.work(cost), reply.Slots)
		}
	}
	switch {
	case told:
	case cost != nil:
		at, bound, _ := l.earliest(cost, now)
		tell(at.Sub(now), bound)
	default:
		reply.Next = max(l.lastSlot.Sub(now), 0)
	}
	return last
}

// allowance is what a call gets: slots until the member has its share of the Horizon, but those that are near
// all the same; and so many runs.
type allowance struct {
	work, share time.Duration // of what the member has, and what it may have
	near        time.Duration
	got         runs
	most        int // runs
}

// allowance returns what the call of a request gets.
func (l *Ledger) allowance(r *Request, now monotime.Time) allowance {
	members := max(l.active(now), 1)
	return allowance{work: l.work(l.spread(r.Hand)), share: r.Horizon / time.Duration(members), near: r.Horizon / 4, most: max(mostRuns/members, fewestRuns)}
}

// isUsedUp reports whether the call does not get a slot so long from now.
func (a *allowance) isUsedUp(in time.Duration) bool {
	return len(a.got.list) == a.most || in > a.near && a.work >= a.share
}

// use notes that the call has got a slot, the last of these.
func (a *allowance) use(work time.Duration, slots []Slot) {
	a.work += work
	a.got.note(slots[:len(slots)-1]) // of the last one there may be more
}

// had is how many slots an ask has.
func had(slots []Slot, ask int) (n int) {
	for _, s := range slots {
		if s.Ask == ask {
			n += s.Count
		}
	}
	return n
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

// fits reports whether a cost is one that the quotas by which a member asks can hand out.
func (l *Ledger) fits(qs quota.Quotas, cost []int64) bool {
	if len(cost) != len(qs) {
		return false
	}
	for i, n := range cost {
		if n < 0 || n > slot.Most(&qs[i]) {
			return false
		}
	}
	return true
}

// earliest returns the next slot for a cost, and the place of the quota that it waits for. If it is
// a returned slot, again is the index of that; else again is negative.
func (l *Ledger) earliest(cost []int64, now monotime.Time) (at monotime.Time, bound, again int) {
	at, bound = max(now, l.heldUntil), -1
	if !l.spares(cost, now) {
		at = max(at, l.learnsUntil)
	}
	for moved := true; moved; {
		moved = false
		for p, n := range cost {
			o := &l.places[p]
			if n == 0 || !o.binds || p == bound {
				continue
			}
			n = min(n, slot.Most(&o.quota)) // more may go if all of what is tighter is there
			if t := o.ledger.When(max(at, o.noneBefore), n); t > at {
				at, bound, moved = t, p, true
			}
		}
	}
	for i := range l.returned {
		o := &l.returned[i]
		if o.at > at {
			break
		}
		if o.at >= l.heldUntil && o.at > l.rose && len(o.cost) == len(cost) && slot.Suffices(o.cost, cost) {
			return o.at, -1, i
		}
	}
	return at, bound, -1
}

// take charges a slot that earliest returned.
func (l *Ledger) take(now monotime.Time, cost []int64, at monotime.Time, again int) {
	for p, n := range cost {
		l.places[p].spare -= max(min(n, l.places[p].spare), 0)
	}
	if again >= 0 { // it is charged
		o := &l.returned[again]
		slot.Add(o.cost, cost, -1)
		if slot.Empty(o.cost) {
			l.returned = slices.Delete(l.returned, again, again+1)
		}
		return
	}
	l.lastSlot = max(l.lastSlot, at)
	for p, n := range cost {
		if n > 0 {
			l.places[p].take(now, at, n)
		}
	}
}

// work returns the time in which a cost comes back.
func (l *Ledger) work(cost []int64) (d time.Duration) {
	for p, n := range cost {
		if o := &l.places[p]; n > 0 && o.binds {
			d = max(d, monotime.Scale(o.quota.Per, n, o.quota.N))
		}
	}
	return d
}
