package value

import (
	"strings"
	"time"
)

// ParseRate reads a number with what it is of and in which time: "150/15m", "60/min", "5000 per hour",
// "60 requests per minute", "100 requests". The window is zero if none is stated. It is false for what is
// no more than a number, and for what has another number in place of the window.
func ParseRate(s string) (n Number, window time.Duration, ok bool) {
	s = Trim(s)
	if len(s) > MaxNumber {
		return Number{}, 0, false
	}
	n, rest, ok := cutNumber(s)
	if !ok || rest == "" {
		return Number{}, 0, false
	}
	rest = strings.ToLower(strings.TrimLeft(rest, " "))
	what, in, found := strings.Cut(rest, "/")
	if !found {
		what, in, found = strings.Cut(" "+rest, " per ")
	}
	if what = strings.TrimSpace(what); what != "" && !isCounted(what) {
		return Number{}, 0, false
	}
	if !found {
		return n, 0, true
	}
	in = strings.TrimSpace(in)
	if _, isNumber := ParseNumber(in); isNumber {
		return Number{}, 0, false
	}
	window, ok = WindowOf(in)
	if !ok {
		window = shortWindows[in]
		ok = window > 0
	}
	return n, window, ok
}

// shortWindows are windows of which the number one is left out.
var shortWindows = map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}

// isCounted reports whether a text in lower case is a word for requests, which is what a number is of.
func isCounted(s string) bool {
	switch s {
	case "r", "req", "reqs", "request", "requests", "call", "calls":
		return true
	}
	return false
}
