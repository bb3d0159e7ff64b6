package store

import (
	"slices"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/slot"
)

// place is one quota of a bucket, and its ledger. Members may ask by different lists of quotas. Each quota of
// any list has a place, and the same quota of two lists has the same place, wherever it stands in them.
type place struct {
	quota      quota.Quota // as it is counted: of the lists that are about, the tightest numbers
	ledger     slot.Ledger
	noneBefore monotime.Time // no slot is before, since slots that the ledger does not know may be about
	slotLife   ledgerSlotLife
	asked      monotime.Time // when a member asked by it last
	binds      bool          // a list that has it is about
	spare      int64         // how much may be handed out until learnsUntil
	part       int64         // how much more when one of unheard says that it sent nothing
	larger     largerN
}

// largerN is the largest N by which slots were handed out before it fell, until none of these counts any more:
// what went by it is nothing that a person may have forgotten.
type largerN struct {
	n    int64
	till monotime.Time
}

// fell notes that N was so much until now. The last slot is at an instant, and counts for as long as two
// windows and a SlotLife at the most.
func (l *largerN) fell(was int64, now, last monotime.Time, per, slotLife time.Duration) {
	*l = largerN{l.most(was, now), max(now, last).Add(min(monotime.Scale(per, 2, 1)+slotLife, monotime.Longest))}
}

// most is the largest N that matters now, where N is n.
func (l *largerN) most(n int64, now monotime.Time) int64 {
	if now >= l.till {
		return n
	}
	return max(n, l.n)
}

const (
	// keptFor is for how long a place is charged after a member asked by it last, at least; else for its Per.
	// Then what it has counted does not matter any more.
	keptFor = time.Minute

	// mostKept bounds how many places there are by which the member that asks does not ask.
	mostKept = 16
)

// sameQuota reports whether two quotas of different lists are one, perhaps with other numbers.
func sameQuota(p, q *quota.Quota) bool {
	return p.Kind == q.Kind && p.Unit == q.Unit && p.Per == q.Per
}

// find returns the place of each quota of a list, -1 if it has none. Of several quotas of a list that sameQuota
// does not tell apart, the first one has the first such place.
func (l *Ledger) find(qs quota.Quotas) (at []int) {
	at = make([]int, len(qs))
	for i := range qs {
		at[i] = -1
		for p := range l.places {
			if sameQuota(&l.places[p].quota, &qs[i]) && !slices.Contains(at[:i], p) {
				at[i] = p
				break
			}
		}
	}
	return at
}

// arrange has each quota by which a member asks have a place, and the places have the tightest numbers of the
// lists that are about, and the SlotLife of the bucket.
func (l *Ledger) arrange(r *Request, now monotime.Time, fresh bool) {
	had := make(quota.Quotas, len(l.places))
	for p := range l.places {
		had[p] = l.places[p].quota
	}
	l.at = l.find(r.Quotas)
	l.bind(now)
	used := l.usedFor(r, now)
	if slotLife := l.longestSlotLife(r, used, now); slotLife > l.slotLife {
		l.slotLife, l.rose = slotLife, l.lastSlot
	} else {
		l.slotLife = slotLife
	}
	if slices.Contains(l.at, -1) {
		for i := range l.at {
			if l.at[i] < 0 {
				l.at[i] = l.seat(&r.Quotas[i], r, now, fresh)
			}
		}
		l.bind(now)
	}
	for p := range l.places {
		o, before := &l.places[p], (*quota.Quota)(nil)
		if p < len(had) {
			before = &had[p]
		}
		if slices.Contains(l.at, p) {
			o.asked = now
		}
		l.refit(o, before, used, r.Horizon, now)
	}
	l.horizon = r.Horizon
	l.ownBefore(now, fresh, l.places[len(had):])
	l.forgetPlaces(now)
}

