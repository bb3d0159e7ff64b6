package headers

import (
	"strings"

	"github.com/gopacer/pacer/headers/internal/name"
)

// found is a header that a response has, and what its name says.
type found struct {
	*name.Meaning
	values []string
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
