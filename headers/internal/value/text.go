package value

import "strings"

// IsDigit reports whether b is an ASCII digit.
func IsDigit(b byte) bool { return b-'0' <= 9 }

// Trim removes optional whitespace (RFC 9110, 5.6.3) and one pair of quotes.
func Trim(s string) string {
	for s != "" && (s[0] == ' ' || s[0] == '\t') {
		s = s[1:]
	}
	for s != "" && (s[len(s)-1] == ' ' || s[len(s)-1] == '\t') {
		s = s[:len(s)-1]
	}
	if len(s) > 1 && s[0] == '"' && s[len(s)-1] == '"' {
		s = s[1 : len(s)-1]
	}
	return s
}

// CleanName returns a name that is safe to keep and to print: printable ASCII of at most
// MaxName bytes. A longer name is cut, and any other one becomes empty.
func CleanName(s string) string {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return ""
		}
	}
	if len(s) > MaxName {
		return strings.Clone(s[:MaxName]) // do not keep the rest of it alive
	}
	return s
}
