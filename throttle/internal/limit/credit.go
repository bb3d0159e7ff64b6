package limit

import "github.com/gopacer/pacer/throttle/internal/monotime"

// Credit is what a late timer would cost a claim that comes back at once: it was released late, so that it
// comes too late for the next token, too. So a claim that comes within Lag after a late release counts from
// when that was due, up to Lag back. More than the quota grants in Lag does not go for that in any span,
// however long such claims go on: each counts from Lag ago at the earliest.
//
// In come grants (Note); out comes from when a claim counts (From). The zero Credit is none.
type Credit struct{ due, released monotime.Time }

// Note notes that a claim goes now that was due at an instant.
func (c *Credit) Note(due, now monotime.Time) {
	if *c = (Credit{}); due < now {
		c.due, c.released = due, now
	}
}

// Any reports whether a claim counts from an earlier instant that is made now.
func (c *Credit) Any(now monotime.Time) bool {
	return c.released != 0 && now.Sub(c.released) <= Lag
}

// From returns from when a claim counts that is made now.
func (c *Credit) From(now monotime.Time) monotime.Time {
	if !c.Any(now) {
		return now
	}
	return max(c.due, now.Add(-Lag))
}
