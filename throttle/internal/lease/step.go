package lease

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/slot"
	"github.com/gopacer/pacer/throttle/store"
)

// Effects is what the owner is to do after a call.
type Effects struct {
	Hold       monotime.Time     // the hold of the bucket of which the store knows; zero if none
	Statements []quota.Statement // what the server said to other members
	Concerned  []Asked           // the claims for which the request asked; after an error, those because of which the call was made
	Unserved   []Unserved        // the claims that got no slot, in the order in which they were asked for
	Retry      monotime.Time     // when to ask again if any of the claims still waits; zero if at once
	Events     []Event
}

// Unserved is a claim for which there was no slot.
type Unserved struct {
	Waiter int // index of the claim in Line.InOrder
	Due    limit.Due
}

// errNoReply is the error of a store that returns neither a reply nor an error.
var errNoReply = errors.New("throttle: the store returned no reply")

// span cuts what a store says to what can be reckoned with.
func span(d time.Duration) time.Duration { return min(max(d, 0), monotime.Longest) }

// Step takes in how a call has ended that was sent at an instant: with a reply or with an error. Or the call is
// overdue: it does not return, counts as failed, and Step is called once more when it has ended. No other call
// is made before.
func (l *Lease) Step(now, sent monotime.Time, c *Call, reply *store.Reply, err error, overdue bool) (e Effects) {
	l.flights.end(&c.called)
	slept := !l.flights.overdue && sent != 0 && now.Sub(sent) > sleptFor // else it counted as failed in time
	l.flights.overdue = overdue
	if err == nil && reply == nil {
		err = errNoReply
	}
	if err != nil {
		e.Concerned = c.waiting
		l.disappoint(c)
		l.failed(now, sent, err, &e)
		if slept {
			l.outage.woke = now
		}
		return e
	}
	return l.hearReply(now, sent, c, reply)
}

// hearReply takes in a reply: what it shows of the way to the store, what it says of the bucket and of those
// who share it, and the slots. A tardy reply came when its call had counted as failed: its slots are for later
// claims.
func (l *Lease) hearReply(now, sent monotime.Time, c *Call, reply *store.Reply) (e Effects) {
	e.Concerned = c.asked
	tardy := l.outage.since != 0 && !l.inTime(now.Sub(sent), c.Request, reply)
	if !tardy {
		l.recovered(now, &e)
	}
	l.Acknowledged()
	l.answered = max(l.answered, c.Request.Serial)
	answered := l.last.sent // when the request before was sent
	if c.version == l.version {
		l.hearLeft(now, c.Request, reply)
	}
	l.hearMembers(now, sent, reply)
	if !tardy || !l.config.Outage.lets() {
		l.trip(now.Sub(sent))
		l.lookAgain(now, c.Request.SlotLife)
	}
	l.hearSchedule(now, sent, reply)
	if l.hearLife(now, c.Request, reply) {
		l.lost(now, answered, span(reply.Known), &e)
	}
	if reply.Hold > 0 {
		e.Hold = now.Add(span(reply.Hold))
	}
	e.Statements = reply.Statements
	l.hearOthers(now, reply.Others)
	if c.version != l.version { // these slots are of other quotas
		l.decline(c.Request, reply)
	} else {
		l.hearSlots(now, sent, c, reply, &e)
	}
	l.tellOthers(reply.Others, &e)
	if tardy {
		l.disappoint(c)
		e.Concerned, e.Retry, l.notBefore, l.mustCall, l.outage.tried = c.waiting, 0, now, true, now
		l.outage.tardy = l.config.Outage.lets() // else only a slot lets claims go
	}
	return e
}

// hearMembers takes in how many share the bucket, by the reply to a call that was sent at an instant.
func (l *Lease) hearMembers(now, sent monotime.Time, reply *store.Reply) {
	l.shared.lost(now, l.sharing(), reply.Lost)
	l.last.few = (l.last.few || l.last.at == 0 && reply.Lost) && span(reply.Known) < Horizon
	l.last.at, l.last.sent, l.last.members = now, sent, max(reply.Members, 1)
	l.last.sharing = max(reply.Sharing, l.last.members)
	if l.came.at < sent {
		l.came = cameNews{} // the reply counts whoever came
	}
}