// refit has a place count by its numbers and the SlotLife of now. Before is its quota before the request; nil
// if the place is new.
func (l *Ledger) refit(o *place, before *quota.Quota, used, horizon time.Duration, now monotime.Time) {
	if before != nil && (o.quota.N != before.N || o.quota.Per != before.Per || o.quota.Burst != before.Burst) {
		l.rose = l.lastSlot // what comes back of slots up to there was granted by other numbers
	}
	slotLife, was := l.slotLife, o.slotLife.slotLife
	if o.quota.Kind.OnClock() && slotLife >= o.quota.Per {
		slotLife = o.quota.Per / 2 // only others ask by it
	}
	o.slotLife.follow(slotLife, used, &o.quota, now, l.lastSlot)
	if before != nil && o.quota.N < before.N {
		o.larger.fell(before.N, now, l.lastSlot, max(o.quota.Per, before.Per), o.slotLife.slotLife)
	}
	if before == nil || o.quota != *before || was != o.slotLife.slotLife || l.horizon != horizon {
		o.ledger.Set(now, o.quota, o.slotLife.slotLife, horizon)
	}
	o.ledger.Fall(o.slotLife.falls, o.slotLife.to)
}

// keep notes what a member has told for places that come later: of each unit the most that it cost of any
// place.
func (l *Ledger) keep(cost []int64, at, now monotime.Time) {
	for p := range l.places {
		part := toldPart{at, l.places[p].quota.Unit, 0}
		same := func(q place) bool { return q.quota.Unit == part.unit }
		if slices.IndexFunc(l.places, same) < p {
			continue // that unit was there
		}
		for k := p; k < len(l.places); k++ {
			if same(l.places[k]) {
				part.n = max(part.n, cost[k])
			}
		}
		if part.n > 0 {
			l.loss.add(part, l.born, now)
		}
	}
}

// ownBefore charges places that came now with what members told since the bucket was lost.
func (l *Ledger) ownBefore(now monotime.Time, fresh bool, came []place) {
	if fresh || now.Sub(l.born) >= SharingFor {
		return
	}
	for p := range came {
		for _, o := range l.loss.parts {
			if o.unit == came[p].quota.Unit {
				came[p].own(now, o.at, o.n)
			}
		}
	}
}

// bind notes which places bind, and has them have the tightest numbers.
func (l *Ledger) bind(now monotime.Time) {
	for p := range l.places {
		l.places[p].binds = false
	}
	for k := range l.lists {
		if now.Sub(l.lists[k].at) > aboutFor {
			continue
		}
		qs := l.lists[k].quotas
		for i, p := range l.find(qs) {
			switch {
			case p < 0: // it has none yet
			case l.places[p].binds:
				tighten(&l.places[p].quota, &qs[i])
			default:
				l.places[p].quota, l.places[p].binds = qs[i], true
			}
		}
	}
}

// longestSlotLife is the SlotLife of the slots that are handed out now: the longest that members asked for
// lately, as far as windows of the clock bear it.
func (l *Ledger) longestSlotLife(r *Request, used time.Duration, now monotime.Time) time.Duration {
	slotLife := l.asked.ask(r.SlotLife, used, r.Horizon, now)
	for i := range r.Quotas {
		if q := &r.Quotas[i]; q.Kind.OnClock() {
			slotLife = min(slotLife, q.Per/2)
		}
	}
	for p := range l.places {
		if o := &l.places[p]; o.binds && o.quota.Kind.OnClock() {
			slotLife = min(slotLife, o.quota.Per/2)
		}
	}
	return max(slotLife, r.SlotLife)
}

// seat returns the place of a quota that has none: that of one like it by which no member asks any more, whose
// ledger it takes over, or a new one. A new ledger assumes that slots are about, unless the bucket is new.
func (l *Ledger) seat(q *quota.Quota, r *Request, now monotime.Time, fresh bool) (at int) {
	at = -1
	for p := range l.places {
		o := &l.places[p]
		if !o.binds && !slices.Contains(l.at, p) && slot.Compatible(&o.quota, q) && (at < 0 || o.asked > l.places[at].asked) {
			at = p
		}
	}
	if at >= 0 {
		l.places[at].quota = *q
		return at
	}
	o := place{quota: *q, ledger: slot.New(*q, l.slotLife, r.Horizon, l.Epoch.UnixNano()-1), slotLife: ledgerSlotLife{slotLife: l.slotLife}}
	if !fresh {
		o.noneBefore = max(now.Add(r.Horizon), l.lastSlot)
		o.ledger.Assume(o.noneBefore, first(r, now, o.noneBefore))
		l.loss.had = tooMany // unless the bucket was lost just now: what members told before is not charged to this place
	}
	l.places = append(l.places, o)
	for i := range l.returned {
		l.returned[i].cost = append(l.returned[i].cost, 0)
	}
	return len(l.places) - 1
}

