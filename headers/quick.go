package headers

// quickRoles are the roles of headers that appendQuick reads.
const quickRoles roleSet = 1<<limit | 1<<remaining | 1<<used | 1<<reset | 1<<label

// isQuick reports whether appendQuick reads a header.
func (f *field) isQuick() bool {
	return quickRoles.has(f.role) && f.name == "" && f.unit == "" && f.window == 0 && f.step == 0 &&
		f.series == nil && f.total == 0 && !f.advisory && !f.weak && !f.long
}

// appendQuick appends the limit that nearly all responses that state any state: one
// without a name of its own, in headers of one family which each have a number and occur
// once. There is nothing to sort, to group and to merge then, which is a good part of what
// appendLimits does. It is false for whatever else there is.
func appendQuick(limits []Limit, fields []found, c *clock, h *hints) ([]Limit, bool) {
	set := fields[0].set
	l := Limit{Unit: requests}
	var (
		seen roleSet
		gone Count
	)
	for i := range fields {
		f := &fields[i]
		if !f.quick || f.set != set || seen.has(f.role) || len(f.values) != 1 {
			return limits, false
		}
		seen |= 1 << f.role
		if f.role == label {
			l.label(f)
			continue
		}
		n, ok := parseNumber(f.values[0])
		if !ok {
			return limits, false
		}
		count := Count{min(n.whole, maxCount), true}
		switch f.role {
		case limit:
			if n.whole == 0 {
				return limits, false // it may be a fraction
			}
			l.Limit = count
		case remaining:
			l.Remaining = count
		case used:
			gone = count
		case reset:
			l.Reset.number(n, f.field, c)
		}
	}
	if complete(&l, gone) {
		l.settle(fields[0].field, h)
		limits = append(limits, l)
	}
	return limits, true
}
