package lease

import (
	"slices"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/slot"
	"github.com/gopacer/pacer/throttle/store"
)

// maxAsks bounds how many asks a request has.
const maxAsks = 256

// Asked says which ask is on behalf of a claim in line.
type Asked struct {
	Waiter int // index of the claim in Line.InOrder
	ask    int // index of the ask
}

// asks returns what to ask the store for, and on behalf of which claims. The head of the line is nil
// if it does not wait for slots: then no claim behind it gets any either, since these would expire.
func (l *Lease) asks(now monotime.Time, head *Waiter, line Line) (asks []store.Ask, asked []Asked) {
	ready := head != nil && l.ready(now, head)
	target := l.prefetchTarget(now)
	if !l.wanted(now, line, head, ready, target) {
		return nil, nil
	}
	if head != nil {
		free := slices.Clone(l.slots.inHand)
		if !ready {
			// The slots in hand may be enough together and yet not at any one instant. If they
			// counted, nothing would be asked for, and the claim would wait until they have expired.
			clear(free)
		}
		asks, asked = l.forWaiters(now, line, free)
	}
	inHand := l.work(l.slots.inHand)
	for _, a := range asks {
		inHand = min(inHand+monotime.Times(int64(a.Count), l.work(a.Cost)), monotime.Longest)
	}
	if ask, ok := l.prefetchAsk(inHand, target); ok {
		asks = append(asks, ask)
	}
	return asks, asked
}

// firstInLine returns the first claim in line; nil if the line is empty, or if something other than the
// store stands in the way of the claim.
func (l *Lease) firstInLine(now monotime.Time, line Line) *Waiter {
	w, until, ok := line.First(now)
	switch {
	case !ok:
		return nil
	case until > now:
		if until < now.Add(monotime.Longest) {
			l.wakeBy(until)
		}
		return nil
	}
	return &w
}

// wanted reports whether to ask for slots. The head of the line is nil if it does not wait for
// slots, and ready if it has some.
func (l *Lease) wanted(now monotime.Time, line Line, head *Waiter, ready bool, target time.Duration) bool {
	inHand := l.work(l.slots.inHand)
	if head == nil {
		return target > 0 && l.low(inHand, target) && l.prefetchNow(now)
	}
	switch {
	case !ready:
		return true
	case !slot.Suffices(l.slots.inHand, l.needed(line)):
		// The claims behind need more. A call for each of them is a waste if the store had too
		// few the last time, since it has none before Next; and if demand is steady, since more
		// claims come until the reply is here. Then one call is for many: when little is left of
		// this member's share.
		oneByOne := !l.last.short && !l.demand.backlog.steady()
		if oneByOne || l.low(inHand, l.share()) {
			return true
		}
	}
	return target > 0 && l.low(inHand, target)
}

// ready reports whether the slots in hand suffice for w, now or later.
func (l *Lease) ready(now monotime.Time, w *Waiter) bool {
	var buf costs
	n := l.cost(buf[:0], w.Demand, w.Urgent)
	_, ok := l.slots.first(now, now, n)
	return ok || slot.Empty(n)
}

// forWaiters asks for slots for the claims in line for which free, of what is in hand, does not
// suffice. Claims that follow each other and cost the same share an ask, if they can wait for
// nearly the same time.
func (l *Lease) forWaiters(now monotime.Time, line Line, free []int64) (asks []store.Ask, asked []Asked) {
	var buf costs
	usable := l.slots.usable(now)
	l.flights.next = new(flight)
	i := -1
	for w := range line.InOrder(now) {
		i++
		n := l.cost(buf[:0], w.Demand, w.Urgent)
		if slot.Empty(n) {
			continue
		}
		if len(asks) == 0 && slot.Suffices(free, n) {
			// Not behind a claim that must ask: this one goes after that, and what is in hand may
			// have expired by then.
			slot.Add(free, n, -1)
			if slot.Suffices(usable, n) {
				slot.Add(usable, n, -1)
				line.Hope(i).ready = l.flights.next
			}
			continue
		}
		if last := len(asks) - 1; last >= 0 && slices.Equal(asks[last].Cost, n) && closeBy(asks[last].Within, w.Within) {
			asks[last].Count++
			asks[last].Within = min(asks[last].Within, w.Within)
		} else {
			if len(asks) == maxAsks {
				l.flights.next.full = true
				break
			}
			asks = append(asks, store.Ask{Cost: slices.Clone(n), Count: 1, Within: w.Within})
		}
		asked = append(asked, Asked{i, len(asks) - 1})
	}
	return asks, asked
}

// closeBy reports whether two bounds of a wait differ by an eighth at most.
func closeBy(a, b time.Duration) bool {
	if a < 0 || b < 0 {
		return a < 0 && b < 0
	}
	return max(a, b)-min(a, b) <= min(a, b)/8
}
