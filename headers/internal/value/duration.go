package value

import (
	"math"
	"strings"
	"time"
)

// ParseDuration reads a duration in any of the written forms in use: what time.Duration prints, and
// days ("6m0s", "120ms", "1.5h", "1d"), numbers and words ("42 seconds", "1 hour 30 minutes"), those
// of ISO 8601 ("PT2M"), and hours, minutes and seconds ("00:01:30"). The resolution is that of the
// last part.
func ParseDuration(s string, most time.Duration) (d, resolution time.Duration, ok bool) {
	switch {
	case s == "" || len(s) > MaxNumber:
		return 0, 0, false
	case s[0] == 'P':
		return parsePeriod(s[1:], most)
	case !IsDigit(s[0]):
		return 0, 0, false
	case strings.IndexByte(s, ':') > 0:
		return parseClock(s, most)
	}
	return parseParts(s, most)
}

// parseParts reads numbers with the units that follow them.
func parseParts(s string, most time.Duration) (d, resolution time.Duration, ok bool) {
	for s != "" {
		n, rest, ok := cutNumber(s)
		if !ok || n.Whole > int64(1e12) {
			return 0, 0, false // no duration that anybody means is that long
		}
		var unit time.Duration
		if unit, s = cutUnit(rest); unit == 0 || n.Whole > int64(math.MaxInt64/unit)-1 {
			return 0, 0, false
		}
		var part time.Duration
		part, resolution = n.Duration(unit, most)
		d = min(d+part, most) // both are bounded by most, far below an overflow
	}
	return d, resolution, true
}

// parsePeriod reads a duration of ISO 8601 after its P. Years and months have no fixed length.
func parsePeriod(s string, most time.Duration) (d, resolution time.Duration, ok bool) {
	units, clock := "WD", false
	for s != "" {
		if s[0] == 'T' && !clock {
			units, clock, s = "HMS", true, s[1:]
			ok = false // something must follow
			continue
		}
		n, rest, valid := cutNumber(s)
		if !valid || rest == "" || n.Whole > int64(1e12) {
			return 0, 0, false
		}
		k := strings.IndexByte(units, rest[0])
		if k < 0 {
			return 0, 0, false // unknown, or in the wrong order
		}
		unit := map[byte]time.Duration{'W': 7 * 24 * time.Hour, 'D': 24 * time.Hour, 'H': time.Hour, 'M': time.Minute, 'S': time.Second}[rest[0]]
		var part time.Duration
		part, resolution = n.Duration(unit, most)
		d, ok = min(d+part, most), true
		units, s = units[k+1:], rest[1:]
	}
	return d, resolution, ok
}

// parseClock reads hours, minutes and seconds: "00:01:30", "1:00:00.5".
func parseClock(s string, most time.Duration) (d, resolution time.Duration, ok bool) {
	hours, rest, _ := strings.Cut(s, ":")
	minutes, seconds, _ := strings.Cut(rest, ":")
	h, ok1 := ParseNumber(hours)
	m, ok2 := ParseNumber(minutes)
	n, ok3 := ParseNumber(seconds)
	if !ok1 || !ok2 || !ok3 || h.Digits+m.Digits > 0 || len(minutes) != 2 || len(seconds) < 2 || m.Whole > 59 || n.Whole > 59 {
		return 0, 0, false
	}
	d, _ = h.Duration(time.Hour, most)
	part, resolution := n.Duration(time.Second, time.Minute)
	return min(d+time.Duration(m.Whole)*time.Minute+part, most), resolution, true
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

// cutUnit returns the unit that s begins with, zero if there is none, and what follows it: either
// letters at once, or a word after spaces, which may be written out.
func cutUnit(s string) (time.Duration, string) {
	for _, u := range durationUnits {
		if rest, ok := strings.CutPrefix(s, u.text); ok && (rest == "" || !isLetter(rest[0])) {
			return u.unit, strings.TrimLeft(rest, " ")
		}
	}
	spaced := s
	s = strings.TrimLeft(s, " ")
	i := 0
	for i < len(s) && isLetter(s[i]) {
		i++
	}
	if i == 1 && len(s) < len(spaced) {
		return 0, s // a letter that stands alone may mean anything
	}
	return writtenUnits[strings.ToLower(s[:i])], strings.TrimLeft(strings.TrimPrefix(s[i:], ","), " ")
}

func isLetter(b byte) bool { return (b|0x20)-'a' < 26 }

// writtenUnits are units as people write them.
var writtenUnits = map[string]time.Duration{
	"ms": time.Millisecond, "millis": time.Millisecond, "millisecond": time.Millisecond, "milliseconds": time.Millisecond,
	"s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "min": time.Minute, "mins": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hrs": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour,
}
