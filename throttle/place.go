package throttle

import (
	"slices"
	"time"

	"github.com/gopacer/pacer/throttle/internal/adaptive"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/order"
)

// This file says who goes before whom when the server has refused a claim, or has served one that went ahead of others:
// answer.go asks it. What a server is believed to refuse is for package adaptive.

// letOthersAhead puts those who wait in l, were refused before and still yield behind those who come before the end of
// the hold, in their order: one of these goes ahead after it.
func (l *Limiter) letOthersAhead(now monotime.Time) {
	for i, w := range slices.Collect(l.line.aside.After(l.line.InOrder())) {
		if w.l == l && l.server.Yields(w.place.past, l.hold.Until()+monotime.Time(i)) {
			w.stay.Back(now)
			w.leave()
			w.rank = l.rankOf(&w.place, w.priority)
			w.enter(false)
		}
	}
	l.letAnotherAhead()
}

// letAnotherAhead lets another claim go ahead after the hold than the first in line, if the server is known to
// refuse the first one's kind, or refuses one claim after the other: else as many that it always refuses would
// go ahead as are made at once.
func (l *Limiter) letAnotherAhead() {
	all := l.line.FirstAnd(func(w *waiter) bool { return w.l == l && w.place.past == nil })
	if i := l.server.Ahead(len(all), func(i int) *adaptive.Kind { return &all[i].Kind }); i > 0 {
		w := all[i]
		w.leave()
		w.rank = all[0].rank - 1
		if len(l.tree.flows) > 0 { // no flow goes before a new one of w alone, which has got nothing yet
			w.flow = flow{name: ofOneAlone(w)}
		}
		w.enter(true)
	}
}

// letOthersPass has claims that the server may refuse whatever happens let others pass, since g was served,
// which went ahead of them: those who stood before g in line, and have let others pass fewer times than so
// often. Order.Pass says who goes where.
func (l *Limiter) letOthersPass(g *right, times int) {
	for w, to := range order.Pass(l.line.InOrder(), l.rankOf(&g.place, Normal), times, func(w *waiter) order.Standing { return order.At(w.rank, w.passed, w.place.past.Latest(), w.l != l) }) {
		w.leave()
		w.rank, w.passed = to, w.passed+1
		w.enter(false)
	}
}

// fallBack returns until when others go before the claim that the server refused now, as a rank; zero if it
// keeps its place. After two refusals in a row, of whichever claims, all who wait go first, also those that
// were refused. Where claims that went first again were refused again, eight go first, or those who come while
// it waits out of line: alone is for how long it does. If another is to go at once, it is drawn now.
func (l *Limiter) fallBack(now monotime.Time, t *adaptive.Ticket, alone time.Duration) monotime.Time {
	if alone > 0 && l.server.TriesAnother() {
		l.letAnotherAhead()
	}
	switch {
	case alone == 0 && l.server.RefusedAgain(t):
		return max(l.hold.Until(), now) + monotime.Time(l.line.Len())
	case !l.server.OthersFirst():
		return 0
	case alone > 0:
		return now.Add(alone)
	}
	if w, ok := l.line.Nth(8); ok { // as many show whether a server serves others, and go within four round trips of a slow start
		return w.rank
	}
	return 0
}
