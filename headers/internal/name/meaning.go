package name

import (
	"cmp"
	"strings"
	"time"
)

// Meaning is what the name of a header says about its value.
type Meaning struct {
	Role      Role
	Form      Form
	order     uint8  // of labels, the least is the name
	rank      uint8  // of the family, the least takes precedence
	place     uint8  // of the group in its family
	Quick     bool   // nothing but the role is known, which is one of QuickRoles
	Weak      bool   // a limit only if what is left is stated, too
	Advisory  bool   // the server does not enforce the limit yet
	Long      bool   // the window is a month or longer, which have no fixed length
	Pair      bool   // used and limit of this kind together count what is under way at the same time
	Doubtful  bool   // a limit only in an answer that says when to try again
	Prose     bool   // the window is that of one service, others may write the name
	Alone     bool   // a hint only in an answer without counts
	MayBeIdle bool   // a delay of zero says that there is nothing to wait for
	sorted    uint16 // the place in the order of all that the table has, from one; zero if read by rule
	Set       uint16 // numbers the families and groups of the table, from one; zero if read by rule

	Family string        // whose headers may state a limit that others state, too
	Group  string        // headers of a family and a group make one limit
	Name   string        // of the limit
	Unit   string        // empty for requests
	Window time.Duration // zero if the name does not tell
	Step   time.Duration // what a number of time counts; zero if only its size tells
	Total  int64         // how much there is in all, if no header says; zero if not known
	Series []Span        // names and windows by position in a list
	Source string        // of a dialect: where it is documented
}

// Span is a name and a window.
type Span struct {
	Name   string
	Window time.Duration
}

// QuickRoles are the roles of headers which may be Quick: of those of one Set, each of which
// has a number or a name, nothing is to be sorted, grouped and merged.
const QuickRoles RoleSet = 1<<Limit | 1<<Remaining | 1<<Used | 1<<Reset | 1<<Label

// isQuick reports whether a header is Quick.
func (m *Meaning) isQuick() bool {
	return QuickRoles.Has(m.Role) && m.Name == "" && m.Unit == "" && m.Window == 0 && m.Step == 0 &&
		m.Series == nil && m.Total == 0 && !m.Advisory && !m.Weak && !m.Long
}

// TellsCounter reports whether the value of a Label says which counter a request drew on.
func (m *Meaning) TellsCounter() bool { return m.order < lastLabel }

// ownFamily is the family of what a user says. No name of a header is like it.
const ownFamily = "(own)"

// Behead puts the limit of a family that has no name where it belongs in the order.
func (m *Meaning) Behead() { m.place = 0 }

// Own reports whether a user says what the header means.
func (m *Meaning) Own() bool { return m.Family == ownFamily }

// Table reports whether the package has the header in its table, so that the window may be one that only prose
// states.
func (m *Meaning) Table() bool { return m.Source != "" }

// InSeconds reports whether the header is one of the fields of the IETF drafts, whose delays are seconds.
func (m *Meaning) InSeconds() bool {
	return m.Role == State || m.Role == Policy || m.Family == "ratelimit" || m.Family == "beta-ratelimit"
}

// Used returns m, or nil if m is to be ignored.
func (m *Meaning) Used() *Meaning {
	if m == nil || m.Role == Ignored {
		return nil
	}
	return m
}

// Ranks of families: a family takes precedence over those of a higher rank.
const (
	standardRank = 0 // of what all agree on, as on Retry-After, and of what a user says
	lastRank     = 5 // of limits whose names have no marker
)

// Standard reports whether the header is one on which all agree, as on Retry-After, or one
// whose meaning a user says.
func (m *Meaning) Standard() bool { return m.rank == standardRank }

// rankOf ranks families: what a user says, the fields of the IETF drafts, vendors' own,
// and the two spellings that many share and that mean the least.
func rankOf(family string) uint8 {
	switch family {
	case ownFamily:
		return standardRank
	case "ratelimit":
		return 1
	case "x-ratelimit":
		return 3
	case "x-rate-limit":
		return 4
	}
	return 2
}

// Shared reports whether many write the family, in several spellings.
func (m *Meaning) Shared() bool { return m.rank == 1 || m.rank == 3 || m.rank == 4 }

// Compare orders headers by their names: by precedence, and those of one limit beside each
// other, in the order in which they are to be read.
func Compare(a, b *Meaning) int {
	if a.sorted > 0 && b.sorted > 0 {
		return int(a.sorted) - int(b.sorted) // the table has numbered them in this order
	}
	return compare(a, b)
}

// compare is Compare for headers that are not numbered yet.
func compare(a, b *Meaning) int {
	if a.rank != b.rank {
		return cmp.Compare(a.rank, b.rank)
	}
	if a.Family != b.Family {
		return strings.Compare(a.Family, b.Family)
	}
	if a.place != b.place {
		return cmp.Compare(a.place, b.place)
	}
	if a.Group != b.Group {
		return strings.Compare(a.Group, b.Group)
	}
	if a.Role != b.Role {
		return cmp.Compare(a.Role, b.Role)
	}
	return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.Form, b.Form))
}

// SameGroup reports whether two headers are about the same limit.
func SameGroup(a, b *Meaning) bool {
	if a.Set > 0 && b.Set > 0 {
		return a.Set == b.Set
	}
	return a.Family == b.Family && a.Group == b.Group
}
