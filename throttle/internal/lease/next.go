package lease

import (
	"slices"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/store"
)

// Call is one call of the store.
type Call struct {
	Request *store.Request
	asked   []Asked // the claims on behalf of which the request asks, in their order
	waiting []Asked // the claims because of which the call is made: a request that repeats another one, or only tells, asks for none of them
	called          // those of waiting
	version int     // of the quotas
	made    monotime.Time
}

// At returns the request, which is sent at an instant. A process may have been stopped since the request was
// made: to the store, that is not to look like a clock that was set. A process that does not hear news does not
// know who came since the last reply, and so not how many share the bucket.
func (c *Call) At(sent monotime.Time, hears bool) *store.Request {
	if !hears {
		c.Request.Sharing = 0
	}
	if c.Request.Answered > 0 {
		c.Request.Since += sent.Sub(c.made)
	}
	return c.Request
}

// Next returns the call of the store that is to be made now; nil if none is. A call is made if a
// claim waits for slots that are not in hand, if too little is in hand for claims that may come,
// or if there is something to tell; one at a time. The bucket is held until an instant. Next is
// called whenever something has changed, and Step when the call has ended.
func (l *Lease) Next(now, held monotime.Time, line Line) *Call {
	l.flights.ended, l.flights.next = nil, nil
	if l.flights.calling() {
		return nil
	}
	if l.again != 0 && now >= l.again {
		l.change(now, l.quotas, takesOver(l.quotas, l.quotas, 0))
	} else if l.again != 0 {
		l.wakeBy(l.again)
	}
	if now < l.notBefore {
		if line.Waiting() > 0 || l.mustCall {
			l.wakeBy(l.notBefore)
		}
		return nil
	}
	asks, asked := l.toAskFor(now, line)
	l.wakeAtExpiry(now)
	l.stayKnown(now)
	if len(asks) == 0 && !l.mustCall {
		return nil
	}
	return l.call(now, held, line, asks, asked)
}

// toAskFor returns what to ask for, and on behalf of which claims, when slots that nobody needs any more are
// gone.
func (l *Lease) toAskFor(now monotime.Time, line Line) (asks []store.Ask, asked []Asked) {
	l.expire(now)
	l.shorten(now)
	if l.none || len(l.quotas) == 0 {
		l.hearOfHolds(now, line)
		return nil, nil
	}
	head := l.firstInLine(now, line)
	l.tidy(now, head, line)
	return l.asks(now, head, line)
}

// call returns the call that is made because of what there is to ask for. It asks for something else where a
// call that failed comes first, or what went without the store.
func (l *Lease) call(now, held monotime.Time, line Line, asks []store.Ask, asked []Asked) *Call {
	l.mustCall, l.heardLost, l.prefetchAlone = false, false, 0
	r, again := l.request(now, held)
	waiting := asked
	switch {
	case again:
		asks, asked = l.asked, nil // it gets what the call that failed may have got
	case len(l.unsent.own) > 0, l.outage.tardy, l.outage.lapse:
		asks, asked = nil, nil // what went, or goes meanwhile, is charged before anybody is served; what lapses is lost for all
	}
	l.asked = asks
	if r.Asks = asks; l.sentVersion == l.version && !l.none {
		r.Hand = slices.Clone(l.slots.inHand)
	}
	if len(asked) > 0 {
		if _, ok := l.slots.first(now, now, asks[0].Cost); !ok {
			r.Hand = nil // what is in hand is of no use to the first claim
		}
	}
	l.calls++
	hopes := make([]*Hope, len(waiting))
	for i, a := range waiting {
		hopes[i] = line.Hope(a.Waiter)
	}
	return &Call{r, asked, waiting, l.flights.begin(hopes), l.sentVersion, now}
}

// hearOfHolds has a call made of a bucket without quotas, which has nothing to ask for, once in a
// Horizon while the bucket is used: the reply says whether it is held.
func (l *Lease) hearOfHolds(now monotime.Time, line Line) {
	// A claim that costs nothing leaves no trace but the instant of its grant.
	used := l.last.at != 0 || line.Waiting() > 0 || l.demand.grants.at == now
	if used && now.Sub(l.last.at) > Horizon {
		l.mustCall = true
	}
}

// callsEvery is how often a process calls at least that waits for slots in hand: half of the time for which its
// quotas count after a call, while two versions of a program are about.
const callsEvery = 5 * time.Second

// stayKnown has a call made while slots in hand are far ahead and the last reply is old: callsEvery, so that
// the quotas by which this process asks go on to count; and with Share a quarter of how far ahead the last slot
// was, by that reply or by news since, since in an outage nobody could know how much farther ahead those are
// that others have got since.
func (l *Lease) stayKnown(now monotime.Time) {
	n := len(l.slots.list)
	if n == 0 {
		return
	}
	again := l.last.at.Add(callsEvery)
	if ahead := l.last.end.Sub(l.last.endAt); l.config.Outage == Share && ahead >= far {
		again = min(again, l.last.endAt.Add(ahead/4))
	} else if l.slots.list[n-1].from <= again {
		return // it waits no longer than that
	}
	if again > now {
		l.wakeBy(again)
	} else {
		l.mustCall = true
	}
}

