package headers

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/gopacer/pacer/headers/internal/name"
	"github.com/gopacer/pacer/headers/internal/refusal"
	"github.com/gopacer/pacer/headers/internal/value"
)

// hints collects what an answer says about trying again, in any order.
type hints struct {
	millis        value.Delay     // in Retry-After-Ms and the like
	standard      value.Delay     // in Retry-After
	other         value.Delay     // in headers of single vendors
	idle          bool            // other is of headers that are zero as long as something is left, and of no others
	body          value.Delay     // in the body
	fallback      value.Delay     // counts if no other is known
	never, should bool            // whether to try again, as an Advice
	refusal       refusal.Refusal // the gravest of all
}

// unlimited are the roles of headers that state no limit.
const unlimited name.RoleSet = 1<<name.Retry | 1<<name.Should | 1<<name.Pushback | 1<<name.Refusal | 1<<name.Age | 1<<name.Cache

// take takes the headers that state no limit, and returns the others. It tells the clock
// whether a cache answered, before it reads an instant.
func (h *hints) take(fields []found, c *value.Clock) []found {
	for i := range fields {
		c.Aged = c.Aged || fields[i].Role == name.Age && aged(fields[i].values)
	}
	n := 0
	for _, f := range fields {
		if unlimited.Has(f.Role) {
			if f.Alone && slices.ContainsFunc(fields, func(o found) bool { return o.Role.Counts() || o.Role == name.State }) {
				continue
			}
			h.add(f.Meaning, f.values, c)
			continue
		}
		fields[n] = f
		n++
	}
	return fields[:n]
}

// aged reports whether Age says that a cache answered: it counts the seconds since
// the origin did (RFC 9111, 5.1).
func aged(values []string) bool {
	for _, v := range values {
		if n, ok := value.ParseNumber(value.Trim(v)); ok && n.Whole > 0 {
			return true
		}
	}
	return false
}

// add adds what one header says.
func (h *hints) add(m *name.Meaning, values []string, c *value.Clock) {
	for i, v := range values {
		if i == value.MaxMembers {
			break
		}
		switch m.Role {
		case name.Age, name.Cache:
		case name.Should:
			switch value.Trim(v) {
			case "false":
				h.never = true
			case "true":
				h.should = true
			}
		case name.Refusal:
			h.refusal = max(h.refusal, refusal.Of(v))
		case name.Pushback:
			// Negative or unreadable means not to retry (gRPC proposal A6).
			n, ok := value.ParseNumber(value.Trim(v))
			if !ok || n.Digits > 0 {
				h.never = true
				continue
			}
			if n.Whole > math.MaxInt32 { // neither is what the field cannot hold (A6: "parsed as an int32")
				h.never = true
				continue
			}
			h.millis = h.millis.Longer(value.DelayOf(n.Duration(time.Millisecond, MaxRetryAfter)))
		default:
			h.addDelay(m, value.ParseDelay(v, cmp.Or(m.Step, time.Second), MaxRetryAfter, c))
		}
	}
}

// addDelay adds a delay to those of its kind, of which the longest counts.
func (h *hints) addDelay(m *name.Meaning, d value.Delay) {
	switch {
	case m.Step == time.Millisecond:
		h.millis = h.millis.Longer(d)
	case m.Standard(): // Retry-After, and what a user says is like it
		h.standard = h.standard.Longer(d)
	case d.Known:
		h.idle = m.MayBeIdle && (h.idle || !h.other.Known)
		h.other = h.other.Longer(d)
	}
}

// forgetIdle forgets a delay of zero that only says that there is nothing to wait for.
func (h *hints) forgetIdle(limits []Limit) {
	left := func(l Limit) bool { return l.Remaining.N > 0 }
	if h.idle && h.other.In == 0 && slices.ContainsFunc(limits, left) {
		h.other = value.Delay{}
	}
}

// disagreement is how far two hints may be apart to be the same one, rounded.
const disagreement = 2 * time.Second

// delay returns the delay that counts: the one in milliseconds, unless it is zero and another is not, or
// Retry-After is longer by more than the disagreement; then Retry-After; then that of a single vendor, also
// where it is Retry-After before that one was rounded. The delay of a body counts if there is
// no other one, if it is the other one before that was rounded, and if it is longer by more
// than the disagreement. If there is none at all, the fallback counts.
func (h *hints) delay() value.Delay {
	d := h.millis
	if d.In == 0 && max(h.standard.In, h.other.In, h.body.In) > 0 {
		d = value.Delay{} // Azure rounds down to 0 ms what it rounds up to 1 s
	}
	if !d.Known || h.standard.Known && h.standard.In > d.In+disagreement {
		d = h.standard
	}
	if !d.Known || h.other.Finer(d) {
		d = h.other
	}
	if b := h.body; !d.Known || b.Finer(d) || b.Known && b.In > d.In+disagreement {
		d = b
	}
	if !d.Known {
		d = h.fallback
	}
	return d
}

// retry returns what all hints come to.
func (h *hints) retry() Retry {
	r := Retry{Refusal: refusals[h.refusal]}
	if d := h.delay(); d.Known {
		r.Known, r.After, r.Resolution, r.Absolute, r.Skew = true, d.In, d.Resolution, d.Absolute, d.Skew
	}
	switch {
	case h.never:
		r.Advice = AdviceNever
	case h.should:
		r.Advice = AdviceRetry
	}
	return r
}
