package throttle

import (
	"sync"
	"time"

	"github.com/gopacer/pacer/throttle/internal/agenda"
	"github.com/gopacer/pacer/throttle/internal/bell"
	"github.com/gopacer/pacer/throttle/internal/blame"
	"github.com/gopacer/pacer/throttle/internal/due"
	"github.com/gopacer/pacer/throttle/internal/expect"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/order"
)

// scheduler is what the buckets of a tree have in common: the lock, which of them are to be looked at, when or
// before the lock is free again, and from when what goes counts. Each bucket has it as its tree.
//
// The lock, mu, protects it, and all buckets. A Limiter is locked by lock, or by alter and lockCurrent, which
// call it, and unlocked by unlock. That sets the gate of this Limiter alone: by which way its claims go, and
// its grants end. The gates of the others in the tree need not be set anew. Claims go past the lock only in a
// Limiter that is alone in its tree (isAlone). Grants end past it only where neither the Limiter nor one above
// knows anything of its server (quietAbove), and most learn that by answers to requests of their own. A
// function that makes the end of another Limiter's grants matter calls Hear of that one's gate: see release.
//
// Locks are taken in this order: Group.mu, mu of a tree, and of two trees that of the older one (Group.remake
// alone locks two). A function that has mu and needs the Group unlocks first, asks, locks, and looks again
// whether it still has the right Limiter: see redirect. With mu held nobody waits, and of what users wrote only
// Deadline of a context is called. With Group.mu held, New, Rand, and the function given to Update are called.
//
// What decides when claims go is changed in a call of change or alter, so that those go first who were due
// before, bounds are looked at again, and timers are set anew: hold, stack, frozen, what the server and the
// lease say. Where no more than this changes, later is called in it.
type scheduler struct {
	mu         sync.Mutex
	root       *Limiter                // the widest bucket: in its line, all of the tree compete
	standstill time.Duration           // the least MaxStandstill of all buckets, Unbounded if none has one: the init of each lowers it
	hasQueues  bool                    // some quota bounds its line, or did
	frozen     int                     // freezes that were not thawed; while positive, nobody goes
	successor  *Limiter                // root of the tree that has taken its place; nil if none has; remake
	runOnThaw  agenda.Once[*Limiter]   // buckets that changed while the tree was frozen; empty while it is not
	agenda     agenda.Agenda[*Limiter] // when somebody is due in each bucket: arm sets its timer by that, and run looks first at those whose timer is late
	claimCount uint64                  // numbers the claims
	flows      limit.Flows             // what those need who wait, by the names of flows
	lookAt     order.Set[*waiter]      // waiters that unlock looks at: those that may wait for calls of stores alone, and those that lined up while the tree was frozen and may be hasty
	lostHope   bool                    // unlock looks at them now, since a call has ended, or somebody has left the line of a bucket above
	changed    []*Limiter              // buckets in which some wait, and which were not looked at since they changed (arm); empty while nobody has mu
	lastChange monotime.Time           // instant of the latest move, which may let somebody go
	lastNews   monotime.Time           // instant of the latest change: of a move that is more than that a waiter has left
	credit     limit.Credit            // of late timers
	woken      bell.List               // of those who have left the line, for unlock to ring; empty while nobody has mu
}

// run grants what may go now, refuses what never may, and sets the timers for the rest. It is called, with mu
// held, whenever something has changed in l.
func (l *Limiter) run(now monotime.Time) {
	t := l.tree
	l.peers(func(b *Limiter) { b.promote(now) }) // before l, in whose line those of a bucket below it come to stand
	l.advance(now)
	for t.frozen == 0 && t.agenda.Due(now) { // where a timer is late too: so the first who asked goes first
		t.agenda.Take().advance(now)
	}
	for again := true; again; again = t.root.arm(now) || t.checkBounds(now) {
		t.root.makeWay(now)
	}
}

// advance has the next claims of l, and of the buckets above it, take the places of those that left. If a claim
// has gone whose kind has yet to show what it costs, others of that kind step aside, in whichever bucket they
// wait.
func (l *Limiter) advance(now monotime.Time) {
	l.account.kinds.Begun(now, l.account.wake)
	for b := l; b != nil; b = b.Parent {
		b.promote(now)
	}
}

