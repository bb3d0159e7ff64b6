package lease

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/slot"
	"github.com/gopacer/pacer/throttle/store"
)

// Outage is what to do while the store cannot be reached, once the slots in hand are used up or
// have expired.
type Outage int

// What to do. Package throttle documents them.
const (
	Share Outage = iota
	Closed
	Open
)

// lets reports whether claims go without the store. What is none of the constants lets nothing go.
func (o Outage) lets() bool { return o == Share || o == Open }

// Event is something that happened to the link to the store.
type Event struct {
	Kind   EventKind
	Err    error         // of Down and Slow
	After  time.Duration // of Back: how long the outage was
	Others quota.Quotas  // of Others
}

// EventKind is what happened. Package throttle documents the kinds, as StoreEventKind.
type EventKind string

// What may happen.
const (
	Down   EventKind = "down"   // the store cannot be reached
	Back   EventKind = "back"   // the outage is over
	Slow   EventKind = "slow"   // slots of the store are of no use
	Lost   EventKind = "lost"   // the store has lost the bucket
	Others EventKind = "others" // another process asks by quotas of which the owner was not told
)

// mostOthers bounds of how many other quotas the owner is told, and how many hold in an outage.
const mostOthers = 8

// outage is a time in which the store cannot be reached. After a while claims may go without
// slots: with Share, as far as this process's part of each quota allows; with Open, at once.
type outage struct {
	since monotime.Time // zero if the store can be reached
	began monotime.Time // when the first call that failed was sent, since a store that hangs has served nobody since; but see beganBy
	tardy bool          // a reply came, so late that it was of no use
	lapse bool          // what a call may have got has lapsed: no more is asked for until a reply comes, else each call might cost a share
	tried monotime.Time // when the last call failed
	woke  monotime.Time // when this process ran again after a while, and no call that was sent since has failed; else zero: see sleptFor
	parts []part        // this process's part of each quota; nil with Open
	went  used          // what went without the store, and it was not told; nil before anything may
}

// part is what one process may use of a quota: its rate is N/Per, divided by the number of processes, and of a
// window it uses no more than it used when the outage began, and its part of what was left then. So all
// processes together use no more than N, whoever of them used it, since what each sends anew has left its own
// window. Windows of the clock see no more than what was left. What costs more than the part of a burst waits
// for the store: all processes might send such a thing at the same instant. So it does with Debt, but of a
// process that is alone.
type part struct {
	of    []int // which quotas say what a claim costs of it
	pace  *slot.Bucket
	burst int64         // the most that may go at once
	used  *usage        // of a window
	anew  *usage        // what of it went without the store, if most is of that alone; else nil
	most  int64         // how much may be in anew, or in used
	even  int64         // how much may be in used from settled on
	until monotime.Time // settled
}

// reset forgets what went without the store, but not that the store cannot be reached.
func (o *outage) reset() { o.parts, o.went = nil, nil }

// safely is how much of its part a process uses: members that do not hear of each other may send at
// the same instants, so each stays under its part.
const safely = 0.9

// begin lets claims go without slots from now on: with Share, of each quota the part that one of so many
// members has. The quotas by which others asked hold, too, while two versions of a program are about.
func (o *outage) begin(now monotime.Time, l *Lease) {
	o.went = newUsed(l.quotas, true)
	if l.config.Outage != Share {
		return
	}
	qs, theirs := l.quotasOfAll()
	for i := range qs {
		p := l.part(now, &qs[i], l.leftKnown(i))
		p.of = []int{i}
		if l.used[i] != nil && l.leftKnown(i) {
			p.remember(l, &qs[i], i)
		}
		o.parts = append(o.parts, p)
	}
	for _, q := range theirs.Explicit() {
		from := now
		if q.Kind != quota.TokenBucket {
			from = max(now, l.settled(&q)) // nobody here knows what counts
		}
		p := l.part(from, &q, false)
		for i := range qs {
			if qs[i].Unit == q.Unit {
				p.of = append(p.of, i)
			}
		}
		if len(p.of) > 0 {
			o.parts = append(o.parts, p)
		}
	}
}

// quotasOfAll returns the quotas of now by the tightest numbers of all by which others asked lately; and those
// of others that are none of these.
func (l *Lease) quotasOfAll() (qs, theirs quota.Quotas) {
	qs = slices.Clone(l.quotas)
	for _, other := range l.last.others[:min(len(l.last.others), mostOthers)] {
		for k, of := range takesOver(other, qs, 0) {
			switch q := &other[k]; {
			case !Stored(q) || q.Per <= 0 || q.Validate() != nil: // a store may say anything
			case of >= 0 && qs[of].Per == q.Per:
				tighten(&qs[of], q)
			case len(theirs) < mostOthers:
				theirs = append(theirs, *q)
			}
		}
	}
	return qs, theirs
}

// tighten has q grant no more than another list grants of the same quota.
func tighten(q, o *quota.Quota) {
	q.N, q.Burst, q.Debt = min(q.N, o.N), max(min(q.Burst, o.Burst), min(q.Burst, 1)), q.Debt && o.Debt
}

