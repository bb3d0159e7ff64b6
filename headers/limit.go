package headers

import (
	"cmp"
	"strings"

	"github.com/gopacer/pacer/headers/internal/name"
	"github.com/gopacer/pacer/headers/internal/value"
)

// named adds to a limit what the name of one of its headers says.
func (l *Limit) named(m *name.Meaning) {
	if m.Unit != "" {
		l.Unit = value.UnitOfLimit(m.Unit)
	}
	if l.Name == "" {
		l.Name = m.Name
	}
	if m.Window > 0 {
		l.Window = m.Window
	}
	l.Advisory = l.Advisory || m.Advisory
}

// label reads the name of a limit.
func (l *Limit) label(f *found) {
	label := value.CleanName(value.Trim(f.values[0]))
	l.Name = cmp.Or(l.Name, label)
	if f.TellsCounter() {
		l.Counter = cmp.Or(l.Counter, label)
	}
	if f.Unit != "" {
		l.Unit = unitOf(f.Unit, label)
	}
}

// unitOf returns the unit of a limit of a service that counts in its own unit: a limit of bursts is one of
// requests all the same (jira-burst-based beside jira-quota-global-based).
func unitOf(unit, called string) string {
	if unit == "points" && strings.Contains(called, "burst") {
		return ""
	}
	return value.UnitOfLimit(unit)
}

// number reads a header that is nothing but a number, as nearly all are, and reports
// whether it is.
func (l *Limit) number(f *found, c *value.Clock) bool {
	n, ok := value.ParseNumber(f.values[0])
	if !ok {
		return false
	}
	switch {
	case f.Role == name.Limit && n.Whole > 0 && n.Digits != 3:
		l.Limit = Count{min(n.Whole, value.MaxCount), true}
	case f.Role == name.Remaining && n.Digits == 0:
		l.Remaining = Count{min(n.Whole, value.MaxCount), true}
	case f.Role == name.Reset && !l.Reset.Known:
		l.Reset.number(n, f.Meaning, c)
	default:
		return false
	}
	return true
}

// complete derives what follows from the rest, and reports whether anything is known.
func complete(l *Limit, gone Count) bool {
	switch {
	case !gone.Known:
	case l.Limit.Known && !l.Remaining.Known:
		l.Remaining = Count{max(l.Limit.N-gone.N, 0), true}
	case l.Remaining.N > 0 && !l.Limit.Known: // where nothing is left, those that were refused may be counted as well
		l.Limit = Count{min(l.Remaining.N+gone.N, value.MaxCount), true}
	}
	if l.Unit == value.Money {
		l.Remaining = Count{} // nobody knows for how many requests it suffices
	}
	if l.Limit.Known && l.Limit.N > 0 {
		l.Remaining.N = min(l.Remaining.N, l.Limit.N)
	}
	if l.Reset.Known && l.Reset.In <= 0 {
		// Zero is not "now" where there is something left, nor where nothing is counted.
		if !l.Remaining.Known || l.Remaining.N > 0 || l.Limit.Known && l.Limit.N == 0 {
			l.Reset = Reset{}
		}
		l.Reset.In = 0
	}
	return l.Limit.Known || l.Remaining.Known || l.Reset.Known
}

// uncounted reports whether a limit is nothing but a reset.
func (l *Limit) uncounted() bool { return !l.Limit.Known && !l.Remaining.Known }