// hearSchedule takes in how far ahead the last slot is that the store has handed out.
func (l *Lease) hearSchedule(now, sent monotime.Time, reply *store.Reply) {
	l.last.next, l.last.end, l.last.endAt, l.last.bound = now, now.Add(span(reply.Ahead)), now, -1
	if l.far.at != 0 && l.far.at >= sent {
		l.takeFar() // nobody knows whether the reply was made before
	}
}

// hearSlots takes the slots of a reply, and says which claims got none, and when to ask again.
func (l *Lease) hearSlots(now, sent monotime.Time, c *Call, reply *store.Reply, e *Effects) {
	if l.last.bound = reply.Bound; len(c.Request.Asks) > 0 {
		l.last.next = now.Add(span(reply.Next))
	}
	got, open := l.receive(now, sent, c.Request, reply, e)
	l.returnUnknown(now, reply)
	l.last.note(c.Request.Asks, got)
	l.vain.note(now, c.hopes, got, l.last.next)
	e.Unserved, e.Retry = l.unserved(c, got, open), l.askLater(now, c, got)
}

// disappoint notes that a call brought nothing.
func (l *Lease) disappoint(c *Call) {
	for i := range c.waiting {
		c.answer(i, false)
	}
}

// inTime reports whether a reply came before its call counted as failed. If not, the store is as good as out of
// reach: the outage goes on. A SlotLife that the user has set for such a store gives replies as much time.
// Where nothing goes without slots, a reply is late only if its slots are of no use.
func (l *Lease) inTime(took time.Duration, r *store.Request, reply *store.Reply) bool {
	if l.config.Outage.lets() {
		return took <= max(longestCall, l.config.SlotLife)
	}
	return took <= max(longestCall, r.SlotLife) || len(reply.Slots) == 0
}

// trip notes a round trip. SlotLife rises to twice the shortest of the last three, and falls to twice the
// longest, but not below what suits the quotas. If the user has set SlotLife, it is that.
func (l *Lease) trip(took time.Duration) {
	l.trips.add(took)
	if l.config.SlotLife <= 0 {
		longest := max(DefaultSlotLife(l.quotas), slotLifeFromTrip(l.quotas, slices.Max(l.trips.took[:])))
		l.slotLife = min(max(l.slotLife, slotLifeFromTrip(l.quotas, l.trips.least())), longest)
	}
}

// lookAgain has a call made at once if the last one took so much less than those before that the store may be
// near again: SlotLife falls with the third such call, and who has slots for a while would make that a second
// later. It costs two calls in a Horizon at most, and one more that tells the store of the fall, which goes by
// what was asked for last.
func (l *Lease) lookAgain(now monotime.Time, asked time.Duration) {
	if 2*l.slotLife <= asked {
		l.mustCall = true
	}
	if l.config.SlotLife > 0 || l.slotLife < 4*max(DefaultSlotLife(l.quotas), slotLifeFromTrip(l.quotas, l.trips.last())) {
		return
	}
	if l.trips.lookAgain(now, Horizon) {
		l.mustCall = true
	}
}

// hearOthers takes in by which quotas others ask.
func (l *Lease) hearOthers(now monotime.Time, all []quota.Quotas) {
	l.last.others = all
	for _, qs := range all[:min(len(all), mostOthers)] {
		l.remember(now, qs, l.used, l.quotas)
	}
}

// tellOthers adds events for the quotas of which the owner was not told.
func (l *Lease) tellOthers(all []quota.Quotas, e *Effects) {
	for _, qs := range all {
		known := slices.ContainsFunc(l.others, func(o quota.Quotas) bool { return slices.Equal(o, qs) })
		if !known && len(l.others) < mostOthers {
			l.others, e.Events = append(l.others, qs), append(e.Events, Event{Kind: Others, Others: qs})
		}
	}
}