// chargeNow is charge for a claim that does not stand in line. Those in line may have to wait for longer then:
// run looks at them.
func (l *Limiter) chargeNow(g *right, now monotime.Time, need *need) {
	t, at := l.tree, now
	if from := max(t.credit.From(now), t.lastChange, t.root.lastCharged); from < now {
		at = l.dueOnPath(new(delay), now, from, need)
	}
	t.credit.Note(at, now)
	l.charge(g, at, now, need)
	l.restock(now)
	if t.root.line.waiting > 0 {
		l.later()
		l.run(now)
	}
}

// later notes that those who wait in l, or in a bucket above it, may go later than they could expect, since
// something was learned, or charged to others. The run that follows checks whether they miss a bound.
func (l *Limiter) later() {
	for b := l; b != nil; b = b.Parent {
		b.line.later = b.line.waiting > 0
	}
}

// heard is later for those who wait in l and in its peers, since something was learned of the server.
func (l *Limiter) heard() {
	l.line.later = l.line.waiting > 0
	l.peers(func(b *Limiter) { b.line.later = true })
}

// checkBounds refuses those who miss a bound, as it looks now, in the buckets of the tree that have changed. It
// reports whether there were any.
func (t *scheduler) checkBounds(now monotime.Time) (ended bool) {
	for len(t.changed) > 0 {
		b := t.changed[len(t.changed)-1]
		t.changed, b.line.changed = t.changed[:len(t.changed)-1], false
		if line := &b.line; line.later || (t.standstill != monotime.Unbounded || b.link != nil) && b.mayStandStill(now) {
			if in := line.checks.Next(now, line.waiting); in == 0 {
				line.later = false
				ended = b.refuseOutOfBounds(now) || ended
			} else {
				line.nextCheck.Set(b.clock.Awake(now), in, (*Limiter).tick, b)
			}
		}
	}
	return ended
}

// putOffCheck has bounds be looked at later, while something that requests to l could have may be kept back for
// others that are not seen yet: when that is over. It reports whether it has.
func (l *Limiter) putOffCheck(now monotime.Time) (done bool) {
	var in time.Duration
	for b := l; b != nil; b = b.Parent {
		in = max(in, b.server.Unseen(now))
	}
	if in > 0 {
		l.line.later = true
		l.line.nextCheck.Set(l.clock.Awake(now), in, (*Limiter).tick, l)
	}
	return in > 0
}

// nobody is a bucket that has heard nothing of its server. alone is what goes before a claim that goes first:
// nothing. Both are never changed. All share one alone, since a second one would lie on the stack of each
// goroutine that waits.
var nobody, alone = new(Limiter), new(predecessors)

// mayStandStill reports whether a token of l, in some unit that somebody waits for, is further away than the
// least MaxStandstill of the tree. If not, nobody can be refused for that, and those who wait need not be
// looked at one by one.
func (l *Limiter) mayStandStill(now monotime.Time) bool {
	for i := range l.line.total {
		if all := &l.line.total[i]; all.Claims > 0 {
			one := due.Claim{Demand: all.One(), Urgent: byIndex[i] == Urgent}
			far := func(asked *Limiter) bool {
				one.To = &asked.delays
				_, far := l.delays.OneToken(now, &one, l.tree.standstill)
				return far
			}
			if l.line.direct > 0 && far(l) || l.line.direct < l.line.waiting && far(nobody) {
				return true
			}
		}
	}
	return false
}

// promote has the first waiters of l compete above l, if l would let them go, and sets l's timer: see arm.
func (l *Limiter) promote(now monotime.Time) {
	if l.Parent != nil { // run arms the root, after all releases
		l.makeWay(now)
		l.arm(now)
	}
}

// peers calls f for the other buckets in which claims wait, and which draw on the same limits of the server as
// l; and for the buckets above these. What l has learned counts for them, too.
func (l *Limiter) peers(f func(b *Limiter)) {
	if !l.account.sharers.Any() {
		return
	}
	for b := range l.account.sharers.Of(&l.server) {
		for ; b != nil && b != l && b.line.waiting > 0; b = b.Parent {
			f(b)
		}
	}
}

