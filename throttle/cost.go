package throttle

import "maps"

// Costs are what a request draws on a bucket, in each unit: {"tokens": 1200}. What
// counts in [Requests] is 1 unless it is among them. A quota of a unit that is not among
// them is not drawn on. A negative number counts as zero. A Costs is only read, and must
// not be changed while a Limiter may look at it.
type Costs map[string]int

// demand is what one claim asks for, or several ask for together.
type demand struct {
	claims int   // how many they are
	n      int   // in requests
	of     Costs // in other units; nil if in none
}

// want returns what the claim asks for.
func (c *Claim) want() want {
	if c.N < 0 {
		panic("throttle: negative cost")
	}
	w := want{demand{claims: 1, n: max(c.N, 1)}, c.Priority}
	if len(c.Costs) > 0 {
		w.costs(c)
	}
	return w
}

// costs adds those of a claim in other units.
func (w *want) costs(c *Claim) {
	if c.N == 0 {
		w.n = max(c.Costs[Requests], 1)
	}
	w.of = c.Costs
	for unit := range w.of {
		if w.of[unit] < 0 {
			w.of = maps.Clone(w.of)
			maps.DeleteFunc(w.of, func(_ string, n int) bool { return n < 0 })
			return
		}
	}
}

// in returns what is asked for of a quota, whose Unit is canonical.
func (d *demand) in(q *Quota) int {
	switch {
	case q.Unit != "":
		return d.of[q.Unit]
	case q.Kind.slots():
		return d.claims
	}
	return d.n
}

// learned returns what is asked for of a limit that the server spoke of, whose unit the
// caller may not know: then each request takes as much of it as of requests.
func (d *demand) learned(unit string) int {
	if unit == "" {
		return d.n
	}
	if n, ok := d.of[unit]; ok {
		return n
	}
	return d.n
}

// add adds what others ask for, sign times.
func (d *demand) add(o *demand, sign int) {
	d.claims += sign * o.claims
	d.n += sign * o.n
	if len(o.of) > 0 && d.of == nil {
		d.of = Costs{}
	}
	for unit, n := range o.of {
		if d.of[unit] += sign * n; d.of[unit] == 0 {
			delete(d.of, unit)
		}
	}
}

// plus returns what d and o ask for together, and leaves both as they are.
func (d demand) plus(o *demand) demand {
	if d.claims == 0 {
		return *o
	}
	if len(o.of) > 0 {
		d.of = maps.Clone(d.of)
	}
	d.add(o, 1)
	return d
}
