package value

import (
	"slices"
	"strings"
	"time"
)

// MaxWindow bounds windows: a leap year.
const MaxWindow = 366 * 24 * time.Hour

// windows are the words that name a window, in names of headers and in values.
// A month and a year are names of windows without a fixed length.
var windows = map[string]time.Duration{
	"second": time.Second, "secondly": time.Second, "sec": time.Second, "persecond": time.Second, "qps": time.Second,
	"minute": time.Minute, "minutely": time.Minute, "min": time.Minute, "perminute": time.Minute,
	"hour": time.Hour, "hourly": time.Hour, "perhour": time.Hour,
	"day": 24 * time.Hour, "daily": 24 * time.Hour, "perday": 24 * time.Hour,
	"week": 7 * 24 * time.Hour, "weekly": 7 * 24 * time.Hour,
	"month": 0, "monthly": 0, "permonth": 0, "year": 0, "yearly": 0,
}

// WindowOf returns the window that a word in lower case names: "daily", "15min", "10s". It is
// zero for a month and longer, and false if the word names none.
func WindowOf(word string) (time.Duration, bool) {
	if w, ok := windows[word]; ok {
		return w, true
	}
	if d, _, ok := ParseDuration(word, MaxWindow); ok && d > 0 {
		return d, true
	}
	i := 0
	for i < len(word) && IsDigit(word[i]) {
		i++
	}
	n, ok := ParseNumber(word[:i])
	unit := windows[strings.TrimSuffix(word[i:], "s")]
	if !ok || n.Whole == 0 || unit == 0 {
		return 0, false
	}
	d, _ := n.Duration(unit, MaxWindow)
	return d, true
}

// IsLong reports whether one of the words names a window that has no fixed length, which
// are those of a month and longer.
func IsLong(words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool {
		w, ok := WindowOf(word)
		return ok && w == 0
	})
}

// ParseWindow reads a window: a number of units, a duration, or words. It is zero if s is
// none of them.
func ParseWindow(s string, unit time.Duration) time.Duration {
	s = Trim(s)
	if n, ok := ParseNumber(s); ok {
		d, _ := n.Duration(unit, MaxWindow)
		return d
	}
	if d, _, ok := ParseDuration(s, MaxWindow); ok {
		return d
	}
	return WindowInWords(s)
}

// WindowInWords reads a window that is written in words: "minute", "per_hour", "QPS",
// "Daily-limit". It is zero if s is none, or one without a fixed length.
func WindowInWords(s string) (window time.Duration) {
	if len(s) > MaxNumber {
		return 0
	}
	words := strings.FieldsFunc(strings.ToLower(Trim(s)), func(r rune) bool { return r == '_' || r == '-' || r == ' ' })
	for _, word := range words {
		if word == "per" || word == "limit" {
			continue
		}
		w, ok := WindowOf(word)
		if !ok || window > 0 {
			return 0
		}
		window = w
	}
	return window
}
