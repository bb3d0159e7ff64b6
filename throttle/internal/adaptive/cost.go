package adaptive

import (
	"cmp"

	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/pace"
)

// This file says what requests cost of a limit, and has the price be learned of those that do not say it, see price.

// prices reports whether what d costs of the window is learned.
func (w *window) prices(d *limit.Demand) bool { return w.price != nil && !isSaid(d, w.unit) }

// costOf returns what d costs of the window, for a kind of request or, if that is nil, for several.
func (w *window) costOf(d *limit.Demand, kind *Kind) int {
	if w.unit == "" {
		return d.N
	}
	return w.costIn(d, kind)
}

// costIn is costOf in a unit other than requests.
func (w *window) costIn(d *limit.Demand, kind *Kind) int {
	if w.prices(d) {
		return w.price.times(d.N, kind)
	}
	return costIn(d, w.unit)
}

// priceOf returns what so many requests cost of the window of which nobody said it.
func (w *window) priceOf(requests int) int {
	if w.price == nil {
		return requests
	}
	return w.price.times(requests, nil)
}

// limitInRequests returns the limit of the window in requests, zero if it is not known.
func (w *window) limitInRequests() int {
	switch {
	case w.price == nil:
		return w.limit()
	case !w.price.known():
		return 0
	}
	return int(float64(w.stated) / max(w.price.mean, 1))
}

// learnPrice takes in an answer about the window, to a request of a kind, if that did not say what it costs. Another
// says that the answer is the first one about a reset.
func (w *window) learnPrice(o *outcome, kind Kind, another bool) {
	if !o.unpriced {
		if p := w.price; p != nil && o.newest { // what it has cost is not the price of others
			p.skip()
			p.at, p.remaining = o.now, o.remaining
		}
		return
	}
	if w.price == nil {
		w.price = &price{at: o.now, remaining: o.remaining}
		if missing := w.stated - o.remaining; missing >= 0 && 10*missing <= w.stated {
			w.price.first = float64(missing)
		}
		return
	}
	if !o.refused {
		w.price.count(&kind)
	}
	if o.newest {
		w.learnSpent(o.sent, o.now, o.remaining, !o.refused, &kind, another)
	}
}

// learnSpent learns from what was spent since the newest answer before, if so much remains now, after a request that
// was sent at an instant.
func (w *window) learnSpent(sent, now monotime.Time, remaining int, served bool, kind *Kind, another bool) {
	p := w.price
	before, refills := float64(p.remaining), w.refill.refills
	if refills {
		before = min(before+w.refill.rate*now.Sub(p.at).Seconds(), float64(cmp.Or(w.stated, maxTokens)))
	}
	soon := now.Sub(p.at) <= sameBurst*now.Sub(sent)
	spent, missing := before-float64(remaining), float64(w.stated-remaining)
	switch {
	case soon && (refills && pace.Sane(w.refill.rate) || !refills && !another && spent >= 0):
		p.learn(spent)
	case another && p.known() && served && missing >= 0 && missing < p.of(kind):
		// It has cost no more than is missing of the new window. Where so much must remain that one request
		// goes in each window, there is nothing else to learn from.
		p.skip()
		p.count(kind)
		p.learn(missing)
	default:
		p.skip()
	}
	p.at, p.remaining = now, remaining
}

func isSaid(d *limit.Demand, unit string) bool {
	if len(d.Costs) == 0 {
		return false
	}
	_, ok := d.Costs[unit]
	return ok
}
