package headers

import (
	"cmp"
	"strings"
)

// sortFields brings the headers, which come in the order of a map, into an order of
// their own. There are few of them.
func sortFields(fields []found) {
	for i := 1; i < len(fields); i++ {
		for j := i; j > 0 && less(&fields[j], &fields[j-1]); j-- {
			fields[j], fields[j-1] = fields[j-1], fields[j]
		}
	}
}

// less is compare, for headers that the table has numbered in its order.
func less(a, b *found) bool {
	if a.sorted != b.sorted && a.sorted > 0 && b.sorted > 0 {
		return a.sorted < b.sorted
	}
	return compare(a, b) < 0
}

func compare(a, b *found) int {
	if a.rank != b.rank {
		return cmp.Compare(a.rank, b.rank)
	}
	if a.family != b.family {
		return strings.Compare(a.family, b.family)
	}
	if a.place != b.place {
		return cmp.Compare(a.place, b.place)
	}
	if a.group != b.group {
		return strings.Compare(a.group, b.group)
	}
	if a.role != b.role {
		return cmp.Compare(a.role, b.role)
	}
	return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.form, b.form),
		strings.Compare(strings.Join(a.values, ","), strings.Join(b.values, ",")))
}

// sameGroup reports whether two headers are about the same limit.
func sameGroup(a, b *field) bool {
	if a.set > 0 && b.set > 0 {
		return a.set == b.set
	}
	return a.family == b.family && a.group == b.group
}
