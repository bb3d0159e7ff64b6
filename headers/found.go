package headers

import (
	"slices"
	"strings"

	"github.com/gopacer/pacer/headers/internal/name"
)

// found is a header that a response has, and what its name says.
type found struct {
	*name.Meaning
	values []string // its lines, one at least: see newFound
}

// newFound returns the header with the meaning m and these lines, of which there is one at least. Whitespace
// around a line is no part of it (RFC 9110, 5.5); net/http leaves it there over HTTP/2. An empty line beside
// others says nothing, as an empty member of a list (RFC 9110, 5.6.1).
func newFound(m *name.Meaning, lines []string) found {
	if !slices.ContainsFunc(lines, func(l string) bool { return l == "" || l[0] <= ' ' || l[len(l)-1] <= ' ' }) {
		return found{m, lines} // as nearly always
	}
	values := make([]string, 0, len(lines))
	for _, line := range lines {
		if line = strings.Trim(line, " \t"); line != "" {
			values = append(values, line)
		}
	}
	if len(values) == 0 {
		values = append(values, "")
	}
	return found{m, values}
}

// hasParameters reports whether a member of a list has parameters.
func (f *found) hasParameters() bool {
	return slices.ContainsFunc(f.values, func(line string) bool { return strings.IndexByte(line, ';') >= 0 })
}

// sortFields brings the headers, which come in the order of a map, into an order of
// their own. There are few of them.
func sortFields(fields []found) {
	for i := 1; i < len(fields); i++ {
		for j := i; j > 0 && less(&fields[j], &fields[j-1]); j-- {
			fields[j], fields[j-1] = fields[j-1], fields[j]
		}
	}
}

// less orders headers by their names, and those whose names say the same by their values.
func less(a, b *found) bool {
	c := name.Compare(a.Meaning, b.Meaning)
	return c < 0 || c == 0 && strings.Join(a.values, ",") < strings.Join(b.values, ",")
}
