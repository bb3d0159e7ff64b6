package throttle

import (
	"container/list"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/adaptive"
	"github.com/gopacer/pacer/throttle/internal/agenda"
	"github.com/gopacer/pacer/throttle/internal/blame"
	"github.com/gopacer/pacer/throttle/internal/due"
	"github.com/gopacer/pacer/throttle/internal/expect"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/order"
)

// line is the claims that wait in a bucket, by priority, and within a priority by place.
//
// A waiter stands in the line of the bucket that it asked. If it is first there, and that bucket would let it
// go, it also stands in the line of the parent, and so on up. So only the first waiter of each bucket and
// priority competes for what the parent grants, again by rank. The first waiter of the root's line that may go
// in every bucket of its path is granted, in all of them at one instant.
//
// Nobody overtakes a waiter with a better rank if both draw on the same quota. There is one exception: if the
// better one waits only because it must not use what is reserved, an urgent one may go first. Within a line,
// nobody overtakes a better one at all, since waiters are looked at from the front; only a claim that may go in
// its own bucket when it is made passes those in the lines above with which it has nothing in common.
//
// One that waits for others of its kind to show what they cost steps aside meanwhile: it leaves all lines, so
// that others go, and comes back to its old place in that of the bucket that it asked.
//
// A waiter enters once, and leaves once. In between it moves, and the counts below stay:
//
//	enter, leave           all lines, or aside, and the counts
//	joinLine, withdraw     a line above, while it is the first in the one below and goes there (compete)
//	unstand, makeWay       from its lines to aside, and back
//	depart                 leave, with what became of it
//	end                    depart, and its goroutine is woken: granted (release), refused (refuse, refuseOutOfBounds, wait, makeRoom), sent to
//	                       another bucket (dismiss), or of no use to anybody any more (abandon)
//	giveUp                 depart by its own goroutine (drop), or the grant goes back that came at the same time
//
// What always holds while nobody has mu is checked by checkTree, in the tests.
type line struct {
	order.Queue[*waiter]
	aside    order.Aside[*expect.Kind, *waiter]
	sure     limit.Line               // what those need that asked this bucket itself, and surely go in their turn
	unsure   limit.Line               // what the others need that did: they stand aside, or may step aside when their turn comes
	direct   int                      // how many the sure and the unsure are
	total    [priorities]limit.Demand // what all need that wait in this bucket or one below it
	waiting  int                      // how many wait in this bucket or one below it, those who stand aside included
	below    list.List                // the buckets next below in which some wait, as *Limiter
	inParent *list.Element            // where this bucket is in the parent's below
	timer    monotime.Timer[*Limiter] // for the next waiter that may go
	book     blame.Book               // what those wait for who ask

	// Of checkBounds, which looks at those who wait whether they miss a bound.
	changed   bool                     // it is to look at this bucket: that is in the tree's changed; arm
	later     bool                     // it is to look at each waiter; Limiter.later, heard
	checks    agenda.Checks            // how often it does, where many wait
	nextCheck monotime.Timer[*Limiter] // when it does next, if that was put off
}

type beside = order.Beside[*expect.Kind, *waiter]

// passable reports whether a claim that was made to another bucket, and would go now, may pass all who wait in
// l: none of them draws on a quota of l, or on a limit of a server, on which the claim draws, too.
func (l *Limiter) passable(need *need, asked *Limiter) bool {
	return l != asked && len(asked.server.Sharing(nil)) == 0 &&
		!l.line.Any(func(w *waiter) bool { return need.Shares(&w.Demand, l.quotas) })
}

// enter puts w in line. It requires that mu is held.
func (w *waiter) enter() {
	w.entries = w.entry[:0]
	w.joinLine(w.l)
	w.unsure = w.asideUntil() > 0
	w.addCounts(1)
}

// leave takes w out of all lines, or from aside. It requires that mu is held.
func (w *waiter) leave() {
	if w.isAside() {
		w.l.line.aside.Remove(w.aside)
	} else {
		w.unstand()
		w.l.line.aside.Await(w.Like, (*waiter).asideUntil) // w may have been what they wait for
	}
	w.entries = nil
	w.addCounts(-1)
}

// unstand takes w out of all lines.
func (w *waiter) unstand() {
	w.withdraw(w.l)
	w.entries[0].Remove()
	w.entries = w.entries[:0]
}

