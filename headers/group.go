package headers

import (
	"strings"

	"github.com/gopacer/pacer/headers/internal/body"
	"github.com/gopacer/pacer/headers/internal/name"
	"github.com/gopacer/pacer/headers/internal/value"
)

// maxLimits bounds how many limits one response may state.
const maxLimits = 64

// appendLimits appends the limits that headers state: those of one group make one
// limit, or several where values are lists.
func appendLimits(limits []Limit, fields []found, c *value.Clock, h *hints, b *body.Facts) []Limit {
	sortFields(fields)
	start := len(limits)
	var buf [12]*name.Meaning
	from := buf[:0]
	for len(fields) > 0 {
		n := 1
		for n < len(fields) && name.SameGroup(fields[n].Meaning, fields[0].Meaning) {
			n++
		}
		limits = appendGroup(limits, fields[:n], c, h)
		if len(limits)-start > maxLimits {
			limits = limits[:start+maxLimits]
		}
		for len(from) < len(limits)-start {
			from = append(from, fields[0].Meaning)
		}
		fields = fields[n:]
	}
	if b != nil {
		for _, l := range b.Limits[:min(len(b.Limits), maxLimits-(len(limits)-start))] {
			limits = append(limits, limitOf(l))
			from = append(from, &name.Meaning{Family: bodyFamily, Group: l.Name, Long: l.Long})
		}
	}
	return limits[:start+settle(limits[start:], from, h)]
}

// bodyFamily is the family of the limits that bodies state. No name of a header is like it.
const bodyFamily = "(body)"

// limitOf returns a limit that a body states.
func limitOf(b body.Limit) Limit {
	l := Limit{
		Name: b.Name, Unit: b.Unit, Limit: Count(b.Limit), Remaining: Count(b.Remaining), Reset: Reset(b.Reset), Window: b.Window,
	}
	complete(&l, Count{})
	return l
}

// appendGroup appends what the headers of one group state.
func appendGroup(limits []Limit, g []found, c *value.Clock, h *hints) []Limit {
	for i := range g {
		switch f := &g[i]; {
		case f.Role == name.Text || f.Form == name.Windows:
			return appendText(limits, g, c, h)
		case f.Role == name.State || f.Role == name.Policy || f.Role == name.Limit && strings.IndexByte(f.values[0], ';') >= 0:
			return appendStructured(limits, g, c)
		}
	}
	return appendPlain(limits, g, countLimits(g), c)
}