// part is what this process may use of a quota from an instant on.
func (l *Lease) part(from monotime.Time, q *quota.Quota, leftKnown bool) part {
	n := l.sharing()
	per := min(float64(q.Per)*float64(n)/safely, float64(monotime.Longest))
	paced := quota.Quota{Kind: quota.TokenBucket, N: q.N, Per: time.Duration(per), Burst: 1, Debt: true}
	switch {
	case q.Kind == quota.TokenBucket:
		paced.Burst, paced.Debt = max(leftOf(q.Burst, n), 1), q.Debt && n <= 1
	case q.Kind == quota.EstimatedWindow:
		// Of what never exceeds Burst + t·N/Per in any t, whatever the windows are, the estimate is at most
		// Burst + N.
		even := leftOf(q.N, n)
		paced.Burst, paced.Debt = max((even+3)/4, 1), false
		paced.N, paced.Per = max(2*(even-paced.Burst), 1), monotime.Scale(q.Per, 2, 1)
	case leftKnown: // else nobody knows what may go at once
		paced.Burst, paced.Debt = max(leftOf(q.N, n), 1), false
	}
	p := part{pace: &slot.Bucket{}, burst: slot.Most(&paced)}
	p.pace.Set(from, paced, 0, 0)
	p.pace.Assume(from, monotime.Longest)
	return p
}

// remember has a part be no more than what this process used of a window before, and its part of what was left.
// Of a window of the clock it is that part alone: what this process sent longer than Per ago may have been in
// the window before, and is then no room in this one.
func (p *part) remember(l *Lease, q *quota.Quota, i int) {
	n, since := l.sharing(), l.outage.since
	p.used, p.even, p.until = l.used[i], leftOf(q.N, n), l.settled(q)
	left := leftOf(l.stillLeft(i, since), n)
	if q.Kind.OnClock() {
		p.anew, p.most = newUsage(q), max(left-p.used.since(since), 0)
	} else {
		last := max(since, l.lastSlot())                       // until then others may have got what left this process's window
		p.most = min(p.used.since(last.Add(-q.Per))+left, q.N) // it may have been more
	}
	if q.Kind == quota.EstimatedWindow && p.even > 0 {
		p.even = math.MaxInt64 // the pace suffices
	}
	if n > l.last.leftTo {
		p.most = 0 // who came since the last reply may have got what was left, and what leaves this process's window from now on
	}
}

// cost is what a cost of the quotas is of this one: the most of those of its unit.
func (p *part) cost(n []int64) (most int64) {
	for _, i := range p.of {
		most = max(most, n[i])
	}
	return most
}

// AbovePart returns what a claim costs, and what goes at once while the store cannot be reached, if the claim
// costs more than that: then only the store's return lets it go, and nobody knows when that is. Else it is
// empty.
func (l *Lease) AbovePart(now monotime.Time, d *limit.Demand, urgent bool) string {
	var buf costs
	cost := l.cost(buf[:0], d, urgent)
	for i := range l.outage.parts {
		p := &l.outage.parts[i]
		if n := p.cost(cost); n > 0 && p.when(now, 0, n) >= now.Add(monotime.Longest) {
			most := p.burst
			if p.used != nil {
				most = min(most, p.even)
			}
			return fmt.Sprintf("%s, above the %d that may go at once meanwhile", limit.Amount(n, l.quotas[p.of[0]].Unit), most)
		}
	}
	return ""
}

// hearWhoCame takes in how many share the bucket since a member came; zero if none did. This process is not
// among them if it asked for nothing in a while.
func (l *Lease) hearWhoCame(now monotime.Time, n int) {
	if n <= 0 {
		return
	}
	if n < math.MaxInt && !l.flights.calling() && now.Sub(l.last.sent) >= store.SharingFor {
		n++
	}
	l.came = cameNews{now, max(n, l.came.sharing)}
}

// sharing is how many processes share the bucket, with this one: no fewer than before a loss, after which the
// store counts only who has asked since.
func (l *Lease) sharing() int { return max(l.counted(), l.shared.before) }

// counted is how many do as far as the last reply said, and news since.
func (l *Lease) counted() int { return max(l.last.sharing, l.came.sharing) }

// far is how far ahead slots are of which it is asked how far they are, and how long a window is for which
// nobody waits to be safe.
const far = 8 * Horizon

// lastSlot is when the last slot is that any process may have got before the outage. Where slots were ahead in
// the last reply, others may since have got some that are farther ahead: a quarter of what it said, of which no
// news tells; or if no news came, as much as the reply is old, while the ones it spoke of last.
func (l *Lease) lastSlot() monotime.Time {
	ahead := max(l.last.end.Sub(l.last.endAt), 0)
	more := min(max(l.outage.began.Sub(l.last.endAt), 0), ahead)
	if l.sharing() > 1 {
		more = max(more, ahead/4)
	}
	return l.last.end.Add(more)
}