// waits reports whether w has entered, and not left: it stands in line, or aside.
func (w *waiter) waits() bool { return w.entries != nil }

// isAside reports whether w, which waits, stands aside.
func (w *waiter) isAside() bool { return len(w.entries) == 0 }

// isBehind reports whether w, which waits, makes no difference to those before it when it joins or leaves: it
// is not the first of its row, which alone is about to go, and nobody of its kind stands aside.
func (w *waiter) isBehind() bool {
	return !w.isAside() && !w.entries[0].IsFirst() && !w.l.line.aside.Has(w.Like)
}

// changesNothing reports whether w has joined and no other waiter goes for that, or is to be looked at: nobody
// has left a full queue for w, and no timer is late.
func (w *waiter) changesNothing(now monotime.Time, t *scheduler) bool {
	return w.isBehind() && !w.l.line.later && len(t.changed) == 0 && t.frozen == 0 && !t.agenda.Due(now)
}

// awaits returns until when others of its kind keep w waiting, for which quota, and of which bucket; zero if
// enough is known of what they cost.
func (w *waiter) awaits() (until monotime.Time, q *quota.Quota, of *Limiter) {
	for b := w.l; b != nil && w.Like != nil; b = b.Parent {
		if at, its := b.stack.Awaits(&w.Demand); at > until {
			until, q, of = at, its, b
		}
	}
	return until, q, of
}

// asideUntil is when w need not stand aside any more: see order.Aside.
func (w *waiter) asideUntil() monotime.Time {
	until, _, _ := w.awaits()
	return until
}

// makeWay has those come back to the line of l who need not stand aside any more, and those at its front step
// aside who must.
func (l *Limiter) makeWay(now monotime.Time) {
	if !limit.AnySilent(l.line.total[:]) {
		return // all say what they cost
	}
	for w, ok := l.line.aside.Back(now, (*waiter).asideUntil); ok; w, ok = l.line.aside.Back(now, (*waiter).asideUntil) {
		w.joinLine(w.l)
		w.setUnsure(w.asideUntil() > 0)
		w.stay.Back(now)
		l.later()
	}
	var buf [priorities]*waiter
	for heads := l.line.Heads(&buf); len(heads) > 0; {
		w := heads[0]
		until, q, of := w.awaits()
		if until <= now {
			heads = heads[1:]
			continue
		}
		w.unstand()
		w.stay.Aside(now, blame.Cause{Bucket: of.Name, Label: of.Label, Cause: limit.SlowStart, Quota: q.Name})
		w.setUnsure(true)
		w.aside = w.l.line.aside.Add(w.Like, fmt.Sprint(slices.Sorted(maps.Keys(w.Costs))), w, w.l.turn(w), (*waiter).asideUntil)
		for b := w.l; b != l; b = b.Parent {
			b.promote(now)
		}
		heads = l.line.Heads(&buf)
	}
}

// surely is what w needs when its turn comes, nothing if it may step aside then.
func (w *waiter) surely() *limit.Demand {
	if w.unsure {
		return &limit.Demand{}
	}
	return &w.Demand
}

// setUnsure sets whether w is among the unsure.
func (w *waiter) setUnsure(unsure bool) {
	w.addToAsked(-1)
	w.unsure = unsure
	w.addToAsked(1)
}

// addToAsked adds w to those who asked its bucket if sign is 1, and subtracts it if sign is -1.
func (w *waiter) addToAsked(sign int) {
	a := &w.l.line.sure
	if w.unsure {
		a = &w.l.line.unsure
	}
	a.Add(w.Row(), w.flow.name, &w.Demand, sign)
}

// addCounts adds w to the counts of all who wait if sign is 1, and subtracts it if sign is -1.
func (w *waiter) addCounts(sign int) {
	w.addToAsked(sign)
	w.l.line.direct += sign
	w.l.tree.lookAt.Put(w, sign > 0 && (w.AtOnce || w.Haste.Latest != 0 && w.l.tree.frozen > 0))
	w.l.tree.flows.Add(0, w.flow.name, &w.Demand, sign)
	for b := w.l; b != nil; b = b.Parent {
		b.line.waiting += sign
		b.line.total[w.Row()].Add(&w.Demand, sign)
		if b.link != nil {
			b.link.lease.Shrunk(w.err != nil)
		}
		switch {
		case b.Parent == nil:
		case b.line.waiting == 1 && sign > 0:
			b.line.inParent = b.Parent.line.below.PushBack(b)
		case b.line.waiting == 0:
			b.Parent.line.below.Remove(b.line.inParent)
		}
	}
}

