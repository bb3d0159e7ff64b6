package lease

import (
	"slices"
	"sort"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/slot"
	"github.com/gopacer/pacer/throttle/store"
)

// This file is what a process remembers of what it sent itself. A store that lost a bucket is told of it, and
// while the store cannot be reached it says how much of a window is still free for this process.

// usage is what went of one quota lately, in cells.
type usage struct {
	limit.Log
}

// usageCells is in how many cells a span is divided. What is in a cell counts as if it all went at the end of
// the cell.
const usageCells = 32

// newUsage remembers what went of a quota for as long as the quota counts it.
func newUsage(q *quota.Quota) *usage {
	span := min(q.Per, monotime.Longest) // a store may speak of any
	switch q.Kind {
	case quota.EstimatedWindow:
		span = monotime.Scale(q.Per, 2, 1) // also the window before
	case quota.TokenBucket:
		span = monotime.Scale(q.Per, max(q.Burst, 1), q.N) // after that the bucket is full again
	}
	return &usage{limit.Log{Per: span, Cell: span / usageCells}}
}

// add notes that n went at an instant; that n did not go after all, if n is negative.
func (u *usage) add(at monotime.Time, n int64) {
	live := u.Live()
	switch {
	case n < 0:
		for i := len(live) - 1; i >= 0 && n < 0; i-- { // which of them does not matter much: the latest
			part := min(-n, live[i].Number-u.Before(i))
			u.Give(live[i].Last, part)
			n += part
			live = u.Live()
		}
	case n > 0:
		if len(live) > 0 {
			at = max(at, live[len(live)-1].Last)
		}
		u.Purge(at)
		u.Add(at, n)
	}
}

// since returns how much went after an instant, at least: of the cell that it is in, nobody knows how much.
func (u *usage) since(t monotime.Time) int64 {
	live := u.Live()
	first := sort.Search(len(live), func(i int) bool { return live[i].First > t })
	return u.Number() - u.Before(first)
}

// frees returns when, at t or later, n more make no more than most in the span; false if they never do.
func (u *usage) frees(t monotime.Time, n, most int64) (monotime.Time, bool) {
	if n > most {
		return 0, false
	}
	for i, e := range u.Live() {
		if t >= e.Last.Add(u.Per) {
			continue
		}
		if u.Number()-u.Before(i)+n <= most {
			return t, true
		}
		t = e.Last.Add(u.Per)
	}
	return t, true
}

// used is what this process sent of each quota; nil of what a store need not be told.
type used []*usage

// newUsed returns what remembers the windows, or all quotas.
func newUsed(qs quota.Quotas, all bool) used {
	u := make(used, len(qs))
	for i := range qs {
		if all || qs[i].Kind != quota.TokenBucket {
			u[i] = newUsage(&qs[i])
		}
	}
	return u
}

// add notes that a cost went at an instant, sign times.
func (u used) add(at monotime.Time, cost []int64, sign int) {
	for i, n := range cost {
		if i < len(u) && u[i] != nil && n != 0 {
			u[i].add(at, int64(sign)*n)
		}
	}
}

// takenOver is what is remembered when there are other quotas, of which each takes over from one of before. One
// that does not knows what went lately in its unit: what went is the same, and a store that lost the bucket is
// to be told of it.
func (u used) takenOver(qs, had quota.Quotas, from []int, all []lately) used {
	n := newUsed(qs, false)
	for i, of := range from {
		if n[i] == nil {
			continue
		}
		went := u.longest(had, qs[i].Unit)
		if of >= 0 && u[of] != nil {
			went = u[of]
		}
		if k := latelyOf(all, qs[i].Unit); k >= 0 && (went == nil || went.Per < all[k].Per) {
			went = &all[k].usage
		}
		n[i].copy(went)
	}
	return n
}

// longest is what is remembered for longest of quotas of a unit; nil if nothing is.
func (u used) longest(of quota.Quotas, unit string) (went *usage) {
	for i, o := range u {
		if o != nil && of[i].Unit == unit && (went == nil || o.Per > went.Per) {
			went = o
		}
	}
	return went
}

// copy takes over what another one remembers, if there is one.
func (u *usage) copy(o *usage) {
	if o != nil {
		u.Restore(o.Before(0), slices.Clone(o.Live()))
	}
}

// lately is what went in a unit, where some count it for longer than the quotas of now: others, who go by other
// quotas, or this process a while ago.
type lately struct {
	usage
	unit string
	till monotime.Time // it is of use
}

// mostLately bounds how many there are: a store may speak of any unit.
const mostLately = 8

func latelyOf(all []lately, unit string) int {
	return slices.IndexFunc(all, func(o lately) bool { return o.unit == unit })
}

// remember has what goes be remembered for as long as quotas count it, if this process's own do not; and what
// went, as far as used, which is of these other quotas, knows.
func (l *Lease) remember(now monotime.Time, qs quota.Quotas, used used, of quota.Quotas) {
	l.lately = slices.DeleteFunc(l.lately, func(o lately) bool { return o.till <= now })
	for i := range qs {
		q := &qs[i]
		if q.Kind == quota.TokenBucket || q.Per <= 0 || !Stored(q) {
			continue
		}
		as := newUsage(q)
		if slices.ContainsFunc(l.quotas, func(o quota.Quota) bool {
			return o.Unit == q.Unit && o.Kind != quota.TokenBucket && newUsage(&o).Per >= as.Per
		}) {
			continue
		}
		k := latelyOf(l.lately, q.Unit)
		if k < 0 {
			if len(l.lately) == mostLately {
				continue
			}
			k, l.lately = len(l.lately), append(l.lately, lately{unit: q.Unit})
		}
		o := &l.lately[k]
		if went := used.longest(of, q.Unit); as.Per > o.Per && went != nil && went.Per > o.Per {
			o.copy(went)
		}
		if as.Per > o.Per {
			o.Per, o.Cell = as.Per, as.Cell
		}
		o.till = max(o.till, now.Add(o.Per))
	}
}

