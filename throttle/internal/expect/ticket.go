package expect

import (
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Ticket is one claim that has gone. The zero Ticket is of no kind, and does nothing.
type Ticket struct {
	kind  *Kind
	going []going     // in units of which the claim did not say what it costs
	costs quota.Costs // what the request has cost as far as was said; nil if nothing was
	ended bool
}

// going is a unit of which a claim did not say what it costs.
type going struct {
	unit     string
	variance float64 // of what it was expected to cost when it went
}

// Kind is the kind of the claim; nil if it is of none.
func (t *Ticket) Kind() *Kind { return t.kind }

// Begin notes that a claim of a kind goes which does not say what it costs in these units.
func Begin(now monotime.Time, kind *Kind, unsaid quota.Costs) (t Ticket) {
	t.kind = kind
	for unit := range unsaid {
		kind.Any().ask(unit)
		if c := kind.ask(unit); c != nil {
			if c.under++; c.under == 1 {
				c.since = now
			}
			g := going{unit, kind.known(unit).spread()}
			kind.of.begin(unit, g.variance, 1)
			t.going = append(t.going, g)
			if kind.Until(unit) > now {
				kind.of.begun = kind
			}
		}
	}
	return t
}

// Settle notes what the request has cost. What is said last before its end counts, else what is said first
// after that. It reports whether claims that wait for others of their kind may go now.
func (t *Ticket) Settle(now monotime.Time, costs quota.Costs) (news bool) {
	if t.kind == nil || t.ended && t.costs != nil {
		return false
	}
	if t.costs == nil {
		t.costs = quota.Costs{}
	}
	for unit, n := range costs {
		t.costs[unit] = max(n, 0)
	}
	if !t.ended {
		return false
	}
	for i := range t.going {
		c := t.kind.in(t.going[i].unit)
		if _, said := costs[c.unit]; said {
			c.silent = max(c.silent-1, 0) // the word of it came late
		}
	}
	return t.learn(now)
}

// Open reports whether it is not known yet what the request has cost in some unit of which the claim did not
// say it.
func (t *Ticket) Open() bool {
	for i := range t.going {
		if _, known := t.costs[t.going[i].unit]; !known {
			return true
		}
	}
	return false
}

// Unheard returns the units in which nobody has said yet what the kind costs, each with zero; nil if there is
// none.
func (t *Ticket) Unheard() (costs quota.Costs) {
	for i := range t.going {
		unit := t.going[i].unit
		if _, known := t.costs[unit]; !known && !t.ended && t.kind.in(unit).learned == 0 {
			if costs == nil {
				costs = quota.Costs{}
			}
			costs[unit] = 0
		}
	}
	return costs
}

// End notes that the request has ended. Void says that it was not done: then nothing is learned. It reports
// what Settle does.
func (t *Ticket) End(now monotime.Time, void bool) (news bool) {
	if t.kind == nil || t.ended {
		return false
	}
	t.ended = true
	for i := range t.going {
		g := &t.going[i]
		t.kind.of.begin(g.unit, g.variance, -1)
		c := t.kind.in(g.unit)
		c.under--
		if _, known := t.costs[g.unit]; !known && !void && c.learned < enough {
			c.silent++
			c.since = now
		}
		news = news || c.learned < enough
	}
	if void {
		t.kind = nil
		return news
	}
	return t.learn(now) || news
}

// learn takes in what the request has cost. News says that little was known of its kind.
func (t *Ticket) learn(now monotime.Time) (news bool) {
	for unit, n := range t.costs {
		if unit != "" && unit != quota.Requests {
			news = t.kind.make(unit).learn(now, n) || news
			t.kind.of.all.make(unit).learn(now, n)
		}
	}
	return news
}
