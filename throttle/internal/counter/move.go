package counter

import "slices"

// pair is what is known of two counters that may be one. It belongs to the one with the lower id.
type pair struct {
	other  *counter
	latest *counter // of which of the two the latest answer was
	points int      // for the two being one
}

// leastOfPair bounds for how long two counters that are one from now on are still taken for two: 20 answers
// that agree. With -4, routes of equal limits that run alike for a while were taken for one more often.
const (
	leastOfPair = -16
	oneCounter  = 4
)

// move moves a leaf to another counter: one of its limit that says nearly the same as the leaf; for a leaf that
// only its limit tells from its counter, one that the leaf does not contradict; else a new one.
func (r *Router) move(l *leaf, byNumbers bool) {
	from, y, to := l.counter, &l.latest, (*counter)(nil)
	for _, d := range r.counters {
		if d != from && d.limit == l.limit && !byNumbers && !y.contradicts(&d.latest) {
			to = d
			break
		}
	}
	if to == nil {
		if len(r.counters) >= maxCounters {
			return
		}
		to = r.add(byNumbers)
		to.name = r.nameFor(l, to)
		to.isNew, to.limit, to.latest = false, l.limit, *y
		from.byNumbers = from.byNumbers || byNumbers
	}
	r.assign(l, to)
	r.split = true
	r.left(from)
}

// follows reports whether y may be the answer after x, by one counter: less remains.
func (y *said) follows(x *said) bool {
	return y.meets(x) && y.remaining < x.remaining
}

// assign makes l a leaf of a counter.
func (r *Router) assign(l *leaf, to *counter) {
	l.counter, l.points, l.against = to, 0, 0
}

// left notes that claims which wait for a counter may belong elsewhere.
func (r *Router) left(c *counter) {
	if !slices.Contains(r.change.Left, c.name) {
		r.change.Left = append(r.change.Left, c.name)
	}
}

// settle finds the counter of a leaf that was not seen before: it has one of its own until its first answer.
func (r *Router) settle(l *leaf, y *said) {
	own := l.counter
	for _, d := range r.counters {
		if d.limit == y.limit && y.follows(&d.latest) { // own has none
			r.join(d, own)
			return
		}
	}
}

// join makes two counters one: c, or the first one of all, if d is that.
func (r *Router) join(c, d *counter) {
	if d == r.counters[0] {
		c, d = d, c
	}
	for _, l := range r.leaves {
		if l.counter == d {
			r.assign(l, c)
		}
	}
	is := func(o *counter) bool { return o == d }
	r.counters = slices.DeleteFunc(r.counters, is)
	for _, o := range r.counters {
		o.pairs = slices.DeleteFunc(o.pairs, func(p pair) bool { return p.other == d })
	}
	r.left(d)
	r.change.Gone = append(r.change.Gone, d.name)
}

// reunite joins all counters of a limit if a leaf of it contradicts itself: then what differs are instances of
// the server, and not routes.
func (r *Router) reunite(l *leaf) {
	if l.contradicted < 3 || 8*l.contradicted <= l.compared {
		return
	}
	var first *counter
	for _, c := range slices.Clone(r.counters) {
		switch {
		case c.limit != l.counter.limit:
		case first == nil:
			first = c
		default:
			r.join(first, c)
		}
	}
}

// compare looks whether an answer of one counter might as well be one of another: if answers of the two
// alternate, and each says a little less than the one before.
func (r *Router) compare(c *counter, y *said, granted uint64) {
	for _, d := range r.counters {
		if d == c || d.limit != c.limit {
			continue
		}
		p := c.pairWith(d)
		alternates := p.latest == d && granted > d.latest.heard
		p.latest = c
		switch {
		case !alternates:
		case y.contradicts(&d.latest):
			p.points = max(p.points+contradiction, leastOfPair)
		case y.follows(&d.latest):
			if p.points += agreement; p.points >= oneCounter {
				r.join(d, c)
				return
			}
		}
	}
}

// pairWith returns what is known of c and d together.
func (c *counter) pairWith(d *counter) *pair {
	if d.id < c.id {
		c, d = d, c
	}
	i := slices.IndexFunc(c.pairs, func(p pair) bool { return p.other == d })
	if i < 0 {
		i, c.pairs = len(c.pairs), append(c.pairs, pair{other: d})
	}
	return &c.pairs[i]
}