// went notes that a cost went at an instant, sign times.
func (l *Lease) went(at monotime.Time, cost []int64, sign int) {
	l.used.add(at, cost, sign)
	for k := range l.lately {
		if n := l.costIn(l.lately[k].unit, cost); n > 0 {
			l.lately[k].add(at, int64(sign)*n)
		}
	}
}

// costIn is the most that a cost is of any quota of a unit.
func (l *Lease) costIn(unit string, cost []int64) (n int64) {
	for i := range cost {
		if l.quotas[i].Unit == unit {
			n = max(n, cost[i])
		}
	}
	return n
}

// wentBefore is what went until an instant, as far as it is remembered: by the quotas of now what they still
// count, and by what counts for longer, in longer cells, only what is older.
func (l *Lease) wentBefore(now, until monotime.Time) (all []own) {
	rest := slices.Clone(l.used)
	for k := range l.lately {
		o := &l.lately[k]
		one, older := used{}, monotime.Time(0)
		n := int64(0)
		if counts := l.used.longest(l.quotas, o.unit); counts != nil {
			counts.Purge(now)
			one, older, n = used{counts}, now.Add(-counts.Per), counts.Number()-counts.Before(0)
		}
		o.Purge(now)
		parts := append(o.olderThan(n, older, until), one.before(now, until)...)
		for _, w := range parts {
			cost := make([]int64, len(l.quotas))
			for i := range l.quotas {
				if l.quotas[i].Unit == o.unit {
					cost[i], rest[i] = w.cost[0], nil
				}
			}
			if !slot.Empty(cost) {
				all = append(all, own{w.at, cost})
			}
		}
	}
	return append(all, rest.before(now, until)...)
}

// olderThan returns what went until an instant, but for the latest n: what else is in a cell with these went at
// older or before.
func (u *usage) olderThan(n int64, older, until monotime.Time) (all []own) {
	for i, e := range slices.Backward(u.Live()) {
		went := e.Number - u.Before(i)
		part := min(went, n)
		n -= part
		if part > 0 {
			e.First, e.Last = min(e.First, older), min(e.Last, older)
		}
		if went > part && e.First <= until {
			all = append(all, own{e.Last, []int64{went - part}})
		}
	}
	slices.Reverse(all)
	return all
}

// takesOver returns from which of those before, counted from an index, each quota takes over: from one of the
// same Unit, and the same Kind and Per, or Kind; else from one that counts what went lately, if it does so,
// too. It is -1 if from none. A store has a ledger for each kind; but what went is the same.
func takesOver(qs, had quota.Quotas, first int) (from []int) {
	from = slices.Repeat([]int{-1}, len(qs))
	find := func(same func(p, q *quota.Quota) bool) {
		for i := range qs {
			for k := range had {
				if from[i] < 0 && !slices.Contains(from, first+k) && same(&had[k], &qs[i]) {
					from[i] = first + k
				}
			}
		}
	}
	find(func(p, q *quota.Quota) bool { return slot.Compatible(p, q) && p.Per == q.Per })
	find(slot.Compatible)
	find(func(p, q *quota.Quota) bool { return p.Unit == q.Unit && countsLast(p) && countsLast(q) })
	return from
}

// countsLast reports whether a quota counts what went in the last Per, whenever that ends.
func countsLast(q *quota.Quota) bool { return !q.Kind.OnClock() && q.Kind != quota.TokenBucket }

// carry returns a cost of quotas as one of others, which take over from them; none of those that do not.
func carry[N int | int64](cost []N, from []int, none N) []N {
	if cost == nil {
		return nil
	}
	c := make([]N, len(from))
	for i, of := range from {
		if c[i] = none; of >= 0 {
			c[i] = cost[of]
		}
	}
	return c
}

// carried is what the store is to be told after quotas were replaced.
func (r slotReport) carried(from []int) (c slotReport) {
	c.more = carry(r.more, from, 0)
	for _, o := range r.back {
		if cost := carry(o.Cost, from, 0); !slot.Empty(cost) {
			c.back = append(c.back, store.Part{Slot: o.Slot, Cost: cost})
		}
	}
	for _, o := range r.own {
		if cost := carry(o.cost, from, 0); !slot.Empty(cost) {
			c.own = append(c.own, own{o.at, cost})
		}
	}
	return c
}

// own is what went, or will go, of which a store does not know.
type own struct {
	at   monotime.Time
	cost []int64
}

// before returns what went until an instant.
func (u used) before(now, until monotime.Time) (all []own) {
	for i, log := range u {
		if log == nil {
			continue
		}
		log.Purge(now)
		for k, e := range log.Live() {
			if e.First > until {
				break
			}
			o := own{e.Last, make([]int64, len(u))}
			o.cost[i] = e.Number - log.Before(k)
			all = append(all, o)
		}
	}
	return all
}

// before returns what is in hand of slots that were asked for until an instant.
func (h *heldSlots) before(until monotime.Time) (all []own) {
	for _, s := range h.list {
		if s.asked <= until {
			all = append(all, own{s.from, slices.Clone(s.left)})
		}
	}
	return all
}

// toStore is what a store is told of it, now.
func toStore(all []own, now monotime.Time) (told []store.Own) {
	for _, o := range all {
		told = append(told, store.Own{In: o.at.Sub(now), Cost: o.cost})
	}
	return told
}

// leftOf is how much of a window a process may take in an outage, of what was left of it when the store was
// reached last.
func leftOf(left int64, members int) int64 {
	return int64(float64(max(left, 0)) * safely / float64(max(members, 1)))
}
