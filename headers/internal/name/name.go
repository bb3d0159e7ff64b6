// Package name says what the name of a header says about its value: the role that the value
// plays (how much there is, how much is left, when it is restored, …), how it is written,
// and what limit it belongs to.
//
// What comes in is the name of a header; what goes out is a [Meaning], or nil for a name that
// is not about limits. The package has the dialects of many services in a table, and takes
// other names apart into words by rule. It never sees a value.
package name

import "strings"

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
	return parseName(key)
}

// suspicious reports whether a name that no table knows may be about limits: it has
// imit, emaining, etry or uota in it, or ends in -Reset. Most names lack already an m, a y
// and a q.
func suspicious(key string) bool {
	return strings.IndexByte(key, 'm') >= 0 && (strings.Contains(key, "imit") || strings.Contains(key, "emaining")) ||
		strings.IndexByte(key, 'y') >= 0 && strings.Contains(key, "etry") ||
		strings.IndexByte(key, 'Q'|key[0]&0x20) >= 0 && strings.Contains(key, "uota") || // of the same case as the first
		strings.HasSuffix(key, "-Reset")
}