// forgetPlaces forgets what does not matter any more, and beyond mostKept what nobody asked by for longest.
func (l *Ledger) forgetPlaces(now monotime.Time) {
	kept := 0
	for p := len(l.places) - 1; p >= 0; p-- {
		o := &l.places[p]
		switch {
		case o.binds:
		case now.Sub(o.asked) > max(o.quota.Per, keptFor):
			l.forgetPlace(p)
		default:
			kept++
		}
	}
	for ; kept > mostKept; kept-- {
		oldest := -1
		for p := range l.places {
			if o := &l.places[p]; !o.binds && (oldest < 0 || o.asked < l.places[oldest].asked) {
				oldest = p
			}
		}
		l.forgetPlace(oldest)
	}
}

// forgetPlace forgets one.
func (l *Ledger) forgetPlace(p int) {
	l.places = slices.Delete(l.places, p, p+1)
	for i := range l.at {
		if l.at[i] > p {
			l.at[i]--
		}
	}
	for i := range l.returned {
		if o := &l.returned[i]; p < len(o.cost) {
			o.cost = slices.Delete(o.cost, p, p+1)
		}
	}
	l.returned = slices.DeleteFunc(l.returned, func(o returnedSlot) bool { return slot.Empty(o.cost) })
}

// spread is a cost of the quotas by which the member asks as one of all places; nil if it is of other quotas.
// Of a quota by which only others ask, it costs what it costs of those of the unit, the most of them.
func (l *Ledger) spread(cost []int64) []int64 {
	if len(cost) != len(l.at) {
		return nil
	}
	all := make([]int64, len(l.places))
	for i, p := range l.at {
		all[p] = cost[i]
	}
	if len(l.at) == len(l.places) {
		return all
	}
	for p := range l.places {
		if slices.Contains(l.at, p) {
			continue
		}
		for i, o := range l.at {
			if l.places[o].quota.Unit == l.places[p].quota.Unit {
				all[p] = max(all[p], cost[i])
			}
		}
	}
	return all
}

// indexOf is the index of a place among the quotas by which the member asks; of another place, that of the
// first one of its unit. It is -1 if there is none.
func (l *Ledger) indexOf(p int) int {
	if p < 0 {
		return -1
	}
	if i := slices.Index(l.at, p); i >= 0 {
		return i
	}
	return slices.IndexFunc(l.at, func(o int) bool { return l.places[o].quota.Unit == l.places[p].quota.Unit })
}

// take charges a slot.
func (o *place) take(now, at monotime.Time, n int64) {
	if b, ok := o.unbound(); ok {
		b.Count(at, n)
		return
	}
	o.ledger.Take(now, at, n)
}

// overdraw charges what goes now, whatever is there.
func (o *place) overdraw(now monotime.Time, n int64) {
	if b, ok := o.unbound(); ok {
		b.Count(now, n)
		return
	}
	o.ledger.Overdraw(now, n)
}

// own charges what went, or goes, of a slot that the bucket does not know.
func (o *place) own(now, at monotime.Time, n int64) {
	if b, ok := o.unbound(); ok && at > now {
		b.Count(at, n)
		return
	}
	o.ledger.Own(now, at, o.noneBefore, n)
}

// unbound is the ledger of a token bucket that does not bind. Its debt would grow without bound, and keep
// everybody waiting once it binds again; a window forgets what was too much.
func (o *place) unbound() (*slot.Bucket, bool) {
	b, ok := o.ledger.(*slot.Bucket)
	return b, ok && !o.binds
}
