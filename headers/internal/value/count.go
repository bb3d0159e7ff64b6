package value

import "strings"

// Count is a number of requests, or of whatever is counted, that may not have been stated.
type Count struct {
	N     int64 // 0 to MaxCount; zero if not known
	Known bool
}

// MaxCount is the largest Integer of RFC 9651, 3.3.1.
const MaxCount = 999_999_999_999_999

// ParseCount reads a count. Parameters that follow it ("20;w=21600") and a fraction are
// left out.
func ParseCount(s string) Count {
	n, ok := ParseCounted(s)
	return Count{N: min(n.Whole, MaxCount), Known: ok}
}

// ParseCounted is ParseCount with the fraction.
func ParseCounted(s string) (Number, bool) {
	n, ok := ParseNumber(Trim(s))
	if !ok {
		if s, _, ok = strings.Cut(s, ";"); ok {
			n, ok = ParseNumber(Trim(s))
		}
	}
	return n, ok
}