// withdraw takes w out of the lines above b, where it would block others. In b it needs a Store's reply again,
// and a call that is under way may have been made without it: so it is met anew.
func (w *waiter) withdraw(b *Limiter) {
	for top := w.top(); top != b; top = w.top() {
		w.l.tree.lostHope = true
		last := len(w.entries) - 1
		w.entries[last].Remove()
		w.entries = w.entries[:last]
	}
	b.link.meet(w)
}

// joinLine puts w in the line of b. If it is the first of its priority now, the one that was first no longer
// competes above b.
func (w *waiter) joinLine(b *Limiter) {
	e, displaced, ok := b.line.Insert(w, b.turn(w))
	if ok {
		displaced.withdraw(b)
	}
	w.entries = append(w.entries, e)
	b.link.meet(w)
}

// top is the highest bucket in whose line w stands.
func (w *waiter) top() *Limiter {
	b := w.l
	for range w.entries[1:] {
		b = b.Parent
	}
	return b
}

// predecessors is what goes before a claim.
type predecessors = limit.Ahead

// aheadMost bounds how many buckets below one are asked for those who wait there before a claim: what is found
// is a lower bound.
const aheadMost = 1000

// aheadFew bounds how many of those ahead are looked at for a waiter that leaves: many may leave at once.
const aheadFew = 16

// remaining returns the delay that w, which is in line, has left:
//   - If a few stand before w, or the forecast of when it joined is over, from the few next before it. Where
//     more stand there, that is a lower bound.
//   - Else, if nothing has changed since w joined, as forecast then.
//   - Else as if all that asked the bucket went before w, but no longer than was forecast.
func (w *waiter) remaining(now monotime.Time) (d delay) {
	ahead, most := predecessors{}, now.Add(monotime.Longest)
	switch {
	case w.isAside():
	case w.expected.At <= now || !w.entries[0].Follows(aheadFew+1):
		w.l.line.Ahead(w.entries[0], aheadFew, func(o *waiter) {
			if w.l.Reserve == 0 || !w.Urgent || o.Urgent {
				ahead.Add(o.surely(), o.Urgent)
			}
		})
	case w.l.tree.lastNews < w.joined:
		return w.expected
	default:
		ahead.All, most = limit.Sum(w.l.line.sure.Sum[:]), w.expected.At
	}
	d = w.project(now, &ahead)
	d.At = min(d.At, most)
	return d
}

// addAhead adds to ahead what goes before w, which is about to join, in l and in the buckets below l. It is
// called for w's bucket first, then for its parents. The result is a lower bound: see addGuests.
func (l *Limiter) addAhead(ahead *predecessors, w *waiter, now monotime.Time) {
	ahead.Direct = limit.Demand{}
	before := func(o *waiter) bool { return o.Before(w) }
	for i, p := range byIndex {
		lower := i < w.Row()
		if l.line.total[i].Claims == 0 || lower && !l.allAged(i, w, before) {
			continue
		}
		sum, inTurns := l.directAhead(i, w, before)
		ahead.Add(sum, p == Urgent)
		if w.l != l {
			ahead.Direct = ahead.Direct.Plus(sum)
		}
		if !inTurns && l.line.LenOf(i) != sum.Claims { // else no waiter comes from below, or it may go after w
			l.addGuests(ahead, i, w, now)
		}
	}
}

