package expect

import "github.com/gopacer/pacer/quota"

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
	variance float64 // of the kind, when it went
}

// Begin notes that a claim of a kind goes which does not say what it costs in these units.
func Begin(kind *Kind, unsaid quota.Costs) (t Ticket) {
	t.kind = kind
	for unit := range unsaid {
		if c := kind.make(unit); c != nil {
			c.under++
			kind.of.begin(unit, c.variance, 1)
			t.going = append(t.going, going{unit, c.variance})
		}
	}
	return t
}

// Settle notes what the request has cost. What is said last before its end counts, else what is said first after that. It
// reports whether claims that wait for others of their kind may go now.
func (t *Ticket) Settle(costs quota.Costs) (news bool) {
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
		if c := t.kind.in(t.going[i].unit); costs[c.unit] > 0 {
			c.silent = max(c.silent-1, 0) // the word of it came late
		}
	}
	return t.learn()
}

// Open reports whether it is not known yet what the request has cost in some unit of which the claim did not say it.
func (t *Ticket) Open() bool {
	for i := range t.going {
		if _, known := t.costs[t.going[i].unit]; !known {
			return true
		}
	}
	return false
}

// End notes that the request has ended. Void says that it was not done: then nothing is learned. It reports what Settle does.
func (t *Ticket) End(void bool) (news bool) {
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
		}
		news = news || c.learned < enough
	}
	if void {
		t.kind = nil
		return news
	}
	return t.learn() || news
}

// learn takes in what the request has cost. News says that little was known of its kind.
func (t *Ticket) learn() (news bool) {
	for unit, n := range t.costs {
		if unit != "" && unit != quota.Requests {
			news = t.kind.make(unit).learn(n) || news
			t.kind.of.all.make(unit).learn(n)
		}
	}
	return news
}
