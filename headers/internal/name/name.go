// Package name says what the name of a header says about its value: the role that the value
// plays (how much there is, how much is left, when it is restored, …), how it is written,
// and what limit it belongs to.
//
// What comes in is the name of a header; what goes out is a [Meaning], or nil for a name that
// is not about limits. The package has the dialects of many services in a table, and takes
// other names apart into words by rule. It never sees a value.
package name

import "strings"

// Known returns what the table says of a header's name, or nil if it is not there.
func Known(key string) *Meaning { return known.Lookup(key) }

// Lookup returns what a header's name says, or nil if it is not about limits.
func Lookup(key string) *Meaning {
	if len(key) < minKey || len(key) > maxKey {
		return nil
	}
	if m := known.find(key); m != nil {
		return m
	}
	if !suspicious(key) {
		return nil
	}
	m, ok := Classify(key)
	if !ok {
		return nil
	}
	rare := m // m itself stays on the stack
	return &rare
}

// suspicious reports whether a name that no table knows may be about limits: it has imit,
// emaining, etry, uota or vailable in it, or a word at its beginning or its end that says so. Most
// names lack already an m, a y, a q and a v.
func suspicious(key string) bool {
	return strings.IndexByte(key, 'm') >= 0 && (strings.Contains(key, "imit") || strings.Contains(key, "emaining")) ||
		strings.IndexByte(key, 'y') >= 0 && strings.Contains(key, "etry") ||
		strings.IndexByte(key, 'Q'|key[0]&0x20) >= 0 && strings.Contains(key, "uota") || // of the same case as the first
		strings.IndexByte(key, 'v') >= 0 && strings.Contains(key, "vailable") ||
		beginsAsLimit(key) || endsAsLimit(key)
}

// beginsAsLimit reports whether the first word of a name may be that of a limit without other words for one.
func beginsAsLimit(key string) bool {
	if len(key) < 9 || key[7] != '-' {
		return false
	}
	switch key[:7] {
	case "Current", "current", "Maximum", "maximum":
		return true
	}
	return false
}

// endsAsLimit reports whether the last word of a name may be that of a limit without other words for one. The
// end of the word is looked at first: most words have another one.
func endsAsLimit(key string) bool {
	switch key[len(key)-2:] {
	case "et", "ts", "ed", "ge", "nt", "le", "ft", "At", "at", "In", "in", "er", "me", "ds", "Ms", "ms", "es", "ct", "el", "ow", "ve", "ng":
	default:
		return false
	}
	switch key[strings.LastIndexByte(key, '-')+1:] {
	case "Reset", "reset", "Resets", "resets", "Used", "used", "Usage", "usage", "Allotted", "allotted", "Allowed", "allowed",
		"Current", "current", "Throttle", "throttle":
		return true
	case "Left", "left":
		return strings.Contains(key, "equests") || strings.Contains(key, "alls") || strings.Contains(key, "redits") ||
			strings.Contains(key, "okens") || strings.Contains(key, "ueries") || isRate(key[:max(len(key)-len("-left"), 0)])
	case "At", "at", "In", "in", "After", "after", "Time", "time", "Seconds", "seconds", "Ms", "ms", "Minutes", "minutes":
		return strings.Contains(key, "eset") || strings.Contains(key, "indow") || strings.Contains(key, "hrottl")
	case "Level", "level":
		return strings.Contains(key, "ucket-")
	case "Window", "window":
		return strings.Contains(key, "hrottl")
	case "Active", "active", "Running", "running":
		return strings.Contains(key, "oncurren")
	case "Percent", "percent", "Pct", "pct", "Percentage", "percentage":
		return strings.Contains(key, "sed-")
	}
	return false
}

// isRate reports whether the last word of a name is an abbreviation of requests or queries in a window: qpd,
// Rpm.
func isRate(key string) bool {
	w := key[strings.LastIndexByte(key, '-')+1:]
	return len(w) == 3 && w[1] == 'p' && (w[0]|0x20 == 'q' || w[0]|0x20 == 'r')
}