// receive puts the slots of a reply in hand. It returns how many there were for each ask, and how many of these
// may be used now; more than were asked for are none.
func (l *Lease) receive(now, sent monotime.Time, r *store.Request, reply *store.Reply, e *Effects) (got, open []int) {
	got, open = make([]int, len(r.Asks)), make([]int, len(r.Asks))
	early := len(l.unsent.own) > 0 || l.outage.since != 0 // the store is to be told first what goes without it
	for _, o := range reply.Slots {
		n := granted(r, &o, got)
		if n == 0 {
			continue
		}
		// Both ends are on the safe side: the store made the reply after the request was sent, and
		// before the reply was here.
		in := min(max(o.In, -monotime.Longest), monotime.Longest) // of a request that was repeated it may have begun
		s := &heldSlot{id: o.ID, at: sent.Add(in), from: now.Add(max(in, 0)), until: sent.Add(in + r.SlotLife), asked: sent, epoch: l.slots.epoch}
		s.left = slices.Clone(r.Asks[o.Ask].Cost)
		for i := range s.left {
			s.left[i] *= int64(n)
		}
		s.debt = aboveBurst(l.quotas, s.left)
		if unknown := s.from > l.known(); early || unknown || s.until < s.from {
			if sent.Add(r.SlotLife) < now {
				l.slow(now, e)
			}
			if in < 0 || unknown { // it had passed, or is none, so that nothing was got: a store that says so again and again is not asked at once
				got[o.Ask] -= n
			}
			l.wasted += slot.Total(s.left)
			l.giveBack(now, s, s.left)
			continue
		}
		l.slots.put(s)
		if l.err = nil; s.from <= now && now <= s.until {
			open[o.Ask] += n
		}
	}
	return got, open
}

// decline gives back the slots of a reply to what was asked before the quotas were replaced, as slots of the
// quotas that took over.
func (l *Lease) decline(r *store.Request, reply *store.Reply) {
	got := make([]int, len(r.Asks))
	for _, o := range reply.Slots {
		n := granted(r, &o, got)
		if n == 0 {
			continue
		}
		cost := carry(r.Asks[o.Ask].Cost, l.flown, 0)
		for i := range cost {
			cost[i] *= int64(n)
		}
		if !slot.Empty(cost) {
			l.unsent.giveBack(o.ID, cost)
			l.mustCall = true
		}
	}
}

// granted returns how often a slot of a reply may be used, and counts it in got, of each ask: never more than
// was asked for, whatever the store says.
func granted(r *store.Request, o *store.Slot, got []int) int {
	if o.Ask < 0 || o.Ask >= len(got) {
		return 0
	}
	n := max(min(o.Count, r.Asks[o.Ask].Count-got[o.Ask]), 0)
	got[o.Ask] += n
	return n
}

// slow notes that a reply took so long that a slot in it was of no use.
func (l *Lease) slow(now monotime.Time, e *Effects) {
	took := l.trips.last()
	l.err = fmt.Errorf("throttle: %s: a round trip to the store took %v, want less than SlotLife, %v", l.config.Name, took, l.slotLife)
	if l.config.SlotLife <= 0 && (l.trips.took[0] == 0 || took < l.slotLife) {
		return // SlotLife may still grow, or just did
	}
	l.notBefore = now.Add(min(took, Horizon))
	if l.trips.least() >= l.slotLife && l.trips.tellSlow(now) { // not for one slow trip, such as that of a new connection
		e.Events = append(e.Events, Event{Kind: Slow, Err: l.err})
	}
}

// note takes in what a reply says of the next slot: that of the first ask that got too few, else one
// more of the last ask.
func (r *lastReply) note(asks []store.Ask, got []int) {
	r.short, r.nextCost = false, nil
	for i, a := range asks {
		r.nextCost = a.Cost
		if got[i] < a.Count {
			r.short = true
			return
		}
	}
}

// unserved returns the claims that got no slot. Slots are handed out in the order of asks, so that
// of two claims that cost the same the later one got none. A claim that is cheaper than the next
// slot is not among them: there may be room for it before that.
func (l *Lease) unserved(c *Call, got, open []int) (none []Unserved) {
	due := limit.Due{At: l.last.next, Cause: limit.Pace, Quota: l.binding()}
	ask, n := -1, 0 // the claim is the n-th of its ask
	for i, a := range c.asked {
		if a.ask != ask {
			ask, n = a.ask, 0
		}
		n++
		c.answer(i, n <= open[ask])
		if n <= got[ask] {
			continue
		}
		if slot.Suffices(c.Request.Asks[ask].Cost, l.last.nextCost) {
			none = append(none, Unserved{a.Waiter, due})
		}
	}
	return none
}

