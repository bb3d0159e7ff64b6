package headers

import (
	"cmp"
	"net/http"
	"time"

	"github.com/gopacer/pacer/headers/internal/body"
	"github.com/gopacer/pacer/headers/internal/name"
	"github.com/gopacer/pacer/headers/internal/value"
)

// lookUp returns what the name of a header says, or nil if it is not about limits. own is what the Reader knows
// beside the package, which may be nil.
func lookUp(key string, own *name.Table) *name.Meaning { return meaningOf(key, own).Used() }

// meaningOf is lookUp that returns also what is known of names that are to be ignored.
func meaningOf(key string, own *name.Table) *name.Meaning {
	if m := own.Lookup(key); m != nil {
		return m
	}
	if key == "Date" || len(key) > 8 && key[:8] == "Content-" { // the most frequent are told at a glance
		return nil
	}
	return name.Lookup(key)
}

// read appends the limits that a response states, and returns what it says about trying
// again. own is what the Reader knows beside the package, and b what the body says; both may
// be nil.
func read(limits []Limit, h http.Header, received time.Time, own *name.Table, b *body.Facts) ([]Limit, Retry) {
	var a answer
	a.look(h, own)
	if a.roles == 0 && b == nil {
		return limits, Retry{}
	}
	return a.append(limits, received, b)
}

// look adds all headers that are about limits. If there are more than maxFields, they state no limit: then it
// stops to take names apart, and adds only hints, under names that the tables have.
func (a *answer) look(h http.Header, own *name.Table) {
	for key, values := range h {
		if m := lookUp(key, own); m != nil {
			if a.count() == maxFields {
				a.lookForHints(h, own)
				return
			}
			a.add(m, values)
		} else if key == "Date" {
			a.dates = values
		}
	}
}

// lookForHints adds hints alone, to an answer that has too many headers.
func (a *answer) lookForHints(h http.Header, own *name.Table) {
	*a = answer{tooMany: true, dates: h["Date"]}
	for key, values := range h {
		if m := cmp.Or(own.Lookup(key), name.Known(key)).Used(); m != nil && unlimited.Has(m.Role) {
			a.add(m, values)
		}
	}
}

// answer collects the headers of a response that are about limits. Most responses have none,
// so that an answer is small and costs nothing until there is something to add.
type answer struct {
	roles name.RoleSet // of all that was added
	n     int          // how much of buf is used
	buf   [8]found
	more  []found  // what buf has no room for
	dates []string // the lines of Date

	tooMany bool // there are more than maxFields
}

// count returns how many headers were added.
func (a *answer) count() int { return a.n + len(a.more) }

// add adds a header.
func (a *answer) add(m *name.Meaning, values []string) {
	if len(values) == 0 {
		return
	}
	f := newFound(m, values)
	a.roles |= 1 << m.Role
	if a.n == len(a.buf) {
		a.more = append(a.more, f)
		return
	}
	a.buf[a.n] = f
	a.n++
}

// maxFields bounds how many headers about limits one response may have.
const maxFields = 64

// append appends the limits that the headers and the body state, and returns what they say
// about trying again.
func (a *answer) append(limits []Limit, received time.Time, b *body.Facts) ([]Limit, Retry) {
	c := &value.Clock{Dates: a.dates, Received: received}
	fields := append(a.buf[:a.n], a.more...)
	var h hints
	if a.roles&unlimited != 0 {
		fields = h.take(fields, c)
	}
	if b != nil {
		h.refusal = max(h.refusal, b.Refusal)
		h.body, h.fallback = b.Delay, b.Else
		if b.Next != "" {
			h.body = h.body.Longer(value.ParseDelay(b.Next, time.Second, MaxRetryAfter, c))
		}
	}
	start := len(limits)
	if n := len(fields); (n > 0 || b != nil) && n <= maxFields && !a.tooMany && !a.roles.Has(name.Cache) && !c.Aged {
		quick := b == nil && a.roles&^(name.QuickRoles|unlimited) == 0
		if quick {
			limits, quick = appendQuick(limits, fields, c, &h)
		}
		if !quick {
			limits = appendLimits(limits, fields, c, &h, b)
		}
	}
	if a.roles&(unlimited|1<<name.Text) == 0 && b == nil && !h.other.Known {
		return limits, Retry{Refusal: refusals[h.refusal]} // no header has a hint
	}
	h.forgetIdle(limits[start:])
	return limits, h.retry()
}