// release has w leave the line of the root, as its delay d says: w is granted, at an instant; or it is refused;
// or a bucket below delays it, and w goes back to the line of that one.
func (t *scheduler) release(now monotime.Time, w *waiter, d *delay, at monotime.Time) {
	asked := w.l // another claim may use w once it has ended
	switch {
	case d.Never:
		w.end(now, w.refusal(now, *d, ErrTooLarge))
	case d.At > now:
		w.withdraw(d.bucket)
	case w.abandoned:
		w.end(now, errAbandoned)
	case w.InVain(asked.clock.Awake(now)):
		w.end(now, w.refusal(now, w.expected, ErrDeadline))
	default:
		for b := asked; b != nil; b = b.Parent {
			b.stack.Busy(w.joined, at) // limits that warm up did not idle while w waited for something else
		}
		t.credit.Note(at, now)
		asked.charge(&w.grant, at, now, &w.need)
		w.grant.requestsOnly = w.grant.requestsOnly && (w.Deadline == 0 || !w.answers) // else Answered is to see how long the answer took
		if !asked.server.Heard() {                                                     // unlock of another bucket does not say so
			asked.gate.Hear()
		}
		for _, e := range w.entries {
			e.Serve()
		}
		w.end(now, nil)
	}
	asked.advance(now)
}

// dueOnPath returns the instant, from one on and not after now, at which a claim made to l is granted in every
// bucket of its path. If it may not go now, d, which is zero, is what the first bucket says that delays it.
func (l *Limiter) dueOnPath(d *delay, now, from monotime.Time, need *need) (at monotime.Time) {
	at = from
	for b := l; b != nil && d.bucket == nil; b = b.Parent {
		if b.delays.Due(&d.Due, now, at, &need.Claim); d.Never || d.At > now {
			d.bucket = b
		} else {
			at = d.At
		}
	}
	return at
}

// earliest is the earliest instant from which the release of w may count: at most limit.Lag ago, and not before
// w joined (but see limit.Credit), before the latest change, or before the latest grant of the tree, which
// limits of other buckets may have seen.
func (w *waiter) earliest(now monotime.Time) monotime.Time {
	return max(now.Add(-limit.Lag), w.from, w.l.tree.lastChange, w.l.tree.root.lastCharged)
}

// arm does what is to be done when something has changed in l:
//   - The first waiter of each priority goes on, if l lets it: into the line of the parent, where it is refused
//     if that is closed; or, if l is the root, out of line (release). Of those of the root one goes at a time:
//     then there may be more to do. Those that l does not let go are withdrawn from the line of the parent.
//   - The timer is set to the earliest instant at which one of them is due in l, or at which an outage of the
//     Store will have lasted for MaxStandstill. If there is none, the timer is stopped.
//   - The Store is asked for what is needed.
//   - It is noted that l has changed, for checkBounds, which may refuse some before the lock is free.
func (l *Limiter) arm(now monotime.Time) (more bool) {
	var buf [priorities]*waiter
	t, next := l.tree, agenda.Earliest{Now: now, Before: now.Add(monotime.Longest - limit.Lag)} // a wait of Longest, which counts from up to a Lag ago, ends by an answer alone: no timer
	var look blame.Look
	frozen := t.frozen > 0
	if frozen {
		t.runOnThaw.Add(l)
	} else {
		look = l.line.book.Look(now)
	}
	next.Or(l.outageTooLong(now))
	next.Or(l.line.aside.Next())
	blocked, ordinaryWaits := false, false // for what an urgent waiter waits too; only the reserve delays a waiter, so urgent ones behind it may go
	for _, w := range l.line.Heads(&buf) {
		kept := blocked || ordinaryWaits && !w.Urgent
		var d delay
		at, leaves := now, false
		if !kept {
			at, leaves = w.leaves(now, l, &d)
		}
		switch {
		case l.Parent != nil && !w.compete(now, l, leaves):
			return false
		case l.Parent != nil && leaves:
			look.Above(w.Row())
		case leaves && !frozen:
			t.release(now, w, &d, at)
			return true
		case !kept:
			until, of := d.At, Normal
			if blocked = d.Unreserved > now; blocked {
				until, of = d.Unreserved, Urgent
			}
			if ordinaryWaits = true; !frozen {
				next.Or(until)
			}
			look.Wait(of.index(), blame.Cause{Bucket: l.Name, Label: l.Label, Cause: d.Cause, Quota: d.Quota})
		}
	}
	t.agenda.Set(l, next.At)
	l.line.timer.SetAt(l.clock.Awake(now), now, next.At, (*Limiter).tick, l)
	l.link.ask(now)
	if l.line.waiting > 0 && !l.line.changed {
		l.line.changed, t.changed = true, append(t.changed, l)
	}
	return false
}

