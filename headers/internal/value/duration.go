package value

import (
	"math"
	"strings"
	"time"
)

// ParseDuration reads what time.Duration prints, and days: "6m0s", "120ms", "1.5h", "1d".
// The resolution is that of the last part.
func ParseDuration(s string, most time.Duration) (d, resolution time.Duration, ok bool) {
	if s == "" || len(s) > MaxNumber || !IsDigit(s[0]) {
		return 0, 0, false
	}
	for s != "" {
		i := 0
		for i < len(s) && (IsDigit(s[i]) || s[i] == '.') {
			i++
		}
		n, ok := ParseNumber(s[:i])
		if !ok || n.Whole > int64(1e12) {
			return 0, 0, false // no duration that anybody means is that long
		}
		var unit time.Duration
		unit, s = cutUnit(s[i:])
		if unit == 0 {
			return 0, 0, false
		}
		if n.Whole > int64(math.MaxInt64/unit)-1 {
			return 0, 0, false
		}
		var part time.Duration
		part, resolution = n.Duration(unit, most)
		d = min(d+part, most) // both are bounded by most, far below an overflow
	}
	return d, resolution, true
}

// durationUnits are what durations are stated in, longer spellings first. U+00B5 and
// U+03BC are both in use as the micro sign.
var durationUnits = []struct {
	text string
	unit time.Duration
}{
	{"ns", time.Nanosecond},
	{"us", time.Microsecond},
	{"\u00b5s", time.Microsecond},
	{"\u03bcs", time.Microsecond},
	{"ms", time.Millisecond},
	{"s", time.Second},
	{"m", time.Minute},
	{"h", time.Hour},
	{"d", 24 * time.Hour},
}

// cutUnit returns the unit that s begins with, zero if there is none, and what follows it.
func cutUnit(s string) (time.Duration, string) {
	for _, u := range durationUnits {
		if rest, ok := strings.CutPrefix(s, u.text); ok {
			return u.unit, rest
		}
	}
	return 0, s
}
