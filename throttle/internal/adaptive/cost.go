package adaptive

import (
	"cmp"
	"math"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/pace"
)

// This file says what requests cost of a limit, those that are to go and those in flight, in the unit of the
// limit; and it has the price be learned of those that do not say it, see price.

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

// learnPrice takes in an answer about the window, to a request of a kind, if that did not say what it costs.
func (w *window) learnPrice(o *outcome, t *Ticket, kind Kind, a *Answer) {
	if !o.unpriced {
		if p := w.price; p != nil && o.newest { // what it has cost is not the price of others
			p.skip(a.underway)
			p.at, p.remaining, p.least = o.now, o.remaining, o.remaining
		}
		return
	}
	if w.price == nil {
		w.price = &price{at: o.now, remaining: o.remaining, least: o.remaining}
		if missing := w.stated - o.remaining; missing >= 0 && 10*missing <= w.stated {
			w.price.first = float64(missing)
		}
		return
	}
	switch p := w.price; {
	case o.refused:
		p.streaming.heard = 0
		if o.newest && !o.elsewhere && 10*o.remaining <= w.stated { // it costs more than what remains
			p.first = max(p.first, float64(o.remaining+1))
		}
	case a.Reading:
		t.begun = p.beginReading(&kind) || t.begun
		t.Reading = t.Reading || t.begun
	case w.isBefore(t.sequence): // it was charged to the window before
	default:
		p.count(&kind)
	}
	w.learnSpent(t, o.now, o.remaining, a.underway, !o.refused, &kind, o.change != sameReset, o.newest)
}

// learnSpent learns from what was spent since the newest answer before, if so much remains now, after a request
// with so many others under way. Of a window of which all requests are answered, the least that remained is
// what remains, whichever answer said it; one about the window before says nothing of it.
func (w *window) learnSpent(t *Ticket, now monotime.Time, remaining, underway int, served bool, kind *Kind, another, newest bool) {
	p := w.price
	if w.isBefore(t.sequence) {
		return
	}
	if p.least = min(p.least, remaining); !newest {
		if underway > 0 || w.refill.refills {
			return
		}
		remaining = p.least
	}
	before, refills := float64(p.remaining), w.refill.refills
	if refills {
		before = min(before+w.refill.rate*now.Sub(p.at).Seconds(), float64(cmp.Or(w.stated, maxTokens)))
	}
	soon := now.Sub(p.at) <= sameBurst*now.Sub(t.Sent)
	spent, missing := before-float64(remaining), float64(w.stated-remaining)
	switch {
	case soon && (refills && pace.Sane(w.refill.rate) || !refills && !another && spent >= 0):
		p.learn(spent, underway)
	case another && p.known() && served && missing >= 0 && missing < p.of(kind):
		// It has cost no more than is missing of the new window. Where so much must remain that one request
		// goes in each window, there is nothing else to learn from.
		p.skip(0)
		p.count(kind)
		p.learn(missing, 0)
	default:
		p.skip(underway)
	}
	p.at, p.remaining, p.least = now, remaining, remaining
	if p.learned < enoughNumbers {
		p.notice(w.stated, remaining)
	}
}

// tooDear reports whether a refused request may have cost more than what remains of the limit: then the limit
// explains the refusal, though something remains. If neither the price nor the
// limit is known, nobody knows whether what remains is much, and the limit explains each refusal.
func (w *window) tooDear(o *outcome, kind *Kind) bool {
	switch {
	case !o.refused || o.elsewhere || w.unit == "" && o.n == 1: // of one request, usedUp says it
		return false
	case o.unpriced && w.price != nil:
		return !w.price.known() && w.stated == 0 || o.remaining < w.price.need(kind, 1, 0)
	}
	return o.remaining < o.n
}

// noteDear takes in whether a request was refused that costs more than what remains. What is learned of a price
// may be wrong, and says nothing of a dearth.
func (w *window) noteDear(o *outcome, kind *Kind, a *Answer) {
	switch {
	case !o.refused && !a.Lost:
		w.dearth.serve(o)
		return
	case !w.tooDear(o, kind):
		return
	}
	if !o.unpriced {
		w.dearth.refuse(o)
	}
	if w.dearth.over { // looks for as much have not shown that nothing is back
		w.look.forget()
		w.seek, w.vainLooks, o.look = seek{}, 0, false
	}
	a.dear = true
	a.inTime = a.inTime || o.n > 1 && (o.limit == 0 || o.n <= o.limit) && !w.dearth.over
}