// leaves reports whether w, one of the first in the line of l, goes on from there. From the line of the root it
// does at an instant, unless d, which is zero before, says what bucket below delays it. If it stays, d says
// until when.
func (w *waiter) leaves(now monotime.Time, l *Limiter, d *delay) (at monotime.Time, leaves bool) {
	if l.Parent == nil {
		at = w.l.dueOnPath(d, now, w.earliest(now), &w.need)
		return at, d.bucket != l || d.Never
	}
	l.delays.Due(&d.Due, now, w.earliest(now), &w.Claim)
	return 0, d.Never || d.At <= now
}

// compete has w, one of the first in the line of l, stand in the line of the parent if it goes in l, and else
// not. If the parent is closed, w ends, and compete returns false.
func (w *waiter) compete(now monotime.Time, l *Limiter, goes bool) bool {
	switch top := w.top() == l; {
	case !goes:
		w.withdraw(l)
	case top && l.Parent.isClosed():
		w.refuse(now, w.refusal(now, delay{limit.Due{At: now}, l.Parent}, ErrClosed)) // and the next one, too
		return false
	case top:
		w.joinLine(l.Parent)
	}
	return true
}

// outageTooLong is when an outage of the Store will have lasted for MaxStandstill; zero if there is none, it
// has, or nobody waits for its end.
func (l *Limiter) outageTooLong(now monotime.Time) monotime.Time {
	bound := l.tree.standstill
	if l.link == nil || bound == monotime.Unbounded || l.line.waiting == 0 || l.link.lease.DownSince() == 0 || l.link.lease.DownSince().Add(bound) <= now {
		return 0
	}
	return l.link.lease.DownSince().Add(bound)
}

// tick runs when a timer fires: somebody may go, or the line may be looked at again.
func (l *Limiter) tick() {
	now := l.lock()
	defer l.unlock()
	l.run(now)
}

// change makes a change, f, that may let waiters go or keep them from it. Waiters that were due before the
// change, but not yet released because a timer is late, go first. What the change lets go counts from now. It
// requires that mu is held.
func (l *Limiter) change(now monotime.Time, f func()) {
	l.move(now, f)
	l.tree.lastNews = now
}

// move is change for a waiter that leaves, which makes no wait of others longer: so what was forecast for them
// still holds, see remaining.
func (l *Limiter) move(now monotime.Time, f func()) {
	t := l.tree
	waited := t.root.line.waiting > 0
	if l.line.waiting > 0 || t.agenda.Due(now) {
		l.run(now)
	}
	f()
	t.lastChange = now
	if waited || t.root.line.waiting > 0 { // if all have left, their timer stops
		l.run(now)
	}
}

// alter is change for a caller that does not hold mu.
func (l *Limiter) alter(f func(now monotime.Time)) {
	now := l.lock()
	defer l.unlock()
	l.change(now, func() { f(now) })
}

