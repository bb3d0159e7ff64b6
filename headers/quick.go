package headers

import (
	"github.com/gopacer/pacer/headers/internal/name"
	"github.com/gopacer/pacer/headers/internal/value"
)

// appendQuick appends the limit that nearly all responses that state any state: one
// without a name of its own, in headers of one family which each have a number and occur
// once. There is nothing to sort, to group and to merge then, which is a good part of what
// appendLimits does. It is false for whatever else there is.
func appendQuick(limits []Limit, fields []found, c *value.Clock, h *hints) ([]Limit, bool) {
	set := fields[0].Set
	var (
		l    Limit
		seen name.RoleSet
		gone Count
	)
	for i := range fields {
		f := &fields[i]
		if !f.Quick || f.Set != set || seen.Has(f.Role) || len(f.values) != 1 {
			return limits, false
		}
		seen |= 1 << f.Role
		if f.Role == name.Label {
			l.label(f)
			continue
		}
		n, ok := value.ParseNumber(f.values[0])
		if !ok {
			return limits, false
		}
		count := Count{min(n.Whole, value.MaxCount), true}
		switch f.Role {
		case name.Limit:
			if n.Whole == 0 || n.Digits == 3 {
				return limits, false // it may be a fraction, or a point may group digits
			}
			l.Limit = count
		case name.Remaining, name.Used:
			if n.Digits > 0 {
				return limits, false // fractions are added before they are rounded
			}
			if f.Role == name.Used {
				gone = count
				continue
			}
			l.Remaining = count
		case name.Reset:
			l.Reset.number(n, f.Meaning, c)
		}
	}
	if complete(&l, gone) {
		l.settle(fields[0].Meaning, h)
		limits = append(limits, l)
	}
	return limits, true
}
