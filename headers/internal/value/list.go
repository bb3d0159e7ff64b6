package value

import "strings"

// IsList reports whether the lines of a header, of which there is one at least, are more
// than a single value without a comma.
func IsList(lines []string) bool { return len(lines) > 1 || strings.IndexByte(lines[0], ',') >= 0 }

// Members returns the number of members in the lines of a list, MaxMembers at most.
func Members(lines []string) int {
	if !IsList(lines) {
		return 1
	}
	n := 0
	for n < MaxMembers {
		if _, ok := member(lines, n); !ok {
			break
		}
		n++
	}
	return n
}

// Member returns the member at position i of what is a list or a single value. It is empty
// if there is none.
func Member(lines []string, i int) string {
	if i == 0 && !IsList(lines) {
		return lines[0]
	}
	m, _ := member(lines, i)
	return m
}

// member returns the member at position i of the lines of a list. A comma separates
// numbers; in what begins with a letter it belongs to a date. "1,000" is a list.
func member(lines []string, i int) (string, bool) {
	for _, line := range lines[:min(len(lines), MaxMembers)] {
		for more := true; more; i-- {
			head, rest := line, ""
			more = false
			if t := Trim(line); t != "" && IsDigit(t[0]) && len(line) <= MaxField {
				head, rest, more = strings.Cut(line, ",")
			}
			if i == 0 {
				return head, true
			}
			line = rest
		}
	}
	return "", false
}

// Split returns the trimmed parts of a text between any of the separators, MaxMembers at
// most.
func Split(s, separators string) []string {
	parts := strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(separators, r) })
	parts = parts[:min(len(parts), MaxMembers)]
	for i := range parts {
		parts[i] = Trim(parts[i])
	}
	return parts
}
