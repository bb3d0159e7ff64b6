package headers

import (
	"time"

	"github.com/gopacer/pacer/headers/internal/name"
	"github.com/gopacer/pacer/headers/internal/value"
)

// parseReset reads what the value of a header about a reset says.
func parseReset(s string, m *name.Meaning, c *value.Clock) Reset {
	return Reset(value.ParseReset(s, m.Step, m.Form == name.Seconds, c))
}

// number fills in a reset that is stated as a number.
func (r *Reset) number(n value.Number, m *name.Meaning, c *value.Clock) {
	(*value.Delay)(r).SetNumber(n, m.Step, m.Form == name.Seconds, c)
}

// better returns the more telling of two statements about one reset: the one that is still
// to come, else a delay rather than an instant, else the finer one.
func better(a, b Reset) Reset {
	switch {
	case !a.Known || b.Known && (b.In > 0) != (a.In > 0) && b.In > 0:
		return b
	case !b.Known || (b.In > 0) != (a.In > 0):
		return a
	case a.Absolute != b.Absolute:
		if a.Absolute {
			return b
		}
	case b.Resolution < a.Resolution:
		return b
	}
	return a
}

// draftReset is a reset that the IETF drafts state in seconds. Some servers write an instant there, in seconds
// or milliseconds since 1970: no delay has as many digits.
func draftReset(in value.Count, c *value.Clock) (r Reset) {
	switch {
	case !in.Known:
	case in.N >= 1e9 && in.N < 1e10, in.N >= 1e12 && in.N < 1e13:
		(*value.Delay)(&r).SetNumber(value.Number{Whole: in.N}, 0, false, c)
	default:
		r = Reset(value.DelayOf(value.Number{Whole: in.N}.Duration(time.Second, value.Longest)))
	}
	return r
}