// mostOldTries is how often a request is repeated by quotas that were replaced since it was made. What it may
// have got lapses after that, and stays charged: so an outage of two or three seconds costs nothing. A store
// that fails because of these quotas is told of those of now that much later.
const mostOldTries = 10

// request returns a request that tells the store what there is to tell, and asks for nothing. Again reports
// whether it repeats one that failed: then it is to ask for the same. Quotas that were replaced meanwhile are
// repeated mostOldTries times: the store may fail because of them.
func (l *Lease) request(now, held monotime.Time) (r *store.Request, again bool) {
	switch old := l.serialUsed && l.sentVersion != l.version; {
	case !old:
		l.oldTries = 0
	case l.oldTries < mostOldTries:
		l.oldTries++
	default:
		l.outage.lapse = l.outage.lapse || len(l.asked) > 0
		l.sent, l.asked = l.sent.carried(l.flown), nil
		l.sendOf()
	}
	if l.sent.empty() {
		l.tellAlone(now)
	}
	again = l.serialUsed && (!l.sent.empty() || len(l.asked) > 0 && len(l.unsent.own) == 0)
	if !again {
		if l.serialUsed {
			l.serial++ // what the call that failed got lapses, if anything: what went without the store is told first
		}
		l.sent, l.unsent = l.unsent.split(mostParts / max(len(l.quotas), 1))
		l.sendOf()
	}
	if len(l.unsent.own) == 0 {
		l.told = l.life
	}
	l.serialUsed, l.mustCall = true, !l.unsent.empty() || l.sentVersion != l.version
	r = &store.Request{
		Version: store.Version, Bucket: l.config.Bucket, Quotas: l.sentOf, SlotLife: l.slotLife, Horizon: Horizon, Member: l.config.Member, Serial: l.serial, Answered: l.answered,
		Back: l.sent.back, More: l.sent.more, Own: toStore(l.sent.own, now), Statements: l.statements.send(now), Ahead: l.ahead(now),
		Life: l.told, Sharing: l.shared.among(now, l.sharing()), Outage: l.alone(now), GoesOn: l.config.Outage == Share, Fresh: l.config.Fresh, Standstill: min(l.config.Standstill, monotime.Longest),
	}
	if l.sentVersion != l.version {
		r.SlotLife = min(r.SlotLife, EffectiveSlotLife(l.sentOf, l.config.SlotLife)) // those quotas may not bear more
	}
	if l.last.at != 0 {
		r.Since = now.Sub(l.last.sent)
	}
	if held > max(now, l.holdKnown) {
		r.Hold = held.Sub(now)
	}
	return r, again
}

// sendOf has what is sent be of the quotas of now; of none, if there are none and nothing is sent.
func (l *Lease) sendOf() {
	l.sentOf, l.sentVersion, l.flown = l.quotas, l.version, nil
	for i := range l.quotas {
		l.flown = append(l.flown, i)
	}
	if l.none && l.sent.empty() {
		l.sentOf = nil
	}
}

// mostParts bounds how many costs a request tells of, of all quotas together, so that a store is not busy with
// it for long. What is more comes with the next requests, at once.
const mostParts = 64

// split returns the first part of it, with so many instants at most, and the rest.
func (r slotReport) split(most int) (first, rest slotReport) {
	most = max(most, 1)
	n := min(len(r.own), most)
	k := min(len(r.back), most-n)
	rest = slotReport{own: r.own[n:], back: r.back[k:]}
	r.own, r.back = r.own[:n:n], r.back[:k:k]
	return r, rest
}

// ahead returns how far ahead the last slot is of which this process knows, of any process.
func (l *Lease) ahead(now monotime.Time) time.Duration {
	end := l.last.end
	if n := len(l.slots.list); n > 0 {
		end = max(end, l.slots.list[n-1].from)
	}
	return max(end.Sub(now), 0)
}

// Acknowledged notes that the store has done what the last request told it.
func (l *Lease) Acknowledged() {
	l.serial++
	l.serialUsed = false
	l.sent, l.asked = slotReport{}, nil
	l.statements.arrived()
}

// Farewell gives back all slots in hand, and returns the request to leave. After a failed call, the
// request repeats first what that told, and does not leave: Farewell is to be called again. It
// returns nil if there is nothing to tell and the store has never heard of this process.
// Acknowledged must be called when the request has arrived.
func (l *Lease) Farewell(now, held monotime.Time) *store.Request {
	for _, s := range l.slots.remove(func(*heldSlot) bool { return true }) {
		l.giveBack(now, s, s.left)
	}
	l.tellOwed(now) // of an outage that ends with this call, or has ended unnoticed
	if l.serial == 1 && l.last.at == 0 && !l.reports() {
		return nil
	}
	r, _ := l.request(now, held)
	r.Leave = l.unsent.empty()
	return r
}
