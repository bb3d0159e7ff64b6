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
	(*value.Reset)(r).SetNumber(n, m.Step, m.Form == name.Seconds, c)
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

// draftReset is a reset that the IETF drafts state in seconds.
func draftReset(in value.Count) Reset {
	if !in.Known {
		return Reset{}
	}
	return Reset(value.ResetIn(value.Number{Whole: in.N}.Duration(time.Second, value.Longest)))
}