// askLater has the store not be asked again at once if it had nothing at all. It returns when to ask again for
// claims in line; zero if at once. That is sooner than Next, a quarter of the time until then, since others may
// give back slots that are earlier, of which no news comes: 13 calls in a Horizon in which nothing is handed
// out. A store that has lost the bucket waits for a Horizon to be told what is known here.
func (l *Lease) askLater(now monotime.Time, c *Call, got []int) (retry monotime.Time) {
	if len(got) == 0 || !slot.Empty(got) || len(l.unsent.own) > 0 {
		return 0
	}
	next := l.last.next.Sub(now)
	if len(c.asked) > 0 {
		longest := Horizon
		if l.heardLost {
			longest /= 4
		}
		if l.vain.broken(now) {
			return now.Add(longest)
		}
		return now.Add(min(max(next/4, 10*time.Millisecond), longest))
	}
	l.noPrefetch = now.Add(min(max(next, 10*time.Millisecond), Horizon))
	return 0
}

// beganBy is when an outage began of which a process hears now, by a call that failed: when the call was sent.
// But a process that hears of it later than a call may take did not run meanwhile, and the store may have
// served others until now. So the outage begins later by four times what the news is late, and at the latest
// now: a timer that is late by a little makes little difference.
func beganBy(now, sent monotime.Time) monotime.Time {
	return min(sent.Add(4*max(now.Sub(sent)-longestCall, 0)), now)
}

// failed notes that a call failed, which was sent at an instant; zero if it was not.
func (l *Lease) failed(now, sent monotime.Time, err error, e *Effects) {
	if sent == 0 {
		sent = now
	}
	l.notBefore = max(now, sent.Add(probeEvery))
	l.mustCall = true
	l.err = err
	l.statements.failed()
	l.outage.tried = now
	if sent >= l.outage.woke {
		l.outage.woke = 0
	}
	if l.outage.since == 0 {
		l.outage.since, l.outage.began = now, beganBy(now, sent)
		e.Events = append(e.Events, Event{Kind: Down, Err: err})
	}
}

// recovered notes that a call succeeded: the store is told the rest of what went without it.
func (l *Lease) recovered(now monotime.Time, e *Effects) {
	since := l.outage.since
	if since == 0 {
		return
	}
	if rest := l.outage.went.before(now, now); len(rest) > 0 {
		l.unsent.own = append(l.unsent.own, rest...)
		l.mustCall = true
	}
	l.tellOwed(now)
	e.Events = append(e.Events, Event{Kind: Back, After: now.Sub(since)})
	l.outage, l.err = outage{}, nil
}

// hearLife takes in the life of a bucket, and how many share it. It reports whether the store is to be told
// what it has lost: not if that is told already, in several requests.
func (l *Lease) hearLife(now monotime.Time, r *store.Request, reply *store.Reply) (lost bool) {
	l.heardLost = l.heardLost && !reply.Lost
	lost = reply.Lost && (reply.Life != l.life || reply.Life == r.Life)
	if lost {
		if l.lostLately(now) {
			l.notBefore = max(l.notBefore, now.Add(probeEvery))
		}
		l.lostAt = now
	}
	if l.life = reply.Life; !reply.Lost {
		l.told = reply.Life
		if !reply.Parted { // nor did one in the life before, since the store would not know that all have told
			l.shared.parted = 0
		}
	}
	l.shared.note(now, l.counted(), reply.Parted)
	return lost
}

// lostLately reports whether the store has said within a Horizon that it has lost the bucket: it may say so for
// ever, in replies and in news.
func (l *Lease) lostLately(now monotime.Time) bool {
	return l.lostAt != 0 && now.Sub(l.lostAt) < Horizon
}

// lost notes that the store no longer knows the slots that it has handed out. They may be used all the same;
// nothing goes back of any. The store, which has known the bucket for so long, is told of them, and of what
// went before; of all that went if the bucket is new since the last request that was answered, since what went
// after the loss was of slots from before. A store that does not say for how long hands out nothing for the
// next Horizon, and all beyond that anew: those slots are dropped.
func (l *Lease) lost(now, answered monotime.Time, known time.Duration, e *Effects) {
	if !l.config.Fresh || answered != 0 { // else that it is new is no news
		e.Events = append(e.Events, Event{Kind: Lost})
	}
	l.slots.epoch++
	l.unsent.back = nil
	if known == 0 {
		l.slots.remove(func(s *heldSlot) bool { return s.from > now.Add(Horizon) })
		return
	}
	until := now.Add(-known)
	if answered <= until {
		until = now
	}
	l.unsent.own = append(append(l.unsent.own, l.wentBefore(now, until)...), l.slots.before(until)...)
	l.mustCall = true // also if there is nothing to tell: the store waits for all that had the bucket
}
