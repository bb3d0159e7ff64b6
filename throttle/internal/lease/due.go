package lease

import (
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/slot"
)

// Due puts due off, if that is earlier, until the slots in hand suffice for a claim behind other
// claims that together ask for ahead. It answers for all quotas if Unreserved is set, else for
// those of all claims, as if the claims were urgent. See limit.Stack.Due and limit.View. Due and Open may
// change the Lease: slots expire, and the share of an outage begins.
func (l *Lease) Due(v *limit.View, due *limit.Due, ahead, d *limit.Demand) {
	now, urgent := v.Now, !v.Unreserved
	var buf costs
	n := l.cost(buf[:0], d, urgent)
	behind := slot.Empty(n)
	if behind && v.Optimist {
		n = l.costOfLast(n, ahead, urgent)
	}
	if slot.Empty(n) {
		return
	}
	for i := range n {
		if n[i] > slot.Most(&l.quotas[i]) {
			*due = limit.Due{At: due.At, Unreserved: due.Unreserved, Cause: limit.Pace, Quota: l.names[i], Cost: n[i], Never: true}
			return
		}
	}
	l.expire(now)
	at, ok := l.slots.first(due.At, now, n)
	switch {
	case ok && (!v.Optimist || ahead.Claims == 0): // the slots in hand say when
	case l.goAlone(now):
		l.dueAlone(v, due, ahead, n)
		return
	case v.Optimist:
		var before costs
		all := l.cost(before[:0], ahead, urgent)
		if !behind {
			slot.Add(all, n, 1)
		}
		if at = l.project(v.From, now, all, n); l.outage.since != 0 {
			at = max(at, l.nextProbe(now))
		}
	case due.At > now:
		return // something else comes first; then Due is asked again
	default:
		l.dueByReply(now, due)
		return
	}
	l.wait(due, at, ok)
}

// dueByReply puts due off until a reply ends the wait, or claims go without the store.
func (l *Lease) dueByReply(now monotime.Time, due *limit.Due) {
	at := now.Add(monotime.Longest)
	if t, down := l.aloneFrom(); down {
		at = t
	}
	if asked := max(l.last.next, l.notBefore) <= now; asked && l.outage.since == 0 && at > due.At {
		due.Until(at, at, limit.Asked, "") // as far as is known, no quota stands in the way
		return
	}
	l.wait(due, at, false)
}

// wait puts due off until an instant, if due is earlier: for the store, if the slots in hand do not suffice and
// it is out of reach.
func (l *Lease) wait(due *limit.Due, at monotime.Time, inHand bool) {
	switch {
	case at <= due.At:
	case l.outage.since != 0 && !inHand:
		due.Until(at, at, limit.Store, "")
	default:
		due.Until(at, at, limit.Pace, l.binding())
	}
}

// binding returns the name of the quota for which a slot has to be waited, by the latest reply. If the store
// did not say, or no quota binds, it is the first one: whoever waits is told of a quota all the same.
func (l *Lease) binding() string {
	switch {
	case l.last.bound >= 0 && l.last.bound < len(l.names):
		return l.names[l.last.bound]
	case len(l.names) > 0:
		return l.names[0]
	}
	return ""
}

// nextProbe is when a call may show that the store can be reached, at the earliest.
func (l *Lease) nextProbe(now monotime.Time) monotime.Time {
	if l.flights.overdue { // nobody knows when that call ends
		return now.Add(probeEvery)
	}
	return l.notBefore
}

// costOfLast is what the last of those ahead costs at least: a claim that costs nothing goes with it. It is
// nothing while nobody knows when the store is back.
func (l *Lease) costOfLast(buf []int64, ahead *limit.Demand, urgent bool) []int64 {
	if ahead.Claims == 0 || l.outage.since != 0 {
		return buf
	}
	_, last := ahead.Last()
	return l.cost(buf, &last, urgent)
}

// Open reports whether the slots in hand suffice for a claim now. Like Due, it may change the Lease.
func (l *Lease) Open(now monotime.Time, d *limit.Demand, urgent bool) bool {
	due := limit.Due{At: now}
	l.Due(&limit.View{Now: now, From: now, Unreserved: !urgent}, &due, &limit.Demand{}, d)
	return due.At <= now && !due.Never
}

// project returns the earliest instant, as far as is known, at which a claim that costs n goes. It
// and the claims before it together cost all, which project changes.
func (l *Lease) project(at, now monotime.Time, all, n []int64) monotime.Time {
	missing := all
	for _, s := range l.slots.list {
		slot.Add(missing, s.left, -1)
		if slot.Empty(missing) {
			return max(at, s.from)
		}
	}
	from := at
	if l.last.at != 0 && now.Sub(l.last.at) < Horizon && slot.Suffices(n, l.last.nextCost) { // else it is out of date
		from = max(at, l.last.next)
	}
	for i := range missing {
		atOnce := slot.Most(&l.quotas[i]) // may be there, as far as is known
		if from > at {
			atOnce = n[i]
		}
		missing[i] = max(max(missing[i], 0)-atOnce, 0) // more may be in hand of one than is missing, and with debt atOnce is the largest int
	}
	return from.Add(l.work(missing))
}

// goAlone reports whether claims go without the store. When they first do, their share begins.
func (l *Lease) goAlone(now monotime.Time) bool {
	l.wakeUp(now)
	if at, ok := l.aloneFrom(); !ok || now < at {
		return false
	}
	if l.outage.went == nil {
		l.outage.begin(now, l)
	}
	return true
}

// dueAlone puts due off, if that is earlier, until claims go without the store, and the part suffices that
// does. What costs more than the part may go, at best, when the store is back.
func (l *Lease) dueAlone(v *limit.View, due *limit.Due, ahead *limit.Demand, n []int64) {
	var buf costs
	alone, _ := l.aloneFrom()
	from := due.At // nobody is to look before that
	if v.Optimist {
		from = v.From
	}
	at, of := l.outage.when(max(from, alone), l.cost(buf[:0], ahead, !v.Unreserved), n)
	if at <= due.At {
		return
	}
	name := ""
	if of >= 0 {
		name = l.names[of]
	}
	if v.Optimist && at >= from.Add(monotime.Longest) {
		at = max(due.At, l.nextProbe(v.Now))
	}
	due.Until(at, at, limit.Store, name)
}