// refuseOutOfBounds refuses those who wait in l, or in a bucket below it, and would miss a bound, as it looks
// now, or never go. It reports whether it has refused any, or found that somebody may go who was kept back.
func (l *Limiter) refuseOutOfBounds(now monotime.Time) (ended bool) {
	var before, urgent, none predecessors // what goes before a waiter: urgent if it may use what is reserved, none if it stands aside
	for w := range l.line.aside.After(l.line.Leaving()) {
		ahead := &before
		if w.isAside() {
			ahead = &none
		} else if l.Reserve > 0 && w.Urgent {
			ahead = &urgent
		}
		if w.l == l {
			w.Deadline, w.Answer = l.answers.Before(w.Deadline.Add(w.Answer), l.clock.AwakeAt(w.place.since), w.answers)
			ended = l.server.Hurry(now, w.Patience(l.clock.Awake(now))) || ended // then some may go
			_, err := l.unfit(&w.need)
			d := w.project(now, ahead)
			if why := w.missedBound(now, &d, ahead.All.Claims); err == nil && why != nil {
				err = w.refusal(now, d, why)
			}
			if err != nil {
				w.end(now, err)
				ended = true
				continue
			}
		}
		before.Add(w.surely(), w.Urgent)
		if w.Urgent {
			urgent.Add(w.surely(), true)
		}
	}
	if ended {
		l.advance(now)
	}
	for b := range order.Each[*Limiter](&l.line.below) { // b leaves it with the last who waits in it
		ended = b.refuseOutOfBounds(now) || ended
	}
	return ended
}

// holdUntil holds the bucket until at, unless it is held for longer already. Said is until when a server said,
// where MaxHold has cut that. After the hold, the bucket starts slowly. It is called in a change of l.
func (l *Limiter) holdUntil(at, said, now monotime.Time) {
	if !l.hold.Extend(at, said, now) {
		return
	}
	if l.link != nil {
		l.link.lease.TellHold(now)
		l.link.arm(now)
	}
	l.server.Restart(false)
	l.later()
}

// prepare is called before a claim is looked at. A hold that is long over is forgotten; a bucket that is new,
// or has idled, starts slowly; and claims that are due, but whose timer is late, go first.
func (l *Limiter) prepare(now monotime.Time) {
	l.hold.Forget(now)
	forgot := false // at which rate the server served: who waits by it may go sooner, also if this claim is refused
	if l.SlowStart && (l.gate.LastUse() == 0 || !l.gate.Recent(now, l.idleAfter) && l.server.InFlight() == 0) {
		l.gate.Shut()
		forgot = l.server.Restart(true)
	}
	if forgot || l.tree.agenda.Due(now) {
		l.run(now)
	}
}

// wake has those come back who stand aside in l, or below it, if there is news of what claims of their kind
// cost, which they wait for; of all kinds if k is nil.
func (l *Limiter) wake(now monotime.Time, k *expect.Kind) {
	if l.line.aside.Await(k, (*waiter).asideUntil); k == nil {
		l.line.aside.AwaitAll((*waiter).asideUntil)
		for w := range l.line.InOrder() {
			w.setUnsure(w.asideUntil() > 0)
		}
	}
	for b := range order.Each[*Limiter](&l.line.below) { // b leaves it with the last who waits in it
		b.wake(now, k)
		b.promote(now)
	}
}

// freeze lets no claim of the tree of l go, whatever is due, until one call of thaw. It is for changes of
// several buckets that belong together. Claims that are made meanwhile line up. It requires that mu is held.
func (l *Limiter) freeze() { l.tree.frozen++ }

// thaw ends one freeze, also in the tree that has taken the place of that of l.
func (l *Limiter) thaw() {
	now, t := l.lock(), l.tree
	defer func() {
		successor := t.successor
		l.unlock()
		if successor != nil {
			successor.thaw()
		}
	}()
	t.root.change(now, func() { t.frozen, t.lostHope = t.frozen-1, true })
	if t.frozen == 0 {
		for _, b := range t.runOnThaw.Take() {
			b.run(now)
		}
	}
}

// dismiss makes all that asked l itself leave its line, and join again where they belong now. The tree is
// frozen until each of them has joined there with its old place, or has given up: so all line up in the old
// order before any goes. It requires that mu is held, and is called in a change of l.
func (l *Limiter) dismiss() {
	now := l.now()
	for w := range l.line.aside.After(l.line.Leaving()) {
		switch {
		case w.l != l:
		case w.abandoned:
			w.end(now, errAbandoned)
		default:
			l.freeze()
			w.end(now, errDismissed)
		}
	}
}
