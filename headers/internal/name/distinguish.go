package name

import (
	"cmp"
	"strings"

	"github.com/gopacer/pacer/headers/internal/value"
)

// distinguish completes a meaning by the words of the name that are left. It returns nil if
// the name is not about a limit after all. marked says that the name has a marker, such as
// ratelimit.
func distinguish(m *Meaning, rest []string, marked bool) *Meaning {
	if m.Role.counts() && isTime(rest) {
		return nil // X-RateLimit-Remaining-Seconds: nobody says until what
	}
	m.group(rest)
	if marked {
		m.complete(rest)
	} else if !m.completeWeak() {
		return nil
	}
	if m.Role == Label || m.Role == Kind {
		m.Name, m.Group, m.place = "", "", 0
	}
	return m
}

// isTime reports whether the words say that a number is a time.
func isTime(words []string) bool {
	if len(words) == 0 {
		return false
	}
	last := words[len(words)-1]
	return steps[last] > 0 || last == "seconds" || last == "time" && len(words) == 1
}

// group makes the words the name of the limit, and reads its window and unit from them.
func (m *Meaning) group(words []string) {
	m.Group = strings.Join(words, "-")
	m.Name = value.CleanName(m.Group)
	m.Long = value.IsLong(words)
	for _, w := range words {
		if p, ok := value.WindowOf(w); ok {
			m.Window = p
		}
		w, _, _ = strings.Cut(w, "_") // tokens_usage_based
		if u := value.UnitOf(w); u != "" && m.Unit == "" {
			m.Unit = u
		}
	}
	switch {
	case m.Group == "":
	case m.Unit == value.Requests:
		m.place = 1
	default:
		m.place = 2
	}
}

// complete concludes what a name with a marker leaves open.
func (m *Meaning) complete(rest []string) {
	switch {
	case m.Role == Ignored && len(rest) == 0:
		m.Role = State
	case m.Role == Ignored && len(rest) == 1 && m.Window > 0:
		m.Role = Limit // X-Vendor-RateLimit-Daily: 1000
	case m.Role == Ignored:
		m.Role, m.Form = Text, Keys
	case m.Role != Label && m.Role != Kind && len(rest) == 2 && m.Window > 0 && m.Unit == "" && !scopes[rest[0]]:
		m.Unit = rest[0] // X-RateLimit-Limit-Videos-Minute, Kong's response-ratelimiting
	}
}

// scopes are words that say whose a limit is, so that they are no units.
var scopes = map[string]bool{
	"user": true, "client": true, "app": true, "application": true, "account": true, "org": true, "organization": true,
	"team": true, "tenant": true, "workspace": true, "project": true, "ip": true, "key": true, "global": true, "endpoint": true,
	"route": true, "method": true, "read": true, "write": true, "search": true, "burst": true,
}

// completeWeak completes a name without a marker, and reports whether it may be about a limit.
// X-Limit belongs to a page, not to a rate, and a quota of bytes to a disk.
func (m *Meaning) completeWeak() bool {
	if m.Family == "" && !m.Role.counts() && m.Role != Reset || m.Family+m.Group == "" || m.Unit == value.Bytes {
		return false
	}
	m.Weak, m.Family = true, cmp.Or(m.Family, m.Group)
	return true
}