// addGuests adds to ahead those of row i in the line of l who come from a bucket below, its guests. If a bucket
// would let all that wait there go at once, all count with its guest; else the guest alone, as the others may
// not be able to follow it. No more than aheadMost guests are looked at, the first ones.
func (l *Limiter) addGuests(ahead *predecessors, i int, w *waiter, now monotime.Time) {
	most := aheadMost
	for guest := range l.line.Row(i) {
		if most--; most < 0 {
			return
		}
		if guest.l == l || w.l.branchUnder(l) == guest.l.branchUnder(l) || guest.unsure || guest.mayWithdraw(l) {
			continue // counted already, or it may let w pass
		}
		var buf [priorities]*waiter
		switch sole := guest.l.line.waiting == 1; {
		case !sole && i >= w.Row() && guest.l.Parent == l && guest.l.allGoBefore(i, w, now):
			ahead.Add(&guest.l.line.sure.Sum[i], byIndex[i] == Urgent)
		case sole || guest.l.line.Heads(&buf)[0] == guest:
			ahead.Add(&guest.Demand, byIndex[i] == Urgent)
		}
	}
}

// allAged reports whether all of row i, whose priority is lower than that of w, surely go before w, since their
// ranks are better. That is not sure in two cases: only the reserve may delay them, which w may use; and flows
// go in turns, where some of them may have to let others from below pass.
func (l *Limiter) allAged(i int, w *waiter, before func(*waiter) bool) bool {
	mayPass := l.Reserve > 0 && w.Urgent || len(l.tree.flows) > 0 && (l.Parent != nil || l.line.waiting > l.line.direct)
	return !mayPass && l.line.AllBefore(i, before)
}

// directAhead returns what those of row i need who asked l and go before w, which is about to join, if those of
// better ranks do: all of them, unless the flows of that row go in turns. Then it counts no more than
// aheadMost/4 of other flows.
func (l *Limiter) directAhead(i int, w *waiter, before func(*waiter) bool) (sum *limit.Demand, inTurns bool) {
	if i != w.Row() || !l.line.InTurns(i, w.flow.name) {
		return &l.line.sure.Sum[i], false
	}
	own := l.line.sure.Flows.Of(i, w.flow.name, &l.line.sure.Sum[i])
	if l.line.waiting == l.line.direct { // else one from below may leave or come, and let w pass
		l.line.Others(i, w.flow.name, aheadMost/4, before, func(o *waiter) { own.Add(o.surely(), 1) })
	}
	return &own, true
}

// turn is what w costs its flow in the line of l.
func (l *Limiter) turn(w *waiter) float64 {
	return w.Turn(l.quotas, w.flow.weight, w.place.past.Fell())
}

// mayWithdraw reports whether w may leave the line of l, since another comes to stand before it in a bucket
// between.
func (w *waiter) mayWithdraw(l *Limiter) bool {
	b := w.l
	for b != l && b.line.waiting <= b.line.Len() {
		b = b.Parent
	}
	return b != l
}

// allGoBefore reports whether all who wait in l go at once if the first does, and those of row i before w,
// which waits elsewhere.
func (l *Limiter) allGoBefore(i int, w *waiter, now monotime.Time) bool {
	return (i != w.Row() || !l.line.InTurns(i, w.flow.name)) && l.line.waiting == l.line.direct && l.opensForAll(now)
}

// opensForAll reports whether l would let all go at once that asked it and wait.
func (l *Limiter) opensForAll(now monotime.Time) bool {
	all, unsure := limit.Sum(l.line.sure.Sum[:]), limit.Sum(l.line.unsure.Sum[:])
	all = all.Plus(&unsure)
	return l.delays.OpenForAll(now, &all)
}

// branchUnder returns the bucket next to above on the way from l up to above; nil if l is above.
func (l *Limiter) branchUnder(above *Limiter) (next *Limiter) {
	for b := l; b != above; b = b.Parent {
		next = b
	}
	return next
}

// place is a claim's place in line. It stays, as often as the claim is made again.
type place struct {
	since  monotime.Time  // when the claim was first made: MaxWait counts from then
	number uint64         // orders the claims of one instant; zero for a claim that grantAtOnce or Observe granted
	past   *adaptive.Past // nil if the server has not refused it
}

// ofOneAlone names a flow of w alone, before which no other flow goes.
func ofOneAlone(w *waiter) string { return "\x00" + strconv.FormatUint(w.place.number, 10) }

// need is what a claim needs of each bucket, and how it stands in line.
type need struct {
	due.Claim
	place               place // zero if it never stands in line, as one that is observed
	priority            Priority
	flow                flow
	bare, answers, asks bool // see Claim
}

// flow is Claim.Flow and Claim.Weight.
type flow struct {
	name   string
	weight int
}
