package throttle

import (
	"slices"
	"time"

	"github.com/gopacer/pacer/throttle/internal/adaptive"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/order"
)

// This file says who goes before whom when the server has refused a claim, or has served one that went ahead of
// others: answer.go asks it. What a server is believed to refuse is for package adaptive.

// letOthersAhead puts the waiters of l that were refused before, and still yield, behind claims that come
// before the end of the hold: one of the latter goes ahead after it. Those that yield keep their order.
func (l *Limiter) letOthersAhead(now monotime.Time) {
	for i, w := range slices.Collect(l.line.aside.After(l.line.InOrder())) {
		if w.l == l && l.server.Yields(w.place.past, l.hold.Until()+monotime.Time(i)) {
			w.stay.Back(now)
			w.leave()
			w.rank = l.rankOf(&w.place, w.priority)
			w.enter()
		}
	}
	l.letAnotherAhead()
}

// letAnotherAhead lets a claim go ahead after the hold that is not the first in line, if the server is known to
// refuse the kind of the first, or refuses one claim after the other. Else, of many claims that are made at
// once and always refused, each would go ahead once.
func (l *Limiter) letAnotherAhead() {
	all := l.line.FirstAnd(func(w *waiter) bool { return w.l == l && w.place.past == nil })
	if i := l.server.Ahead(len(all), func(i int) *adaptive.Kind { return &all[i].Kind }); i > 0 {
		w := all[i]
		w.leave()
		w.rank = all[0].rank - 1
		if len(l.tree.flows) > 0 { // no flow goes before a new one of w alone, which has got nothing yet
			w.flow = flow{name: ofOneAlone(w)}
		}
		w.enter()
	}
}

// letOthersPass is called when g was served, which went ahead of claims that the server may refuse whatever
// happens. Those that stood before g in line let others pass, each no more than so many times. Order.Pass says
// who goes where.
func (l *Limiter) letOthersPass(g *right, times int) {
	for w, to := range order.Pass(l.line.InOrder(), l.rankOf(&g.place, Normal), times, func(w *waiter) order.Standing { return order.At(w.rank, w.passed, w.place.past.Latest(), w.l != l) }) {
		w.leave()
		w.rank, w.passed = to, w.passed+1
		w.enter()
	}
}

// fallBack is called when the server has refused a claim, of which p is the past. If others are to go before
// it, it falls behind these. Alone is for how long it waits out of line; zero if it does not.
//   - After two refusals in a row, of whichever claims, all who wait go before it, also those that were
//     refused.
//   - Where claims that went first again were refused again, the next eight go before it, and all that share
//     the rank of the eighth, as those do that have let others pass; or, if it waits out of line, those that
//     come meanwhile. Else it would be refused again with nothing served in between, which tells nothing.
//
// All go before it, whatever their priority: else Urgent claims that the server never takes would keep all
// others waiting. Behind Normal ones, an Urgent one is behind the Urgent ones, too, that come within Aging: as
// these go before the others. So it falls behind Urgent ones alone if no others wait.
//
// If another claim is to go at once, that one is chosen now.
func (l *Limiter) fallBack(now monotime.Time, t *adaptive.Ticket, p *adaptive.Past, alone time.Duration) {
	if alone > 0 && l.server.TriesAnother() {
		l.letAnotherAhead()
	}
	last := max(l.hold.Until(), now) + monotime.Time(l.line.Len())
	switch n := l.line.LenOf(Urgent.index()); {
	case alone == 0 && l.server.RefusedAgain(t) && n > 0 && n == l.line.Len():
		p.FallBack(l.rankAt(last, Urgent), last)
	case alone == 0 && l.server.RefusedAgain(t):
		p.FallBack(adaptive.BehindAll, last)
	case !l.server.OthersFirst():
	case alone > 0:
		p.FallBack(adaptive.BehindAll, now.Add(alone))
	default:
		if w, ok := l.line.Nth(8); ok { // as many show whether a server serves others, and go within four round trips of a slow start
			p.FallBack(w.rank+1, last)
		}
	}
}