// aloneFrom returns when claims begin to go without the store: with Share when the slots have expired that any
// member has, who may have got some until the outage began; with Open those that this process may have. Ok is
// false if claims do not go without the store: with Share also where nobody knows how many share the bucket.
func (l *Lease) aloneFrom() (at monotime.Time, ok bool) {
	if l.outage.since == 0 || !l.config.Outage.lets() || l.config.Outage == Share && (l.last.at == 0 || l.last.few) {
		return 0, false
	}
	if l.last.at == 0 {
		return l.outage.since, true // nobody here has got any slots
	}
	if l.config.Outage == Share {
		at = max(l.outage.began.Add(Horizon), l.lastSlot()).Add(l.slotLife)
		if l.outage.woke != 0 {
			at = max(at, l.outage.woke.Add(longestCall))
		}
		return at, true
	}
	return max(l.outage.since, l.last.at.Add(Horizon+l.slotLife)), true
}

// sleptFor is how long ago the last failed call is at the most while a process runs: twice what one takes, and
// the time until the next one.
const sleptFor = 2 * (longestCall + probeEvery)

// wakeUp puts the part off until a call has failed, if this process did not run for a while: the store may be
// back, and have handed out that part to others. A call from before says nothing: it fails since its time is
// over.
func (l *Lease) wakeUp(now monotime.Time) {
	if o := &l.outage; o.since != 0 && !l.flights.overdue && o.woke == 0 && now.Sub(o.tried) > sleptFor {
		o.woke = now
	}
}

// settled is from when on each process may have its even part of a window: what went by slots of the store has
// left. What went without it since then is no more than even parts, since each process's pace begins with
// nothing.
func (l *Lease) settled(q *quota.Quota) monotime.Time {
	from, counts := l.last.end, newUsage(q).Per
	if l.sharing() > 1 {
		from, _ = l.aloneFrom()
	}
	return from.Add(counts)
}

// when returns when n may go, not before at, behind others that together cost ahead.
func (p *part) when(at monotime.Time, ahead, n int64) monotime.Time {
	if n > p.burst {
		return at.Add(monotime.Longest)
	}
	t := p.pace.When(at, n)
	if ahead > 0 {
		t = t.Add(p.pace.Work(ahead))
	}
	if p.used == nil {
		return t
	}
	if t < p.until {
		of := p.used
		if p.anew != nil {
			of = p.anew
		}
		if free, ok := of.frees(t, n, p.most); ok && free < p.until {
			return free
		}
		t = p.until
	}
	free, ok := p.used.frees(t, n, p.even)
	if !ok {
		return at.Add(monotime.Longest)
	}
	return free
}

// take charges what goes without the store.
func (o *outage) take(at monotime.Time, n []int64) {
	o.went.add(at, n, 1)
	for i := range o.parts {
		p := &o.parts[i]
		if n := p.cost(n); n > 0 {
			p.pace.Take(at, at, n)
			if p.anew != nil {
				p.anew.add(at, n)
			}
		}
	}
}

// when returns the first instant, not before at, at which n may go without the store, behind
// other claims that cost ahead. Of is the quota that n waits for; negative if n need not wait.
func (o *outage) when(at monotime.Time, ahead, n []int64) (when monotime.Time, of int) {
	when, of = at, -1
	for i := range o.parts {
		p := &o.parts[i]
		if p.cost(n) == 0 {
			continue
		}
		if t := p.when(at, p.cost(ahead), p.cost(n)); t > when {
			when, of = t, p.of[0]
		}
	}
	return when, of
}

// alone reports whether claims went without the store, here or elsewhere, since it is out of reach: others may
// have noticed that sooner.
func (l *Lease) alone(now monotime.Time) bool {
	return l.outage.since != 0 && l.config.Outage.lets() && (now.Sub(l.outage.since) >= Horizon/2 || now.Sub(l.outage.began) >= Horizon*3/4)
}

// owed is what this process owes of each quota, since more went than was in its part, and has not come back;
// nil if it owes nothing. It owes that beside what empties these buckets. A store need not know all that did:
// what went longer ago than a bucket takes to be full is not told.
func (l *Lease) owed(now monotime.Time) (empty, owed []int64) {
	for i := range l.quotas[:min(len(l.quotas), len(l.outage.parts))] {
		if l.quotas[i].Kind != quota.TokenBucket {
			continue
		}
		if owes := l.outage.parts[i].pace.Owes(now); owes > 0 {
			if owed == nil {
				empty, owed = make([]int64, len(l.quotas)), make([]int64, len(l.quotas))
			}
			empty[i], owed[i] = l.quotas[i].Burst, owes
		}
	}
	return empty, owed
}

// tellOwed has the next call tell what this process owes, once.
func (l *Lease) tellOwed(now monotime.Time) {
	if empty, owed := l.owed(now); owed != nil {
		l.unsent.own = slices.Insert(l.unsent.own, 0, own{now, empty}) // with the same request
		l.unsent.overdraw(owed)
		l.mustCall = true
	}
	l.outage.parts = nil
}

// tellAlone has the next call tell what went without the store until now.
func (l *Lease) tellAlone(now monotime.Time) {
	if all := l.outage.went.before(now, now); len(all) > 0 {
		l.unsent.own = append(l.unsent.own, all...)
		l.outage.went = newUsed(l.quotas, true)
	}
}
