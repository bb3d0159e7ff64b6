package value

import (
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MaxWindow bounds windows: a leap year.
const MaxWindow = 366 * 24 * time.Hour

// windows are the words that name a window, in names of headers and in values.
// A month and a year are names of windows without a fixed length.
var windows = map[string]time.Duration{
	"second": time.Second, "secondly": time.Second, "sec": time.Second, "persecond": time.Second,
	"minute": time.Minute, "minutely": time.Minute, "min": time.Minute, "perminute": time.Minute,
	"hour": time.Hour, "hourly": time.Hour, "perhour": time.Hour,
	"day": 24 * time.Hour, "daily": 24 * time.Hour, "perday": 24 * time.Hour, "today": 24 * time.Hour,
	"week": 7 * 24 * time.Hour, "weekly": 7 * 24 * time.Hour,
	"month": 0, "monthly": 0, "permonth": 0, "year": 0, "yearly": 0,
}

// rates are the words that name a window and what is counted in it. A number before one is how many, and not a
// multiple.
var rates = map[string]time.Duration{
	"rps": time.Second, "tps": time.Second, "qps": time.Second, "rpm": time.Minute, "tpm": time.Minute, "qpm": time.Minute,
	"rph": time.Hour, "tph": time.Hour, "qph": time.Hour, "rpd": 24 * time.Hour, "tpd": 24 * time.Hour, "qpd": 24 * time.Hour,
}

// fourths are the numbers that multiply a window which they precede, in fourths: five-min, half-hour.
var fourths = map[string]int{
	"quarter": 1, "half": 2, "one": 4, "two": 8, "three": 12, "four": 16, "five": 20, "six": 24, "seven": 28, "eight": 32, "nine": 36, "ten": 40,
	"eleven": 44, "twelve": 48, "fifteen": 60, "twenty": 80, "thirty": 120, "forty": 160, "fifty": 200, "sixty": 240, "ninety": 360,
	"bi": -1, "semi": -1, "tri": -1, "multi": -1, "several": -1, "few": -1, "couple": -1, "double": -1, "dozen": -1, "hundred": -1,
	"thirteen": -1, "fourteen": -1, "sixteen": -1, "seventeen": -1, "eighteen": -1, "nineteen": -1, "seventy": -1, "eighty": -1,
}

// Fourths returns the words for numbers that may precede a window, and by how many fourths each multiplies it;
// -1 if that is not known.
func Fourths() iter.Seq2[string, int] { return maps.All(fourths) }

// Multiplied returns a window of so many fourths, zero if that is not known.
func Multiplied(window time.Duration, fourths int) time.Duration {
	if fourths <= 0 || window > MaxWindow {
		return 0
	}
	return min(time.Duration(fourths)*(window/4), MaxWindow)
}

// WindowName returns what a window is called: "second", "minute", "month", or else as "15m0s" is written
// without the zeros. It is empty if there is none.
func WindowName(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d <= 0:
		return ""
	case d == time.Second:
		return "second"
	case d == time.Minute:
		return "minute"
	case d == time.Hour:
		return "hour"
	case d == day:
		return "day"
	case d == 7*day:
		return "week"
	case d >= 28*day && d <= 31*day:
		return "month"
	case d%day == 0:
		return strconv.Itoa(int(d/day)) + "d"
	}
	name := d.String()
	if strings.HasSuffix(name, "m0s") {
		name = name[:len(name)-2]
	}
	if strings.HasSuffix(name, "h0m") {
		name = name[:len(name)-2]
	}
	return name
}

// Windows returns the words that name a window.
func Windows() iter.Seq2[string, time.Duration] {
	return func(yield func(string, time.Duration) bool) {
		for _, words := range [...]map[string]time.Duration{windows, rates} {
			for word, window := range words {
				if !yield(word, window) {
					return
				}
			}
		}
	}
}

// WindowOf returns the window that a word in lower case names: "daily", "15min", "10s". It is
// zero for a month and longer, and false if the word names none.
func WindowOf(word string) (time.Duration, bool) {
	if w, ok := windows[word]; ok {
		return w, true
	}
	if w, ok := rates[word]; ok {
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
	times := 4
	for _, word := range words {
		if word == "per" || word == "limit" {
			continue
		}
		if n := fourths[word]; n != 0 && window == 0 && times == 4 {
			times = n
			continue
		}
		w, ok := WindowOf(word)
		if !ok && times != 4 {
			w, ok = WindowOf(strings.TrimSuffix(word, "s")) // five minutes
		}
		if !ok || window > 0 {
			return 0
		}
		window = w
	}
	return Multiplied(window, times)
}

// WindowAtEnd returns the window with which a word ends that begins with anything: highcostget3min. It is zero
// if there is none. Letters that stand for a unit must be three at least if letters precede the number: k8s is
// no window.
func WindowAtEnd(word string) time.Duration {
	end := len(word)
	for end > 0 && !IsDigit(word[end-1]) {
		end--
	}
	start := end
	for start > 0 && IsDigit(word[start-1]) {
		start--
	}
	if start == end || start > 0 && len(word)-end < 3 {
		return 0
	}
	d, _ := WindowOf(strings.ToLower(word[start:]))
	return d
}

// WindowOfName returns the window that the name of a limit ends with: "per_hour", "HighCostGet3Min",
// "UserByMinute".
func WindowOfName(s string) time.Duration {
	if d := WindowInWords(s); d > 0 {
		return d
	}
	for _, by := range [...]string{"By", "Per", "by", "per"} {
		if i := strings.LastIndex(s, by); i >= 0 && len(s) <= MaxNumber {
			if d, ok := WindowOf(strings.ToLower(strings.TrimLeft(s[i+len(by):], "-_ "))); ok {
				return d
			}
		}
	}
	if len(s) > MaxNumber {
		return 0
	}
	return WindowAtEnd(s)
}