func isSaid(d *limit.Demand, unit string) bool {
	if len(d.Costs) == 0 {
		return false
	}
	_, ok := d.Costs[unit]
	return ok
}

// unitCost is what the requests in flight cost in one unit. It counts only requests whose cost in the unit is
// known.
type unitCost struct {
	n        int // in the unit
	requests int // of the same requests, in requests
}

// need returns how much of a window must remain, beside what is in flight, so that d may go. That is what d
// costs; where the cost is learned, it is so much more that d rarely costs more.
func (s *Server) need(w *window, d *limit.Demand, kind *Kind) (n int) {
	if n = d.N; w.unit != "" {
		n = s.needIn(w, d, kind)
	}
	if w.dearth.over { // nobody waits behind it
		n = min(n, max(w.remaining, 1))
	}
	return n
}

// needIn is need in a unit other than requests.
func (s *Server) needIn(w *window, d *limit.Demand, kind *Kind) int {
	if !w.prices(d) {
		return costIn(d, w.unit)
	}
	n := w.price.need(kind, d.N, s.inFlight-s.known(w.unit).requests+int(math.Ceil(w.price.unread(s.begun))))
	if n > w.stated/2 && w.stated > 0 {
		// Half of the limit must do for what costs less in the mean: with all of it, one request would go in
		// each window.
		n = min(n, max(w.price.times(d.N, kind), w.stated/2), max(w.stated, d.N))
	}
	return n
}

// inFlightOn returns the cost of the requests in flight that draw on a window, of all Servers
// that share the window, in its unit.
func (s *Server) inFlightOn(w *window) (n int) {
	if b := w.overlap.before; b != nil {
		if n = b.inFlightIn(w); b.inFlight == 0 {
			w.overlap.before = nil
		}
	}
	if w.overlap.users == nil {
		return n + s.inFlightIn(w)
	}
	for _, u := range w.overlap.users {
		n += u.inFlightIn(w)
	}
	return n
}

// inFlightIn returns the cost of the requests in flight in the unit of a window. A request whose cost in the
// unit is not known counts at the price of the window, or if there is no price, as what it costs in requests.
func (s *Server) inFlightIn(w *window) int {
	if w.unit == "" || w.price == nil && len(s.otherUnits) == 0 {
		return s.inFlight
	}
	c := s.known(w.unit)
	owed := w.price.owed(s.begun)
	if w.stated > 0 { // some streams never end, and of others nothing is charged: they leave half of the limit
		owed = min(owed, w.stated/2)
	}
	return c.n + w.priceOf(s.inFlight-c.requests) + owed
}

// known returns what those requests in flight cost in a unit whose cost in the unit is known.
func (s *Server) known(unit string) (c unitCost) {
	if len(s.otherUnits) > 0 {
		c = s.otherUnits[unit]
	}
	return c
}

// addCosts adds what d costs in units other than requests to what is in flight, or takes it away
// if sign is -1.
func (s *Server) addCosts(d *limit.Demand, sign int) {
	for unit, n := range d.Costs {
		if unit == quota.Requests {
			continue
		}
		if s.otherUnits == nil {
			s.otherUnits = map[string]unitCost{}
		}
		c := s.otherUnits[unit]
		c.n += sign * bounded(n)
		if c.requests += sign * d.N; c.requests == 0 {
			delete(s.otherUnits, unit)
		} else {
			s.otherUnits[unit] = c
		}
	}
}

// priced reports whether it is known of each window what requests cost.
func (s *Server) priced() bool {
	for _, w := range s.windows {
		if w.price != nil && !w.price.known() {
			return false
		}
	}
	return true
}

// beginReading counts an answer that is being read, if that is to be known.
func (s *Server) beginReading(t *Ticket) {
	if t.Reading {
		s.reading += t.N
	}
	if t.begun {
		s.begun += t.N
	}
}

// EndReading takes in that an answer was read, if Learn has left Ticket.Reading set.
func (s *Server) EndReading(t *Ticket, kind *Kind) {
	if !t.Reading {
		return
	}
	t.Reading = false
	s.reading = max(s.reading-t.N, 0)
	if !t.begun {
		return
	}
	s.begun = max(s.begun-t.N, 0)
	for _, w := range s.windows {
		if w.price != nil {
			w.price.endReading(kind)
		}
	}
}
